"""Signing in at a real OpenID Connect provider on this machine."""

from __future__ import annotations

import json

import jwt
import pytest
import requests
from allauth.socialaccount.models import SocialAccount, SocialApp
from cryptography.hazmat.primitives.asymmetric import rsa
from django.conf import settings as project_settings
from django.test import Client

from accounts.actions import NotAllowed, add_role, create_study, remove_role, reset_password
from accounts.api_access.tokens import issue_token
from accounts.models import AuditEvent, Membership, Role, User
from accounts.provider import client as provider_client
from accounts.provider.sign_out import EVENT
from accounts.provider.values import ROLES, GroupRole
from tests.factories import PASSWORD
from tests.worlds.provider import (
    asked,
    come_back,
    find_address,
    now,
    run_organisation,
    sign_in_at,
)

pytestmark = pytest.mark.django_db

ICU = GroupRole("icu", "Sepsis", "clinician")
LEAD = GroupRole("lead", "Sepsis", "admin")


@pytest.fixture(scope="module")
def organisation():
    with run_organisation() as found:
        yield found


@pytest.fixture
def study(db):
    return create_study(name="Sepsis", by=None)


@pytest.fixture
def configured(organisation, settings, study):
    settings.OIDC = organisation.settings(ICU, LEAD)
    organisation.know("ada", groups=["icu"], email="ada@example.org")
    return organisation


def signed_in(client: Client) -> str:
    """The user name in the session, or ""."""
    pk = client.session.get("_auth_user_id")
    return User.objects.get(pk=pk).username if pk else ""


def roles_of(person: User) -> set[tuple[str, bool]]:
    return set(Membership.objects.filter(user=person).values_list("role", "provided"))


def failures() -> list[str]:
    return [
        event.detail["reason"]
        for event in AuditEvent.objects.filter(action="session.sign_in_failed").order_by("pk")
    ]


def test_without_an_issuer_nothing_is_there(client):
    assert project_settings.OIDC is None
    assert "Sign in with" not in client.get("/sign-in/").text
    assert client.post("/sign-in/provider/").status_code == 404
    assert client.get("/sign-in/provider/callback/").status_code == 404


def test_a_person_of_a_group_gets_an_account_with_its_role(configured, client, study):
    page = client.get("/sign-in/")
    assert "Sign in with Example Hospital" in page.text
    answer = sign_in_at(configured, client, "ada", next="/notifications/")
    assert (answer.status_code, answer["Location"]) == (302, "/notifications/")
    person = User.objects.get()
    assert (person.username, person.email, signed_in(client)) == ("ada", "ada@example.org", "ada")
    assert not person.has_usable_password()
    assert roles_of(person) == {("clinician", True)}
    account = SocialAccount.objects.get()
    assert (account.provider, account.uid, account.extra_data) == (configured.issuer, "ada", {})
    events = AuditEvent.objects.order_by("pk").values_list("action", "detail")
    assert list(events)[-3:] == [
        ("account.create", {"origin": "provider"}),
        ("member.add_role", {"role": "clinician", "origin": "provider"}),
        ("session.sign_in", {"ways": "socialaccount"}),
    ]
    assert client.get("/").status_code == 200


def test_the_request_has_a_nonce_and_a_challenge_and_the_policy_stays(configured, client):
    page = client.post("/sign-in/provider/")
    sent = asked(find_address(page))
    assert sent["response_type"] == "code"
    assert sent["redirect_uri"] == "http://testserver/sign-in/provider/callback/"
    assert (sent["client_id"], sent["code_challenge_method"]) == ("occurrent", "S256")
    assert len(sent["nonce"]) >= 32
    assert len(sent["state"]) >= 16
    policy = [part.strip() for part in page["Content-Security-Policy"].split(";")]
    assert "form-action 'self'" in policy
    assert configured.issuer not in page["Content-Security-Policy"]


def test_the_same_person_comes_back_to_the_same_account(configured, client):
    for _ in range(2):
        sign_in_at(configured, client, "ada")
        client.post("/sign-out/")
    assert User.objects.count() == 1


def test_roles_follow_the_groups_and_those_given_by_hand_stay(configured, client, study):
    sign_in_at(configured, client, "ada")
    person = User.objects.get()
    add_role(study=study, user=person, role=Role.REVIEWER, by=None)
    configured.know("ada", groups=["lead", "unknown"])
    sign_in_at(configured, Client(), "ada")
    assert roles_of(person) == {("admin", True), ("reviewer", False)}
    configured.know("ada", groups=[])
    sign_in_at(configured, Client(), "ada")
    assert roles_of(person) == {("reviewer", False)}
    removed = AuditEvent.objects.filter(action="member.remove_role").order_by("pk")
    assert [event.detail for event in removed] == [
        {"role": "clinician", "origin": "provider"},
        {"role": "admin", "origin": "provider"},
    ]


