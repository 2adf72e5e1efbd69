"""Convert a time as a clinician types it to hours from admission.

Protocol section 1. No Django.

| typed                                          | read as                                                                   |
|------------------------------------------------|---------------------------------------------------------------------------|
| `+6.5`, `-72`, `6,5 h`, `-3 d 4 h`             | hours from admission; without a sign after it; min h d w mo y             |
| `3 days before`, `2 w after admission`, `5 d ago` | the same, the direction in words                                       |
| `8 weeks after discharge`                      | counted from the hour of discharge                                        |
| `HD 4 · 08:00`, `HD4, 8 pm`                    | hospital day 1 is the calendar day of admission, as `ehr.presentation.wording` says it |
| `2196-02-24 14:00`, `24 Feb 14:00`             | that clock time; without a year the one nearest to admission              |
| `14:00`                                        | on the day of admission                                                   |
| `HD 4`, `24 Feb`                               | the middle of that day, bounds of that day; HD 1 begins with admission    |
| `between -96 and -48`, `-4..-2 d`, `HD 2 to HD 3` | the middle, with these bounds                                          |
| `not before HD 2`, `not after -48`             | no point (N/A), one bound                                                 |
| `~ -3 d`, `about HD 4`                         | as without, and not `known`: estimated, not stated                        |
| `admission`, `discharge`                       | 0, the hour of discharge                                                  |
| `N/A`                                          | no point, no bounds: a decision                                           |

A point carries no bounds unless its words have an extent: nothing is made up. A day is 24 h, a week
168, a month 720, a year 8760.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta

from timelines.domain import DAY, HOUR, MONTH, WEEK, YEAR
from timelines.drafts.values import FARTHEST_HOURS

UNDERSTOOD = (
    "Not understood. Enter hours from admission (+6.5, -3 d, 2 weeks before), a hospital day"
    " (HD 4 08:00, HD 4), a date (2196-02-24 14:00, 24 Feb 14:00), a time on the day of admission"
    " (14:00), a range (between -96 and -48), or N/A."
)
LONGEST = 100
#: Hours are rounded to this many decimals: less than a hundredth of a second.
DECIMALS = 6


class TimeNotUnderstood(ValueError):
    """The text is not a time.

    The message lists the known forms and quotes nothing.
    """

    log_safe = True


@dataclass(frozen=True, slots=True)
class TimeEntry:
    """A time in hours from admission, as read.

    `time` None is N/A, perhaps within bounds.
    """

    time: float | None
    lower: float | None = None
    upper: float | None = None
    #: False for words that call the time an estimate; None for other words: then the author says
    #: whether the note states it.
    known: bool | None = None

    @property
    def earliest(self) -> float | None:
        return self.time if self.lower is None else self.lower

    @property
    def latest(self) -> float | None:
        return self.time if self.upper is None else self.upper


_UNITS = {
    **dict.fromkeys(("min", "mins", "minute", "minutes"), HOUR / 60),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), HOUR),
    **dict.fromkeys(("d", "day", "days"), DAY),
    **dict.fromkeys(("w", "wk", "wks", "week", "weeks"), WEEK),
    **dict.fromkeys(("mo", "mos", "month", "months"), MONTH),
    **dict.fromkeys(("y", "yr", "yrs", "year", "years"), YEAR),
}
_MONTHS = {
    name: n
    for n, name in enumerate(
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
        start=1,
    )
}
_NUMBER = r"(?:\d+(?:\.\d+)?|\.\d+)"
_UNIT = rf"(?:{'|'.join(sorted(_UNITS, key=len, reverse=True))})\b"
_TERM = re.compile(rf"({_NUMBER}) ?({_UNIT})")
_ANCHOR = r"(?: (?:the )?(?:admission|presentation))?"
_AMOUNT = re.compile(
    rf"(?P<sign>[+-])? ?(?P<terms>{_NUMBER}(?: ?{_UNIT}(?: ?{_NUMBER} ?{_UNIT})*)?)"
    rf"(?: (?P<side>(?:before|prior to){_ANCHOR}|prior|ago|after(?: discharge|{_ANCHOR})))?"
)
_CLOCK = (
    r"(?:at )?(?P<hour>\d{1,2})(?::(?P<minute>\d{2})(?::(?P<second>\d{2}))?)? ?(?P<half>am|pm)?"
)
_TIME_OF_DAY = re.compile(_CLOCK)
_HOSPITAL_DAY = re.compile(rf"(?:hd|hospital day) ?(?P<day>\d{{1,4}})(?: {_CLOCK})?")
_ISO = re.compile(rf"(?P<year>\d{{4}})-(?P<month>\d{{1,2}})-(?P<day>\d{{1,2}})(?:[ t]{_CLOCK})?")
_MONTH_NAME = rf"(?P<name>{'|'.join(_MONTHS)})[a-z]*\.?"
_DATES = [
    re.compile(
        rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th)? {_MONTH_NAME}(?: (?P<year>\d{{4}}))?(?: {_CLOCK})?"
    ),
    re.compile(
        rf"{_MONTH_NAME} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: (?P<year>\d{{4}}))?(?: {_CLOCK})?"
    ),
]
_RANGES = [
    re.compile(form)
    for form in (
        r"between (.+) and (.+)",
        r"from (.+) to (.+)",
        r"(.+?) ?\.\. ?(.+)",
        r"(.+) to (.+)",
    )
]
_ABOUT = re.compile(r"(?:~|≈|(?:about|around|approximately|approx\.?|ca\.?|circa)(?= )) ?")
_NOT_PLACED = frozenset({"n/a", "na", "not placed", "unknown"})
_AT_ADMISSION = re.compile(r"(?:(?:at|on) )?(?:admission|presentation|arrival)")
_AT_DISCHARGE = re.compile(r"(?:(?:at|on) )?discharge")


def read_time(text: str, admitted: datetime, discharged: datetime | None = None) -> TimeEntry:
    """Return the hours that a text says.

    `admitted` is t = 0, naive local like all clocks. Raises TimeNotUnderstood.
    """
    said = _tidy(text)
    if not said or len(said) > LONGEST:
        raise TimeNotUnderstood(UNDERSTOOD)
    if said in _NOT_PLACED:
        return TimeEntry(None, known=False)
    about = _ABOUT.match(said)
    if about:
        said = said[about.end() :]
    try:
        found = _Reader(admitted, discharged).read(said)
    except (ValueError, OverflowError) as error:
        raise (
            error if isinstance(error, TimeNotUnderstood) else TimeNotUnderstood(UNDERSTOOD)
        ) from None
    if any(
        hours is not None and abs(hours) > FARTHEST_HOURS
        for hours in (found.time, found.lower, found.upper)
    ):
        raise TimeNotUnderstood("The time is not within 200 years of admission.")
    return replace(found, known=False) if about else found


@dataclass(frozen=True)
class _Reader:
    admitted: datetime
    discharged: datetime | None

    def read(self, said: str) -> TimeEntry:
        for words, bound in (("not before ", "lower"), ("not after ", "upper")):
            if said.startswith(words):
                end = self._point(said[len(words) :])
                lower, upper = (end.earliest, None) if bound == "lower" else (None, end.latest)
                return TimeEntry(None, lower, upper, known=False)
        if (point := self._point_or_none(said)) is not None:
            return point
        # A range last: "3 d prior to admission" is one point.
        for pattern in _RANGES:
            if match := pattern.fullmatch(said):
                return self._range(match[1], match[2])
        raise TimeNotUnderstood(UNDERSTOOD)

    def _range(self, first: str, last: str) -> TimeEntry:
        """Return both ends of a range.

        A bare number takes unit and direction of the other end ("-4 to -2 d", "between 4 and 2 days
        before").
        """
        if re.fullmatch(rf"[+-]? ?{_NUMBER}", first) and (
            tail := re.fullmatch(rf"[+-]? ?{_NUMBER}( ?{_UNIT}.*)", last)
        ):
            first += tail[1]
        lower, upper = self._point(first).earliest, self._point(last).latest
        if lower is None or upper is None or lower > upper:
            raise TimeNotUnderstood("The range ends before it begins.")
        return TimeEntry(round((lower + upper) / 2, DECIMALS), lower, upper)

    def _point(self, said: str) -> TimeEntry:
        if (found := self._point_or_none(said)) is None:
            raise TimeNotUnderstood(UNDERSTOOD)
        return found

    def _point_or_none(self, said: str) -> TimeEntry | None:
        """Return the time, or None for words of no known form.

        Raises TimeNotUnderstood for a known form with impossible numbers.
        """
        if _AT_ADMISSION.fullmatch(said):
            return TimeEntry(0.0)
        if self.discharged is not None and _AT_DISCHARGE.fullmatch(said):
            return self._read_moment(self.discharged)
        forms: list[tuple[re.Pattern[str], Callable[[re.Match[str]], TimeEntry]]] = [
            (_AMOUNT, self._amount),
            (_HOSPITAL_DAY, self._hospital_day),
            (_ISO, self._date),
            *((pattern, self._date) for pattern in _DATES),
            (_TIME_OF_DAY, self._today),
        ]
        for pattern, reader in forms:
            if match := pattern.fullmatch(said):
                return reader(match)
        return None

    def _amount(self, match: re.Match[str]) -> TimeEntry:
        terms = _TERM.findall(match["terms"])
        hours = (
            sum(float(number) * _UNITS[unit] for number, unit in terms)
            if terms
            else float(match["terms"])
        )
        before = (match["side"] or "").startswith(("before", "prior", "ago"))
        if match["side"] and match["sign"] == ("+" if before else "-"):
            raise TimeNotUnderstood("The sign and the words contradict each other.")
        signed = -hours if before or match["sign"] == "-" else hours
        if (match["side"] or "").endswith("discharge"):
            if self.discharged is None:
                raise TimeNotUnderstood("The hour of discharge is not known for this case.")
            signed += self._hours(self.discharged)
        return TimeEntry(round(signed, DECIMALS) + 0.0)

    def _hospital_day(self, match: re.Match[str]) -> TimeEntry:
        number = int(match["day"])
        if number < 1:
            raise TimeNotUnderstood("Hospital days count from 1, which is the day of admission.")
        day = self.admitted.date() + timedelta(days=number - 1)
        if match["hour"]:
            return self._read_moment(datetime.combine(day, _parse_clock(match)))
        return self._read_day(day, since=self.admitted if number == 1 else None)

    def _date(self, match: re.Match[str]) -> TimeEntry:
        parts = match.groupdict()
        month = _MONTHS[parts["name"]] if "name" in parts else int(parts["month"])
        day = self._day(parts["year"], month, int(parts["day"]))
        return (
            self._read_moment(datetime.combine(day, _parse_clock(match)))
            if match["hour"]
            else self._read_day(day)
        )

    def _day(self, year: str | None, month: int, day: int) -> date:
        if year:
            return date(int(year), month, day)
        here = self.admitted.date()
        found = [made for n in range(-4, 5) if (made := _date_or_none(here.year + n, month, day))]
        if not found:
            raise TimeNotUnderstood(UNDERSTOOD)
        return min(found, key=lambda other: abs(other - here))

    def _today(self, match: re.Match[str]) -> TimeEntry:
        return self._read_moment(datetime.combine(self.admitted.date(), _parse_clock(match)))

    def _read_day(self, day: date, since: datetime | None = None) -> TimeEntry:
        midnight = datetime.combine(day, time())
        lower, upper = self._hours(since or midnight), self._hours(midnight + timedelta(days=1))
        return TimeEntry(round((lower + upper) / 2, DECIMALS), lower, upper)

    def _read_moment(self, when: datetime) -> TimeEntry:
        return TimeEntry(self._hours(when))

    def _hours(self, when: datetime) -> float:
        return round((when - self.admitted).total_seconds() / 3600, DECIMALS)


def _tidy(text: str) -> str:
    """Normalise case, minus signs, spaces and the decimal comma.

    Raises TimeNotUnderstood for "1,000".
    """
    said = re.sub(r"[\u2010-\u2015\u2212]", "-", text.casefold().replace("\u2026", ".."))
    if re.search(r"\d,\d{3}(?!\d)", said):
        raise TimeNotUnderstood("Write a thousand without a comma, and a decimal with a point.")
    said = re.sub(r"(?<=\d),(?=\d)", ".", said)
    # Pages write "HD 1 · 15:42".
    return " ".join(re.sub("[,·]", " ", said).split())


def _parse_clock(match: re.Match[str]) -> time:
    """Return the clock time of a match.

    Raises ValueError for an impossible time of day, and for an hour alone ("HD 4 8").
    """
    hour, minute, half = int(match["hour"]), match["minute"], match["half"]
    if half:
        if not 1 <= hour <= 12:
            raise ValueError("no hour of a half day")
        hour = hour % 12 + (12 if half == "pm" else 0)
    elif minute is None:
        raise ValueError("an hour without minutes")
    return time(hour, int(minute or 0), int(match["second"] or 0))


def _date_or_none(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
