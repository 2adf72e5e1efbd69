"""The tables in summaries.md and unidentified.md.

Every backbone that revises from summaries, or without identifiers, satisfies them.
"""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

import pytest

from tests.spec.table import read_table
from timelines.backbones.rules.revision.summaries import SummaryRuleReviser
from timelines.backbones.rules.revision.unidentified import UnidentifiedRuleReviser
from timelines.domain import (
    Anchor,
    Entry,
    Evidence,
    Expansion,
    Inventory,
    KeptSummary,
    Occurrence,
    SourceRow,
    TaggedNote,
    TimeKind,
    Timeline,
    TimelineKind,
    Window,
)
from timelines.pipeline.backbone import SummaryReviser, UnidentifiedReviser
from timelines.pipeline.summaries import revise_by_summaries
from timelines.pipeline.unidentified import revise_unidentified

HERE = Path(__file__).parent
SUMMARIES = read_table(HERE / "summaries.md")
UNIDENTIFIED = read_table(HERE / "unidentified.md")
WINDOW = Window(Anchor(datetime(2150, 1, 1)), 120.0)


def _note(cell: str) -> TaggedNote:
    """Return the note without its brackets.

    Each bracket is an occurrence, 0001 the first.
    """
    occurrences: list[Occurrence] = []
    text = ""
    for part in re.split(r"(\[\[.*?\]\])", cell):
        mention = part.removeprefix("[[").removesuffix("]]")
        if mention != part:
            n = len(occurrences)
            occurrences.append(
                Occurrence(f"{n + 1:04x}", n, mention, len(text), len(text) + len(mention))
            )
        text += mention
    return TaggedNote(text, Inventory(tuple(occurrences)))


@pytest.mark.parametrize("reviser", [SummaryRuleReviser()], ids=lambda r: type(r).__name__)
@pytest.mark.parametrize("row", SUMMARIES, ids=[row["because"] for row in SUMMARIES])
def test_summaries(reviser: SummaryReviser, row: dict[str, str]) -> None:
    note = _note(row["note"])
    match = re.fullmatch(r"(\S+) \((\S+)…(\S+)\)", row["text"])
    assert match is not None
    time, lower, upper = (float(v) for v in match.groups())
    text = Timeline.complete(
        note.inventory,
        [Entry("0001", time, lower, upper, decided_by="text")],
        TimelineKind.TEXT_ONLY,
    )
    summary = KeptSummary("0001", 0, row["event"], row["summary"].replace(" / ", "\n"), 1, 0.9, 0.9)
    first, second = revise_by_summaries(reviser, note, text, [summary], WINDOW, alternatives=2)
    (entry,) = first
    assert entry.time == pytest.approx(float(row["time"]))
    assert (entry.decided_by == "rules: summary") == (row["by"] == "summary")
    assert entry.adopted_rows == ()
    assert entry.reason
    assert len(second) == 1


@pytest.mark.parametrize("reviser", [UnidentifiedRuleReviser()], ids=lambda r: type(r).__name__)
@pytest.mark.parametrize("row", UNIDENTIFIED, ids=[row["because"] for row in UNIDENTIFIED])
def test_unidentified(reviser: UnidentifiedReviser, row: dict[str, str]) -> None:
    note = _note(row["note"])
    times = [None if t == "–" else float(t) for t in row["text"].split()]
    entries = [
        Entry(o.uid, t, None if t is None else t - 2, None if t is None else t + 2)
        for o, t in zip(note.inventory, times, strict=True)
    ]
    text = Timeline.complete(note.inventory, entries, TimelineKind.TEXT_ONLY)
    first, second = revise_unidentified(
        reviser, note, text, Expansion(_rows(row["rows"])), WINDOW, alternatives=2
    )
    assert "; ".join(f"{line.event} @ {line.time:g}" for line in first) == row["lines"]
    assert (first.alternative, second.alternative) == (1, 2)


def _rows(cell: str) -> tuple[Evidence, ...]:
    found = []
    for item in cell.split("; ") if cell != "–" else []:
        match = re.fullmatch(r"(\d+): (\d+) (\S.*?) = (\S*) @ (\S+) (\S+)", item)
        assert match is not None
        place, index, event, value, hours, kind = match.groups()
        source = SourceRow(
            int(index),
            float(hours),
            event,
            value,
            time_kind=TimeKind(kind),
            numeric_value=float(value) if value else None,
        )
        found.append(Evidence(f"{int(place):04x}", 0, source, 1, 0.9))
    return tuple(found)
