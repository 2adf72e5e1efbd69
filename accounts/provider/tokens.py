"""Verify the tokens that the provider signs."""

from __future__ import annotations

from typing import Any

import jwt

#: Signatures of a private key. A secret that both sides know would let us sign, too.
ALGORITHMS = (
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
)  # fmt: skip
#: Seconds by which the two clocks may differ.
LEEWAY = 60


class TokenRefused(ValueError):
    """The token is not the provider's, not for us, or has expired."""

    log_safe = True


def verify_token(token: str, keys: dict[str, Any], *, issuer: str, audience: str) -> dict[str, Any]:
    """Return the claims of a token that a key of the provider has signed.

    `keys` is the provider's set of keys (JWKS). Raises TokenRefused.
    """
    try:
        found: dict[str, Any] = jwt.decode(
            token,
            key=_find_key(token, keys),
            algorithms=list(ALGORITHMS),
            issuer=issuer,
            audience=audience,
            leeway=LEEWAY,
            options={"require": ["exp", "iat", "iss", "aud"]},
        )
    except jwt.PyJWTError as error:
        raise TokenRefused("the token could not be verified") from error
    if isinstance(found["aud"], list) and len(found["aud"]) > 1 and found.get("azp") != audience:
        raise TokenRefused("the token is for several clients, and not for us")
    return found


def _find_key(token: str, keys: dict[str, Any]) -> jwt.PyJWK:
    """Return the key that the token names; the only one if it names none."""
    known = jwt.PyJWKSet.from_dict(keys).keys
    wanted = jwt.get_unverified_header(token).get("kid")
    if wanted is None and len(known) == 1:
        return known[0]
    for key in known:
        if key.key_id == wanted is not None:
            return key
    raise TokenRefused("the token names a key that the provider does not have")
