"""Stage 5 of the published preset satisfies the table in rows.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spec.table import read_table
from timelines.domain import (
    Candidate,
    Entry,
    Inventory,
    Occurrence,
    SourceRow,
    Timeline,
    TimelineKind,
)
from timelines.pipeline.config import Preset, preset_config
from timelines.pipeline.expansion import Caps, expand

TABLE = read_table(Path(__file__).with_name("rows.md"))
EVENT = "lab:any:blood"


@pytest.mark.parametrize("row", TABLE, ids=[f"{row['mention']}: {row['kept']}" for row in TABLE])
def test_rows_of_one_summary(row: dict[str, str]) -> None:
    inventory = Inventory((Occurrence("0a1b", 0, row["mention"], 0, 1),))
    lower, upper = (float(v) for v in row["bounds"].split("…"))
    text = Timeline.complete(inventory, [Entry("0a1b", None, lower, upper)], TimelineKind.TEXT_ONLY)
    candidate = Candidate("0a1b", 0, EVENT, 1, 0.9, 0.9, kept=True, fate="kept")
    found = expand(
        inventory,
        text,
        [candidate],
        {EVENT: _rows(row["rows"])},
        discharge=100.0,
        caps=Caps(),
        config=preset_config(Preset.PUBLISHED),
    )
    assert [e.row.row_index for e in found.evidence] == [int(i) for i in row["kept"].split()]


def _rows(cell: str) -> list[SourceRow]:
    rows = []
    for item in cell.split(";"):
        index, rest = item.split(":")
        value, hours = rest.split("@")
        rows.append(SourceRow(int(index), float(hours), EVENT, value.strip()))
    return rows
