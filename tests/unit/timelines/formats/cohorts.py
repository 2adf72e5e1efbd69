"""Random cohorts with text that is hard for file formats."""

from __future__ import annotations

import string

from hypothesis import strategies as st

from tests.unit.timelines.formats.foreign_cases import case_lines
from timelines.domain import Lane, Polarity, TimelineKind
from timelines.formats.lines import CaseLines, Line
from timelines.pipeline.uids import escape_mention

HARD = [
    "😀",
    "👩‍⚕️",
    "שלום",
    "e\u0301",
    "|",
    '"',
    "\\",
    "'",
    "=",
    "-",
    "\r\n",
    "\n",
    "\r",
    "\t",
    "\x0c",
    "\x01",
    "]]>",
    "<b>",
    "&amp;",
    "?>",
    "--",
]
HARD += ["\u2028", "\x85", "\ufffe", "\xa0", " ", "  ", "#", "{", "\ufeff", "N/A", ","]
PIECES = st.one_of(
    st.sampled_from(HARD), st.text(string.ascii_letters + " .", min_size=1, max_size=6)
)
TEXTS = st.lists(PIECES, min_size=1, max_size=12).map("".join)
MENTIONS = TEXTS.map(escape_mention).filter(str.strip)
HOURS = (
    st.none() | st.floats(-1e6, 1e6, allow_nan=False) | st.sampled_from([0.0, 1 / 3, -1e-9, 1e300])
)


@st.composite
def lines(
    draw: st.DrawFn, note: str, heading: tuple[str, str, TimelineKind, int]
) -> tuple[Line, ...]:
    """One timeline over the note; every field takes what the database takes."""
    uids = draw(
        st.lists(st.from_regex(r"[0-9a-f]{4}", fullmatch=True), min_size=1, max_size=5, unique=True)
    )
    return tuple(draw(_line(note, heading, uid, [u for u in uids if u != uid])) for uid in uids)


@st.composite
def _line(
    draw: st.DrawFn,
    note: str,
    heading: tuple[str, str, TimelineKind, int],
    uid: str,
    others: list[str],
) -> Line:
    start, end = draw(
        st.none() | st.tuples(st.integers(0, len(note) - 1), st.integers(1, len(note)))
    ) or (None, None)
    if start is not None and end is not None and start >= end:
        start, end = end - 1, start + 1
    lower, time, upper = _sort_bounds(draw(HOURS), draw(HOURS), draw(HOURS))
    case_id, source, kind, alternative = heading
    return Line(
        case_id=case_id,
        source=source,
        kind=kind.value,
        alternative=alternative,
        uid4=uid,
        mention=draw(MENTIONS),
        start=start,
        end=end,
        time=time,
        lower=lower,
        upper=upper,
        known=draw(st.none() | st.booleans()),
        context=tuple(draw(st.lists(st.sampled_from(others), max_size=5, unique=True)))
        if others
        else (),
        evidence=(),
        polarity=draw(st.sampled_from(Polarity)).value,
        lane=draw(st.sampled_from(Lane)).value,
        span_text=None if start is None else note[start:end],
        rows=tuple(draw(st.lists(st.integers(0, 2**31 - 1), max_size=3, unique=True))),
        reason=draw(st.just("") | TEXTS),
        decided_by=draw(st.just("") | TEXTS),
        confidence=draw(HOURS),
    )


def _sort_bounds(
    lower: float | None, time: float | None, upper: float | None
) -> tuple[float | None, float | None, float | None]:
    numbers = iter(sorted(x for x in (lower, time, upper) if x is not None))
    found = [None if x is None else next(numbers) for x in (lower, time, upper)]
    return found[0], found[1], found[2]


@st.composite
def cohorts(draw: st.DrawFn) -> list[CaseLines]:
    """Draw two cases whose ids differ only by characters unsafe in file names.

    Each has a text-only timeline and a revised alternative.
    """
    found = []
    for case_id in ("ward/1", "ward_1"):
        note = draw(TEXTS)
        headings = [
            (case_id, "theirs/é", TimelineKind.TEXT_ONLY, 1),
            (case_id, "theirs/é", TimelineKind.REVISED, 2),
        ]
        found.append(
            case_lines(case_id, note, [draw(lines(note, heading)) for heading in headings])
        )
    return found


def bare_case(case_id: str, note: str, span: tuple[int, int]) -> CaseLines:
    """A case with one timeline of one occurrence, for examples."""
    words = note[slice(*span)]
    line = Line(
        case_id,
        "s",
        "text_only",
        1,
        "0000",
        "x",
        *span,
        None,
        None,
        None,
        False,
        (),
        (),
        "present",
        "lab",
        words,
    )
    return case_lines(case_id, note, [(line,)])
