"""Tokens, claims and settings of a provider, without one."""

from __future__ import annotations

import json
import time
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from accounts.provider.sign_out import EVENT, read_logout
from accounts.provider.tokens import TokenRefused, verify_token
from accounts.provider.values import Claims, GroupRole, Provider
from config.env import Env, EnvError
from config.openid import read_provider

KEYS = [rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2)]
ISSUER, US = "https://login.example.org", "occurrent"


def key_set(*named: tuple[str, int]) -> dict[str, object]:
    """A provider's set of keys; without a name, a key has no `kid`."""
    keys = []
    for name, place in named:
        key = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(KEYS[place].public_key()))
        keys.append({**key, "kid": name} if name else key)
    return {"keys": keys}


def sign(key: int = 0, kid: str | None = "a", algorithm: str = "RS256", **changed: object) -> str:
    now = int(time.time())
    claims = {"iss": ISSUER, "aud": US, "sub": "ada", "iat": now, "exp": now + 300, **changed}
    headers = {"kid": kid} if kid else None
    secret: Any = {"RS256": KEYS[key], "none": None}.get(algorithm, "s" * 32)
    return jwt.encode(
        {k: v for k, v in claims.items() if v is not None},
        secret,
        algorithm=algorithm,
        headers=headers,
    )


def verify(token: str, keys: dict[str, object] | None = None) -> dict[str, object]:
    return verify_token(token, keys or key_set(("a", 0), ("b", 1)), issuer=ISSUER, audience=US)


def test_a_token_of_the_provider_for_us():
    assert verify(sign())["sub"] == "ada"
    assert verify(sign(key=1, kid="b"))["sub"] == "ada"
    assert verify(sign(kid=None), key_set(("", 0)))["sub"] == "ada"
    assert verify(sign(aud=[US]))["sub"] == "ada"
    assert verify(sign(aud=[US, "other"], azp=US))["sub"] == "ada"


@pytest.mark.parametrize(
    "changed",
    [
        {"key": 1}, {"kid": "c"}, {"kid": None}, {"algorithm": "HS256"}, {"algorithm": "none"},
        {"iss": "https://other.example"}, {"iss": None}, {"aud": "other"}, {"aud": None},
        {"aud": [US, "other"]}, {"aud": [US, "other"], "azp": "other"}, {"exp": None},
        {"iat": None}, {"exp": 1_600_000_000}, {"iat": 4_000_000_000},
    ],
    ids=str,
)  # fmt: skip
def test_any_other_is_refused(changed):
    with pytest.raises(TokenRefused):
        verify(sign(**changed))


@pytest.mark.parametrize("token", ["", "odd", "a.b.c", "é.é.é"])
def test_what_is_no_token_is_refused(token):
    with pytest.raises(TokenRefused):
        verify(token)


def test_clocks_may_differ_a_little():
    assert verify(sign(exp=int(time.time()) - 30))


def test_claims_that_are_odd_count_as_missing():
    odd = {"preferred_username": 7, "email": None, "groups": {"a": 1}, "auth_time": "now"}
    assert Claims.read(odd, "groups") == Claims("", "", frozenset(), "", None, "")
    good = {"preferred_username": "ada", "roles": ["x", 3, "y"], "auth_time": 12.9, "sid": "s"}
    assert Claims.read(good, "roles") == Claims("ada", "", frozenset("xy"), "", 12, "s")


def test_groups_give_roles():
    roles = (GroupRole("a", "S", "admin"), GroupRole("b", "S", "reviewer"))
    provider = Provider(ISSUER, US, "secret", "Hospital", roles=roles)
    assert provider.find_roles({"b", "c"}) == {("S", "reviewer")}
    assert provider.find_roles(set()) == frozenset()


@pytest.mark.parametrize(
    "claims",
    [
        {},
        {"events": {"other": {}}, "sub": "ada"},
        {"events": [EVENT], "sub": "ada"},
        {"events": {EVENT: {}}, "sub": "ada", "nonce": "n"},
        {"events": {EVENT: {}}},
        {"events": {EVENT: {}}, "sub": 7},
    ],
)
def test_other_tokens_sign_nobody_out(claims):
    with pytest.raises(TokenRefused):
        read_logout(claims)


def test_a_sign_out_names_a_person_or_a_session():
    assert read_logout({"events": {EVENT: {}}, "sub": "ada"}) == ("ada", "")
    assert read_logout({"events": {EVENT: {}}, "sid": "s1"}) == ("", "s1")


FULL = {"OIDC_ISSUER": ISSUER, "OIDC_CLIENT_ID": US, "OIDC_CLIENT_SECRET": "x"}


def read(production: bool = True, **variables: str) -> Provider | None:
    return read_provider(Env({**FULL, **variables}), production=production)


def test_the_settings():
    assert read_provider(Env({}), production=True) is None
    found = read(OIDC_ROLES='{"a": {"study": "S", "role": "admin"}}', OIDC_SCOPES="openid, groups")
    assert found == Provider(
        ISSUER,
        US,
        "x",
        "your organisation",
        scopes=("openid", "groups"),
        roles=(GroupRole("a", "S", "admin"),),
    )


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"OIDC_ISSUER": "http://login.example.org"}, "OIDC_ISSUER must start with one of https"),
        ({"OIDC_ISSUER": "https://" + "x" * 200}, "longer than 200"),
        ({"OIDC_CLIENT_ID": ""}, "OIDC_CLIENT_ID is not set"),
        ({"OIDC_CLIENT_SECRET": ""}, "OIDC_CLIENT_SECRET is not set"),
        ({"OIDC_ROLES": "[]"}, "OIDC_ROLES is not a JSON object"),
        ({"OIDC_ROLES": '{"a": []}'}, "OIDC_ROLES is not understood"),
        ({"OIDC_ROLES": '{"a": [{"study": "S"}]}'}, "OIDC_ROLES is not understood"),
        ({"OIDC_ROLES": '{"a": [{"study": "S", "role": "root"}]}'}, "OIDC_ROLES is not"),
        ({"OIDC_ROLES": '{"a": [{"study": 1, "role": "admin"}]}'}, "OIDC_ROLES is not"),
        ({"OIDC_ISSUER": "", "OIDC_ONLY": "on"}, "OIDC_ONLY is on without OIDC_ISSUER"),
    ],
)
def test_what_is_wrong_in_the_settings_is_named(variables, words):
    with pytest.raises(EnvError, match=words):
        read(**variables)


def test_a_provider_without_https_only_outside_production():
    assert read(production=False, OIDC_ISSUER="http://localhost:9000") is not None
