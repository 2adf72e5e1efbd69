"""Cases of an evaluation out of the database, one by one: the reference and every finished timeline of the chosen sources.

Of several runs of one source the newest finished one counts, as in exports; drafts of authors are no timelines and cannot appear.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from django.db.models import Exists, OuterRef, QuerySet

from ehr.models import Dataset, Encounter
from timelines import storage
from timelines.domain import TimelineKind
from timelines.evaluation.values import EvaluatedCase, PlacedEvent, SourceKey
from timelines.exports.lines import Selection, chosen_timelines
from timelines.models import CaseRun, Entry, Timeline
from timelines.pipeline.config import PipelineConfig, Variant
from timelines.pipeline.retrieval import judged_again
from timelines.pipeline.run import expanded, revised_with
from timelines.pipeline.uids import unescape_mention
from timelines.record import load_record
from timelines.tools import asks_models, tools_of


@dataclass(frozen=True)
class Chosen:
    """Which timelines are compared; no `sources` takes every one there is. `rho` are thresholds to revise at anew."""

    datasets: Sequence[Dataset]
    reference: str
    sources: Sequence[str] = ()
    rho: Sequence[float] = ()


@dataclass(frozen=True)
class LoadedCase:
    """A case for `evaluation.report.evaluate`, and the encounter that it is."""

    encounter: Encounter
    case: EvaluatedCase


def known_sources(datasets: Sequence[Dataset]) -> tuple[list[str], list[str]]:
    """(sources of references, sources of other timelines) that these datasets have, by name."""
    found = Timeline.objects.filter(encounter__dataset__in=datasets).values_list("source", "kind").distinct()
    references = sorted({source for source, kind in found if kind == TimelineKind.REFERENCE})
    others = sorted({source for source, kind in found if kind != TimelineKind.REFERENCE})
    return references, others


def referenced(chosen: Chosen) -> QuerySet[Encounter]:
    """The cases that have the reference, by dataset and case id: an evaluation is over these, whatever else is there."""
    reference = Timeline.objects.filter(encounter=OuterRef("pk"), source=chosen.reference, kind=TimelineKind.REFERENCE.value)
    cases = Encounter.objects.filter(Exists(reference), dataset__in=chosen.datasets)
    return cases.select_related("dataset").order_by("dataset__name", "case_id")


def load_cases(chosen: Chosen) -> Iterator[LoadedCase]:
    """Case after case, so that a cohort of any size fits. Raises NoteChanged of `storage` only where ρ is swept."""
    for encounter in referenced(chosen).iterator(chunk_size=100):
        yield _load(encounter, chosen)


def _load(encounter: Encounter, chosen: Chosen) -> LoadedCase:
    found = chosen_timelines(encounter, Selection())
    wanted = set(chosen.sources)
    reference = next((t for t in found if (t.source, t.kind) == (chosen.reference, TimelineKind.REFERENCE)), None)
    others = [t for t in found if t is not reference and (not wanted or t.source in wanted)]
    events = events_of([t for t in (reference, *others) if t is not None])
    timelines = {key_of(t): events[t.pk] for t in others}
    for threshold in chosen.rho:
        timelines |= _revised_at(encounter, [t for t in others if is_swept(t)], threshold)
    own = events[reference.pk] if reference is not None else ()
    return LoadedCase(encounter, EvaluatedCase(encounter.case_id, encounter.dataset.name, own, timelines))


def key_of(timeline: Timeline) -> SourceKey:
    """What a report calls it. Another reference (a second author's) is held against the first like any source."""
    return SourceKey(timeline.source, timeline.kind, timeline.alternative)


def rho_key(source: str, threshold: float) -> SourceKey:
    """The revision of a source at a reranker threshold."""
    return SourceKey(f"{source}@ρ={threshold:g}", TimelineKind.REVISED.value)


def rho_keys(sources: Sequence[str], thresholds: Sequence[float]) -> Mapping[SourceKey, tuple[str, float]]:
    """Every such key → (source, threshold)."""
    return {rho_key(source, threshold): (source, threshold) for source in sources for threshold in thresholds}


def is_swept(timeline: Timeline) -> bool:
    """Whether ρ can be swept without asking a model again: primary revisions of full runs of backbones that ask none."""
    run = timeline.case_run.run if timeline.case_run else None
    primary = (timeline.kind, timeline.alternative) == (TimelineKind.REVISED, 1)
    return run is not None and primary and run.variant == Variant.FULL and not asks_models(run.backbone)


def swept_sources(chosen: Chosen) -> list[str]:
    """The sources whose ρ is swept."""
    if not chosen.rho:
        return []
    revised = Timeline.objects.filter(encounter__dataset__in=chosen.datasets, kind=TimelineKind.REVISED.value, alternative=1)
    runs = revised.filter(case_run__run__variant=Variant.FULL.value).values_list("source", "case_run__run__backbone").distinct()
    wanted = set(chosen.sources)
    return sorted({source for source, backbone in runs if not asks_models(backbone) and (not wanted or source in wanted)})


def events_of(timelines: Sequence[Timeline]) -> Mapping[int, tuple[PlacedEvent, ...]]:
    """Timeline → its entries in order, in one query. An entry without an occurrence is keyed by its place."""
    found: dict[int, list[PlacedEvent]] = defaultdict(list)
    rows = Entry.objects.filter(timeline__in=timelines).order_by("timeline_id", "occurrence__ordinal", "pk")
    fields = (
        "timeline_id",
        "occurrence__uid4",
        "occurrence__mention",
        "event",
        "time",
        "occurrence__start",
        "occurrence__end",
        "adopted_rows",
    )
    for timeline, uid, mention, event, time, start, end, adopted in rows.values_list(*fields):
        key = uid or f"#{len(found[timeline]) + 1}"
        found[timeline].append(PlacedEvent(key, unescape_mention(mention or event), time, start, end, tuple(adopted)))
    return {t.pk: tuple(found[t.pk]) for t in timelines}


def _revised_at(encounter: Encounter, timelines: Sequence[Timeline], threshold: float) -> dict[SourceKey, tuple[PlacedEvent, ...]]:
    """Stages 5 and 6 once more, from what stage 4 stored, with another threshold; nothing is stored."""
    return {rho_key(t.source, threshold): _again(encounter, t.case_run, threshold) for t in timelines if t.case_run is not None}


def _again(encounter: Encounter, case_run: CaseRun, threshold: float) -> tuple[PlacedEvent, ...]:
    run = case_run.run
    config = replace(PipelineConfig.from_dict(run.config), rho_threshold=threshold, alternatives=1)
    tools = tools_of(run.backbone, config)
    assert case_run.inventory is not None
    case = storage.load_case(encounter, case_run.inventory.note)
    stored = storage.load_reconstruction(case_run, case.note)
    candidates = judged_again(stored.candidates, tools.reranker, config)
    found = expanded(stored.note.inventory, stored.text_only, candidates, load_record(encounter, tools.embedder), case.window, tools)
    (revised,) = revised_with(found, stored.note, stored.text_only, case.window, tools).timelines
    mentions = {o.uid: o for o in stored.note.inventory}
    return tuple(
        PlacedEvent(e.uid, unescape_mention(mentions[e.uid].mention), e.time, mentions[e.uid].start, mentions[e.uid].end, e.adopted_rows)
        for e in revised
    )
