"""Second steps of a sign-in: apps, recovery codes, who must have one."""

from __future__ import annotations

import time

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import hotp_value
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.test import Client

from accounts.actions import NotAllowed
from accounts.models import AuditEvent, Role, User
from accounts.second_step.actions import remove_second_steps
from tests.factories import PASSWORD, make_study, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def clean_cache():
    """The library notes used codes there."""
    cache.clear()


@pytest.fixture
def person(db):
    return make_user(make_study(), Role.ADMIN, username="ada")


def make_code(secret: str, steps: int = 0) -> str:
    """RFC 6238: six digits of the current 30 seconds."""
    return f"{hotp_value(secret, int(time.time()) // 30 + steps):06d}"


def start(username: str = "ada", address: str = "10.0.0.1") -> tuple[Client, object]:
    client = Client(REMOTE_ADDR=address)
    return client, client.post("/sign-in/", {"username": username, "password": PASSWORD})


def set_up_app(client: Client) -> str:
    """Set up an app for the signed-in person; return its secret."""
    assert client.get("/second-step/app/")["Location"].startswith("/second-step/password/?next=")
    answer = client.post("/second-step/password/?next=/second-step/app/", {"password": PASSWORD})
    assert answer["Location"] == "/second-step/app/"
    secret = client.get("/second-step/app/").context["form"].secret
    answer = client.post("/second-step/app/", {"code": make_code(secret, -1)})
    assert answer["Location"] == "/second-step/codes/"
    return secret


def is_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


def actions() -> list[str]:
    return list(AuditEvent.objects.order_by("pk").values_list("action", flat=True))


def test_the_known_values_of_the_algorithm():
    """Appendix D of RFC 4226."""
    secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
    assert [hotp_value(secret, n) for n in range(3)] == [755224, 287082, 359152]


def test_after_the_password_the_sign_in_asks_for_the_code(person):
    client, _ = start()
    secret = set_up_app(client)
    other, answer = start()
    assert (answer["Location"], is_in(other)) == ("/sign-in/second-step/", False)
    assert other.get("/")["Location"].startswith("/sign-in/?next=")
    page = other.post("/sign-in/second-step/", {"code": "000000"})
    assert (page.status_code, is_in(other)) == (200, False)
    assert "Incorrect code" in page.text
    assert other.post("/sign-in/second-step/", {"code": make_code(secret)})["Location"] == "/"
    assert is_in(other)
    assert actions()[-2:] == ["session.second_step_failed", "session.sign_in"]
    assert AuditEvent.objects.order_by("pk").last().detail == {"ways": "password mfa"}


def test_the_address_that_was_wanted_is_opened_after_the_code(person):
    client, _ = start()
    secret = set_up_app(client)
    other = Client()
    other.post("/sign-in/?next=/help/", {"username": "ada", "password": PASSWORD})
    answer = other.post("/sign-in/second-step/", {"code": make_code(secret)})
    assert answer["Location"] == "/help/"


def test_the_second_step_is_no_way_around_the_password(person):
    client, _ = start()
    secret = set_up_app(client)
    other = Client()
    assert other.get("/sign-in/second-step/")["Location"] == "/sign-in/"
    other.post("/sign-in/", {"username": "ada", "password": "wrong"})
    answer = other.post("/sign-in/second-step/", {"code": make_code(secret)})
    assert (answer["Location"], is_in(other)) == ("/sign-in/", False)


def test_a_code_counts_once_whichever_process_answers(person):
    client, _ = start()
    secret = set_up_app(client)
    code = make_code(secret)
    for expected in (True, False):
        other, _ = start()
        other.post("/sign-in/second-step/", {"code": code})
        assert is_in(other) is expected
        cache.clear()  # as in another process


def test_guessing_codes_is_throttled_for_that_address_alone(person):
    client, _ = start()
    secret = set_up_app(client)
    other, _ = start()
    pages = [other.post("/sign-in/second-step/", {"code": f"00000{n}"}) for n in range(6)]
    assert ["Too many attempts" in page.text for page in pages] == [False] * 5 + [True]
    other.post("/sign-in/second-step/", {"code": make_code(secret)})
    assert not is_in(other)
    elsewhere, _ = start(address="10.0.0.2")
    elsewhere.post("/sign-in/second-step/", {"code": make_code(secret)})
    assert is_in(elsewhere), "nobody locks the person out from elsewhere"


