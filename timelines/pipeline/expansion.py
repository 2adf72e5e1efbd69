"""Stage 5: expand retained summaries to the rows that revision sees.

A summary is never evidence for a time; the rows behind it are. Two ways (protocol section 2, stage
5): by default a budget in tokens, filled in rounds over the occurrences; in the published preset at
most 3 rows a summary and 100 a case.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from timelines.domain import (
    Candidate,
    Entry,
    Evidence,
    Expansion,
    Inventory,
    KeptSummary,
    Lane,
    NoRows,
    Occurrence,
    SourceRow,
    Timeline,
)
from timelines.pipeline.backbone import Backbone
from timelines.pipeline.config import PipelineConfig
from timelines.pipeline.infusions import Runs, find_other_half
from timelines.pipeline.preferences import Wanted, distance_to_bounds, records_act
from timelines.pipeline.retrieval import BELOW_THRESHOLD, relevance
from timelines.pipeline.skeleton import select_skeleton
from timelines.pipeline.values import states_value

_T = TypeVar("_T")

#: Rows of history and plans say little of when (demographics, family history, follow-up).
HISTORY_LANES = frozenset((Lane.HISTORY, Lane.PLAN))
#: Rows of one series that an occurrence may carry.
MOST_OF_SERIES = 12
#: A row that states the mention's value goes this many places before its neighbours in the series.
VALUE_LEAD = 2
#: Characters of a printed row for one token: numbers and codes take more tokens than prose.
CHARACTERS_PER_TOKEN = 2.5


@dataclass(frozen=True, slots=True)
class Caps:
    """What limits the rows that reach revision; None: no limit.

    `per_occurrence` are rows of one occurrence; `tokens` is the budget of the printed rows, and
    `per_case` the published cap of rows.
    """

    per_occurrence: int | None = None
    per_case: int | None = None
    tokens: int | None = None


def find_caps(backbone: Backbone, config: PipelineConfig) -> Caps:
    """Return what limits the rows of a run: settings that the backbone needs."""
    if config.evidence_tokens is None:
        return Caps(per_case=config.case_row_cap if backbone.pays_for_rows else None)
    tokens = None
    if backbone.pays_for_rows:
        tokens = min(backbone.room_for_rows() or config.evidence_tokens, config.evidence_tokens)
    return Caps(config.rows_per_occurrence, tokens=tokens)


def expand(
    inventory: Inventory,
    text_only: Timeline,
    candidates: Sequence[Candidate],
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
    timely = {
        event: [r for r in rows if r.time is not None and (latest is None or r.time <= latest)]
        for event, rows in rows_of.items()
    }
    found = [c for c in candidates if c.kept]
    if config.evidence_tokens is None:
        skeleton: tuple[SourceRow, ...] = ()
        evidence, chosen = _published(inventory, text_only, found, timely, caps, config)
    else:
        skeleton = select_skeleton(rows_of, latest)
        evidence, chosen = _fill_budget(inventory, text_only, found, timely, skeleton, caps, config)
    missing = explain_missing(inventory, candidates, evidence, timely)
    result = Expansion(evidence, missing, skeleton)
    return replace(result, over_budget=_list_left(chosen, result.by_index))


def _list_left(
    chosen: Iterable[Evidence], printed: Mapping[int, SourceRow]
) -> dict[str, tuple[int, ...]]:
    """Return UID → the rows chosen for it that are not printed."""
    rows: dict[str, dict[int, None]] = defaultdict(dict)
    for item in chosen:
        if item.row.row_index not in printed:
            rows[item.uid][item.row.row_index] = None
    return {uid: tuple(found) for uid, found in rows.items()}


# ---------------------------------------------------------------------------------------------
# The budget in tokens


def _fill_budget(
    inventory: Inventory,
    text_only: Timeline,
    candidates: Iterable[Candidate],
    rows_of: Mapping[str, Sequence[SourceRow]],
    skeleton: Sequence[SourceRow],
    caps: Caps,
    config: PipelineConfig,
) -> tuple[tuple[Evidence, ...], list[Evidence]]:
    """Return the rows that fit the budget, and all that were chosen."""
    by_uid: dict[str, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        by_uid[candidate.uid].append(candidate)
    runs = Runs(rows_of)
    queues = {
        o.uid: _units(Wanted.of(o.mention, text_only.by_uid[o.uid]), by_uid[o.uid], rows_of, runs)[
            : _most_rows(o, caps, config)
        ]
        for o in inventory
    }
    budget = math.inf if caps.tokens is None else caps.tokens
    printed = _Printed(config.evidence_field_characters)
    budget -= printed.price_of(skeleton)
    printed.add(skeleton)
    kept = fill_rounds(
        queues,
        lambda unit: printed.price_of(_rows_of(unit)),
        budget,
        bought=lambda unit: printed.add(_rows_of(unit)),
    )
    evidence = tuple(
        item for o in inventory for item in _once([e for unit in kept[o.uid] for e in unit])
    )
    return evidence, [e for queue in queues.values() for unit in queue for e in unit]


def fill_rounds(
    queues: Mapping[str, Sequence[_T]],
    price_of: Callable[[_T], float],
    budget: float,
    *,
    bought: Callable[[_T], None] = lambda item: None,
) -> dict[str, list[_T]]:
    """Return what fits the budget: every best item first, then every second.

    `price_of` gives the price of one more item; it is called once for each item in turn, and an
    item that is too dear is left out. `bought` is called with every other one, so that prices may
    depend on what was bought before.
    """
    kept: dict[str, list[_T]] = {name: [] for name in queues}
    for place in range(max(map(len, queues.values()), default=0)):
        for name, queue in queues.items():
            if place < len(queue):
                price = price_of(queue[place])
                if price <= budget:
                    budget -= price
                    kept[name].append(queue[place])
                    bought(queue[place])
    return kept


class _Printed:
    """Prices rows: a row that is printed already costs only its number."""

    def __init__(self, most: int) -> None:
        self._rows: set[int] = set()
        self._series: set[str] = set()
        self._most = most

    def add(self, rows: Iterable[SourceRow]) -> None:
        for row in rows:
            self._rows.add(row.row_index)
            self._series.add(row.event)

    def price_of(self, rows: Sequence[SourceRow]) -> float:
        new = [row for row in rows if row.row_index not in self._rows]
        characters = 5 * len(rows)
        characters += sum(14 + min(self._most, len(r.value) + len(r.unit)) for r in new)
        series = {row.event for row in new} - self._series
        characters += sum(12 + min(self._most, len(event)) for event in series)
        return characters / CHARACTERS_PER_TOKEN


def _rows_of(unit: Iterable[Evidence]) -> list[SourceRow]:
    return [item.row for item in unit]


def _most_rows(occurrence: Occurrence, caps: Caps, config: PipelineConfig) -> int | None:
    return config.rows_per_history if occurrence.lane in HISTORY_LANES else caps.per_occurrence


def _units(
    wanted: Wanted,
    candidates: Sequence[Candidate],
    rows_of: Mapping[str, Sequence[SourceRow]],
    runs: Runs,
) -> list[tuple[Evidence, ...]]:
    """Return the rows of an occurrence, best first, each with its other half.

    A row of an infusion also brings the first start and the last end of its run.

    A row's place within its series counts first, with a lead for the literal value, then the act
    that the mention names, then ρ: the best rows of three series precede the second of the first.
    """
    best: dict[str, Candidate] = {}
    for c in sorted(candidates, key=lambda c: (-relevance(c), c.query, c.dense_rank)):
        best.setdefault(c.event, c)
    ordered: list[tuple[tuple[float, ...], Evidence]] = []
    for number, candidate in enumerate(best.values()):
        best_rows = wanted.order_rows(rows_of.get(candidate.event, ()))[:MOST_OF_SERIES]
        for place, row in enumerate(best_rows):
            lead = VALUE_LEAD if wanted.states_value_of(row) else 0
            order = (place - lead, not records_act(row, wanted.acts), number, place)
            ordered.append((order, _evidence(candidate, row)))
    units: list[tuple[Evidence, ...]] = []
    seen: set[int] = set()
    for _, item in sorted(ordered, key=lambda found: found[0]):
        if item.row.row_index in seen:
            continue
        other = find_other_half(item.row, rows_of)
        rows = [*([] if other is None else [other]), *runs.find_ends(item.row)]
        unit = (item, *(_evidence(best[item.found_in], row) for row in rows))
        unit = tuple(_once(unit))
        seen.update(e.row.row_index for e in unit)
        units.append(unit)
    return units


def _evidence(candidate: Candidate, row: SourceRow) -> Evidence:
    c = candidate
    series = "" if row.event == c.event else c.event
    return Evidence(c.uid, c.query, row, c.dense_rank, c.dense_score, c.rerank_score, series)


def _once(found: Iterable[Evidence]) -> list[Evidence]:
    """The first bringer of each row."""
    seen: dict[int, Evidence] = {}
    for item in found:
        seen.setdefault(item.row.row_index, item)
    return list(seen.values())


def explain_missing(
    inventory: Inventory,
    candidates: Iterable[Candidate],
    given: Iterable[Evidence | KeptSummary],
    available: Mapping[str, object],
) -> dict[str, NoRows]:
    """Return for each UID that nothing was given for why.

    `available` maps event → what revision could have seen of it (rows, or its summary).
    """
    reached = {item.uid for item in given}
    reason = {uid: NoRows.NONE_FOUND for uid in inventory.uids if uid not in reached}
    for c in candidates:
        if c.uid in reason and c.kept and available.get(c.event):
            reason[c.uid] = NoRows.OVER_BUDGET
        elif reason.get(c.uid) is NoRows.NONE_FOUND and c.fate == BELOW_THRESHOLD:
            reason[c.uid] = NoRows.BELOW_THRESHOLD
    return reason


# ---------------------------------------------------------------------------------------------
# The published preset


def _published(
    inventory: Inventory,
    text_only: Timeline,
    candidates: Iterable[Candidate],
    rows_of: Mapping[str, Sequence[SourceRow]],
    caps: Caps,
    config: PipelineConfig,
) -> tuple[tuple[Evidence, ...], list[Evidence]]:
    """Return the case's best rows by ρ, and all that were chosen.

    Chosen are at most 3 rows a summary, once per UID. Ties go by inventory order, query ordinal, dense rank and place
    within the summary.
    """
    chosen: dict[tuple[str, int], tuple[tuple[float, int, int, int, int], Evidence]] = {}
    for candidate in candidates:
        occurrence = inventory.by_uid[candidate.uid]
        best = choose_rows(
            rows_of.get(candidate.event, ()),
            occurrence.mention,
            text_only.by_uid[candidate.uid],
            config.rows_per_summary,
        )
        for place, row in enumerate(best):
            evidence = _evidence(candidate, row)
            order = (
                -evidence.relevance,
                occurrence.ordinal,
                candidate.query,
                candidate.dense_rank,
                place,
            )
            key = candidate.uid, row.row_index
            if key not in chosen or order < chosen[key][0]:
                chosen[key] = order, evidence
    kept = sorted(chosen.values(), key=lambda choice: choice[0])[: caps.per_case]
    kept.sort(key=lambda choice: (choice[0][1], choice[0]))
    return tuple(evidence for _, evidence in kept), [evidence for _, evidence in chosen.values()]


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
