"""Every format preserves every timeline over export and import."""

from __future__ import annotations

import string
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.unit.timelines.formats.foreign_cases import Book, case_lines, read
from timelines.domain import Lane, Polarity, TimelineKind
from timelines.formats.assembling import build_domain
from timelines.formats.brat.writer import write_brat
from timelines.formats.doccano.writer import write_doccano
from timelines.formats.event_table.writer import write_bsv
from timelines.formats.i2b2.writer import write_i2b2
from timelines.formats.label_studio.writer import write_label_studio
from timelines.formats.lines import CaseLines, Line
from timelines.formats.tables.writer import write_csv, write_jsonl
from timelines.formats.values import Foreign
from timelines.pipeline.uids import escape_mention
from timelines.transfer.columns import write_meds, write_parquet

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
FORMATS = ("jsonl", "csv", "parquet", "meds", "bsv", "brat", "doccano", "label_studio", "i2b2")


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


def write(format: str, cases: list[CaseLines], out: Path) -> Path:
    """The file or folder that the format makes of the cases."""
    path = (
        out
        / f"t.{'json' if format == 'label_studio' else 'jsonl' if format in ('jsonl', 'doccano') else format}"
    )
    if format in ("jsonl", "csv", "parquet"):
        {"jsonl": write_jsonl, "csv": write_csv, "parquet": write_parquet}[format](
            cases, path, with_note_text=True
        )
    elif format == "meds":
        write_meds(cases, path, dataset="d", created=datetime(2026, 1, 1, tzinfo=UTC))
    else:
        writers = {
            "bsv": write_bsv,
            "brat": write_brat,
            "doccano": write_doccano,
            "label_studio": write_label_studio,
            "i2b2": write_i2b2,
        }
        writers[format](cases, path)
    return path


def format_lines(foreign: Foreign, note: str) -> tuple[Line, ...]:
    """The timeline as it would be exported after it was stored."""
    kind, alternative = foreign.heading.kind, foreign.heading.alternative
    assert kind is not None
    assert alternative is not None
    inventory, timeline = build_domain(foreign, note, seed="x", kind=kind, alternative=alternative)
    return tuple(
        Line(
            case_id=foreign.heading.case,
            source=foreign.heading.source or "",
            kind=kind.value,
            alternative=alternative,
            uid4=o.uid,
            mention=o.mention,
            start=o.start,
            end=o.end,
            time=e.time,
            lower=e.lower,
            upper=e.upper,
            known=e.known,
            context=e.context,
            evidence=(),
            polarity=o.polarity.value,
            lane=o.lane.value,
            span_text=None if o.start is None else note[o.start : o.end],
            rows=e.adopted_rows,
            reason=e.reason,
            decided_by=e.decided_by,
            confidence=e.confidence,
        )
        for o, e in zip(inventory, timeline, strict=True)
    )


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(cases=cohorts())
@example(
    cases=[
        bare_case("ward/1", "\ufeffFever", (0, 2)),
        bare_case("ward_1", "\r\n\ufffe\x01|", (0, 5)),
    ]
)
def test_a_timeline_comes_back_as_it_was(format, cases):
    notes = {case.encounter.case_id: case.note or "" for case in cases}
    with TemporaryDirectory() as folder:
        found, faults = read(format, write(format, cases, Path(folder)), Book(**notes))
    assert not faults, [f.words() for f in faults]
    back = {(f.heading.case, f.heading.kind): format_lines(f, notes[f.heading.case]) for f in found}
    assert back == {(t[0].case_id, t[0].kind): t for case in cases for t in case.timelines}
