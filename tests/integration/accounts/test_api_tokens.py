"""Tokens of the API: shown once, stored as digests, hard to guess.

They end by time, by hand and by a new password.
"""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from accounts.actions import reset_password
from accounts.api_access.tokens import MOST, TokenRefused, find_tokens, issue_token, revoke_token
from accounts.models import ApiToken, AuditEvent, Role, User
from accounts.permissions import NotAllowed
from tests import factories

pytestmark = pytest.mark.django_db
#: Any address of the API that wants to know who asks.
ADDRESS = "/api/schema/"


@pytest.fixture
def person():
    return factories.make_user(factories.make_study(), Role.CLINICIAN)


def make_token(person, label="script"):
    return issue_token(user=person, label=label, by=person)


def send(client, secret, word="Bearer"):
    return client.get(ADDRESS, headers={"Authorization": f"{word} {secret}"})


def test_a_token_opens_the_api_and_no_page(client, person):
    _, secret = make_token(person)
    assert send(client, secret).status_code == 200
    assert send(client, secret, word="bearer").status_code == 200
    page = client.get("/api-tokens/", headers={"Authorization": f"Bearer {secret}"})
    assert page.status_code == 302
    assert page["Location"].startswith("/sign-in/")


def test_only_a_digest_is_stored(person):
    token, secret = make_token(person)
    stored = ApiToken.objects.filter(pk=token.pk).values().get()
    assert secret not in str(stored)
    assert stored["digest"] != secret
    assert len(stored["digest"]) == 128
    assert secret.startswith(stored["token_key"])
    assert len(stored["token_key"]) == 15
    assert secret not in str(list(AuditEvent.objects.values("detail", "object_id")))


@pytest.mark.parametrize(
    "secret", ["", "x", "0" * 64, "\xff" * 64, "0" * 63 + "\x00", "0" * 64 + " 0", "0" * 100_000]
)
def test_what_is_no_token_is_refused(client, secret):
    answer = client.get(ADDRESS, headers={"Authorization": f"Bearer {secret}"})
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"] == "Bearer"


def revoke(person, token):
    revoke_token(token=token, by=person)


def expire(person, token):
    ApiToken.objects.update(expiry=timezone.now() - timedelta(seconds=1))


def deactivate_account(person, token):
    User.objects.update(is_active=False)


def reset_account_password(person, token):
    reset_password(user=person, by=None)


def change_password(person, token):
    person.set_password("another long password")
    person.save()


@pytest.mark.parametrize(
    "end",
    [
        revoke,
        expire,
        deactivate_account,
        reset_account_password,
        change_password,
    ],
    ids=lambda f: f.__name__,
)
def test_an_ended_token_opens_nothing(client, person, end):
    token, secret = make_token(person)
    assert send(client, secret).status_code == 200
    end(person, token)
    assert send(client, secret).status_code == 401


def test_a_known_beginning_gets_few_guesses(client, settings, person):
    settings.SIGN_IN_ATTEMPTS = 3
    token, secret = make_token(person)
    wrong = secret[:15] + "0" * 49
    assert [send(client, wrong).status_code for _ in range(5)] == [401, 401, 401, 429, 429]
    assert int(send(client, wrong)["Retry-After"]) > 0
    assert send(client, secret).status_code == 429
    assert send(client, make_token(person, "other")[1]).status_code == 200
    refused = AuditEvent.objects.filter(action="token.refused")
    assert list(refused.values_list("object_id", flat=True)) == [token.public_id] * 3


def test_the_time_of_last_use_is_kept(client, person):
    token, secret = make_token(person)
    assert token.last_used_at is None
    send(client, secret)
    token.refresh_from_db()
    assert timezone.now() - token.last_used_at < timedelta(minutes=1)


def test_so_many_and_no_more(person):
    for number in range(MOST):
        make_token(person, f"script {number}")
    with pytest.raises(TokenRefused, match="At most 10"):
        make_token(person)
    ApiToken.objects.filter(label="script 3").update(expiry=timezone.now())
    make_token(person)


@pytest.mark.parametrize("label", ["", "  ", "x" * 101, "a\x00b"])
def test_a_label_is_needed(person, label):
    with pytest.raises(TokenRefused):
        make_token(person, label)


def test_a_one_time_password_makes_no_token(person):
    User.objects.update(must_change_password=True)
    with pytest.raises(TokenRefused):
        issue_token(user=User.objects.get(pk=person.pk), label="script", by=None)


def test_a_token_is_its_persons_alone(person):
    other = factories.make_user()
    token, _ = make_token(person)
    with pytest.raises(NotAllowed):
        issue_token(user=person, label="script", by=other)
    with pytest.raises(NotAllowed):
        revoke_token(token=token, by=other)


def test_making_and_ending_are_in_the_trail(person):
    token, _ = make_token(person)
    revoke_token(token=token, by=person)
    events = AuditEvent.objects.filter(object_id=token.public_id).order_by("id")
    assert [(e.action, e.actor) for e in events] == [
        ("token.issue", person),
        ("token.revoke", person),
    ]


def test_the_page_shows_a_new_token_once(client, person):
    client.force_login(person)
    made = client.post("/api-tokens/", {"label": "<b>nightly"})
    (token,) = find_tokens(person)
    assert made.content.count(token.token_key.encode()) == 2
    again = client.get("/api-tokens/")
    assert b"&lt;b&gt;nightly" in again.content
    assert b"<b>nightly" not in again.content
    assert again.content.count(token.token_key.encode()) == 1
    assert "no-store" in made["Cache-Control"]
    assert client.post("/api-tokens/", {"label": ""}).status_code == 400
    client.post("/api-tokens/revoke/", {"token": token.public_id})
    assert not find_tokens(person).exists()


def test_the_command_issues_lists_and_revokes(client, person):
    out, messages = StringIO(), StringIO()
    call_command("api_token", person.username, "--label", "cron", stdout=out, stderr=messages)
    secret = out.getvalue().strip()
    assert send(client, secret).status_code == 200
    assert "not shown again" in messages.getvalue()
    listed = StringIO()
    call_command("api_token", person.username, "--list", stdout=listed)
    assert "cron" in listed.getvalue()
    assert secret not in listed.getvalue()
    call_command("api_token", person.username, "--revoke", secret[:15], stdout=StringIO())
    assert send(client, secret).status_code == 401
    with pytest.raises(CommandError):
        call_command("api_token", person.username, "--revoke", secret[:15])
    with pytest.raises(CommandError):
        call_command("api_token", "nobody-there")


def test_superusers_make_no_tokens_for_others_on_the_admin_site(client):
    client.force_login(User.objects.create(username="root", is_superuser=True, is_staff=True))
    assert client.get("/admin/accounts/apitoken/").status_code == 404
    assert client.get("/admin/knox/authtoken/").status_code == 404
