"""Times in one coarse form, by hand."""

from __future__ import annotations

from datetime import datetime

import pytest

from adjudication.blinding.coarse import coarse_time, pair_times
from ehr.presentation.clock import Clock

#: Admitted at 15:30, for four days.
CLOCK = Clock(datetime(2140, 3, 2, 15, 30), 96.0)
YEAR = 8766.0


@pytest.mark.parametrize(
    ("hours", "words"),
    [
        (None, "no time"),
        (0.0, "HD 1 · afternoon"),
        (2.4, "HD 1 · afternoon"),  # 2 h: 17:30
        (2.6, "HD 1 · evening"),  # 3 h: 18:30
        (9.0, "HD 2 · night"),
        (18.0, "HD 2 · morning"),
        (96.0, "HD 5 · afternoon"),
        (-0.4, "HD 1 · afternoon"),
        (-4.0, "≈ 3 h before"),
        (-5.0, "≈ 6 h before"),
        (-26.0, "≈ 24 h before"),
        (-71.6, "≈ 3 d before"),
        (-10 * YEAR, "≈ 10 years before"),
        (-11 * YEAR, "≈ 10 years before"),
        (-840.0, "≈ 5 weeks before"),
        (97.0, "≈ 1 h after discharge"),
        (96.0 + 170, "≈ 7 d after discharge"),
    ],
)
def test_hours_in_words(hours: float | None, words: str) -> None:
    assert coarse_time(hours, CLOCK).words == words


def test_the_hours_that_words_stand_for_do_not_depend_on_the_minutes() -> None:
    assert [coarse_time(h, CLOCK).at for h in (9.0, 9.4, 13.49)] == [11.5] * 3


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        (9.0, 30.0, ("HD 2 · night", "HD 2 · evening")),
        (9.0, 13.0, ("HD 2 · 1 h", "HD 2 · 5 h")),
        (9.2, 8.9, ("HD 2 · night", "HD 2 · night")),
        (9.0, None, ("HD 2 · night", "no time")),
        (-4.0, -3.0, ("4 h before", "3 h before")),
    ],
)
def test_two_times_are_to_the_hour_only_if_they_would_read_the_same(
    one: float, other: float | None, words: tuple[str, str]
) -> None:
    assert tuple(t.words for t in pair_times(one, other, CLOCK)) == words
