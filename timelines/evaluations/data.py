"""Load the cases of an evaluation from the database, one by one.

A case has the reference and every finished timeline of the chosen sources. Of several runs of one
source the study timeline counts, else the latest finished one, as in exports; drafts of authors are
not timelines and cannot appear.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, QuerySet

from ehr.models import Dataset, Encounter
from timelines.access.authoring import CURATED, is_superseded
from timelines.access.references import (
    ANY_CONSENSUS,
    add_consensus,
    find_named,
    is_consensus,
    match_sources,
)
from timelines.domain import TimelineKind
from timelines.evaluation.naming import name_way
from timelines.evaluation.values import EvaluatedCase, PlacedEvent, SourceKey
from timelines.evaluations.rho import is_swept, revise_case
from timelines.evaluations.trails import load_row_series, load_trails
from timelines.models import Entry, Timeline
from timelines.pipeline.uids import unescape_mention
from timelines.runs.stay_text import find_places
from timelines.transfer.lines import Selection, chosen_timelines

#: Each case's consensus in a report, under one name.
CONSENSUS_KEY = SourceKey(ANY_CONSENSUS, TimelineKind.REFERENCE.value)


@dataclass(frozen=True)
class Chosen:
    """The timelines to compare; without `sources`, all.

    `rho` are thresholds for further revisions. `further` are references that a case must have, too.
    """

    datasets: Sequence[Dataset]
    reference: str
    sources: Sequence[str] = ()
    rho: Sequence[float] = ()
    further: Sequence[str] = ()


@dataclass(frozen=True)
class LoadedCase:
    """A case for `evaluation.report.evaluate`, and the encounter that it is."""

    encounter: Encounter
    case: EvaluatedCase


def known_sources(
    datasets: Sequence[Dataset], closed: Collection[int] = ()
) -> tuple[list[str], list[str]]:
    """Return the names of references and of other timelines' sources.

    They are those in these datasets, without the `closed` encounters. `consensus` is among the
    references if a case has one.
    """
    timelines = Timeline.objects.filter(encounter__dataset__in=datasets).exclude(
        encounter__in=list(closed)
    )
    found = timelines.values_list("source", "kind").distinct()
    references = add_consensus(s for s, kind in found if kind == TimelineKind.REFERENCE)
    others = sorted({source for source, kind in found if kind != TimelineKind.REFERENCE})
    return references, others


def find_referenced(chosen: Chosen) -> QuerySet[Encounter]:
    """Return the cases that have the reference, by dataset and case id.

    An evaluation covers only these. If `further` references are chosen, a case has all of them.
    """
    cases = Encounter.objects.filter(dataset__in=chosen.datasets)
    references = Timeline.objects.filter(
        encounter=OuterRef("pk"), kind=TimelineKind.REFERENCE.value
    )
    for source in (chosen.reference, *chosen.further):
        cases = cases.filter(Exists(references.filter(match_sources([source]))))
    return cases.select_related("dataset").order_by("dataset__name", "case_id")


def load_cases(chosen: Chosen) -> Iterator[LoadedCase]:
    """Yield case after case, so that a cohort of any size fits in memory.

    Raises NoteChanged of `storage` only for a ρ sweep.
    """
    curated = find_curated_sources(chosen)
    for encounter in find_referenced(chosen).iterator(chunk_size=100):
        yield _load(encounter, chosen, curated)


def find_curated_sources(chosen: Chosen) -> list[str]:
    """Return the compared sources that consist of corrections over a base."""
    if chosen.sources:
        return [source for source in chosen.sources if source.startswith(CURATED)]
    _, others = known_sources(chosen.datasets)
    return [s for s in others if s.startswith(CURATED) and not is_superseded(s)]


def _load(encounter: Encounter, chosen: Chosen, curated: Sequence[str]) -> LoadedCase:
    reference = find_reference(encounter, chosen.reference)
    others = _find_others(encounter, chosen, reference)
    consensus = find_reference(encounter, ANY_CONSENSUS) if _names_consensus(chosen) else None
    as_made = _find_uncorrected(encounter, set(curated) - {t.source for t in others})
    events = load_events([t for t in (reference, *others, *as_made.values()) if t is not None])
    timelines = {CONSENSUS_KEY if t == consensus else make_key(t): events[t.pk] for t in others}
    timelines |= {key: events[t.pk] for key, t in as_made.items()}
    for primary in (
        t for t in others if (t.kind, t.alternative) == (TimelineKind.REVISED, 1) and chosen.rho
    ):
        if primary.case_run is not None and is_swept(primary.case_run.run):
            timelines |= revise_case(encounter, primary, chosen.rho)
    own = events[reference.pk] if reference is not None else ()
    row_series = load_row_series(encounter, {row for event in own for row in event.rows})
    revised = {
        make_key(t): t for t in others if (t.kind, t.alternative) == (TimelineKind.REVISED, 1)
    }
    return LoadedCase(
        encounter,
        EvaluatedCase(
            encounter.case_id,
            encounter.dataset.name,
            own,
            timelines,
            load_trails(revised, row_series),
            row_series,
        ),
    )


def find_reference(encounter: Encounter, name: str) -> Timeline | None:
    """Return the case's reference of that name; None if it has none."""
    found = chosen_timelines(encounter, Selection(sources=(name,)))
    return find_named([t for t in found if t.kind == TimelineKind.REFERENCE], name)