def test_a_role_given_by_hand_is_not_taken_over(configured, client, study):
    sign_in_at(configured, client, "ada")
    person = User.objects.get()
    remove_role(study=study, user=person, role=Role.CLINICIAN, by=None)
    add_role(study=study, user=person, role=Role.CLINICIAN, by=None)
    sign_in_at(configured, Client(), "ada")
    assert roles_of(person) == {("clinician", False)}


def test_groups_may_be_one_word_or_missing(configured, client):
    configured.know("ada", groups="icu")
    sign_in_at(configured, client, "ada")
    assert roles_of(User.objects.get()) == {("clinician", True)}
    configured.know("ada", groups={"odd": 1})
    sign_in_at(configured, Client(), "ada")
    assert roles_of(User.objects.get()) == set()


def test_a_study_that_does_not_exist_gives_nothing(configured, client, settings, caplog):
    settings.OIDC = configured.settings(ICU, GroupRole("icu", "Lost", "admin"))
    sign_in_at(configured, client, "ada")
    assert roles_of(User.objects.get()) == {("clinician", True)}
    assert "OIDC_ROLES names studies that do not exist" in caplog.text


def test_nobody_is_joined_to_an_account_of_the_same_name_or_address(configured, client):
    local = User.objects.create_user("ADA", email="ada@example.org", password=PASSWORD)
    sign_in_at(configured, client, "ada")
    assert signed_in(client) == "ada-2"
    local.refresh_from_db()
    assert local.check_password(PASSWORD)
    assert SocialAccount.objects.get().user.username == "ada-2"


def test_another_issuer_is_another_person(configured, client):
    other = User.objects.create_user("other")
    SocialAccount.objects.create(user=other, provider="https://elsewhere.example", uid="ada")
    sign_in_at(configured, client, "ada")
    assert signed_in(client) == "ada"


def test_a_provider_in_the_database_does_not_count(configured, client, settings):
    SocialApp.objects.create(
        provider="openid_connect", provider_id="evil", name="Evil", client_id="x"
    )
    sign_in_at(configured, client, "ada")
    assert signed_in(client) == "ada"


def test_who_has_no_group_gets_no_account(configured, client):
    configured.know("eve", groups=["kitchen"])
    answer = sign_in_at(configured, client, "eve")
    assert answer.status_code == 403
    assert "none of your groups has access here" in answer.text
    assert (User.objects.count(), signed_in(client), failures()) == (0, "", ["no_access"])


def test_without_a_mapping_everyone_has_an_account_without_a_role(configured, client, settings):
    settings.OIDC = configured.settings()
    configured.know("eve")
    sign_in_at(configured, client, "eve")
    assert (signed_in(client), roles_of(User.objects.get())) == ("eve", set())


def test_a_deactivated_person_stays_outside(configured, client):
    sign_in_at(configured, client, "ada")
    User.objects.update(is_active=False)
    other = Client()
    answer = sign_in_at(configured, other, "ada")
    assert "Your account is deactivated" in answer.text
    assert (signed_in(other), failures()) == ("", ["inactive"])
    event = AuditEvent.objects.get(action="session.sign_in_failed")
    assert event.actor == User.objects.get()


def test_cancelling_there_says_so(configured, client):
    address = find_address(client.post("/sign-in/provider/"))
    back = configured.decide(address, "ada", action="deny")
    # this provider forgets the state, which the standard requires
    answer = come_back(client, f"{back}&state={asked(address)['state']}")
    assert "You cancelled the sign-in" in answer.text
    assert failures() == ["cancelled"]


def test_an_answer_for_another_browser_is_refused_and_leaves_no_event(configured, client):
    address = find_address(client.post("/sign-in/provider/"))
    other = Client()
    answer = come_back(other, configured.decide(address, "ada"))
    assert "started long ago or in another browser" in answer.text
    assert (signed_in(other), failures()) == ("", [])


def test_an_answer_counts_once(configured, client):
    address = find_address(client.post("/sign-in/provider/"))
    back = configured.decide(address, "ada")
    assert come_back(client, back).status_code == 302
    assert come_back(Client(), back).status_code == 403
    assert come_back(client, back).status_code == 403


