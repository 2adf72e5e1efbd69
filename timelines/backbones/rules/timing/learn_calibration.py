"""Learn how far the bounds of each way of decision miss the reference.

Run as `python -m timelines.backbones.rules.timing.learn_calibration CASE…` with folders in the
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

#: Share of references that the bounds contain; the shares promised are 0.95 and 0.90.
STATED, ALL = 0.96, 0.92
#: A way of decision that was seen less often takes the margins of all that are alike.
_FEWEST = 15
#: Shares of the misses that may be on the early side.
_SPLITS = np.linspace(0, 1, 21)

Miss = tuple[float, float]


def measure(folder: Path) -> list[tuple[Entry, float]]:
    """Return the text-only entries of a case with the reference times of the same spans."""
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
    """Return the narrowest margins that give each way of decision its share."""
    misses: dict[str, list[Miss]] = defaultdict(list)
    for entry, truth in pairs:
        unit = time_scale(entry.time or 0.0)
        early = 0.0 if entry.lower is None else max(0.0, (entry.lower - truth) / unit)
        late = 0.0 if entry.upper is None else max(0.0, (truth - entry.upper) / unit)
        misses[way_of(entry.decided_by, entry.known)].append((early, late))
    stated = {way for way in misses if way.endswith(", stated")}
    margins = {}
    for way, own in misses.items():
        alike = stated if way in stated else misses.keys() - stated
        few = len(own) < _FEWEST
        used = [m for other in sorted(alike) for m in misses[other]] if few else own
        margins[way] = _narrowest(used, STATED if way in stated else ALL)
    return margins


def _narrowest(misses: Sequence[Miss], share: float) -> Margins:
    """Return the margins with the least sum that leave out at most 1 - `share`."""
    early, late = np.array(misses).T
    best = Margins(float(early.max()), float(late.max()))
    for split in _SPLITS:
        before = float(np.quantile(early, 1 - (1 - share) * split, method="higher"))
        after = float(np.quantile(late, 1 - (1 - share) * (1 - split), method="higher"))
        if before + after < best.before + best.after:
            best = Margins(before, after)
    return best


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