def _names_consensus(chosen: Chosen) -> bool:
    return ANY_CONSENSUS in (*chosen.sources, *chosen.further)


def _find_others(
    encounter: Encounter, chosen: Chosen, reference: Timeline | None
) -> list[Timeline]:
    """Return the timelines to compare with the reference.

    A name of each case's consensus brings one, not those of other authors that it replaced.
    """
    found = chosen_timelines(encounter, Selection(sources=chosen.sources))
    one = find_named(found, ANY_CONSENSUS) if ANY_CONSENSUS in chosen.sources else None
    return [
        t
        for t in found
        if t != reference
        and (one is None or t == one or t.source in chosen.sources or not is_consensus(t.source))
    ]


def _find_uncorrected(encounter: Encounter, missing: Collection[str]) -> dict[SourceKey, Timeline]:
    """Return the bases of curated sources that have no timeline of this case.

    Nobody corrected the case, so it counts as it was reconstructed. Otherwise a cohort's figures
    would be over its corrected cases only.
    """
    if not missing:
        return {}
    names = {source.removeprefix(CURATED): source for source in missing}
    found = chosen_timelines(encounter, Selection(sources=tuple(names)))
    bases: dict[str, Timeline] = {}
    for t in found:
        better = t.kind == TimelineKind.REVISED and t.alternative == 1
        if t.kind != TimelineKind.REFERENCE and (better or t.source not in bases):
            bases[t.source] = t
    return {SourceKey(names[source], t.kind, t.alternative): t for source, t in bases.items()}


def make_key(timeline: Timeline) -> SourceKey:
    """Return the name of a timeline in a report.

    Another reference (a second author's) is compared with the first like any source.
    """
    return SourceKey(timeline.source, timeline.kind, timeline.alternative)


def load_events(timelines: Sequence[Timeline]) -> Mapping[int, tuple[PlacedEvent, ...]]:
    """Return the entries of each timeline of one case in order.

    An entry without an occurrence is keyed by its position. Places are those of the text that the
    timelines have in common.
    """
    found: dict[int, list[PlacedEvent]] = defaultdict(list)
    rows = Entry.objects.filter(timeline__in=timelines).order_by(
        "timeline_id", "occurrence__ordinal", "pk"
    )
    fields = (
        "timeline_id",
        "occurrence__uid4",
        "occurrence__mention",
        "event",
        "time",
        "occurrence__start",
        "occurrence__end",
        "adopted_rows",
        "occurrence__lane",
        "lower",
        "upper",
        "known",
        "decided_by",
        "link",
    )
    sources = {t.pk: t.source for t in timelines}
    inventories = {t.pk: t.inventory_id for t in timelines}
    places = find_places(inventories.values())
    for timeline, uid, mention, event, *values in rows.values_list(*fields):
        time, start, end, adopted, lane, lower, upper, known, decided_by, link = values
        start = places.place(inventories[timeline], start)
        end = places.place(inventories[timeline], end)
        found[timeline].append(
            PlacedEvent(
                uid or f"#{len(found[timeline]) + 1}",
                unescape_mention(mention or event),
                time,
                start,
                end,
                tuple(adopted),
                lane or "",
                lower,
                upper,
                known,
                name_way(sources[timeline], decided_by, link),
            )
        )
    return {t.pk: tuple(found[t.pk]) for t in timelines}
