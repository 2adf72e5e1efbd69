"""Learn how far the bounds of each way of decision miss the reference.

Run as `python -m timelines.backbones.rules.learn_calibration CASE…` with folders in the
`cases` format that have a reference. Writes `calibration.toml`. Deterministic.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import numpy as np

from timelines.backbones.rules.tagging.tagger import RuleTagger
from timelines.backbones.rules.timing.calibration import (
    MARGINS,
    Margins,
    learned_margins,
    time_scale,
    way_of,
)
from timelines.backbones.rules.timing.timer import RuleTimer
from timelines.domain import Anchor, Entry, Inventory, Occurrence, TaggedNote
from timelines.evaluation.spans import match_spans

#: Shares of references that the bounds of stated and of other times contain. The shares promised on
#: new notes are 0.95 of the stated and 0.90 of all.
STATED, OTHERS = 0.975, 0.942
#: A way of decision that was seen less often takes the margins of all that are alike.
_FEWEST = 15
#: Prices of a miss, in units of width: the cheapest that reaches the share is used.
_PRICES = np.geomspace(0.1, 10_000, 200)

#: Hours by which a reference, which is rounded, may be beyond a bound.
_SAME = 0.02
Miss = tuple[float, float]


def measure(folder: Path) -> list[tuple[Entry, float]]:
    """Return the text-only entries of a case with their reference times.

    An entry and its reference have the same span.
    """
    encounter = json.loads((folder / "encounter.json").read_text(encoding="utf-8"))
    anchor = Anchor(datetime.fromisoformat(encounter["admitted_at"]))
    discharge = anchor.hours(datetime.fromisoformat(encounter["discharged_at"]))
    note = (folder / "note.txt").read_text(encoding="utf-8")
    lines = (folder / "reference.jsonl").read_text(encoding="utf-8").splitlines()
    reference = [json.loads(line) for line in lines]
    inventory = Inventory(
        tuple(
            Occurrence(f"{i:04x}", i, s.mention, s.start, s.end, s.polarity, s.lane)
            for i, s in enumerate(RuleTagger().tag(note))
        )
    )
    timeline = RuleTimer(margins={}).infer(TaggedNote(note, inventory), anchor, discharge)
    matches = match_spans(
        [(r["start"], r["end"]) for r in reference],
        [(o.start or 0, o.end or 0) for o in inventory],
    )
    return [
        (timeline.by_uid[f"{p:04x}"], reference[r]["time"])
        for r, p, _ in matches
        if reference[r]["time"] is not None and timeline.by_uid[f"{p:04x}"].time is not None
    ]


def learn(pairs: Iterable[tuple[Entry, float]]) -> dict[str, Margins]:
    """Return the margins that reach the shares with the least width."""
    misses: dict[str, list[Miss]] = defaultdict(list)
    for entry, truth in pairs:
        unit = time_scale(entry.time or 0.0)
        early = 0.0 if entry.lower is None else max(0.0, (entry.lower - truth) / unit)
        late = 0.0 if entry.upper is None else max(0.0, (truth - entry.upper) / unit)
        misses[way_of(entry.decided_by, bool(entry.known))].append((early, late))
    stated = {way: m for way, m in misses.items() if way.endswith(", stated")}
    others = {way: m for way, m in misses.items() if way not in stated}
    return {**_share_out(stated, STATED), **_share_out(others, OTHERS)}


def _share_out(misses: Mapping[str, Sequence[Miss]], share: float) -> dict[str, Margins]:
    """Return the margins of all ways.

    The price of a miss is the lowest that reaches the share. A miss is left where avoiding it would
    cost most width.
    """
    rare = [m for way in sorted(misses) if len(misses[way]) < _FEWEST for m in misses[way]]
    groups = {way: m for way, m in misses.items() if len(m) >= _FEWEST}
    if rare:
        groups[""] = rare
    choices = {way: _Choices(np.array(m)) for way, m in groups.items()}
    total = sum(len(m) for m in groups.values())
    for price in _PRICES:
        chosen = {way: c.find_cheapest(price) for way, c in choices.items()}
        if sum(missed for _, missed in chosen.values()) <= (1 - share) * total:
            break
    return {way: chosen[way if way in groups else ""][0] for way in misses}


class _Choices:
    """The margins that one way of decision may have, and what each would miss.

    `misses`: (n, 2) how early and how late each reference is beyond the bounds.
    """

    def __init__(self, misses: np.ndarray) -> None:
        # Candidates are the misses themselves, thinned to what differs by 1 % of them.
        self.early, self.late = (
            np.unique(np.quantile(side, np.linspace(0, 1, 101), method="higher"))
            for side in misses.T
        )
        outside = (misses[:, 0, None, None] > self.early[:, None] + _SAME) | (
            misses[:, 1, None, None] > self.late[None, :] + _SAME
        )
        self.missed = outside.sum(axis=0)
        self.size = len(misses)

    def find_cheapest(self, price: float) -> tuple[Margins, int]:
        """Return the margins with the least cost, and how many they miss.

        The cost is the width, plus `price` for the share of misses.
        """
        cost = self.early[:, None] + self.late[None, :] + price * self.missed / self.size
        i, j = np.unravel_index(int(cost.argmin()), cost.shape)
        return Margins(float(self.early[i]), float(self.late[j])), int(self.missed[i, j])


def write(margins: Mapping[str, Margins]) -> None:
    """Write `calibration.toml`."""
    parts = ["# Written by learn_calibration.py; see calibration.py for the units.\n"]
    for way, m in sorted(margins.items()):
        parts.append(f'["{way}"]\nbefore = {m.before:.2f}\nafter = {m.after:.2f}\n')
    MARGINS.write_text("\n".join(parts), encoding="utf-8")
    learned_margins.cache_clear()


def main(folders: Sequence[str]) -> None:
    """Learn from the named cases."""
    write(learn(pair for folder in folders for pair in measure(Path(folder))))


if __name__ == "__main__":
    main(sys.argv[1:])
