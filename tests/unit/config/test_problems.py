"""The sentences of the operator's page."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.wording import describe_duration
from config.backups.history import Backup
from config.health.installation import Disk, Messages, Trail
from config.operations.problems import find_problems
from config.operations.state import BrokerState, QueueLine, State
from jobs.health.stuck import FAILED, LOST, StuckJob


def ago(**parts):
    return timezone.now() - timedelta(**parts)


def made(hours):
    """Return a good backup of so many hours ago."""
    return Backup(ago(hours=hours), True, "one")


@pytest.fixture
def state() -> State:
    """Return the state of an installation that runs well."""
    return State(
        broker=BrokerState(workers=(), messages={}, swept=ago(seconds=10)),
        queues=(QueueLine("generate", jobs=3, messages=2, workers=1),),
        waiting=(),
        stuck=(),
        disks=(Disk("files", free=5 * 10**9, total=10**10),),
        backup=made(20),
        good_backup=made(20),
        trail=Trail(7, ago(hours=1)),
        messages=Messages(waiting=1, oldest=timedelta(minutes=1), given_up=0, failed_deliveries=0),
        versions={},
        missing_migrations=0,
    )


def test_what_runs_needs_no_sentence(state):
    assert find_problems(state) == []


STUCK = StuckJob("Game", 1, LOST, "", None, None)
NO_ONE = QueueLine("generate", jobs=12, messages=0, workers=0)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"queues": (NO_ONE,)},
            "No worker for `generate`. 12 jobs wait. Start a worker of this queue.",
        ),
        (
            {"queues": (replace(NO_ONE, jobs=0, messages=1),)},
            "No worker for `generate`. 1 message waits. Start a worker of this queue.",
        ),
        (
            {"broker": None, "queues": ()},
            "The broker does not answer. Workers get no work until it does.",
        ),
        ({"missing_migrations": 2}, "2 migrations not applied. Run manage.py migrate."),
        (
            {"stuck": (STUCK, replace(STUCK, why=FAILED))},
            "1 job lost the worker and nothing took over.",
        ),
        ({"disks": (Disk("files", 5, 10**10),)}, "The disk of the files is almost full."),
        (
            {"backup": None, "good_backup": None},
            "No backup was made yet. Run manage.py backup.",
        ),
        (
            {"messages": Messages(3, timedelta(hours=2), 0, 0)},
            "3 mails not sent yet. Check EMAIL_HOST.",
        ),
        (
            {"messages": Messages(0, None, 1, 0)},
            "1 mail could not be sent and was given up.",
        ),
        (
            {"messages": Messages(0, None, 0, 2)},
            "2 webhook messages not accepted by the receiver.",
        ),
    ],
)
def test_each_problem_has_its_sentence(state, changes, sentence):
    assert find_problems(replace(state, **changes)) == [sentence]


def test_a_queue_without_work_needs_no_worker(state):
    assert find_problems(replace(state, queues=(QueueLine("judge", 0, 0, 0),))) == []


def test_an_old_backup_is_named(state):
    (sentence,) = find_problems(replace(state, backup=made(49), good_backup=made(49)))
    assert sentence == "The last backup is 2 days old."


@pytest.mark.parametrize("hours", [2, None])
def test_a_failed_backup_is_named_with_its_reason(state, hours):
    good = None if hours is None else made(hours)
    failed = Backup(ago(hours=1), False, "two", reason="The disk is full.")
    (sentence,) = find_problems(replace(state, backup=failed, good_backup=good))
    assert sentence == "The last backup failed. The disk is full."


@pytest.mark.parametrize(
    ("swept", "words"),
    [(None, "The sweeper has not run."), (5, "The sweeper ran 5 min ago.")],
)
def test_a_missing_scheduler_is_named(state, swept, words):
    at = None if swept is None else ago(minutes=swept, seconds=1)
    (sentence,) = find_problems(replace(state, broker=replace(state.broker, swept=at)))
    assert sentence.startswith(words)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (59.9, "59 s"),
        (60, "1 min"),
        (3600, "1 h"),
        (172799, "47 h"),
        (172800, "2 days"),
    ],
)
def test_durations_in_words(seconds, words):
    assert describe_duration(timedelta(seconds=seconds)) == words
