"""One stage of one case, as a worker executes it.

Claim, compute outside any transaction, store batch by batch, release the next. A batch is stored in
one transaction together with its `StageBatch` row, behind the fence. So a repeated stage, on any
worker, skips stored batches, and a worker that lost its lease stores nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any

from django.db import transaction

from jobs.actions import release
from jobs.errors import RequeueJob
from jobs.hints import send_hints
from jobs.leases.hold import Hold, TimeLimit
from jobs.limits import make_limit
from jobs.models import JobState
from jobs.worker import work
from timelines.domain import Lane, Polarity, Query, TaggedSpan, Timeline, TimelineKind
from timelines.models import CaseRun, Inventory, Stage, StageBatch, StageRun
from timelines.pipeline.config import Variant
from timelines.pipeline.retrieval import reselect
from timelines.pipeline.run import (
    Expanded,
    check_chain,
    expand_rows,
    identify,
    run_revision,
    search,
    write_queries,
)
from timelines.pipeline.tagging import tag
from timelines.pipeline.text_inference import infer
from timelines.runs import storage, tools
from timelines.runs.baselines import is_baseline
from timelines.runs.record import embed_missing, load_names, load_record
from timelines.runs.stages.baseline import BASELINE_STAGES
from timelines.runs.stages.chart import infer_chart, read_text_times, save_joined
from timelines.runs.stages.work import StageWork
from timelines.runs.study_timeline.actions import choose_if_finished


def execute_stage(stage_run_id: int) -> JobState | None:
    """Execute the stage if it waits; return its new state.

    None if there was nothing to do (done, claimed, paused).
    """
    if not StageRun.objects.filter(pk=stage_run_id, case_run__run__paused_at__isnull=True).exists():
        return None
    return work(StageRun, stage_run_id, _do, then=release_next, limit=_limit)


def _limit(stage_run: StageRun) -> TimeLimit:
    return make_limit(asks_models=tools.asks_models(stage_run.case_run.run.backbone))


def release_next(stage_run: StageRun) -> None:
    """Queue the stage that waited for this one.

    Workers get a message once the transaction commits.
    """
    later = _later(stage_run)
    if not later:
        # After the commit: of two cases that end together, the later one sees that the run has
        # finished.
        run = CaseRun.objects.select_related("run__dataset").get(pk=stage_run.case_run_id).run
        transaction.on_commit(lambda: choose_if_finished(run), robust=True)
    elif release(jobs=StageRun.objects.filter(pk=later[0])):
        send_hints(StageRun, later[:1])


def _later(stage_run: StageRun) -> list[int]:
    stages = dict(
        StageRun.objects.filter(case_run_id=stage_run.case_run_id).values_list("stage", "pk")
    )
    ordered = [stages[s] for s in Stage.values if s in stages]
    return ordered[ordered.index(stage_run.pk) + 1 :]


def _do(stage_run: StageRun, hold: Hold) -> None:
    compute_stage(StageWork(stage_run, hold))


def compute_stage(work: StageWork) -> None:
    """Compute and store the batches that are missing."""
    stages = BASELINE_STAGES if is_baseline(work.case_run.run.backbone) else STAGES
    stages[Stage(work.stage_run.stage)](work)


def _tag(work: StageWork) -> None:
    if not work.has(0):
        spans = tag(work.tools.backbone.tagger, work.case.note, work.case.parts)
        work.store(
            0,
            {"spans": [[s.start, s.end, s.mention, s.polarity.value, s.lane.value] for s in spans]},
        )


def _uids(work: StageWork) -> None:
    if work.has(0):
        return
    tagged = StageBatch.objects.get(
        stage_run__case_run=work.case_run, stage_run__stage=Stage.TAG, ordinal=0
    )
    spans = [
        TaggedSpan(start, end, mention, Polarity(p), Lane(lane))
        for start, end, mention, p, lane in tagged.payload["spans"]
    ]

    def save() -> None:
        # UIDs are assigned in the storing transaction, behind the note's lock: two runs that tag
        # the note at once see each other's UIDs.
        inventory = identify(work.case, spans, work.tools, storage.uids_in_use(work.note.pk))
        row = storage.save_inventory(
            note=work.note, inventory=inventory, origin=Inventory.Origin.RUN, run=work.case_run.run
        )
        CaseRun.objects.filter(pk=work.case_run.pk).update(inventory=row)

    work.store(0, {"occurrences": len(spans)}, save)


def _infer(work: StageWork) -> None:
    """A run that is based on another keeps that run's estimates."""
    if work.case.parts:
        infer_chart(work)
        return
    if work.has(0):
        return
    if work.base is not None:
        (timeline,) = storage.load_timelines(work.base, TimelineKind.TEXT_ONLY)
    else:
        window = work.case.window
        timeline = infer(work.tools.backbone.timer, work.tagged, window.anchor, window.discharge)
    work.store(
        0, {"entries": len(timeline), **work.kept}, lambda: _save_timelines(work, [timeline])
    )


