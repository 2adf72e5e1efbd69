"""Every query writer satisfies the table in queries.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.spec.table import read_table
from timelines.backbones.rules.querying.writer import RuleQueryWriter
from timelines.domain import Inventory, Occurrence, TaggedNote
from timelines.pipeline.backbone import QueryWriter

WRITERS: list[QueryWriter] = [RuleQueryWriter()]
TABLE = read_table(Path(__file__).with_name("queries.md"))


@pytest.mark.parametrize("writer", WRITERS, ids=lambda w: type(w).__name__)
@pytest.mark.parametrize("row", TABLE, ids=[row["asks for"] for row in TABLE])
def test_query(writer: QueryWriter, row: dict[str, str]) -> None:
    # The last bracketed piece is the occurrence, so that a row can name its context first.
    marks = list(re.finditer(r"\[\[(.*?)\]\]", row["note"]))
    before = row["note"][: marks[-1].start()].replace("[[", "").replace("]]", "")
    note = row["note"].replace("[[", "").replace("]]", "")
    span = marks[-1][1]
    occurrence = Occurrence("0a1b", 0, span, len(before), len(before) + len(span))
    queries = writer.write(TaggedNote(note, Inventory((occurrence,))))["0a1b"]
    assert 1 <= len(queries) <= 3
    wanted = row["asks for"].split()
    assert any(all(word in query.split() for word in wanted) for query in queries), queries
