"""The calendar of one admission.

It converts named days and clock times to hours from t = 0 and back.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from timelines.backbones.rules.timing.phrases.daypart import Part
from timelines.backbones.rules.timing.phrases.terms import Day
from timelines.domain import DAY, MONTH, YEAR, Anchor

#: A year this far from the anchor's cannot be meant on a de-identified calendar.
_MAX_YEARS = 120
#: Years that a patient's history reaches back.
_LIFE = 100
#: Days around the day spoken of in which a day of the month is looked for.
_HALF_MONTH = 16


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

    def date_day(self, named: Day, near: int = 0) -> int | None:
        """Return the calendar day of a date.

        Without a year it is the day nearest to t = 0, without a month ("the 9th") the day nearest
        to calendar day `near`. None for impossible or distant dates.
        """
        origin = self.anchor.at.date()
        if named.month is None:
            return self._day_of_month(named.number, near)
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

    def _day_of_month(self, number: int, near: int) -> int | None:
        try:
            first = self.anchor.at.date() + timedelta(days=near - _HALF_MONTH)
            dates = [first + timedelta(days=shift) for shift in range(2 * _HALF_MONTH + 1)]
        except OverflowError:
            return None
        days = [(found - self.anchor.at.date()).days for found in dates if found.day == number]
        return min(days, key=lambda day: abs(day - near), default=None)

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

    def is_past_year(self, year: int) -> bool:
        """Return whether a number may be a year of the patient's life up to t = 0."""
        return 0 <= self.anchor.at.year - year <= _LIFE

    def year_hours(self, year: int) -> tuple[float, float, float] | None:
        """Return middle, beginning and end of a calendar year.

        They are hours from t = 0. None if the year is implausibly distant.
        """
        if abs(year - self.anchor.at.year) > _MAX_YEARS:
            return None
        return self._middle(date(year, 1, 1), YEAR)

    def month_hours(self, month: int, year: int | None) -> tuple[float, float, float] | None:
        """Return middle, beginning and end of a month.

        Without a year it is the last such month that began before t = 0.
        """
        origin = self.anchor.at.date()
        if year is None:
            year = origin.year if month <= origin.month else origin.year - 1
        if abs(year - origin.year) > _MAX_YEARS or year < 1:
            return None
        return self._middle(date(year, month, 1), MONTH)

    def _middle(self, begin: date, length: float) -> tuple[float, float, float]:
        low = (begin - self.anchor.at.date()).days * DAY - self.clock
        high = min(low + length, 0.0) if low < 0 else low + length
        return min(low + length / 2, 0.0), low, high


def _centuries(year: int) -> list[int]:
    century = year // 100 * 100
    return [century - 100, century, century + 100]


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