def test_each_recovery_code_signs_in_once(person):
    client, _ = start()
    set_up_app(client)
    page = client.get("/second-step/codes/")
    codes = page.context["unused_codes"]
    assert (len(codes), codes[0] in page.text) == (10, True)
    for expected in (True, False):
        other, _ = start()
        other.post("/sign-in/second-step/", {"code": codes[0]})
        assert is_in(other) is expected
    client.post("/second-step/codes/new/")
    assert codes[1] not in client.get("/second-step/codes/").context["unused_codes"]


def test_the_app_is_removed_after_the_password(person):
    client, _ = start()
    set_up_app(client)
    client.post("/second-step/app/remove/")
    assert not Authenticator.objects.exists()
    _, answer = start()
    assert answer["Location"] == "/"
    assert actions().count("account.second_step_removed") == 2, "the app and its recovery codes"


def test_changes_ask_for_the_password_again_after_minutes(person, monkeypatch):
    client, _ = start()
    set_up_app(client)
    later = time.time() + 301
    monkeypatch.setattr("allauth.account.internal.flows.reauthentication.time.time", lambda: later)
    answer = client.post("/second-step/app/remove/")
    assert answer["Location"].startswith("/second-step/password/")
    assert Authenticator.objects.count() == 2


@pytest.mark.parametrize(
    ("wanted", "redirected"),
    [
        ("nobody", []),
        ("admins", ["ada", "root"]),
        ("everyone", ["ada", "grace", "root"]),
    ],
)
def test_who_must_set_one_up_first(person, settings, wanted, redirected):
    settings.SECOND_STEP = wanted
    make_user(make_study(), Role.CLINICIAN, username="grace")
    User.objects.create_superuser("root", password=PASSWORD)
    found = []
    for name in ("ada", "grace", "root"):
        client = Client()
        client.force_login(User.objects.get(username=name))
        answer = client.get("/")
        if answer.status_code == 302:
            assert answer["Location"] == "/second-step/"
            assert client.get("/second-step/").status_code == 200
            assert client.get("/api/studies/").status_code == 403
            found.append(name)
    assert found == redirected


def test_who_has_one_goes_on(person, settings):
    settings.SECOND_STEP = "admins"
    client, _ = start()
    assert client.get("/")["Location"] == "/second-step/"
    set_up_app(client)
    assert client.get("/").status_code == 200


def test_an_admin_removes_the_lost_step_of_a_member(person):
    study = person.studies.get()
    member = make_user(study, Role.CLINICIAN, username="grace")
    client, _ = start("grace")
    set_up_app(client)
    stranger = make_user(make_study(), Role.ADMIN)
    with pytest.raises(NotAllowed):
        remove_second_steps(user=member, by=stranger)
    admin = Client()
    admin.force_login(person)
    assert "authenticator app" in admin.get("/study/people/").text
    admin.post("/study/people/remove-second-step/", {"person": member.public_id})
    assert not Authenticator.objects.exists()
    assert actions()[-1] == "account.remove_second_steps"


def test_the_command_line_removes_a_lost_step(person, capsys):
    client, _ = start()
    set_up_app(client)
    call_command("remove_second_step", "ada")
    call_command("remove_second_step", "ada")
    assert capsys.readouterr().out.splitlines() == [
        "The password alone signs in now.",
        "The person has no second step.",
    ]
    assert not Authenticator.objects.exists()
    with pytest.raises(CommandError, match="no account 'bob'"):
        call_command("remove_second_step", "bob")


def test_a_person_without_a_password_sets_none_up(client):
    person = User.objects.create_user("ada", password=None)
    client.force_login(person)
    assert "Set up a second step there" in client.get("/second-step/").text
    for path in ("/second-step/app/", "/second-step/passkey/", "/second-step/password/"):
        assert client.get(path).status_code == 403, path
