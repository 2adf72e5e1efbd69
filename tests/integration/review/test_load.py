"""Fifty reviewers at once over real HTTP against a real gunicorn.

Quotas are met, no slot is given twice, nothing is lost. Some clients lose their connection after
sending an answer and send it again; some send each answer twice; some work on two devices; some
wait over an item until their lease has run out and somebody else has answered it.
"""

from __future__ import annotations

import http.client
import json
import random
import re
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from django.conf import settings
from django.test import Client

from adjudication.models import Assignment, Decision, PacketItem, Slot
from adjudication.packets.chain.verification import find_faults
from config.services.processes import wait_until
from jobs.leases.clock import database_time
from tests.worlds.reviewing import Review, open_review

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.timeout(1800)]

REVIEWERS = 50
SLEEPERS = 5
CSRF = "c" * 32
ANSWERS = ("A", "B", "BOTH", "NEITHER", "UNCLEAR", "NOT_A_FINDING")
ITEM = re.compile(r'data-item="([^"]+)"\s+data-url="([^"]+)"')


@dataclass
class Reviewer:
    """One person with a session and a log of the server's responses.

    The person has as many connections as devices.
    """

    port: int
    assignment: Assignment
    number: int
    handed: list[str] = field(default_factory=list)
    acknowledged: dict[str, str] = field(default_factory=dict)
    late: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    seconds: list[tuple[str, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        client = Client()
        client.force_login(self.assignment.person)
        self.cookie = f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}; csrftoken={CSRF}"
        self.base = f"/review/{self.assignment.public_id}/"
        self.chance = random.Random(self.number)

    def work(self) -> None:
        """Until nothing is left: take what comes, answer it."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        while (item := self.take(connection)) is not None:
            self.answer(connection, *item)
        connection.close()

    def take(self, connection: http.client.HTTPConnection) -> tuple[str, str] | None:
        """Return the next item's id and address; None if none is left."""
        status, body = self.post(connection, "next", f"{self.base}next/", {"besides": []})
        assert status == 200, body
        found = ITEM.search(str(body.get("html", "")))
        if found is None:
            return None
        self.handed.append(found[1])
        return found[1], found[2]

    def answer(self, connection: http.client.HTTPConnection, item: str, address: str) -> None:
        """Answer once or twice, sometimes on a connection that breaks first."""
        token = f"t-{self.number}-{item}"
        body = {
            "token": token,
            "answer": self.chance.choice(ANSWERS),
            "comment": f"by {self.number}",
            "active_seconds": 1.5,
        }
        if self.chance.random() < 0.15:
            self.break_off(f"{address}decide/", body)
        if self.chance.random() < 0.15:
            self.record_answer(item, *self.post(connection, "again", f"{address}decide/", body))
        self.record_answer(item, *self.post(connection, "decide", f"{address}decide/", body))

    def record_answer(self, item: str, status: int, body: dict[str, object]) -> None:
        assert status in (200, 409), body
        if status == 409:
            self.conflicts.append(item)
        elif body["late"]:
            self.late.append(item)
        else:
            self.acknowledged[item] = f"t-{self.number}-{item}"

    def post(
        self, connection: http.client.HTTPConnection, name: str, path: str, body: object
    ) -> tuple[int, dict[str, object]]:
        started = time.perf_counter()
        connection.request("POST", path, json.dumps(body), self.headers())
        answer = connection.getresponse()
        text = answer.read()
        self.seconds.append((name, time.perf_counter() - started))
        assert answer.headers["Content-Type"].startswith("application/json"), (
            answer.status,
            text[:300],
        )
        return answer.status, json.loads(text)

    def break_off(self, path: str, body: object) -> None:
        """Send, and hang up without reading the reply."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        connection.request("POST", path, json.dumps(body), self.headers())
        connection.close()

    def headers(self) -> dict[str, str]:
        return {"Cookie": self.cookie, "X-CSRFToken": CSRF, "Content-Type": "application/json"}


@pytest.fixture
def review() -> Review:
    """An open packet, two people an item, fifty reviewers."""
    return open_review(cases=6, per_item=2, reviewers=REVIEWERS)


@pytest.fixture
def port(process_environment: dict[str, str], review: Review, tmp_path) -> Iterator[int]:
    """A gunicorn of its own over the test's database."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        free: int = probe.getsockname()[1]
    environment = {
        **process_environment,
        "PORT": str(free),
        "WEB_PROCESSES": "2",
        "WEB_THREADS": "8",
    }
    command = [
        sys.executable,
        "-m",
        "gunicorn",
        "--config",
        "python:config.gunicorn",
        "config.wsgi",
    ]
    with (tmp_path / "gunicorn.log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=settings.BASE_DIR, env=environment, stdout=log, stderr=log
        )
    try:
        assert wait_until(lambda: answers(free), seconds=180), (
            tmp_path / "gunicorn.log"
        ).read_text()
        yield free
    finally:
        process.terminate()
        process.wait(30)


def answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        connection.request("GET", "/sign-in/")
        return connection.getresponse().status < 500
    except OSError:
        return False
    finally:
        connection.close()


@pytest.mark.deep
def test_fifty_reviewers_at_once(
    review: Review, port: int, capsys: pytest.CaptureFixture[str]
) -> None:
    people = [
        Reviewer(port, assignment, number) for number, assignment in enumerate(review.assignments)
    ]
    sleepers, awake = people[:SLEEPERS], people[SLEEPERS:]
    asleep = fall_asleep(sleepers, review)
    took = work_all(awake)
    for sleeper, (item, address) in zip(sleepers, asleep, strict=True):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        sleeper.record_answer(
            item,
            *sleeper.post(
                connection, "late", f"{address}decide/", {"token": f"late-{item}", "answer": "A"}
            ),
        )
        connection.close()
    check_quotas(review)
    check_hands(review, awake)
    check_nothing_is_lost(review, awake, sleepers, asleep)
    assert find_faults(review.packet) == []
    with capsys.disabled():
        print(figures(people, took))


def fall_asleep(sleepers: list[Reviewer], review: Review) -> list[tuple[str, str]]:
    """Each takes an item; then their leases run out by the database's clock."""
    taken = []
    for sleeper in sleepers:
        connection = http.client.HTTPConnection("127.0.0.1", sleeper.port, timeout=120)
        item = sleeper.take(connection)
        assert item is not None
        taken.append(item)
        connection.close()
    leased = Slot.objects.filter(item__packet=review.packet, lease_expires_at__isnull=False)
    assert leased.update(lease_expires_at=database_time(timedelta(seconds=-1))) == len(sleepers)
    return taken


def work_all(people: list[Reviewer]) -> float:
    """Let everyone begin at once; return the seconds to the last reply.

    Every tenth person works on two devices.
    """
    devices = [*people, *people[::10]]
    barrier = threading.Barrier(len(devices))

    def begin(person: Reviewer) -> None:
        barrier.wait()
        person.work()

    started = time.perf_counter()
    with ThreadPoolExecutor(len(devices)) as pool:
        for done in [pool.submit(begin, person) for person in devices]:
            done.result()
    return time.perf_counter() - started


def check_quotas(review: Review) -> None:
    """Check that every slot is decided, within its quota.

    No person has the same item twice.
    """
    slots = Slot.objects.filter(item__packet=review.packet, purpose=Slot.Purpose.REVIEW)
    assert not slots.filter(decision__isnull=True).exists()
    standing: dict[int, list[int]] = defaultdict(list)
    for pk, person in slots.values_list("item", "decision__assignment"):
        standing[pk].append(person)
    for item in PacketItem.objects.filter(packet=review.packet):
        assert len(standing[item.pk]) == item.quota == len(set(standing[item.pk]))


def check_hands(review: Review, awake: list[Reviewer]) -> None:
    """Check that no item was given to more people than it has slots.

    A person who received one (and did not sleep) has decided on it.
    """
    hands = Counter(item for person in awake for item in set(person.handed))
    quotas = dict(PacketItem.objects.filter(packet=review.packet).values_list("public_id", "quota"))
    assert dict(hands) == quotas


def check_nothing_is_lost(
    review: Review, awake: list[Reviewer], sleepers: list[Reviewer], asleep: list[tuple[str, str]]
) -> None:
    """Check that acknowledged answers are stored once, late ones as late."""
    stored = Counter(
        Decision.objects.filter(packet=review.packet, kind="answer").values_list("token", flat=True)
    )
    acknowledged = {token for person in awake for token in person.acknowledged.values()}
    assert set(stored) == acknowledged
    assert set(stored.values()) == {1}
    assert sum(item.quota for item in review.items) == len(acknowledged)
    assert [sleeper.late for sleeper in sleepers] == [[item] for item, _ in asleep]
    late = Decision.objects.filter(packet=review.packet, kind="late").values_list(
        "item__public_id", "token"
    )
    assert sorted(late) == sorted((item, f"late-{item}") for item, _ in asleep)


def figures(people: list[Reviewer], took: float) -> str:
    """Throughput and latencies as a line each."""
    times: dict[str, list[float]] = defaultdict(list)
    for person in people:
        for name, seconds in person.seconds:
            times[name].append(seconds * 1000)
    decided = sum(len(person.acknowledged) for person in people)
    lines = [
        f"\n{REVIEWERS} reviewers, {decided} decisions in {took:.1f} s: {decided / took:.1f} a second"
    ]
    for name, found in times.items():
        p95 = statistics.quantiles(found, n=20)[-1] if len(found) > 1 else found[0]
        lines.append(
            f"  {name}: {len(found)} requests, median {statistics.median(found):.0f} ms, p95 {p95:.0f} ms"
        )
    return "\n".join(lines)


@pytest.mark.deep
def test_a_place_that_falls_free_is_taken_by_one_of_many(review: Review, port: int) -> None:
    """One slot is left and everyone asks for it at once: one person gets it."""
    people = [
        Reviewer(port, assignment, number) for number, assignment in enumerate(review.assignments)
    ]
    first, second = review.assignments[0], review.assignments[1]
    left = Slot.objects.filter(item__packet=review.packet).first()
    assert left is not None
    Slot.objects.filter(item=left.item).exclude(pk=left.pk).update(assignment=first)
    others = PacketItem.objects.filter(packet=review.packet).exclude(pk=left.item_id)
    for number, holder in ((1, first), (2, second)):
        Slot.objects.filter(item__in=others, number=number).update(
            assignment=holder, lease_expires_at=database_time(timedelta(minutes=9))
        )
    Slot.objects.filter(assignment=first, lease_expires_at__isnull=True).update(
        lease_expires_at=database_time(timedelta(minutes=9))
    )
    barrier = threading.Barrier(len(people) - 2)

    def ask(person: Reviewer) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        barrier.wait()
        person.take(connection)
        connection.close()

    with ThreadPoolExecutor(len(people)) as pool:
        for done in [pool.submit(ask, person) for person in people[2:]]:
            done.result()
    assert [p.handed for p in people if p.handed] == [[left.item.public_id]]
