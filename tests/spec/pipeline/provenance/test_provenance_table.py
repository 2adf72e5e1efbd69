"""Stage 7 recovers spans as in chains.md."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.spec.table import read_table
from timelines.domain import TaggedSpan
from timelines.pipeline.tagging import parse_tagged, render_tagged, tag
from timelines.pipeline.uids import assign_uids

TABLE = read_table(Path(__file__).with_name("chains.md"))


@pytest.mark.parametrize("row", TABLE, ids=[row["tagged"] for row in TABLE])
def test_spans(row: dict[str, str]) -> None:
    before, inside, after = _parts(row["tagged"].replace("⏎", "\r\n").replace("⇥", "\t"))
    note = before + inside + after
    tagged = tag(_One(TaggedSpan(len(before), len(before) + len(inside), "it")), note)
    (found,) = parse_tagged(render_tagged(note, assign_uids(tagged, rng=Random(0))), note)
    assert (found.start, found.end, note[found.start : found.end]) == (
        int(row["start"]),
        int(row["end"]),
        row["quote"],
    )


def _parts(cell: str) -> tuple[str, str, str]:
    before, rest = cell.split("[")
    inside, after = rest.split("]")
    return before, inside, after


class _One:
    """A tagger that has found one span."""

    def __init__(self, span: TaggedSpan) -> None:
        self._span = span

    def tag(self, note: str, kind: str = "") -> list[TaggedSpan]:
        return [self._span]
