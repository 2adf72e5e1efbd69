"""Measure how costs of a study grow: `python -m benchmarks.growth`.

Studies of several sizes are imported, run, evaluated, judged, read and dumped, each in a database of
its own. A stay has a note of the demo, 3,600 rows in 300 series, and the results of a run by the
rules. Seconds are those of processors, of this program and its database together, because others may
use the machine.

* What is done once for all stays may grow as the number of stays does: between the smallest and the
  largest size by at most its 1.1th power.
* Pages may take at most 200 ms of processors at every size.

`--keep` stores the results and draws them for docs/scale.md; `--draw` draws stored ones anew.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.support.growth.picture import draw

GOAL_POWER, GOAL_PAGE = 1.1, 0.2
#: Work that takes less than so many seconds in the largest study is not judged by its growth.
LEAST_SECONDS = 1.0
ROOT = Path(__file__).resolve().parent
RESULTS = ROOT / "results" / "growth.json"
PICTURE = ROOT.parent / "docs" / "images" / "growth.svg"


def main() -> int:
    """Print the costs of each size; return 1 if something grows too fast."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--stays", type=int, nargs="+", default=[50, 200])
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--draw", action="store_true")
    options = parser.parse_args()
    found = [] if not options.draw else load(RESULTS)
    for stays in [] if options.draw else sorted(options.stays):
        found.append(measure_size(stays))
        if options.keep:
            keep(found[-1])
    if options.keep:
        found = load(RESULTS)
    if options.keep or options.draw:
        draw(found, PICTURE)
    return print_growth(found)


def keep(study: dict[str, Any]) -> None:
    """Store the results of one size, in place of earlier ones."""
    kept = {other["stays"]: other for other in [*load(RESULTS), study]}
    RESULTS.write_text(json.dumps([kept[stays] for stays in sorted(kept)], indent=1) + "\n")


def load(file: Path) -> list[dict[str, Any]]:
    """Return the stored results, by size; none if there is no file."""
    return json.loads(file.read_text()) if file.exists() else []


def measure_size(stays: int) -> dict[str, Any]:
    """Measure one size in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "costs.json"
        command = [sys.executable, "-m", "benchmarks.support.growth.study", str(stays), str(file)]
        subprocess.run(command, check=True)
        found: dict[str, Any] = json.loads(file.read_text())
    return found


def print_growth(found: Sequence[Mapping[str, Any]]) -> int:
    """Print the table; return 1 if a goal is missed."""
    print("stays".ljust(30), *(f"{study['stays']:>10,}" for study in found), "     power")
    missed = 0
    for name in found[-1]["costs"]:
        seconds = [cpu(study["costs"][name]) for study in found]
        power = growth([study["stays"] for study in found], seconds)
        slow = power > GOAL_POWER and seconds[-1] > LEAST_SECONDS and name not in PARTS
        missed += slow
        words = " too fast" if slow else ""
        print(name.ljust(30), *(f"{s:10.2f}" for s in seconds), f"{power:10.2f}{words}")
    for name in found[-1]["pages"]:
        seconds = [cpu(study["pages"][name]) for study in found]
        missed += seconds[-1] > GOAL_PAGE
        print(f"page: {name}".ljust(30), *(f"{1000 * s:8.0f}ms" for s in seconds))
    for name in ("imported", "reconstructed", "all"):
        sizes = [sum(study["bytes"][name].values()) / 1e6 for study in found]
        print(f"disk: {name}".ljust(30), *(f"{size:8.0f}MB" for size in sizes))
    print("backup".ljust(30), *(f"{study['backup_bytes'] / 1e6:8.0f}MB" for study in found))
    return int(missed > 0)


#: Measured over a few stays in every size.
PARTS = ("judging", "embedding of one stay")


def cpu(cost: Mapping[str, float]) -> float:
    """Return the processors' seconds of program and database."""
    return cost["client"] + cost["server"]


def growth(stays: Sequence[int], seconds: Sequence[float]) -> float:
    """Return the power of the number of stays by which seconds grow.

    It is that between the smallest and the largest size; 0 with one size.
    """
    if stays[0] == stays[-1] or seconds[0] <= 0:
        return 0.0
    return math.log(seconds[-1] / seconds[0]) / math.log(stays[-1] / stays[0])


if __name__ == "__main__":
    raise SystemExit(main())
