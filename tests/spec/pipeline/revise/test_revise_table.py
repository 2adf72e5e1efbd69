"""Every reviser satisfies the table in adoption.md."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

import pytest

from tests.spec.table import read_table
from timelines.backbones.rules.revision.reviser import RuleReviser
from timelines.domain import (
    Anchor,
    Entry,
    Evidence,
    Expansion,
    Inventory,
    Occurrence,
    Polarity,
    SourceRow,
    TaggedNote,
    TimeKind,
    Timeline,
    TimelineKind,
    Window,
)
from timelines.pipeline.backbone import Reviser
from timelines.pipeline.revision import revise

REVISERS: list[Reviser] = [RuleReviser()]
TABLE = read_table(Path(__file__).with_name("adoption.md"))
WINDOW = Window(Anchor(datetime(2150, 1, 1)), 120.0)


@pytest.mark.parametrize("reviser", REVISERS, ids=lambda r: type(r).__name__)
@pytest.mark.parametrize("row", TABLE, ids=[row["because"] for row in TABLE])
def test_adoption(reviser: Reviser, row: dict[str, str]) -> None:
    marks = list(re.finditer(r"\[\[(.*?)\]\]", row["note"]))
    start = len(row["note"][: marks[-1].start()].replace("[[", "").replace("]]", ""))
    span = marks[-1][1]
    polarity = Polarity.ABSENT if span.startswith("not ") else Polarity.PRESENT
    inventory = Inventory((Occurrence("0a1b", 0, span, start, start + len(span), polarity),))
    note = TaggedNote(row["note"].replace("[[", "").replace("]]", ""), inventory)
    text = Timeline.complete(inventory, [_entry(row["text"])], TimelineKind.TEXT_ONLY)
    (timeline,) = revise(
        reviser, note, text, Expansion(_evidence(row["rows"])), WINDOW, alternatives=1
    )
    (entry,) = timeline
    assert entry.time == pytest.approx(float(row["time"]))
    assert sorted(entry.adopted_rows) == [int(i) for i in row["cites"].split() if i != "–"]
    assert entry.decided_by
    assert entry.reason


def _entry(cell: str) -> Entry:
    match = re.fullmatch(r"(\S+) \((\S+)…(\S+)\)", cell)
    assert match is not None
    time, lower, upper = (float(v) for v in match.groups())
    return Entry("0a1b", time, lower, upper)


def _evidence(cell: str) -> tuple[Evidence, ...]:
    found = []
    for rank, item in enumerate(cell.split("; "), start=1):
        match = re.fullmatch(r"(\d+) (.+?) = (.*?) ?@ (\S+) (\w+)", item.strip())
        assert match is not None, item
        index, event, value, hours, kind = match.groups()
        numeric = float(value) if re.fullmatch(r"-?[\d.]+", value) else None
        row = SourceRow(
            int(index), float(hours), event, value, time_kind=TimeKind(kind), numeric_value=numeric
        )
        found.append(Evidence("0a1b", 0, row, rank, 0.8, 0.8))
    return tuple(found)
