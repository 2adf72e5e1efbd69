"""Show what `make test` measured, and fail below a floor:
`python -m tests.coverage_floor FILE PERCENT`.

Lines and branches count together, as in coverage.py's percentage. What runs in another process (a
worker, the supervisor, a command) is not measured.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

#: How many of the files with the most lines and branches left are named.
NAMED = 10


def main(path: str, floor: float) -> int:
    """Print the total and the least covered files; return the exit code."""
    measured = json.loads(Path(path).read_text(encoding="utf-8"))
    total = measured["summary"]
    branches = (
        100 * total["covered_branches"] / (total["covered_branches"] + total["missing_branches"])
    )
    print(
        f"Coverage: {total['percent_covered']:.1f} % of lines and branches, {branches:.1f} % of branches."
    )
    left = sorted(
        (f["summary"]["missing_lines"] + f["summary"]["missing_branches"], name)
        for name, f in measured["files"].items()
    )
    for count, name in reversed(left[-NAMED:]):
        print(f"  {count:5,} left in {name}")
    if total["percent_covered"] < floor:
        print(f"That is below {floor:g} %.")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1], float(sys.argv[2])))