def changed_token(monkeypatch, change):
    """Let the next tokens arrive changed by `change`."""
    fetch = provider_client.OpenIDConnectOAuth2Adapter.get_access_token_data

    def fetch_and_change(self, *args, **kwargs):
        return change(dict(fetch(self, *args, **kwargs)))

    monkeypatch.setattr(
        provider_client.OpenIDConnectOAuth2Adapter, "get_access_token_data", fetch_and_change
    )


def forge(token, **claims):
    """A token with these claims, signed by somebody else."""
    known = jwt.decode(token["id_token"], options={"verify_signature": False})
    forged = jwt.encode({**known, **claims}, "s" * 32, algorithm="HS256")
    return {**token, "id_token": forged}


@pytest.mark.parametrize(
    "change",
    [
        lambda token: forge(token),
        lambda token: {k: v for k, v in token.items() if k != "id_token"},
        lambda token: {**token, "id_token": "odd"},
        lambda token: {**token, "id_token": token["id_token"][:-8] + "AAAAAAAA"},
    ],
    ids=["forged", "missing", "odd", "changed"],
)
def test_tokens_that_are_not_the_providers_are_refused(configured, client, monkeypatch, change):
    changed_token(monkeypatch, change)
    answer = sign_in_at(configured, client, "ada")
    assert answer.status_code == 403
    assert (User.objects.count(), failures()) == (0, ["invalid"])


def test_a_token_of_an_earlier_sign_in_is_refused(configured, client, monkeypatch):
    tokens = []
    changed_token(monkeypatch, lambda token: tokens.append(token) or tokens[0])
    sign_in_at(configured, client, "ada")
    answer = sign_in_at(configured, Client(), "ada")
    assert (answer.status_code, failures()) == (403, ["invalid"]), "its nonce is the earlier one"


def test_a_token_for_another_client_is_refused(configured, client, settings, monkeypatch):
    address = find_address(client.post("/sign-in/provider/"))
    back = configured.decide(address.replace("client_id=occurrent", "client_id=other"), "ada")
    assert come_back(client, back).status_code == 403
    assert failures() == ["invalid"]


def test_a_description_of_another_issuer_is_refused(configured, client, settings):
    settings.OIDC = configured.settings(issuer=configured.issuer.replace("localhost", "127.0.0.1"))
    found = requests.get(f"{configured.issuer}/.well-known/openid-configuration", timeout=10)
    assert found.json()["issuer"] == configured.issuer
    settings.OIDC = configured.settings(issuer=configured.issuer + "/")
    answer = client.post("/sign-in/provider/")
    assert (answer.status_code, "does not answer" in answer.text) == (403, True)


def test_a_provider_that_is_down_is_named_and_passwords_still_work(
    organisation, client, settings, db
):
    settings.OIDC = organisation.settings(issuer="http://localhost:9")
    User.objects.create_user("grace", password=PASSWORD)
    answer = client.post("/sign-in/provider/")
    assert "Example Hospital does not answer" in answer.text
    assert failures() == []
    client.post("/sign-in/", {"username": "grace", "password": PASSWORD})
    assert signed_in(client) == "grace"


def test_passwords_can_be_refused_altogether(configured, client, settings):
    settings.OIDC = configured.settings(ICU, only=True)
    User.objects.create_user("grace", password=PASSWORD)
    page = client.get("/sign-in/")
    assert 'type="password"' not in page.text
    answer = client.post("/sign-in/", {"username": "grace", "password": PASSWORD})
    assert "Sign in with Example Hospital." in answer.text
    assert signed_in(client) == ""
    assert client.get("/sign-in/passkey/").status_code == 404
    sign_in_at(configured, client, "ada")
    assert signed_in(client) == "ada"


def test_the_sign_out_goes_on_at_the_provider(configured, client):
    sign_in_at(configured, client, "ada")
    page = client.post("/sign-out/")
    address = find_address(page)
    assert address.startswith(f"{configured.issuer}/oauth2/end_session?")
    sent = asked(address)
    assert sent["post_logout_redirect_uri"] == "http://testserver/sign-in/"
    hint = jwt.decode(sent["id_token_hint"], options={"verify_signature": False})
    assert (hint["sub"], sent["client_id"]) == ("ada", "occurrent")
    assert signed_in(client) == ""
    assert AuditEvent.objects.order_by("pk").last().action == "session.sign_out"


