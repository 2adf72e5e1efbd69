"""Every format preserves every timeline over export and import."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, example, given, settings

from tests.unit.timelines.formats.cohorts import bare_case, cohorts
from tests.unit.timelines.formats.foreign_cases import Book, read
from timelines.formats.assembling import build_domain
from timelines.formats.brat.writer import write_brat
from timelines.formats.columns import write_parquet
from timelines.formats.doccano.writer import write_doccano
from timelines.formats.event_table.writer import write_bsv
from timelines.formats.i2b2.writer import write_i2b2
from timelines.formats.label_studio.writer import write_label_studio
from timelines.formats.lines import CaseLines, Line
from timelines.formats.meds.writer import write_meds
from timelines.formats.tables.writer import write_csv, write_jsonl
from timelines.formats.values import Foreign

FORMATS = ("jsonl", "csv", "parquet", "meds", "bsv", "brat", "doccano", "label_studio", "i2b2")


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
