"""Stage 5: expand retained summaries to the rows that revision sees.

A summary is never evidence for a time; the rows behind it are. Order (protocol section 2, stage 5):
retained summaries → rows → drop rows later than discharge + 12 h → at most 3 rows a summary → a row
once per UID → the backbone's caps.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from timelines.domain import Candidate, Entry, Evidence, Inventory, SourceRow, Timeline
from timelines.pipeline.config import PipelineConfig
from timelines.pipeline.values import states_value


@dataclass(frozen=True, slots=True)
class Caps:
    """The limits of rows that reach revision; None: no limit.

    A case retains its best rows by ρ, ties by inventory order, query ordinal, dense rank, place
    within the summary. An occurrence with a cap of its own counts a row's place within its summary,
    one more if it does not state the mention's value, and retains the lowest, then by ρ: three rows
    of one summary would hide the others (an administration behind its order).
    """

    per_occurrence: int | None = None
    per_case: int | None = 100


@dataclass(frozen=True)
class Expansion:
    """The rows of each UID, in inventory order.

    `without_evidence` are the UIDs that no row reached, in inventory order.
    """

    evidence: tuple[Evidence, ...]
    without_evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Choice:
    """An evidence row with what the caps sort by."""

    evidence: Evidence
    order: tuple[float, int, int, int, int]
    rank: int


def expand(
    inventory: Inventory,
    text_only: Timeline,
    candidates: Iterable[Candidate],
    rows_of: Mapping[str, Sequence[SourceRow]],
    *,
    discharge: float | None,
    caps: Caps,
    config: PipelineConfig,
) -> Expansion:
    """Return the rows behind the retained candidates.

    `rows_of` maps event → its rows (the row map μ); `discharge` is in hours from admission, None if
    the record has none (then no row is too late). Rows without a time cannot date anything and are
    omitted.
    """
    latest = None if discharge is None else discharge + config.discharge_grace_hours
    chosen: dict[str, list[_Choice]] = defaultdict(list)
    for candidate in candidates:
        if not candidate.kept:
            continue
        occurrence = inventory.by_uid[candidate.uid]
        rows = [
            r
            for r in rows_of.get(candidate.event, ())
            if r.time is not None and (latest is None or r.time <= latest)
        ]
        best = choose_rows(
            rows,
            occurrence.mention,
            text_only.by_uid[candidate.uid],
            config.rows_per_summary,
        )
        for place, row in enumerate(best):
            evidence = Evidence(
                candidate.uid,
                candidate.query,
                row,
                candidate.dense_rank,
                candidate.dense_score,
                candidate.rerank_score,
            )
            chosen[candidate.uid].append(
                _Choice(
                    evidence,
                    _order(evidence, occurrence.ordinal, place),
                    place + (not states_value(occurrence.mention, row.value)),
                )
            )
    kept: list[_Choice] = []
    for uid in inventory.uids:
        kept += sorted(_once_per_row(chosen[uid]), key=lambda c: (c.rank, c.order))[
            : caps.per_occurrence
        ]
    kept = sorted(kept, key=lambda c: c.order)[: caps.per_case]
    kept.sort(key=lambda c: (c.order[1], c.order))
    with_evidence = {c.evidence.uid for c in kept}
    return Expansion(
        tuple(c.evidence for c in kept),
        tuple(u for u in inventory.uids if u not in with_evidence),
    )


def choose_rows(
    rows: Iterable[SourceRow], mention: str, entry: Entry, limit: int
) -> list[SourceRow]:
    """Return the `limit` best rows of one summary.

    Order: literal value match with the mention, distance to the text-only bounds, time, row index.
    Without any bound the distance is 0 for all; a single time counts as both bounds.
    """

    def key(row: SourceRow) -> tuple[bool, float, float, int]:
        time = row.time if row.time is not None else 0.0
        return (
            not states_value(mention, row.value),
            distance_to_bounds(time, entry),
            time,
            row.row_index,
        )

    return sorted(rows, key=key)[:limit]


def distance_to_bounds(time: float, entry: Entry) -> float:
    """Return the hours from `time` to the nearest bound; 0 inside.

    A missing bound is taken from the point time, else open.
    """
    lower = entry.lower if entry.lower is not None else entry.time
    upper = entry.upper if entry.upper is not None else entry.time
    if lower is not None and time < lower:
        return lower - time
    if upper is not None and time > upper:
        return time - upper
    return 0.0


def _order(evidence: Evidence, ordinal: int, place: int) -> tuple[float, int, int, int, int]:
    rho = evidence.dense_score if evidence.rerank_score is None else evidence.rerank_score
    return (-rho, ordinal, evidence.query, evidence.dense_rank, place)


def _once_per_row(choices: list[_Choice]) -> list[_Choice]:
    """The best-ranked bringer of each row."""
    seen: dict[int, _Choice] = {}
    for choice in sorted(choices, key=lambda c: c.order):
        seen.setdefault(choice.evidence.row.row_index, choice)
    return list(seen.values())
