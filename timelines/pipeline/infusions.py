"""Which rows start and end one thing: a pair, or the run of an infusion.

A record has a start and an end for each rate of an infusion. The rows of one run follow each other:
start, each rate, end (protocol section 2, stage 5).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from timelines.domain import SourceRow, TimeKind
from timelines.pipeline.values import split_moment

#: A start at most this long after an end goes on with the same run (hours): a pump that changes its
#: rate or its bag is charted with a gap of minutes.
MOST_PAUSE = 1.0
_OTHER_HALF = {"start": ("end", "stop"), "end": ("start",), "stop": ("start",)}


def find_other_half(row: SourceRow, rows_of: Mapping[str, Sequence[SourceRow]]) -> SourceRow | None:
    """Return the stop of a start, or the start of a stop.

    Both are of one infusion, order or procedure: events that differ in their last part (`:start`,
    `:end`, `:stop`). A start goes with the first stop that is not earlier, a stop with the last
    start that is not later.
    """
    stem, moment = split_moment(row.event)
    if row.time is None or not moment:
        return None
    others = [r for other in _OTHER_HALF[moment] for r in rows_of.get(f"{stem}:{other}", ())]
    timed = [(r.time, r.row_index, r) for r in others if r.time is not None]
    if moment == "start":
        later = [t for t in timed if t[0] >= row.time]
        return min(later)[2] if later else None
    earlier = [t for t in timed if t[0] <= row.time]
    return max(earlier, key=lambda t: (t[0], -t[1]))[2] if earlier else None


class Runs:
    """The runs of the infusions of a record.

    `rows_of` maps event → its timed rows.
    """

    def __init__(self, rows_of: Mapping[str, Sequence[SourceRow]]) -> None:
        self._rows_of = rows_of
        self._ends_of_stem = cache(self._find_ends)

    def find_ends(self, row: SourceRow) -> tuple[SourceRow, ...]:
        """Return the first start and the last end of the row's run.

        Either may be missing in the record. A row that is not of an infusion has none.
        """
        stem, moment = split_moment(row.event)
        if not moment or row.time_kind is not TimeKind.ADMINISTRATION:
            return ()
        return self._ends_of_stem(stem).get(row.row_index, ())

    def _find_ends(self, stem: str) -> dict[int, tuple[SourceRow, ...]]:
        ends: dict[int, tuple[SourceRow, ...]] = {}
        for run in split_runs(
            [r for m in _OTHER_HALF for r in self._rows_of.get(f"{stem}:{m}", ())]
        ):
            first = next((r for r in run if _starts(r)), None)
            last = next((r for r in reversed(run) if not _starts(r)), None)
            found = tuple(r for r in (first, last) if r is not None)
            ends.update((r.row_index, found) for r in run)
        return ends


def split_runs(rows: Sequence[SourceRow]) -> list[list[SourceRow]]:
    """Return the rows of each run in order of time.

    `rows` are the starts and ends of one infusion. A run ends if as many ends as starts are passed
    and no start follows within `MOST_PAUSE`. At one hour an end precedes a start, so that a new rate
    goes on with its run.
    """
    runs: list[list[SourceRow]] = []
    balance, before = 0, 0.0
    for time, _, _, row in sorted(
        ((r.time, _starts(r), r.row_index, r) for r in rows if r.time is not None),
        key=lambda found: found[:3],
    ):
        if not runs or (balance <= 0 and time > before + MOST_PAUSE):
            runs.append([])
            balance = 0
        runs[-1].append(row)
        balance += 1 if _starts(row) else -1
        before = time
    return runs


def _starts(row: SourceRow) -> bool:
    return split_moment(row.event)[1] == "start"
