"""Stage 2 writes mentions as in mentions.md."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.spec.table import read_table
from timelines.domain import TaggedSpan
from timelines.pipeline.uids import assign_uids

TABLE = read_table(Path(__file__).with_name("mentions.md"))


@pytest.mark.parametrize("row", TABLE, ids=[row["tagged"] for row in TABLE])
def test_mentions(row: dict[str, str]) -> None:
    (occurrence,) = assign_uids([TaggedSpan(0, 1, _decode_cell(row["tagged"]))], rng=Random(0))
    assert occurrence.mention == _decode_cell(row["stored"])


def _decode_cell(cell: str) -> str:
    return cell.replace("␣", " ").replace("⏎", "\n").replace("¦", "|")
