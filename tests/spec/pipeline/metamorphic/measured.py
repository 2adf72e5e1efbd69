"""Count times of the rules that move with what must not matter in a note."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path

from tests.spec.pipeline.metamorphic.changes import Changed
from tests.unit.adjudication.packets.planted_games import read_case
from timelines.backbones.rules.tagging.tagger import RuleTagger
from timelines.backbones.rules.timing.timer import RuleTimer
from timelines.domain import Anchor, Inventory, Occurrence, TaggedNote

#: Hours that a time may differ.
SAME = 1.0
#: Intersection over union from which two spans are the same occurrence.
SAME_SPAN = 0.5


@dataclass(frozen=True)
class Moves:
    """What a change did to occurrences whose words it left in the note.

    `lost` are not tagged any more; `moved` are tagged and have another time.
    """

    compared: int = 0
    lost: int = 0
    moved: int = 0

    def __add__(self, other: Moves) -> Moves:
        return Moves(
            self.compared + other.compared, self.lost + other.lost, self.moved + other.moved
        )

    @property
    def moved_share(self) -> float:
        """Share of those still tagged that moved."""
        return self.moved / max(1, self.compared - self.lost)

    @property
    def lost_share(self) -> float:
        return self.lost / max(1, self.compared)


@dataclass(frozen=True)
class Placed:
    """A tagged span with its time."""

    start: int
    end: int
    time: float | None


def place(note: str, anchor: Anchor) -> list[Placed]:
    """Tag a note by the rules and place its occurrences."""
    spans = RuleTagger().tag(note)
    inventory = Inventory(
        tuple(
            Occurrence(f"{i:04x}", i, s.mention, s.start, s.end, s.polarity, s.lane)
            for i, s in enumerate(spans)
        )
    )
    timeline = RuleTimer().infer(TaggedNote(note, inventory), anchor)
    return [Placed(s.start, s.end, timeline.by_uid[f"{i:04x}"].time) for i, s in enumerate(spans)]


@cache
def _place_unchanged(folder: Path) -> list[Placed]:
    note, anchor, *_ = read_case(folder)
    return place(note, anchor)


def measure(folders: Iterable[Path], change: Callable[[str], Changed]) -> Moves:
    """Count what a change moves, over the notes that it changes."""
    total = Moves()
    for folder in folders:
        note, anchor, *_ = read_case(folder)
        changed = change(note)
        if changed.text == note and not changed.minutes:
            continue
        shifted = Anchor(anchor.at + timedelta(minutes=changed.minutes))
        total += _compare(_place_unchanged(folder), place(changed.text, shifted), changed)
    return total


def _compare(before: list[Placed], after: list[Placed], changed: Changed) -> Moves:
    compared = lost = moved = 0
    for one in before:
        span = changed.find_span(one.start, one.end)
        if span is None:
            continue
        compared += 1
        other = max(after, key=lambda p: _overlap(span, p), default=None)
        if other is None or _overlap(span, other) < SAME_SPAN:
            lost += 1
        elif (one.time is None) != (other.time is None) or (
            one.time is not None and other.time is not None and abs(one.time - other.time) > SAME
        ):
            moved += 1
    return Moves(compared, lost, moved)


def _overlap(span: tuple[int, int], placed: Placed) -> float:
    inside = min(span[1], placed.end) - max(span[0], placed.start)
    return max(0, inside) / (max(span[1], placed.end) - min(span[0], placed.start))