def test_a_local_sign_out_stays_here(configured, client):
    client.force_login(User.objects.create_user("grace"))
    assert client.post("/sign-out/")["Location"] == "/sign-in/"


def test_signing_in_as_another_person_ends_the_first_session(configured, client):
    grace = User.objects.create_user("grace")
    client.force_login(grace)
    sign_in_at(configured, client, "ada")
    assert signed_in(client) == "ada"
    assert AuditEvent.objects.filter(action="session.sign_out", actor=grace).exists()


def test_an_admin_cannot_give_a_provider_account_a_password(configured, client, study):
    sign_in_at(configured, client, "ada")
    with pytest.raises(NotAllowed, match="no password here"):
        reset_password(user=User.objects.get(), by=None)
    assert "no password here" in client.get("/password/").text


def test_tokens_of_the_api_need_a_sign_in_now_and_then(configured, client):
    sign_in_at(configured, client, "ada")
    person = User.objects.get()
    _, secret = issue_token(user=person, label="script", by=None)
    ask = {"headers": {"Authorization": f"Bearer {secret}"}}
    assert Client().get("/api/studies/", **ask).status_code == 200
    User.objects.update(last_login=person.last_login.replace(year=person.last_login.year - 1))
    assert Client().get("/api/studies/", **ask).status_code == 401
    sign_in_at(configured, client, "ada")
    assert Client().get("/api/studies/", **ask).status_code == 200


def test_the_roles_of_settings_are_those_of_the_model():
    assert list(Role.values) == list(ROLES)


def test_none_of_the_librarys_other_pages_has_an_address(client, configured):
    client.force_login(User.objects.create_user("grace"))
    for path in (
        "/accounts/login/", "/accounts/signup/", "/accounts/email/", "/accounts/password/reset/",
        "/accounts/social/connections/", "/accounts/2fa/", "/signup/", "/social/signup/",
        "/sign-in/provider/signup/", "/oidc/x/login/",
    ):  # fmt: skip
        assert client.get(path).status_code == 404, path


def confirm(organisation, client, subject, what="packet-1", next_url="/review/"):
    form = {"purpose": "signature", "what": what, "next": next_url}
    address = find_address(client.post("/sign-in/provider/confirm/", form))
    return address, come_back(client, organisation.decide(address, subject))


def mark_of(client: Client) -> str:
    return client.session.get("confirmed_at_provider", {}).get("for", "")


def test_confirming_asks_the_provider_to_authenticate_anew(configured, client):
    sign_in_at(configured, client, "ada")
    configured.know("ada", groups=["icu"], auth_time=now())
    address, answer = confirm(configured, client, "ada")
    sent = asked(address)
    assert (sent["prompt"], sent["max_age"]) == ("login", "0")
    assert (answer.status_code, answer["Location"]) == (302, "/review/")
    assert mark_of(client) == "signature:packet-1"
    assert signed_in(client) == "ada"


@pytest.mark.parametrize("auth_time", [None, "odd", -3600])
def test_an_old_authentication_confirms_nothing(configured, client, auth_time):
    sign_in_at(configured, client, "ada")
    at = now() + auth_time if isinstance(auth_time, int) else auth_time
    configured.know("ada", groups=["icu"], auth_time=at)
    _, answer = confirm(configured, client, "ada")
    assert "did not ask you to sign in again" in answer.text
    assert (mark_of(client), failures()) == ("", ["not_fresh"])


@pytest.mark.parametrize("other", ["grace", "newcomer"])
def test_another_person_confirms_nothing(configured, client, other):
    configured.know("grace", groups=["icu"])
    sign_in_at(configured, Client(), "grace")
    sign_in_at(configured, client, "ada")
    configured.know(other, groups=["icu"], auth_time=now())
    _, answer = confirm(configured, client, other)
    assert "as another person" in answer.text
    assert (mark_of(client), signed_in(client), failures()) == ("", "ada", ["other_person"])


def test_only_people_of_the_provider_confirm_there(configured, client):
    client.force_login(User.objects.create_user("grace"))
    form = {"purpose": "signature", "what": "x"}
    assert client.post("/sign-in/provider/confirm/", form).status_code == 404
    sign_in_at(configured, client, "ada")
    assert client.post("/sign-in/provider/confirm/", {**form, "purpose": "odd"}).status_code == 404


# Sign-out that begins at the provider.


