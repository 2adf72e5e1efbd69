"""When a review is due, in words."""

from __future__ import annotations

from datetime import date

import pytest

from adjudication.due import Due, describe_due

TODAY = date(2026, 11, 26)


@pytest.mark.parametrize(
    ("due_on", "words", "overdue"),
    [
        (date(2026, 11, 26), "due today", False),
        (date(2026, 11, 27), "due tomorrow", False),
        (date(2026, 11, 29), "due in 3 days", False),
        (date(2027, 1, 5), "due in 40 days", False),
        (date(2026, 11, 25), "overdue since 2026-11-25", True),
        (date(2025, 12, 31), "overdue since 2025-12-31", True),
    ],
)
def test_a_due_date_is_said_from_today(due_on, words, overdue):
    assert describe_due(due_on, TODAY) == Due(words, overdue)


def test_no_date_is_no_due():
    assert describe_due(None, TODAY) is None
