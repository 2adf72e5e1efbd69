"""Load what the evidence funnel needs of the runs of revised timelines.

Four queries a case, and only what concerns rows that the reference cites.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

from ehr.models import Encounter, SourceRow
from timelines.evaluation.values import SourceKey, Trail
from timelines.models import Candidate, Evidence, Stage, StageBatch, Timeline
from timelines.pipeline.retrieval import BELOW_THRESHOLD, KEPT, OUTSIDE_TOP

#: The best of several queries counts.
_RANKS = {BELOW_THRESHOLD: 0, OUTSIDE_TOP: 1, KEPT: 2}


def load_row_series(encounter: Encounter, rows: Collection[int]) -> dict[int, str]:
    """Return the series of each of these rows.

    Rows that were deleted are omitted.
    """
    if not rows:
        return {}
    found = SourceRow.objects.filter(
        dataset_id=encounter.dataset_id, encounter_id=encounter.pk, row_index__in=list(rows)
    )
    return dict(found.values_list("row_index", "event"))


def load_trails(
    timelines: Mapping[SourceKey, Timeline], row_series: Mapping[int, str]
) -> dict[SourceKey, Trail]:
    """Return the trail of each timeline that a run made over an inventory.

    `row_series` are the rows that the reference cites. Without any there is no trail.
    """
    chosen = {
        t.case_run_id: (key, t.public_id)
        for key, t in timelines.items()
        if t.case_run_id is not None and t.inventory_id is not None
    }
    if not chosen or not row_series:
        return {}
    fates: dict[int, dict[str, dict[str, str]]] = defaultdict(lambda: defaultdict(dict))
    candidates = Candidate.objects.filter(
        query__case_run__in=chosen, series__event__in=set(row_series.values())
    )
    for run, uid, event, kept, fate in candidates.values_list(
        "query__case_run", "query__occurrence__uid4", "series__event", "kept", "fate"
    ):
        now, before = KEPT if kept else fate, fates[run][uid].get(event)
        if before is None or _RANKS.get(now, 0) > _RANKS.get(before, 0):
            fates[run][uid][event] = now
    printed: dict[int, set[int]] = defaultdict(set)
    evidence = Evidence.objects.filter(case_run__in=chosen, row_index__in=list(row_series))
    for run, row in evidence.values_list("case_run", "row_index"):
        printed[run].add(row)
    batches = StageBatch.objects.filter(
        stage_run__case_run__in=chosen, stage_run__stage=Stage.EXPAND, ordinal=0
    )
    left = dict(batches.values_list("stage_run__case_run", "payload__over_budget"))
    return {
        key: Trail(public_id, fates[run], frozenset(printed[run]), left.get(run) or {})
        for run, (key, public_id) in chosen.items()
    }