@pytest.fixture
def logout_token(configured, monkeypatch):
    """Makes tokens that count as the provider's."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    known = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key()))
    plain = provider_client.ProviderClient.fetch_keys

    def make(**claims):
        monkeypatch.setattr(
            provider_client.ProviderClient, "fetch_keys", lambda self: {"keys": [known]}
        )
        times = {"iat": now(), "exp": now() + 60}
        sent = {"iss": configured.issuer, "aud": "occurrent", "events": {EVENT: {}}, **times}
        return {"logout_token": jwt.encode({**sent, **claims}, key, algorithm="RS256")}

    yield make
    monkeypatch.setattr(provider_client.ProviderClient, "fetch_keys", plain)


def test_a_sign_out_there_ends_the_sessions_here(configured, logout_token):
    ada, also, grace = Client(), Client(), Client()
    configured.know("grace", groups=["icu"])
    for client, subject in ((ada, "ada"), (also, "ada"), (grace, "grace")):
        sign_in_at(configured, client, subject)
    server = Client(enforce_csrf_checks=True)
    answer = server.post("/sign-in/provider/signed-out/", logout_token(sub="ada"))
    assert answer.status_code == 204
    assert [one.get("/").status_code for one in (ada, also, grace)] == [302, 302, 200]
    events = AuditEvent.objects.filter(action="session.end")
    assert [event.detail for event in events] == [{"sessions": 1, "origin": "provider"}] * 2


def test_one_session_there_is_one_session_here(configured, logout_token):
    clients = [Client(), Client()]
    for client, name in zip(clients, ("s1", "s2"), strict=True):
        configured.know("ada", groups=["icu"], sid=name)
        sign_in_at(configured, client, "ada")
    Client().post("/sign-in/provider/signed-out/", logout_token(sid="s1"))
    assert [client.get("/").status_code for client in clients] == [302, 200]


def test_other_tokens_end_nothing(configured, client, logout_token):
    sign_in_at(configured, client, "ada")
    for sent in ({}, {"logout_token": "odd"}, logout_token(sub="ada", nonce="n")):
        answer = Client().post("/sign-in/provider/signed-out/", sent)
        assert (answer.status_code, answer["Cache-Control"]) == (400, "no-store")
    assert client.get("/").status_code == 200


# A local account that goes over to the provider.


def connect(organisation, client, subject):
    address = find_address(client.post("/sign-in/provider/connect/", {"password": PASSWORD}))
    return come_back(client, organisation.decide(address, subject))


@pytest.fixture
def grace(configured):
    return User.objects.create_user("grace", password=PASSWORD)


def window(person: User) -> Client:
    client = Client()
    client.post("/sign-in/", {"username": person.username, "password": PASSWORD})
    return client


def test_a_person_connects_their_own_account_after_the_password(configured, grace, study):
    add_role(study=study, user=grace, role=Role.REVIEWER, by=None)
    here, there = window(grace), window(grace)
    assert "Sign in with Example Hospital" in here.get("/password/").text
    assert here.get("/sign-in/provider/connect/").status_code == 200
    refused = here.post("/sign-in/provider/connect/", {"password": "wrong"})
    assert (refused.status_code, "Wrong password." in refused.text) == (400, True)
    assert connect(configured, here, "ada")["Location"] == "/password/"
    grace.refresh_from_db()
    assert not grace.has_usable_password()
    assert roles_of(grace) == {("reviewer", False), ("clinician", True)}
    assert (here.get("/").status_code, there.get("/").status_code) == (200, 302)
    assert signed_in(window(grace)) == "", "the password has ended"
    later = Client()
    sign_in_at(configured, later, "ada")
    assert signed_in(later) == "grace"
    assert find_address(here.post("/sign-out/")).startswith(configured.issuer)
    assert AuditEvent.objects.filter(action="account.connect", actor=grace).exists()


def test_nobody_connects_what_is_connected(configured, grace):
    sign_in_at(configured, Client(), "ada")
    client = window(grace)
    answer = connect(configured, client, "ada")
    assert "already connected" in answer.text
    grace.refresh_from_db()
    assert (grace.has_usable_password(), signed_in(client)) == (True, "grace")
    ada = Client()
    sign_in_at(configured, ada, "ada")
    assert ada.get("/sign-in/provider/connect/").status_code == 404


def test_an_answer_does_not_connect_after_the_sign_out(configured, grace):
    client = window(grace)
    address = find_address(client.post("/sign-in/provider/connect/", {"password": PASSWORD}))
    client.post("/sign-out/")
    answer = come_back(client, configured.decide(address, "ada"))
    assert answer.status_code == 403
    assert not SocialAccount.objects.exists()
