"""Read timelines for exports and judges, case by case.

It selects the timelines of a case and returns their lines.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from ehr.models import Dataset, Encounter, Note, SourceRow
from ehr.record.charts import find_note
from jobs.models import JobState
from timelines.access.authoring import SUPERSEDED_TIMELINES
from timelines.access.references import match_sources
from timelines.domain import Anchor, TimelineKind, cited_as
from timelines.formats.lines import CaseLines, Cited, Line
from timelines.models import Entry, Evidence, StageRun, Timeline
from timelines.pipeline.config import PipelineConfig, Variant
from timelines.runs.baselines import BASELINES
from timelines.runs.links import load_groups
from timelines.runs.storage import checked_text
from timelines.runs.study_timeline.selection import is_study_run


@dataclass(frozen=True)
class Selection:
    """The timelines to read.

    They are of these sources and cases (empty: all), and of one run if its public id is given.
    `consensus` is a name of each case's (`timelines.access.references`).
    `identified`: no timelines without identifiers (of baselines, and of variant `no_uid`), because
    no UID distinguishes their lines. `of_study`: only the study timeline, and references.
    """

    sources: Sequence[str] = ()
    cases: Sequence[str] = ()
    run: str = ""
    identified: bool = False
    of_study: bool = False


def find_cases(dataset: Dataset, wanted: Selection) -> QuerySet[Encounter]:
    """The cases that an export visits, in order of case id."""
    cases = Encounter.objects.filter(dataset=dataset).order_by("case_id")
    return cases.filter(case_id__in=wanted.cases) if wanted.cases else cases


def export_cases(cases: Iterable[Encounter], wanted: Selection) -> Iterator[CaseLines]:
    """Yield the chosen timelines of each case that has any.

    Raises NoteChanged if a note is no longer the imported one.
    """
    for encounter in cases:
        timelines = chosen_timelines(encounter, wanted)
        if timelines:
            yield load_lines(encounter, timelines)


def finished_timelines() -> QuerySet[Timeline]:
    """Return finished timelines.

    A run's timeline is finished if every stage of the case has succeeded; another timeline is
    finished if its inventory is sealed.
    """
    open_stages = StageRun.objects.filter(case_run=OuterRef("case_run")).exclude(
        state=JobState.SUCCEEDED
    )
    return Timeline.objects.filter(~Exists(open_stages)).filter(
        Q(case_run__isnull=False)
        | Q(inventory__isnull=True)
        | Q(inventory__sealed_at__isnull=False)
    )


def chosen_timelines(encounter: Encounter, wanted: Selection) -> list[Timeline]:
    """Return the finished timelines of a case.

    Of several runs of one source the study timeline is chosen, else the latest, unless a run is
    requested. A superseded submission of an author is omitted, unless its source is named.
    """
    return _best(
        _find_finished(wanted).filter(encounter=encounter).select_related("inventory__note")
    )


def chosen_of_cases(encounters: Sequence[int], wanted: Selection) -> dict[int, list[Timeline]]:
    """Return the timelines of many cases in one query, without their notes.

    As `chosen_timelines`; cases without any are omitted.
    """
    by_case: dict[int, list[Timeline]] = defaultdict(list)
    for timeline in _find_finished(wanted).filter(encounter__in=encounters):
        by_case[timeline.encounter_id].append(timeline)
    return {encounter: _best(timelines) for encounter, timelines in by_case.items()}


def _find_finished(wanted: Selection) -> QuerySet[Timeline]:
    found = finished_timelines()
    found = (
        found.filter(match_sources(wanted.sources))
        if wanted.sources
        else found.exclude(SUPERSEDED_TIMELINES)
    )
    if wanted.run:
        found = found.filter(case_run__run__public_id=wanted.run)
    if wanted.identified:
        found = found.exclude(
            Q(case_run__run__variant=Variant.NO_UID.value)
            | Q(case_run__run__backbone__in=BASELINES)
        )
    found = found.annotate(of_study=is_study_run("case_run__run"))
    if wanted.of_study:
        found = found.filter(Q(of_study=True) | Q(kind=TimelineKind.REFERENCE))
    return found.order_by("source", "kind", "alternative", "pk")


def _best(found: Iterable[Any]) -> list[Timeline]:
    """Return the timelines of the best run of each source, in order.

    All are of one case; `found` carry `of_study`.
    """
    timelines = list(found)
    best: dict[str, tuple[bool, int]] = {}
    for t in timelines:
        best[t.source] = max(best.get(t.source, (False, 0)), (t.of_study, t.case_run_id or 0))
    chosen = [t for t in timelines if (t.of_study, t.case_run_id or 0) == best[t.source]]
    return sorted(
        chosen,
        key=lambda t: (t.source, list(TimelineKind).index(TimelineKind(t.kind)), t.alternative),
    )


def load_lines(encounter: Encounter, timelines: Sequence[Timeline]) -> CaseLines:
    """Return the lines of these timelines of a case. Raises NoteChanged."""
    notes: dict[int, Note] = {
        t.inventory.note_id: t.inventory.note for t in timelines if t.inventory
    }
    texts = {pk: checked_text(note) for pk, note in notes.items()}
    first = find_note(encounter)
    entries: dict[int, list[Entry]] = defaultdict(list)
    ordered = (
        Entry.objects.filter(timeline__in=timelines)
        .select_related("occurrence")
        .order_by("timeline_id", "occurrence__ordinal", "pk")
    )
    for entry in ordered:
        entries[entry.timeline_id].append(entry)
    cited = _load_cited(encounter, timelines, [e for found in entries.values() for e in found])
    charts = {t.inventory.pk for t in timelines if t.inventory and t.inventory.note.composed}
    groups = {pk: load_groups(pk) for pk in charts}
    return CaseLines(
        encounter,
        checked_text(first) if first else None,
        tuple(
            tuple(
                _line(
                    encounter,
                    timeline,
                    entry,
                    texts.get(timeline.inventory.note_id) if timeline.inventory else None,
                    cited,
                    groups.get(timeline.inventory_id or 0, {}),
                )
                for entry in entries[timeline.pk]
            )
            for timeline in timelines
        ),
    )


def _line(
    encounter: Encounter,
    timeline: Timeline,
    entry: Entry,
    text: str | None,
    cited: Mapping[tuple[int, int], Cited],
    groups: Mapping[str, Sequence[str]],
) -> Line:
    o = entry.occurrence
    uid = o.uid4 if o else ""
    return Line(
        case_id=encounter.case_id,
        source=timeline.source,
        kind=timeline.kind,
        alternative=timeline.alternative,
        uid4=o.uid4 if o else None,
        mention=o.mention if o else entry.event,
        start=o.start if o else None,
        end=o.end if o else None,
        time=entry.time,
        lower=entry.lower,
        upper=entry.upper,
        known=entry.known,
        context=tuple(entry.context),
        evidence=tuple(
            cited[entry.pk, row] for row in entry.adopted_rows if (entry.pk, row) in cited
        ),
        polarity=o.polarity if o else "",
        lane=o.lane if o else "",
        span_text=text[o.start : o.end] if o and text is not None and o.start is not None else None,
        rows=tuple(entry.adopted_rows),
        reason=entry.reason,
        decided_by=entry.decided_by,
        confidence=entry.confidence,
        near_rows=tuple(entry.near_rows),
        linked=tuple(other for other in groups.get(uid, ()) if other != uid),
    )


def _load_cited(
    encounter: Encounter, timelines: Sequence[Timeline], entries: Sequence[Entry]
) -> dict[tuple[int, int], Cited]:
    """Return the cited rows, by (entry, row index).

    Those of a run come from its stored evidence, others from the record itself. A row later than
    discharge allows is never evidence (protocol stage 5).
    """
    run_of = {t.pk: t.case_run_id for t in timelines}
    copies = _evidence([pk for pk in run_of.values() if pk])
    rows = _rows(
        encounter, {r for e in entries if run_of[e.timeline_id] is None for r in e.adopted_rows}
    )
    found: dict[tuple[int, int], Cited] = {}
    for entry in entries:
        case_run = run_of[entry.timeline_id]
        for row in entry.adopted_rows:
            if case_run:
                own = copies.get((case_run, entry.occurrence_id, row))
                item = own or copies.get((case_run, None, row))
                link = cited_as(entry.link, own=own is not None)
            else:
                item, link = rows.get(row), None
            if item is not None:
                found[entry.pk, row] = replace(item, link=link or "")
    return found


def _evidence(case_runs: Sequence[int]) -> dict[tuple[int, int | None, int], Cited]:
    """(case run, occurrence, row index) → the stored evidence.

    Without an occurrence: the row as any occurrence of the case, or the stay itself, brought it.
    """
    stored = Evidence.objects.filter(case_run_id__in=case_runs).select_related("candidate__query")
    found: dict[tuple[int, int | None, int], Cited] = {}
    for e in stored.order_by("pk"):
        c = e.candidate
        cited = Cited(e.row_index, e.event, e.value, e.unit, e.hours, e.time_kind)
        if c is not None:
            cited = replace(
                cited,
                query=c.query.text,
                dense_rank=c.dense_rank,
                dense_score=c.dense_score,
                rerank_score=c.rerank_score,
            )
            found[e.case_run_id, c.query.occurrence_id, e.row_index] = cited
        found.setdefault((e.case_run_id, None, e.row_index), cited)
    return found


def _rows(encounter: Encounter, indices: set[int]) -> dict[int, Cited]:
    anchor = Anchor(encounter.admitted_at)
    latest = None
    if encounter.discharged_at is not None:
        latest = anchor.hours(encounter.discharged_at) + PipelineConfig().discharge_grace_hours
    rows = SourceRow.objects.filter(
        dataset_id=encounter.dataset_id,
        encounter_id=encounter.pk,
        row_index__in=indices,
        time__isnull=False,
    )
    cited = (
        Cited(r.row_index, r.event, r.value, r.unit, anchor.hours(r.time), r.time_kind)
        for r in rows
        if r.time
    )
    return {c.row_index: c for c in cited if latest is None or c.hours <= latest}
