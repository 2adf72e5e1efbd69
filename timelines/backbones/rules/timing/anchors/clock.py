"""The calendar of one admission.

It converts named days and clock times to hours from t = 0 and back.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from timelines.backbones.rules.timing.phrases.daypart import Part
from timelines.backbones.rules.timing.phrases.terms import Day
from timelines.domain import DAY, YEAR, Anchor

#: A year this far from the anchor's cannot be meant on a de-identified calendar.
_MAX_YEARS = 120


@dataclass(frozen=True, slots=True)
class Calendar:
    """Days are counted from the calendar day of t = 0, which is day 0."""

    anchor: Anchor

    @property
    def clock(self) -> float:
        """Clock time of t = 0, in hours after its midnight."""
        at = self.anchor.at
        return at.hour + at.minute / 60 + at.second / 3600

    def midnight(self, day: int) -> float:
        """Hours from t = 0 to the midnight that begins calendar day `day`."""
        return day * DAY - self.clock

    def day_of(self, hours: float) -> int:
        """Return the calendar day of a time."""
        return int((hours + self.clock) // DAY)

    def hour_of_day(self, hours: float) -> float:
        """Clock time of a time, 0–24."""
        return (hours + self.clock) % DAY

    def at(self, day: int, part: Part) -> tuple[float, float, float]:
        """Point and bounds of a part of a calendar day, hours from t = 0."""
        start = self.midnight(day)
        return start + part.point, start + part.low, start + part.high

    def date_day(self, named: Day) -> int | None:
        """Return the calendar day of a date.

        Without a year it is the day nearest to t = 0. None for impossible or distant dates.
        """
        origin = self.anchor.at.date()
        years = [origin.year - 1, origin.year, origin.year + 1]
        if named.year is not None:
            years = (
                [named.year]
                if named.year > 99
                else [c + named.year for c in _centuries(origin.year)]
            )
        days = [
            (found - origin).days
            for y in years
            if (found := _date(y, named.month or 0, named.number))
        ]
        best = min(days, key=abs, default=None)
        return None if best is None or abs(best) > _MAX_YEARS * 366 else best

    def weekday_day(self, weekday: int, near: int, forward: bool) -> int | None:
        """Return the next such weekday on or after calendar day `near`.

        If `forward` is false, return the last one on or before it.
        """
        try:
            today = (self.anchor.at.date() + timedelta(days=near)).weekday()
        except OverflowError:
            return None
        ahead = (weekday - today) % 7
        return near + ahead if forward or ahead == 0 else near + ahead - 7

    def year_hours(self, year: int) -> tuple[float, float, float] | None:
        """Return middle, beginning and end of a calendar year.

        They are hours from t = 0. None if the year is implausibly distant.
        """
        if abs(year - self.anchor.at.year) > _MAX_YEARS:
            return None
        begin = date(year, 1, 1)
        low = (begin - self.anchor.at.date()).days * DAY - self.clock
        return min(low + YEAR / 2, 0.0), low, min(low + YEAR, 0.0) if low < 0 else low + YEAR


def _centuries(year: int) -> list[int]:
    century = year // 100 * 100
    return [century - 100, century, century + 100]


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
