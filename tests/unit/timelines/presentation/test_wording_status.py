"""The status of a time, on both sides of every border.

The tolerance is max(3 h, a tenth of the larger distance from admission).
"""

from __future__ import annotations

import pytest

from timelines.domain import TimelineKind, differs
from timelines.presentation.status import Status, find_status


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (1.0, 3.99, False),
        (1.0, 4.0, True),
        (100.0, 109.9, False),
        (100.0, 112.0, True),
        (-1000.0, -1099.0, False),
        (-1000.0, -1112.0, True),
        (None, 5.0, True),
        (5.0, None, True),
        (None, None, False),
    ],
)
def test_times_differ_beyond_tolerance(first, second, expected):
    assert differs(first, second) is expected
    assert differs(second, first) is expected


@pytest.mark.parametrize("kind", TimelineKind)
@pytest.mark.parametrize("known", [True, False, None])
@pytest.mark.parametrize("rows", [(), (7,)])
@pytest.mark.parametrize("time", [None, 6.5])
def test_only_a_cited_row_moves_and_only_what_was_revised(kind, known, rows, time):
    status = find_status(time, known=known, kind=kind, cited_rows=rows)
    assert (status is Status.UNPLACED) is (time is None)
    assert (status is Status.MOVED) is (
        time is not None and bool(rows) and kind is TimelineKind.REVISED
    )
    if status not in (Status.UNPLACED, Status.MOVED):
        assert (
            status
            is {True: Status.EXPLICIT, False: Status.INFERRED, None: Status.UNSPECIFIED}[known]
        )


def test_every_status_has_words():
    words = {
        "stated in the note",
        "inferred from the note",
        "from the record",
        "corrected by a clinician",
        "not placed",
        "basis not given",
    }
    assert {status.label for status in Status} == words
