"""Limits of sign-ins for an address and in all, known browsers, the gate.

Nobody can lock out somebody else, and no number of failures fills the trail.
"""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.db import connection
from django.test import Client, RequestFactory

from accounts.models import AuditEvent, SignInAttempts, User
from accounts.requests.counting import Limit, delete_ended, give_back, make_key, spend
from accounts.requests.limits import TooManyRequests
from accounts.sign_in import gate, throttle
from accounts.sign_in.gate import Gate
from accounts.tasks import delete_ended_counts
from jobs.leases.clock import database_time
from tests.integration.accounts.test_sign_in import PASSWORD, attempt

pytestmark = pytest.mark.django_db


@pytest.fixture
def person(db):
    return User.objects.create_user(username="ada", password=PASSWORD)


@pytest.fixture(autouse=True)
def limits(settings):
    settings.SIGN_IN_ADDRESS_ATTEMPTS, settings.SIGN_IN_TOTAL_ATTEMPTS = 8, 12


def guess_at_names(count, address="10.0.0.1", prefix="name"):
    client = Client()
    return [
        "Too many" in attempt(client, "guess", f"{prefix}{n}", address).text for n in range(count)
    ]


def test_different_names_from_one_address_are_limited(person):
    assert guess_at_names(10) == [False] * 7 + [True] * 3
    assert "Try again in 15 minutes" in attempt(Client(), PASSWORD).text
    assert attempt(Client(), PASSWORD, address="10.0.0.2").status_code == 302


def test_different_names_and_addresses_are_limited_in_all(person):
    answers = [guess_at_names(1, f"10.0.1.{n}", f"n{n}")[0] for n in range(14)]
    assert answers == [False] * 11 + [True] * 3


def test_a_known_browser_is_not_locked_out_by_others(person):
    own = Client()
    assert attempt(own, PASSWORD).status_code == 302
    own.post("/sign-out/")
    # Of the same address: guesses at this name, at others, and from everywhere.
    for n in range(10):
        attempt(Client(), "guess")
        attempt(Client(), "guess", f"other{n}")
        attempt(Client(), "guess", "ada", f"10.0.2.{n}")
    assert "Too many" in attempt(Client(), PASSWORD).text
    assert attempt(own, PASSWORD).status_code == 302


def test_a_known_browser_has_five_guesses_like_any_other(person):
    own = Client()
    attempt(own, PASSWORD)
    own.post("/sign-out/")
    assert ["Too many" in attempt(own, "guess").text for _ in range(6)] == [False] * 4 + [True] * 2


def test_the_mark_of_a_browser_is_worth_nothing_for_another_name(person):
    User.objects.create_user(username="grace", password=PASSWORD)
    own = Client()
    attempt(own, PASSWORD)
    own.post("/sign-out/")
    guess_at_names(10)
    assert "Too many" in attempt(own, PASSWORD, "grace").text
    (name,) = (name for name in own.cookies if name.startswith("known_"))
    forged = Client()
    forged.cookies[name] = own.cookies[name].value.replace(":", "x:", 1)
    assert "Too many" in attempt(forged, PASSWORD).text


def test_the_mark_says_nothing_and_is_out_of_reach_of_scripts(person, settings):
    settings.HTTPS, settings.SECURE_SSL_REDIRECT = True, False
    cookies = attempt(Client(), PASSWORD).cookies
    (cookie,) = (cookie for name, cookie in cookies.items() if name.startswith("known_"))
    assert (cookie["httponly"], cookie["secure"], cookie["samesite"]) == (True, True, "Lax")
    assert "ada" not in f"{cookie.key}{cookie.value.partition(':')[0]}"
    assert int(cookie["max-age"]) == 180 * 24 * 3600


def test_a_success_gives_its_own_attempt_back_to_the_address(person):
    for _ in range(20):
        assert attempt(Client(), PASSWORD).status_code == 302
    assert guess_at_names(8) == [False] * 7 + [True]


def test_a_network_of_ipv6_counts_as_one_address(person):
    answers = [guess_at_names(1, f"2001:db8::{n:x}", f"n{n}")[0] for n in range(9)]
    assert answers == [False] * 7 + [True] * 2
    assert attempt(Client(), PASSWORD, address="2001:db8:0:1::1").status_code == 302


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::ffff:10.0.0.1", "::ffff:10.0.0.1"),
        ("2001:db8::1", "2001:db8::/64"),
        ("", ""),
        ("nonsense", "nonsense"),
    ],
)
def test_networks(address, network):
    assert throttle.client_network(RequestFactory().get("/", REMOTE_ADDR=address)) == network


# The trail.


def failures():
    found = AuditEvent.objects.filter(action="session.sign_in_failed").order_by("pk")
    return [(e.detail["failures"], e.detail["locked"], e.actor_id) for e in found]


def test_a_client_that_goes_on_for_ever_does_not_fill_the_trail(person):
    for _ in range(100):
        attempt(Client(), "guess")
    counts = [1, 2, 4, 5, 8, 16, 32, 64]
    assert failures() == [(n, n >= 5, person.pk) for n in counts]


