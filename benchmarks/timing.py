"""Measure how fast the rules date a note: `python -m benchmarks.timing`.

The peer is the parse of the same note, which every stage shares. Dating reads the time phrases,
weighs the days that they may mean, and reads the story three times. The goal is a ratio of at most
0.5. The share of weighing days is printed too; its goal is 100 ms a note.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

from ehr.formats.cases import read_case
from timelines.backbones.rules.tagging.tagger import RuleTagger
from timelines.backbones.rules.text import Analysis, _analyse, analyse
from timelines.backbones.rules.timing.anchors.sequence import Choice, Passage
from timelines.backbones.rules.timing.timer import RuleTimer
from timelines.domain import Anchor, TaggedNote
from timelines.pipeline.tagging import tag
from timelines.pipeline.uids import assign_uids, find_identities, uid_rng

GOAL = 0.5
GOAL_SECONDS = 0.1
CASE = Path(__file__).resolve().parents[1] / "demo" / "cohort" / "20338077"


def main() -> int:
    """Print times and the ratio; return 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", type=Path, default=CASE, help="folder in the `cases` format")
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    note, anchor = read_note(options.case)
    timer = RuleTimer()
    parsing = time_best(lambda: parse(note.text), options.repeat)
    dating = time_best(lambda: timer.infer(note, anchor), options.repeat)
    weighing = time_weighing(lambda: timer.infer(note, anchor))
    ratio = dating / parsing
    print(f"{len(note.text):,} characters, {len(note.inventory.uids)} occurrences")
    print(f"parse {parsing:.3f} s, date {dating:.3f} s, ratio {ratio:.2f} (goal {GOAL})")
    print(f"  of it weighing days: {weighing * 1000:.0f} ms")
    return int(ratio > GOAL or weighing > GOAL_SECONDS)


def parse(text: str) -> Analysis:
    """Analyse a note without the cache."""
    _analyse.cache_clear()
    return analyse(text)


def read_note(folder: Path) -> tuple[TaggedNote, Anchor]:
    """Return the tagged note of a demo case and its admission."""
    case = read_case(folder)
    assert case.encounter is not None, folder
    text = case.notes[0].text
    spans = tag(RuleTagger(), text)
    inventory = assign_uids(spans, rng=uid_rng(0, "", find_identities(spans)), in_use=None)
    return TaggedNote(text, inventory), Anchor(case.encounter.admitted_at)


def time_best(work: Callable[[], object], repeat: int) -> float:
    """Return the least seconds of several runs."""
    found = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return min(found)


def time_weighing(work: Callable[[], object]) -> float:
    """Return the seconds that `work` spends in weighing days."""
    spent = 0.0
    choose = Passage.choose

    def timed(passage: Passage, *given: object) -> Choice:
        nonlocal spent
        start = time.perf_counter()
        found = choose(passage, *given)  # type: ignore[arg-type]
        spent += time.perf_counter() - start
        return found

    with patch.object(Passage, "choose", timed):
        work()
    return spent


if __name__ == "__main__":
    raise SystemExit(main())
