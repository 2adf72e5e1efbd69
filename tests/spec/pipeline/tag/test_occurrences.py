"""The table of occurrences.md, row by row.

A row has a section, a line, and every occurrence that the rules tagger marks in it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spec.table import read_table
from timelines.backbones.rules.tagging.tagger import RuleTagger
from timelines.domain import Polarity

ROWS = read_table(Path(__file__).with_name("occurrences.md"))


@pytest.mark.parametrize("row", ROWS, ids=[row["text"][:40] for row in ROWS])
def test_occurrences(row: dict[str, str]) -> None:
    note = f"{row['section'].upper()}:\n{row['text']}\n"
    found = [
        f"{'-' if s.polarity is Polarity.ABSENT else ''}{note[s.start : s.end]} → {s.mention}"
        for s in RuleTagger().tag(note)
    ]
    assert found == [
        cell.strip() for cell in row["occurrences"].split(" ; ") if cell.strip() != "none"
    ]