def test_names_that_are_none_are_counted_for_their_address(person):
    guess_at_names(100)
    assert failures() == [(n, n >= 8, None) for n in (1, 2, 4, 8, 16, 32, 64)]


# The gate.


def test_no_more_passwords_are_checked_at_once_than_the_gate_admits(monkeypatch):
    monkeypatch.setattr(gate, "PATIENCE_SECONDS", 0.2)
    passage, inside, most = Gate(2), [0], [0]
    release, lock = threading.Event(), threading.Lock()

    def enter(number):
        try:
            with passage.enter(f"address {number}"):
                with lock:
                    inside[0] += 1
                    most[0] = max(most[0], inside[0])
                release.wait(5)
                with lock:
                    inside[0] -= 1
            return "checked"
        except TooManyRequests as error:
            return error.wait

    with ThreadPoolExecutor(12) as pool:
        answers = [pool.submit(enter, n) for n in range(12)]
        time.sleep(0.6)
        release.set()
        answers = [answer.result() for answer in answers]
    assert (answers.count("checked"), answers.count(gate.RETRY_SECONDS)) == (2, 10)
    assert most == [2]
    with passage.enter("later"):
        pass


def test_those_who_wait_get_their_turn():
    passage = Gate(1)

    def enter(number):
        with passage.enter(f"address {number}"):
            time.sleep(0.05)
            return True

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(enter, range(4))) == [True] * 4


def test_one_address_leaves_a_place_to_others(monkeypatch):
    monkeypatch.setattr(gate, "PATIENCE_SECONDS", 0.5)
    passage, release = Gate(1), threading.Event()

    def enter(address):
        try:
            with passage.enter(address):
                return release.wait(5)
        except TooManyRequests:
            return False

    with ThreadPoolExecutor(8) as pool:
        flood = [pool.submit(enter, "10.0.0.1") for _ in range(6)]
        time.sleep(0.1)
        other = pool.submit(enter, "10.0.0.2")
        time.sleep(0.1)
        release.set()
        assert other.result()
        assert [answer.result() for answer in flood].count(True) == 3


@pytest.mark.django_db(transaction=True)
def test_a_busy_server_asks_to_come_again_and_counts_nothing(person, monkeypatch):
    def refuse(self, address):
        raise TooManyRequests(5)

    monkeypatch.setattr(Gate, "enter", refuse)
    answer = attempt(Client(), PASSWORD)
    assert (answer.status_code, answer["Retry-After"]) == (429, "5")
    assert "Too many requests at once" in answer.text
    assert set(SignInAttempts.objects.values_list("count", flat=True)) == {0}
    assert not AuditEvent.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_flood_of_sign_ins_checks_one_password_at_a_time(person, monkeypatch, settings):
    settings.SIGN_IN_ADDRESS_ATTEMPTS = settings.SIGN_IN_TOTAL_ATTEMPTS = 100
    now, most, lock = [0], [0], threading.Lock()

    def check(self, password):
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.05)
        with lock:
            now[0] -= 1
        return False

    monkeypatch.setattr(User, "check_password", check)
    User.objects.bulk_create([User(username=f"u{n}", password="x") for n in range(16)])

    def send(number):
        try:
            return attempt(Client(), "guess", f"u{number}", f"10.0.3.{number}").status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(16) as pool:
        statuses = list(pool.map(send, range(16)))
    assert most == [1]
    assert set(statuses) <= {200, 429}
    assert statuses.count(200) >= 1


def test_a_check_lets_other_threads_run():
    """Hashing releases the interpreter's lock: pages are answered meanwhile."""
    ticks, done = [0], threading.Event()

    def tick():
        while not done.is_set():
            ticks[0] += 1
            time.sleep(0.001)

    other = threading.Thread(target=tick)
    other.start()
    PBKDF2PasswordHasher().encode("password", "saltsaltsaltsaltsaltsalt")
    done.set()
    other.join()
    assert ticks[0] > 20


# Counting.


def test_a_window_is_fixed_or_renewed():
    fixed, renewed = Limit(3, 100), Limit(3, 100, renewed=True)
    for limit, moves in ((fixed, False), (renewed, True)):
        key = make_key(str(limit))
        spend(key, limit)
        SignInAttempts.objects.filter(key=key).update(window_ends_at=database_time_in(10))
        assert (spend(key, limit).seconds > 50) is moves


def database_time_in(seconds):
    return database_time(timedelta(seconds=seconds))


def test_counts():
    limit = Limit(2, 100)
    key = make_key("a", "b")
    found = [spend(key, limit) for _ in range(3)]
    assert [count.count for count in found] == [1, 2, 3]
    assert [count.allowed for count in found] == [True, True, False]
    assert [count.wait > 0 for count in found] == [False, True, True]
    give_back(key)
    assert spend(key, limit).count == 3
    assert make_key("a", "b") != make_key("ab")


def test_counts_of_windows_that_have_ended_are_deleted():
    for word in ("old", "new"):
        spend(make_key(word), Limit(5, 100))
    SignInAttempts.objects.filter(key=make_key("old")).update(window_ends_at=database_time_in(-1))
    delete_ended_counts()
    assert list(SignInAttempts.objects.values_list("key", flat=True)) == [make_key("new")]
    assert delete_ended() == 0
