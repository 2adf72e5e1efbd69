"""The ρ sweep of an evaluation (protocol section 3).

It compares revised timelines at several thresholds of the reranker. A backbone that asks no model
revises again here, from the results of stage 4. For other backbones every threshold is a run of its
own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ehr.models import Dataset, Encounter
from timelines.domain import TimelineKind
from timelines.evaluation.values import PlacedEvent, SourceKey
from timelines.models import Run, Timeline
from timelines.pipeline.config import PipelineConfig, Variant
from timelines.pipeline.retrieval import reselect
from timelines.pipeline.run import expand_rows, run_revision
from timelines.pipeline.uids import unescape_mention
from timelines.runs import storage
from timelines.runs.record import load_record
from timelines.runs.tools import asks_models, build_tools, roles

#: Timeline → the source whose sweep it belongs to, and its ρ.
Points = Mapping[SourceKey, tuple[str, float]]


def revise_points(datasets: Sequence[Dataset], thresholds: Sequence[float]) -> Points:
    """Return every timeline that `revise_case` makes of these datasets."""
    sources = {run.source for run in _full_runs(datasets) if is_swept(run)} if thresholds else set()
    return {
        _rho_key(source, rho): (source, rho) for source in sorted(sources) for rho in thresholds
    }


def load_run_points(datasets: Sequence[Dataset]) -> Points:
    """Return runs with their own ρ and the same run at the usual threshold.

    The latter needs the run's reranker to be the configured one: no other threshold is known.
    """
    runs = list(_full_runs(datasets))
    found = {
        _revised_key(run.source): (_base(run), rho)
        for run in runs
        if (rho := _rho(run)) is not None
    }
    reranker = roles().reranker() if found else None
    for run in runs:
        own = _rho(run) is None and run.source in {base for base, _ in found.values()}
        if own and reranker is not None and run.tools.get("reranker") == reranker.name:
            set_by_preset = PipelineConfig.from_dict(run.config).rho_threshold
            usual = reranker.threshold if set_by_preset is None else set_by_preset
            found[_revised_key(run.source)] = (run.source, usual)
    return found


def is_swept(run: Run | None) -> bool:
    """Return whether the run can be revised again without asking a model.

    It must be a full run without a ρ of its own.
    """
    return (
        run is not None
        and run.variant == Variant.FULL
        and _rho(run) is None
        and not asks_models(run.backbone)
    )


def revise_case(
    encounter: Encounter, timeline: Timeline, thresholds: Sequence[float]
) -> dict[SourceKey, tuple[PlacedEvent, ...]]:
    """Repeat stages 5 and 6 at each ρ, from stored results read once.

    Nothing is stored. Raises NoteChanged.
    """
    case_run = timeline.case_run
    assert case_run is not None
    assert case_run.inventory is not None
    config = replace(PipelineConfig.from_dict(case_run.run.config), alternatives=1)
    tools = build_tools(case_run.run.backbone, config)
    case = storage.load_case(encounter, case_run.inventory.note)
    stored = storage.load_reconstruction(case_run, case.note)
    record = load_record(encounter, tools.embedder)
    occurrences = {o.uid: o for o in stored.note.inventory}
    found = {}
    for rho in thresholds:
        at = replace(tools, config=replace(config, rho_threshold=rho))
        candidates = reselect(stored.candidates, at.reranker, at.config)
        reached = expand_rows(
            stored.note.inventory, stored.text_only, candidates, record, case.window, at
        )
        (revised,) = run_revision(reached, stored.note, stored.text_only, case.window, at).timelines
        placed = ((e, occurrences[e.uid]) for e in revised)
        found[_rho_key(timeline.source, rho)] = tuple(
            PlacedEvent(e.uid, unescape_mention(o.mention), e.time, o.start, o.end, e.adopted_rows)
            for e, o in placed
        )
    return found


def _full_runs(datasets: Sequence[Dataset]) -> Iterable[Run]:
    return Run.objects.filter(dataset__in=datasets, variant=Variant.FULL.value).order_by("pk")


def _rho(run: Run) -> float | None:
    """Return the threshold of the run if it departs from its preset's."""
    return PipelineConfig.from_dict(run.config).own_rho


def _base(run: Run) -> str:
    """The source of the same run at the usual threshold."""
    return run.source.removesuffix(f"/rho={_rho(run):g}")


def _revised_key(source: str) -> SourceKey:
    return SourceKey(source, TimelineKind.REVISED.value)


def _rho_key(source: str, rho: float) -> SourceKey:
    return _revised_key(f"{source}@ρ={rho:g}")
