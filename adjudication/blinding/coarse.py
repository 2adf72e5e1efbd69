"""Times of a blinded item in one coarse form. No Django.

Sources differ in how exactly they say a time. During the stay a time is the hospital day and a part
of it, before and after it a round distance. Two different times that would read the same are
written to the hour, both of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from math import log

from adjudication.judging.input import whole_hours
from ehr.presentation.clock import Clock, distance_words
from ehr.presentation.wording import DAY, YEAR

NO_TIME = "no time"
#: First hour of each part of a day.
PARTS = ((0, "night"), (6, "morning"), (12, "afternoon"), (18, "evening"))
_PART = 6
_WEEK, _MONTH = 7 * DAY, YEAR / 12
#: Round distances from the stay, in hours.
_DISTANCES = (
    *(1, 2, 3, 6, 12, 18),
    *(days * DAY for days in (1, 2, 3, 4, 5, 6)),
    *(weeks * _WEEK for weeks in (1, 2, 3, 4, 5, 6, 8)),
    *(months * _MONTH for months in (3, 6, 9)),
    *(years * YEAR for years in (1, 2, 3, 4, 5, 10, 15, 20, 30, 40, 50, 60, 80)),
)


@dataclass(frozen=True, slots=True)
class CoarseTime:
    """A time as reviewers see it.

    `at` is the hour of the words, for sorting; None for no time.
    """

    words: str
    at: float | None = None


def coarse_time(hours: float | None, clock: Clock) -> CoarseTime:
    """Return the coarse form: "HD 2 · morning", "≈ 10 years before"."""
    whole = whole_hours(hours)
    if whole is None:
        return CoarseTime(NO_TIME)
    if whole < 0:
        distance = _round_distance(-whole)
        return CoarseTime(f"≈ {_distance_words(distance)} before", -distance)
    after = 0 if clock.discharge is None else whole - (whole_hours(clock.discharge) or 0)
    if clock.discharge is not None and after > 0:
        distance = _round_distance(after)
        return CoarseTime(
            f"≈ {_distance_words(distance)} after discharge", clock.discharge + distance
        )
    return _part_of_day(whole, clock)


def hour_time(hours: float | None, clock: Clock) -> CoarseTime:
    """Return the time to the hour: "HD 2 · 9 h", "10 h before"."""
    whole = whole_hours(hours)
    if whole is None:
        return CoarseTime(NO_TIME)
    return CoarseTime(clock.round_to_hour(whole), float(whole))


def pair_times(
    one: float | None, other: float | None, clock: Clock
) -> tuple[CoarseTime, CoarseTime]:
    """Return both times in the same form.

    To the hour if they differ but their coarse forms do not.
    """
    pair = coarse_time(one, clock), coarse_time(other, clock)
    if pair[0] == pair[1] and whole_hours(one) != whole_hours(other):
        return hour_time(one, clock), hour_time(other, clock)
    return pair


def _part_of_day(whole: int, clock: Clock) -> CoarseTime:
    try:
        when = clock.admitted + timedelta(hours=whole)
    except OverflowError:
        return CoarseTime(f"{distance_words(whole)} after admission", float(whole))
    first, name = next(part for part in reversed(PARTS) if when.hour >= part[0])
    day = (when.date() - clock.admitted.date()).days
    start = day * DAY + first - clock.admitted.hour - clock.admitted.minute / 60
    return CoarseTime(f"HD {day + 1} · {name}", start + _PART / 2)


def _round_distance(hours: int) -> float:
    return min(_DISTANCES, key=lambda d: abs(log(d / hours)))


def _distance_words(hours: float) -> str:
    return distance_words(hours).removeprefix("≈ ")
