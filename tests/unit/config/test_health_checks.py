"""Checks of readiness: at once, within a limit, never twice at a time."""

import threading
import time

import pytest

from config.health import checks
from config.health.checks import Checker, NotReady


def passes() -> None:
    pass


def fails() -> None:
    raise NotReady("no")


@pytest.fixture(autouse=True)
def limits(monkeypatch):
    monkeypatch.setattr(checks, "PATIENCE", 0.2)
    monkeypatch.setattr(checks, "REUSED_SECONDS", 0.0)


def test_each_check_is_named():
    assert Checker({"a": passes, "b": fails, "c": passes}).run() == {
        "a": True,
        "b": False,
        "c": True,
    }


def test_a_check_that_hangs_counts_as_failed_and_is_not_started_again():
    goes_on, started = threading.Event(), []

    def hangs():
        started.append(1)
        goes_on.wait(10)

    checker = Checker({"slow": hangs, "quick": passes})
    before = time.monotonic()
    assert checker.run() == {"slow": False, "quick": True}
    assert checker.run() == {"slow": False, "quick": True}
    assert time.monotonic() - before < 2
    assert started == [1]
    goes_on.set()
    checker._threads["slow"].join()
    assert checker.run() == {"slow": True, "quick": True}
    assert started == [1, 1]


def test_an_answer_is_given_again_for_a_moment(monkeypatch):
    monkeypatch.setattr(checks, "REUSED_SECONDS", 60.0)
    asked = []
    checker = Checker({"a": lambda: asked.append(1)})
    assert checker.run() == checker.run() == {"a": True}
    assert asked == [1]
