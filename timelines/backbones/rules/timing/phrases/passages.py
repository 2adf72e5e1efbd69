"""Small readings of a passage.

They find times that only end a state, the times of a line, text copied forward, and facts about the
patient.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from timelines.backbones.rules.timing.phrases.grammar.days import counted_name
from timelines.backbones.rules.timing.phrases.terms import Basis, Kind, TimeExpression
from timelines.domain import Occurrence

#: How far ahead a passage is read for the day that it names next (characters).
PASSAGE = 400
#: A line longer than this is no header (characters).
_HEADER = 120
#: Words of a line that says when the text below it was written.
_WRITTEN = re.compile(
    r"\b(?:written|dictated|prepared|addendum|(?:note|summary)\s+(?:date|of)|date\s+of\s+(?:note|summary))\b",
    re.IGNORECASE,
)
_FIRST_DAY = re.compile(r"\b([a-z]+)\s+day\s*#?1\s*(?:=|is|was|on|:|\(|,)\s*", re.IGNORECASE)
_FIRST_DAYS = re.compile(rf"(?:{_FIRST_DAY.pattern})+$", re.IGNORECASE)
#: Lines with a clock time at their head from which they are a log.
_LOG = 4
#: Hours after the admission from which the first line of a log is of the day before.
_AFTER_ARRIVAL = 12.0
#: Hours by which a line of a log may be earlier than the one above it.
_LOG_BACK = 2.0
_UNTIL = re.compile(r"\b(?:until|till|'til)\b", re.IGNORECASE)
_THROUGH = re.compile(r"\b(?:thru|through)\s+$", re.IGNORECASE)
#: "was not given until the next morning" dates the giving.
_NOT_BEFORE = re.compile(
    r"\b(?:was|were|did|had|been|is)\s*(?:not|n't|never)\b[^.;]*$", re.IGNORECASE
)
#: A summary copied from an earlier note refers to that note's day.
_COPIED = re.compile(
    r"\b(?:copied|carried|pulled|taken over)\b.*\b(?:from|forward|fwd)\b", re.IGNORECASE
)
_DEMOGRAPHIC = re.compile(
    r"\b\d{1,3}[\s-]*(?:y/?o|yrs?|years?)(?:[\s-]*old)?\b(?!.*ago)|^\d{1,3}[\s-]?[MF]\b|^(?:male|female)(?:"
    r" sex)?\b|"
    r"^(?:wo)?man$|^(?:right|left)[\s-]handed\b|\b(?:fe)?male sex\b|\bage \d",
    re.IGNORECASE,
)


def ends_state(e: TimeExpression, text: str) -> bool:
    """Return whether an expression says when something ended.

    "ran until the next morning" does. An interval takes its start, and the story goes on from
    there.
    """
    if e.day is not None and e.day.basis is Basis.DATE:
        return _THROUGH.search(text[max(0, e.start - 9) : e.start]) is not None
    if e.linked != "next" and (
        e.day is None or e.day.basis is not Basis.CURRENT or e.day.number <= 0
    ):
        return False
    until = _UNTIL.search(text[max(0, e.start - 8) : e.end]) is not None
    return until and _NOT_BEFORE.search(text[max(0, e.start - 60) : e.start]) is None


def same_line(
    e: TimeExpression, ahead: Sequence[TimeExpression], text: str
) -> list[TimeExpression]:
    """Return the times of `ahead` that are on the same line as `e`."""
    end = text.find("\n", e.end)
    return [later for later in ahead if end < 0 or later.start < end]


def find_writing(text: str, dates: Sequence[tuple[TimeExpression, int]]) -> list[tuple[int, int]]:
    """Return (offset, calendar day) of each stated day of writing.

    `dates` are the dates of the note with their calendar days. "Yesterday" counts from the line
    above it.
    """
    found: list[tuple[int, int]] = []
    for e, day in dates:
        start = text.rfind("\n", 0, e.start) + 1
        end = text.find("\n", e.end)
        line = text[start : end if end >= 0 else len(text)]
        if len(line) < _HEADER and _WRITTEN.search(line[: e.start - start]):
            found.append((start, day))
    return found


def find_first_days(text: str, dates: Sequence[tuple[TimeExpression, int]]) -> dict[str, int]:
    """Return the calendar days that a note gives as day 1.

    By what is counted (`counted_name`). Example: "ICU day 1 = vent day 1 = 22 May".
    """
    found: dict[str, int] = {}
    for e, day in dates:
        chain = _FIRST_DAYS.search(text, max(0, e.start - _HEADER), e.start)
        for m in _FIRST_DAY.finditer(chain.group()) if chain else ():
            found.setdefault(counted_name(m[1]), day)
    return found


def find_log_days(
    text: str,
    expressions: Sequence[TimeExpression],
    find_day: Callable[[TimeExpression], int | None],
    admitted: float,
) -> dict[int, int]:
    """Return the days of the clock times at the heads of a log's lines.

    By offset, as calendar days. A log has four such lines or more; a clock time that is earlier than the one above it
    is of the next day, and a line that begins with a day begins that day. `find_day` returns the
    day that an expression names, `admitted` the clock hour of the admission.
    """
    found: dict[int, int] = {}
    day, before, first = 0, None, True
    for e in expressions:
        begins = not text[text.rfind("\n", 0, e.start) + 1 : e.start].strip(" \t-*•[#")
        if not begins or e.kind is not Kind.POINT:
            continue
        named = find_day(e)
        if e.day is not None and named is None:
            return {}
        hour = e.part.point if e.part is not None and e.text[:1].isdigit() else None
        if named is not None:
            day, before = named, None
        elif hour is not None and first and hour > admitted + _AFTER_ARRIVAL:
            day = -1  # before midnight, on the way in
        elif hour is not None and before is not None and hour < before - _LOG_BACK:
            day += 1
        if hour is not None:
            found[e.start], before = day, hour
        first = False
    return found if len(found) >= _LOG else {}


def is_copied(clause: str) -> bool:
    """Return whether a clause says that its text was copied forward.

    Example: "(copied forward from the HD4 note)".
    """
    return _COPIED.search(clause) is not None


def is_demographic(occurrence: Occurrence) -> bool:
    """Return whether an occurrence is a fact about the patient.

    Examples: "66M", "right-handed".
    """
    mention = occurrence.mention
    return (
        len(mention) < 32
        and _DEMOGRAPHIC.search(mention) is not None
        and not re.search(r"\bfor\b|history|use\b|since", mention)
    )
