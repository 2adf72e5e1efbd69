"""One way to write a time on every page.

A reader thinks in hospital days and clock times: "HD 1 · 15:42", with "+6.5 h" beside it. Before
the stay "2 h before", "≈ 10 years before"; after it "8 weeks after discharge". No Django. Times are
hours from admission.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from ehr.presentation.wording import DAY, NOT_PLACED, YEAR, clock_words, hours_words

_WEEK = 7 * DAY
_MONTH = YEAR / 12
#: A time is of the stay until this long after discharge, and from this long before admission.
_MINUTE = 1 / 60
#: Farther before admission, a sentence names no clock time.
_CLOCK_HOURS = 3 * DAY


@dataclass(frozen=True, slots=True)
class Moment:
    """A time in words.

    `day` leads and `hours` is beside it, unless the reader switched to hours. `exact` is the full
    clock time for a tooltip, `iso` the one for machines; both are empty far from admission.
    """

    day: str
    hours: str = ""
    exact: str = ""
    iso: str = ""

    def __str__(self) -> str:
        return f"{self.day} ({self.hours})" if self.hours and self.hours != self.day else self.day


@dataclass(frozen=True, slots=True)
class Clock:
    """The clock of one stay: its admission and discharge.

    The discharge is in hours, None if unknown. `in_hours` writes the times of sentences as hours.
    """

    admitted: datetime
    discharge: float | None = None
    in_hours: bool = False

    @classmethod
    def of_stay(cls, admitted: datetime, discharged: datetime | None) -> Clock:
        """Return the clock of a stay from its two clock times."""
        length = None if discharged is None else (discharged - admitted).total_seconds() / 3600
        return cls(admitted, length)

    def read(self, hours: float | None) -> Moment:
        """Return a time in words; "not placed" for None."""
        if hours is None:
            return Moment(NOT_PLACED)
        when = self._when(hours)
        return Moment(
            self._day(hours),
            hours_words(hours),
            "" if when is None else clock_words(self.admitted, when),
            "" if when is None else when.isoformat(timespec="minutes"),
        )

    def read_whole(self, hours: int | None) -> Moment:
        """Return whole hours in words, without minutes; "not placed" for None."""
        if hours is None:
            return Moment(NOT_PLACED)
        return Moment(self.round_to_hour(hours), hours_words(hours))

    def round_to_hour(self, hours: int) -> str:
        """Return the hospital day and the nearest hour of the clock.

        "HD 1 · 16 h". The minutes of whole hours from admission mean nothing. Outside the stay as in `read`.
        """
        when = self._when(hours + 0.5)
        inside = hours >= 0 and (self.discharge is None or hours <= self.discharge)
        if when is None or not inside:
            return self._day(hours)
        return f"HD {(when.date() - self.admitted.date()).days + 1} · {when:%-H} h"

    def bounds(self, lower: float | None, upper: float | None) -> Moment | None:
        """Return bounds in words; None without any.

        "HD 1 · 14:00 to 16:00", "HD 1 · 14:00 to HD 2 · 08:00", "not before …", "not after …", or "at …" if equal.
        """
        if lower is None and upper is None:
            return None
        low, high = self.read(lower), self.read(upper)
        if lower is None:
            return Moment(f"not after {high.day}", f"not after {high.hours}")
        if upper is None:
            return Moment(f"not before {low.day}", f"not before {low.hours}")
        day = f"at {low.day}" if low.day == high.day else f"{low.day} to {high.day}"
        same_day, _, until = high.day.partition(" · ")
        if until and low.day != high.day and low.day.startswith(f"{same_day} · "):
            day = f"{low.day} to {until}"
        hours = f"at {low.hours}" if low.hours == high.hours else f"{low.hours} to {high.hours}"
        return Moment(day, hours)

    def say(self, hours: float, beside: float | None = None) -> str:
        """Return a time for a sentence.

        "HD 1 · 15:42", "6 h before admission (08:38)" or "≈ 10 years before admission". On the
        calendar day of `beside` it is the clock time alone.
        """
        if self.in_hours:
            return hours_words(hours)
        when = self._when(hours)
        other = None if beside is None else self._when(beside)
        if when is None or hours < -_CLOCK_HOURS:
            said = self._day(hours).removeprefix("≈ ")
            return f"{said} admission" if hours < 0 else said
        if other is not None and other.date() == when.date():
            return f"{when:%H:%M}"
        if hours < -_MINUTE / 2:
            return f"{self._day(hours)} admission ({when:%H:%M})"
        return self._day(hours)

    def hours(self, time: datetime) -> float:
        """Return the hours of a clock time from admission."""
        return (time - self.admitted).total_seconds() / 3600

    def _day(self, hours: float) -> str:
        if hours < -_MINUTE / 2:
            return f"{distance_words(-hours)} before"
        if self.discharge is not None and hours > self.discharge + _MINUTE / 2:
            return f"{distance_words(hours - self.discharge)} after discharge"
        when = self._when(hours)
        if when is None:
            return f"{distance_words(hours)} after admission"
        return f"HD {(when.date() - self.admitted.date()).days + 1} · {when:%H:%M}"

    def _when(self, hours: float) -> datetime | None:
        """Return the clock time to the minute; None outside the calendar."""
        try:
            when = self.admitted + timedelta(hours=hours, seconds=30)
        except OverflowError:
            return None
        return when.replace(second=0, microsecond=0)


def distance_words(hours: float) -> str:
    """Return a length as clinicians say it.

    "40 min", "2 h", "3 d", "5 weeks", "≈ 5 months", "≈ 10 years". Hours have a decimal below ten.
    """
    if round(hours * 60) < 60:
        return f"{round(hours * 60)} min"
    if hours < 9.95:
        return f"{hours:.1f} h".replace(".0 h", " h")
    if round(hours) < 2 * DAY:
        return f"{round(hours)} h"
    if round(hours / DAY) < 21:
        return f"{round(hours / DAY)} d"
    if round(hours / _WEEK) < 9:
        return f"{round(hours / _WEEK)} weeks"
    if round(hours / _MONTH) < 24:
        return f"≈ {round(hours / _MONTH)} months"
    return f"≈ {round(hours / YEAR)} years"
