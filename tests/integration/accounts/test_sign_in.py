"""Sign-in and sign-out: throttle, session limits, one-time passwords."""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.contrib.auth import authenticate
from django.db import connection
from django.test import Client, RequestFactory
from django.urls import reverse

from accounts.actions import create_account, create_study, reset_password
from accounts.models import AuditEvent, Role, SignInAttempts, User
from accounts.requests import middleware
from accounts.sign_in import backends, throttle
from accounts.sign_in.gate import Gate
from jobs.leases.clock import database_time

pytestmark = pytest.mark.django_db

PASSWORD = "Fifteen-Beige-Lampposts"
SIGN_IN = "/sign-in/"


@pytest.fixture
def person(db):
    return User.objects.create_user(username="ada", password=PASSWORD)


def attempt(client, password, username="ada", address="10.0.0.1", **extra):
    return client.post(
        SIGN_IN, {"username": username, "password": password}, REMOTE_ADDR=address, **extra
    )


def test_signing_in_leads_home_and_out_leads_back(client, person):
    response = attempt(client, PASSWORD)
    assert (response.status_code, response["Location"]) == (302, reverse("home"))
    assert client.get("/").status_code == 200
    assert client.post("/sign-out/")["Location"] == SIGN_IN
    assert client.get("/")["Location"] == f"{SIGN_IN}?next=/"
    assert list(AuditEvent.objects.order_by("id").values_list("action", "actor")) == [
        ("session.sign_in", person.pk),
        ("session.sign_out", person.pk),
    ]


def test_the_page_goes_on_to_our_own_addresses_only(client, person):
    ours = client.post(f"{SIGN_IN}?next=/audit-trail/", {"username": "ada", "password": PASSWORD})
    assert ours["Location"] == "/audit-trail/"
    client.post("/sign-out/")
    theirs = client.post(
        f"{SIGN_IN}?next=https://evil.example/", {"username": "ada", "password": PASSWORD}
    )
    assert theirs["Location"] == reverse("home")


def test_a_wrong_password_and_an_unknown_name_get_the_same_answer(client, person):
    wrong, unknown = attempt(client, "wrong"), attempt(client, "wrong", username="nobody")
    assert "do not match" in wrong.text
    assert wrong.context["form"].non_field_errors() == unknown.context["form"].non_field_errors()


def test_a_deactivated_account_does_not_sign_in_and_is_signed_out(client, person):
    attempt(client, PASSWORD)
    User.objects.filter(pk=person.pk).update(is_active=False)
    assert client.get("/").status_code == 302
    assert attempt(client, PASSWORD).status_code == 200


def test_after_five_failures_even_the_right_password_waits_and_the_page_says_how_long(
    client, person
):
    for _ in range(5):
        attempt(client, "wrong")
    response = attempt(client, PASSWORD)
    assert response.status_code == 200
    assert "Too many attempts. Try again in 15 minutes." in response.text
    assert "_auth_user_id" not in client.session


def test_the_fifth_failure_says_so_already(client, person):
    replies = [attempt(client, "wrong").text for _ in range(5)]
    assert ["Too many" in reply for reply in replies] == [False] * 4 + [True]


def test_further_attempts_do_not_prolong_the_wait(client, person):
    for _ in range(5):
        attempt(client, "wrong")
    before = set(SignInAttempts.objects.values_list("key", "window_ends_at"))
    attempt(client, "wrong")
    assert set(SignInAttempts.objects.values_list("key", "window_ends_at")) == before


def test_the_wait_ends_on_database_time(client, person):
    for _ in range(6):
        attempt(client, "wrong")
    SignInAttempts.objects.update(window_ends_at=database_time(timedelta(seconds=-1)))
    assert attempt(client, PASSWORD).status_code == 302


def test_another_address_and_another_name_are_not_locked(client, person):
    User.objects.create_user(username="grace", password=PASSWORD)
    for _ in range(5):
        attempt(client, "wrong")
    assert attempt(Client(), PASSWORD, address="10.0.0.2").status_code == 302
    assert attempt(Client(), PASSWORD, username="grace").status_code == 302


def test_a_success_forgets_the_failures(client, person):
    for _ in range(4):
        attempt(client, "wrong")
    attempt(client, PASSWORD)
    # Those of the address and of all stay: a person's own success excuses no guesses at others.
    assert sorted(SignInAttempts.objects.values_list("count", flat=True)) == [4, 4]


def test_the_name_counts_however_it_is_written(client, person):
    for name in ("ada", "ADA", " ada", "Ada ", "aDa"):
        attempt(client, "wrong", username=name)
    assert "Too many" in attempt(client, PASSWORD).text


def test_neither_the_counter_nor_the_trail_keeps_what_was_typed_as_a_name(client):
    attempt(client, "x", username="my-secret-password-in-the-wrong-field")
    stored = str(list(SignInAttempts.objects.values())) + str(list(AuditEvent.objects.values()))
    assert "my-secret" not in stored
    detail = {"known_account": False, "locked": False, "failures": 1}
    assert AuditEvent.objects.get().detail == detail


def test_failures_are_in_the_trail_with_the_account(client, person):
    for _ in range(5):
        attempt(client, "wrong")
    events = AuditEvent.objects.filter(action="session.sign_in_failed", actor=person).order_by("id")
    assert [(event.detail["failures"], event.detail["locked"]) for event in events] == [
        (1, False),
        (2, False),
        (4, False),
        (5, True),
    ]


