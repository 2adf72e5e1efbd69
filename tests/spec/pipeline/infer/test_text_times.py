"""The table of text_times.md, row by row.

A row has one sentence, one occurrence, its hours, bounds and known flag.
"""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

import pytest

from timelines.backbones.rules.timing.timer import RuleTimer
from timelines.domain import Anchor, Inventory, Occurrence, TaggedNote

ANCHOR = Anchor(datetime(2150, 3, 4, 22, 0))
OCCURRENCE = re.compile(r"\[(?!\*)([^\]*]+)\]")


def rows() -> list[tuple[str, str, str, str, str, str]]:
    found = []
    for line in (Path(__file__).parent / "text_times.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("| ") and cells[0] not in ("section",):
            section, text, hours, lower, upper, known = cells
            found.append((section, text, hours, lower, upper, known))
    return found


def make_tagged_note(section: str, marked: str) -> TaggedNote:
    match = OCCURRENCE.search(marked)
    assert match is not None
    head = f"{section.upper()}:\n"
    text = head + marked[: match.start()] + match[1] + marked[match.end() :] + "\n"
    start = len(head) + match.start()
    return TaggedNote(
        text, Inventory((Occurrence("00aa", 0, match[1], start, start + len(match[1])),))
    )


def number(cell: str) -> float | None:
    return float(cell) if cell else None


def test_the_table_has_rows() -> None:
    assert len(rows()) >= 30


@pytest.mark.parametrize(("section", "text", "hours", "lower", "upper", "known"), rows())
def test_row(section: str, text: str, hours: str, lower: str, upper: str, known: str) -> None:
    (entry,) = RuleTimer(margins={}).infer(make_tagged_note(section, text), ANCHOR).entries
    assert entry.time == pytest.approx(
        float(hours), abs=0.06 if abs(float(hours)) < 1000 else 25
    ), entry.reason
    if lower or upper:
        assert entry.lower == pytest.approx(
            number(lower), abs=0.06 if not lower or abs(float(lower)) < 1000 else 25
        ), entry.reason
        assert entry.upper == pytest.approx(
            number(upper), abs=0.06 if not upper or abs(float(upper)) < 1000 else 25
        ), entry.reason
    assert entry.known is (known == "yes"), entry.reason
