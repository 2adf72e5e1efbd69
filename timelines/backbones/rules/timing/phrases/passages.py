"""Small readings of a passage.

They find times that only end a state, the times of a line, text copied forward, and facts about the
patient.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from timelines.backbones.rules.timing.phrases.terms import Basis, TimeExpression
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
