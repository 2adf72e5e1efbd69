"""Lane and polarity of marked occurrences, by hand and in numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.paths import DEMO
from timelines.backbones.rules.tagging.kinds import Marked, infer_kinds
from timelines.domain import Lane, Polarity

#: The lane of each line of the intro case's reference, read by hand.
INTRO = """
history history history history medication finding finding medication finding finding procedure
finding lab medication medication transfer procedure finding finding lab lab medication medication
procedure finding finding lab lab medication finding finding transfer medication medication plan
"""


def _read(folder: Path) -> tuple[list[dict[str, object]], list[tuple[Lane, Polarity]]]:
    lines = [json.loads(x) for x in (folder / "reference.jsonl").read_text().splitlines()]
    note = (folder / "note.txt").read_bytes().decode("utf-8")
    return lines, infer_kinds(note, [Marked(x["mention"], x["start"], x["end"]) for x in lines])


def test_the_lanes_of_the_intro_case_are_those_read_by_hand():
    lines, kinds = _read(DEMO / "intro" / "intro-ich")
    found = [(line["mention"], lane.value) for line, (lane, _) in zip(lines, kinds, strict=True)]
    expected = [(line["mention"], lane) for line, lane in zip(lines, INTRO.split(), strict=True)]
    assert found == expected


def test_the_polarity_agrees_with_the_authors_of_the_cohort():
    agreed = total = findings = 0
    for file in sorted(DEMO.glob("*/*/reference.jsonl"))[::3]:
        lines, kinds = _read(file.parent)
        agreed += sum(x["polarity"] == p for x, (_, p) in zip(lines, kinds, strict=True))
        findings += sum(lane is Lane.FINDING for lane, _ in kinds)
        total += len(lines)
    assert agreed / total > 0.98
    assert findings / total < 0.35


@pytest.mark.parametrize(
    ("mention", "lane", "polarity"),
    [
        ("vancomycin started", Lane.MEDICATION, Polarity.PRESENT),
        ("no fever", Lane.FINDING, Polarity.ABSENT),
        ("lactate 4.0", Lane.LAB, Polarity.PRESENT),
        ("transferred to the floor", Lane.TRANSFER, Polarity.PRESENT),
        ("58 year old woman", Lane.HISTORY, Polarity.PRESENT),
        ("", Lane.FINDING, Polarity.PRESENT),
        ("\u2028\x85 ½", Lane.FINDING, Polarity.PRESENT),
    ],
)
def test_a_mention_without_a_place_is_read_by_its_own_words(mention, lane, polarity):
    assert infer_kinds("", [Marked(mention)]) == [(lane, polarity)]
