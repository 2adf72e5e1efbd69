"""Read the admission that a note states in a field of its head.

Examples: "Admission date: 1 March 2150", "Date of Admission: 2150-03-01 18:22". No Django here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_LABEL = (
    r"(?:admission date|date of admission|admit date|date admitted|admitted(?: on)?|admission)"
    r"(?:/time| and time)?\s*:?"
)
_MONTH = rf"(?P<month>(?:{'|'.join(_MONTHS)})[a-z]*)\.?"
_DATES = (
    r"(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)",
    rf"(?P<d>\d{{1,2}})(?:st|nd|rd|th)?[ -]{_MONTH},?[ -](?P<y>\d{{4}})",
    rf"{_MONTH} (?P<d>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<y>\d{{4}})",
    r"(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>\d{4})",
    r"(?P<either>\d{1,2})/(?P<other>\d{1,2})/(?P<y>\d{4})",
)
_HOUR = (
    r"(?:(?:,? at |[ T]|, )(?P<hour>[01]?\d|2[0-3]):(?P<minute>[0-5]\d)(?::\d\d)?(?! ?[ap]\.?m))?"
)
_FIELDS = tuple(
    re.compile(rf"^[ \t*#-]*{_LABEL}\s{{0,20}}{date}{_HOUR}(?!\d)", re.IGNORECASE | re.MULTILINE)
    for date in _DATES
)


@dataclass(frozen=True, slots=True)
class StatedAdmission:
    """A stated time of admission; `day_only` is at 00:00."""

    at: datetime
    day_only: bool


def find_admission(text: str) -> StatedAdmission | None:
    """Return the admission that the text states first, if it is clear.

    A date such as 3/5/2150, whose day may be its month, is not.
    """
    found = [m for field in _FIELDS if (m := field.search(text))]
    return _read(min(found, key=lambda m: m.start())) if found else None


def _read(m: re.Match[str]) -> StatedAdmission | None:
    said = m.groupdict()
    month, day = _find_day(said)
    hour = said["hour"]
    try:
        at = datetime(int(said["y"]), month, day, int(hour or 0), int(said["minute"] or 0))
    except ValueError:
        return None
    return StatedAdmission(at, hour is None)


def _find_day(said: dict[str, str | None]) -> tuple[int, int]:
    """Return month and day; 0 for both if they are not clear."""
    if name := said.get("month"):
        return _MONTHS.index(name[:3].lower()) + 1, int(said["d"] or 0)
    if said.get("m"):
        return int(said["m"] or 0), int(said["d"] or 0)
    low, high = sorted((int(said["either"] or 0), int(said["other"] or 0)))
    return (low, high) if high > 12 or low == high else (0, 0)