@pytest.mark.django_db(transaction=True)
def test_guesses_sent_at_once_get_no_more_checks_than_guesses_in_turn(person, monkeypatch):
    checked = []
    monkeypatch.setattr(
        User, "check_password", lambda self, password: checked.append(password) or False
    )
    # The gate would ask some of them to come again.
    monkeypatch.setattr(backends, "password_gate", Gate(24))

    def guess(number):
        try:
            return authenticate(
                RequestFactory().post(SIGN_IN, REMOTE_ADDR="10.0.0.1"),
                username="ada",
                password=f"guess-{number}",
            )
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(guess, range(24))) == [None] * 24
    assert len(checked) == 5


def test_behind_a_proxy_the_address_is_what_the_proxy_appended(settings):
    request = RequestFactory().get(
        "/", REMOTE_ADDR="10.0.0.9", HTTP_X_FORWARDED_FOR="1.2.3.4, 5.6.7.8"
    )
    assert throttle.client_address(request) == "10.0.0.9"
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    assert throttle.client_address(request) == "5.6.7.8"


def test_the_admin_site_has_no_door_of_its_own(client, person):
    assert client.get("/admin/login/")["Location"].startswith(SIGN_IN)
    client.post("/admin/login/", {"username": "ada", "password": PASSWORD})
    assert "_auth_user_id" not in client.session


# Sessions.


def age(client, mark, seconds):
    session = client.session
    session[mark] = time.time() - seconds
    session.save()


def test_a_session_ends_after_half_an_hour_without_a_request(client, person, settings):
    attempt(client, PASSWORD)
    client.get("/")
    age(client, middleware.ACTIVE, settings.SESSION_COOKIE_AGE - 5)
    assert client.get("/").status_code == 200
    age(client, middleware.ACTIVE, settings.SESSION_COOKIE_AGE + 5)
    assert client.get("/").status_code == 302
    assert AuditEvent.objects.filter(action="session.sign_out", actor=person).exists()


def test_a_polling_fragment_does_not_keep_an_unattended_session_alive(client, person, settings):
    attempt(client, PASSWORD)
    client.get("/")
    age(client, middleware.ACTIVE, settings.SESSION_COOKIE_AGE - 1)
    before = client.session[middleware.ACTIVE]
    assert client.get("/", headers={middleware.BACKGROUND_HEADER: "1"}).status_code == 200
    assert client.session[middleware.ACTIVE] == before
    client.get("/")
    assert client.session[middleware.ACTIVE] > before


def test_a_session_ends_after_a_working_day_however_busy(client, person, settings):
    attempt(client, PASSWORD)
    client.get("/")
    age(client, middleware.STARTED, settings.SESSION_LONGEST_HOURS * 3600 + 5)
    assert client.get("/").status_code == 302


def test_the_cookie_ends_with_the_browser_and_is_out_of_reach_of_scripts(client, person):
    cookie = attempt(client, PASSWORD).cookies["sessionid"]
    assert (cookie["max-age"], cookie["expires"]) == ("", "")
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"


def test_signing_in_changes_the_session_key(client, person):
    client.get(SIGN_IN)
    session = client.session
    session["before"] = 1
    session.save()
    client.cookies["sessionid"] = session.session_key
    attempt(client, PASSWORD)
    assert client.session.session_key != session.session_key


def test_a_fragment_whose_session_ended_reloads_its_page(client):
    response = client.get(SIGN_IN, headers={"HX-Request": "true"})
    assert (response["HX-Refresh"], response.content) == ("true", b"")


# Passwords.


@pytest.fixture
def new_person(db):
    study = create_study(name="Cohort", by=None)
    return create_account(username="grace", study=study, role=Role.CLINICIAN, by=None)


def test_a_one_time_password_opens_only_the_page_that_replaces_it(client, new_person):
    _, password = new_person
    attempt(client, password, username="grace")
    assert client.get("/")["Location"] == "/password/"
    assert client.get("/api/schema/").status_code == 403
    assert client.get("/password/").status_code == 200
    new = {"old_password": password, "new_password1": PASSWORD, "new_password2": PASSWORD}
    assert client.post("/password/", new)["Location"] == "/"
    assert client.get("/").status_code == 200
    assert AuditEvent.objects.filter(action="account.change_password").count() == 1


@pytest.mark.parametrize(
    ("old", "first", "second", "words"),
    [
        ("wrong", PASSWORD + "x", PASSWORD + "x", "Wrong password"),
        (PASSWORD, PASSWORD + "x", PASSWORD + "y", "password fields didn’t match"),
        (PASSWORD, "short", "short", "at least 12 characters"),
        (PASSWORD, "password1234", "password1234", "too common"),
        (PASSWORD, PASSWORD, PASSWORD, "is the old one"),
    ],
)
def test_a_bad_new_password_is_refused_with_the_reason(client, person, old, first, second, words):
    client.force_login(person)
    response = client.post(
        "/password/", {"old_password": old, "new_password1": first, "new_password2": second}
    )
    assert response.status_code == 200
    assert words in str(response.context["form"].errors)
    person.refresh_from_db()
    assert person.check_password(PASSWORD)


def test_changing_the_password_ends_the_other_sessions(client, person):
    other = Client()
    for one in (client, other):
        attempt(one, PASSWORD)
    new = {
        "old_password": PASSWORD,
        "new_password1": PASSWORD + "!",
        "new_password2": PASSWORD + "!",
    }
    client.post("/password/", new)
    assert client.get("/").status_code == 200
    assert other.get("/").status_code == 302


def test_a_reset_ends_every_session(client, person):
    attempt(client, PASSWORD)
    password = reset_password(user=person, by=None)
    assert client.get("/").status_code == 302
    assert attempt(client, password)["Location"] == "/"
    assert client.get("/")["Location"] == "/password/"