def _retrieve(work: StageWork) -> None:
    """Store the queries as batch 0, then search results in later batches.

    Each later batch has the results of the queries of some occurrences. If the run reuses the
    queries of its base, their scores are known too: only the decisions are made anew.
    """
    base = None if work.tools.config.variant is Variant.NO_QUERY else work.base
    if not work.has(0):
        written = (
            storage.load_queries(base)
            if base
            else write_queries(work.tagged, work.tools, load_names(work.case_run.encounter))
        )
        payload = {"queries": len(written), **(work.kept if base else {})}
        work.store(0, payload, lambda: storage.save_queries(work.case_run, written))
        if not base and tools.asks_models(work.case_run.run.backbone):
            # A language model wrote them; a worker with the embedder searches for them.
            raise RequeueJob
    if base is None:
        _search(work)
    elif not work.has(1):
        found = reselect(storage.load_candidates(base), work.tools.reranker, work.tools.config)
        work.store(
            1,
            {"candidates": len(found), **work.kept},
            lambda: storage.save_candidates(work.case_run, found),
        )


def _search(work: StageWork) -> None:
    batches = _batch_by_occurrence(
        storage.load_queries(work.case_run), work.tools.config.query_batch_size
    )
    if all(work.has(ordinal) for ordinal in range(1, len(batches) + 1)):
        return
    embed_missing(work.case_run.encounter, work.tools.embedder, work.hold)
    record = load_record(work.case_run.encounter, work.tools.embedder)
    for ordinal, queries in enumerate(batches, start=1):
        if not work.has(ordinal):
            work.hold.report(
                done=ordinal - 1,
                total=len(batches),
                words=f"searching for batch {ordinal} of {len(batches)}",
            )
            found = search(queries, record, work.tools)
            work.store(
                ordinal,
                {"candidates": len(found)},
                partial(storage.save_candidates, work.case_run, found),
            )


def _batch_by_occurrence(queries: Sequence[Query], size: int) -> list[list[Query]]:
    """The queries of at most `size` occurrences a batch."""
    groups = [list(group) for _, group in groupby(queries, key=lambda q: q.uid)]
    return [
        [q for group in groups[at : at + size] for q in group] for at in range(0, len(groups), size)
    ]


def _expand(work: StageWork) -> None:
    if not work.has(0):
        record = load_record(work.case_run.encounter, work.tools.embedder)
        candidates = storage.load_candidates(work.case_run)
        found = expand_rows(
            work.tagged.inventory, work.text_only, candidates, record, work.case.window, work.tools
        )
        payload: dict[str, Any] = {
            "rows": len(found.evidence),
            "without_evidence": dict(found.without_evidence),
            "over_budget": {uid: list(rows) for uid, rows in found.over_budget.items()},
        }
        if work.tools.config.variant is Variant.NO_ROWS:
            payload |= {
                "summaries": len(found.summaries),
                "given": storage.list_summaries(found.summaries),
            }

        def save() -> None:
            storage.save_evidence(work.case_run, found.evidence, found.skeleton)

        work.store(0, payload, save)


def _revise(work: StageWork) -> None:
    if work.has(0):
        return
    found = Expanded(
        storage.load_evidence(work.case_run),
        storage.load_summaries(work.case_run),
        storage.load_reasons(work.case_run),
        storage.load_skeleton(work.case_run),
    )
    text = read_text_times(work) if work.case.parts else work.text_only
    revised = run_revision(found, work.tagged, text, work.case.window, work.tools)

    def save() -> None:
        timelines: Sequence[Timeline] = revised.timelines
        if work.case.parts:
            timelines = save_joined(work, timelines)
        else:
            _save_timelines(work, timelines)
        for primary in timelines[:1]:
            storage.save_unexplained_change(work.case_run, work.text_only, primary)
        for timeline in revised.unidentified:
            storage.save_named_timeline(
                timeline=timeline, source=work.case_run.run.source, case_run=work.case_run
            )

    work.store(0, {"alternatives": len(revised.timelines) + len(revised.unidentified)}, save)


def _provenance(work: StageWork) -> None:
    """Everything is read back as it was stored, and verified."""
    if not work.has(0):
        result = check_chain(
            storage.load_reconstruction(work.case_run, work.case.note), work.case, work.tools
        )
        work.store(0, {"chains": len(result.note.inventory), "note_sha256": work.case.sha256})


def _save_timelines(work: StageWork, timelines: Sequence[Timeline]) -> None:
    for timeline in timelines:
        storage.save_timeline(
            timeline=timeline,
            inventory=work.inventory,
            source=work.case_run.run.source,
            case_run=work.case_run,
        )


STAGES: Mapping[Stage, Callable[[StageWork], None]] = {
    Stage.TAG: _tag,
    Stage.UIDS: _uids,
    Stage.INFER: _infer,
    Stage.RETRIEVE: _retrieve,
    Stage.EXPAND: _expand,
    Stage.REVISE: _revise,
    Stage.PROVENANCE: _provenance,
}
