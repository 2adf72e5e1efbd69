"""The provenance panel: the chain behind the time of one occurrence.

It is fetched when the occurrence is selected.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from django.db.models import Q
from django.http import Http404, HttpResponse
from django.template.loader import render_to_string
from django.views.decorators.http import require_GET

from accounts.audit.trail import record
from accounts.permissions import CASE_READERS
from accounts.scoping import StudyRequest, study_role_required
from ehr.models import Encounter, SourceRow
from ehr.presentation.clock import Clock, Moment
from ehr.presentation.wording import event_words, time_kind_words, value_words
from ehr.record.clock import clock_of
from llm_runtime.models import ModelCall
from timelines.access.authoring import hidden_timelines
from timelines.cases.choices import Choice, Choices, load_choices
from timelines.cases.items import find_occurrence
from timelines.cases.opening import chosen_timeline, open_case
from timelines.cases.sources import load_sources
from timelines.cases.way_back import link_back_to_draft
from timelines.curation.reading import OccurrenceAnswers, load_answers
from timelines.curation.standing import CORRECTING
from timelines.domain import Lane, NoRows, Polarity, TimelineKind, cited_as
from timelines.models import Candidate, CaseRun, Entry, Evidence, Occurrence, Query
from timelines.pipeline.config import Variant
from timelines.presentation.answer import Facts, RowFact, answer_both_ways
from timelines.presentation.pairing import pair_spans
from timelines.presentation.segments import Span
from timelines.presentation.sentence import find_sentence
from timelines.presentation.status import Status, find_status
from timelines.presentation.wording import (
    CITED_WORDS,
    LANE_WORDS,
    NO_ROWS_WORDS,
    shift_words,
)
from timelines.runs.calls import deciding_calls
from timelines.runs.storage import checked_text, load_reasons


@dataclass(frozen=True)
class Estimate:
    """The time of the occurrence in one timeline, in words."""

    label: str
    kind: str
    time: float | None
    lower: float | None
    upper: float | None
    when: Moment
    bounds: Moment | None
    status: Status
    known: bool | None
    decided_by: str
    reason: str
    public_id: str
    shown: bool
    shift: str = ""
    adopted: tuple[int, ...] = ()
    near: tuple[int, ...] = ()
    link: str = ""
    reasoning: str = ""
    context: tuple[ContextLine, ...] = ()


@dataclass(frozen=True)
class ContextLine:
    """An occurrence that the estimate relies on."""

    uid: str
    mention: str
    when: Moment


@dataclass(frozen=True)
class RowLine:
    """A source row that reached the occurrence."""

    index: int
    event: str
    value: str
    when: Moment
    time_kind: str
    used: bool
    how: str
    #: Which query of this occurrence brought it, or what else did; "" for an author's row.
    through: str
    fact: RowFact


@dataclass(frozen=True)
class QueryLine:
    """A query with the series it returned, in order of dense rank."""

    number: int
    text: str
    candidates: list[Candidate] = field(default_factory=list)

    @property
    def kept(self) -> int:
        return sum(c.kept for c in self.candidates)


@require_GET
@study_role_required(*CASE_READERS)
@link_back_to_draft
def chain(request: StudyRequest, public_id: str, uid4: str) -> HttpResponse:
    """The eight steps for one occurrence of one timeline (`t`), as a partial."""
    encounter = open_case(request, public_id)
    choices = load_choices(encounter, hidden=hidden_timelines(request.user, encounter))
    if not choices:
        raise Http404
    chosen = chosen_timeline(request, choices)
    occurrence = find_occurrence(chosen, uid4)
    if occurrence is None:
        raise Http404
    note = checked_text(occurrence.inventory.note)
    clock = clock_of(encounter)
    estimates = _estimates(occurrence, chosen, choices, clock)
    shown = next((e for e in estimates if e.shown), None)
    group = choices.find_group(chosen)
    # A curated timeline has the provenance of the run that made its base.
    origin = group.find_origin(chosen) if group else chosen
    answers = (
        load_answers(encounter, group.base.pk, occurrence, request.user)
        if group and occurrence.inventory.sealed_at
        else None
    )
    corrected = shown is not None and shown.status is Status.CORRECTED
    queries = _queries(occurrence, origin)
    rows = _rows(occurrence, origin, clock, shown)
    own_rows = _own_rows(encounter, shown, clock) if origin.case_run_id is None or corrected else []
    reference = _reference(occurrence, chosen, choices, clock)
    span = note[occurrence.start : occurrence.end] if occurrence.start is not None else ""
    sources = (
        load_sources(occurrence, chosen, origin.case_run_id, clock, request.user)
        if chosen.composed
        else None
    )
    taken = sources and shown and sources.find_origin(line.uid for line in shown.context)
    if taken and taken.sentence:
        # Words of another note, which gave the group its time.
        span = taken.sentence.span
    variant, no_rows = _variant(origin), _why_no_rows(occurrence, origin)
    context = {
        "encounter": encounter,
        "occurrence": occurrence,
        "lane": LANE_WORDS[Lane(occurrence.lane)],
        "sentence": (
            None
            if occurrence.start is None
            else find_sentence(note, occurrence.start, occurrence.end or 0)
        ),
        "authored": origin.case_run_id is None,
        "variant": variant,
        "shown": shown,
        "answer": shown
        and answer_both_ways(
            replace(
                _facts(
                    occurrence,
                    span,
                    shown,
                    estimates,
                    own_rows or rows,
                    reference,
                    variant,
                    no_rows,
                ),
                **_claims(answers, estimates, corrected),
            ),
            clock,
        ),
        "text": next((e for e in estimates if e.kind == TimelineKind.TEXT_ONLY), None),
        "revised": [e for e in estimates if e.kind == TimelineKind.REVISED],
        "reference": reference,
        "queries": queries,
        "candidate_count": sum(len(q.candidates) for q in queries),
        "rows": rows,
        "no_rows": NO_ROWS_WORDS[no_rows] if no_rows else "",
        "calls": _calls(occurrence, origin),
        "own_rows": own_rows,
        "answers": answers,
        "sources": sources,
        "timeline": chosen.public_id,
    }
    study, detail = encounter.dataset.study, {"uid4": uid4, "timeline": chosen.public_id}
    record(
        actor=request.user,
        study=study,
        action="case.chain",
        object_type="ehr.encounter",
        object_id=public_id,
        detail=detail,
    )
    # Without the request, whose context (studies, navigation) a partial does not need.
    return HttpResponse(render_to_string("timelines/cases/_chain.html", context))


def _facts(
    occurrence: Occurrence,
    words: str,
    shown: Estimate,
    estimates: list[Estimate],
    rows: list[RowLine],
    reference: Estimate | None,
    variant: str,
    no_rows: NoRows | None,
) -> Facts:
    text = next((e for e in estimates if e.kind == TimelineKind.TEXT_ONLY), None)
    before = text if shown.kind == TimelineKind.REVISED else None
    return Facts(
        kind=TimelineKind(shown.kind),
        time=shown.time,
        known=shown.known,
        words=words,
        text=before.time if before else None,
        text_known=before.known if before else None,
        lower=shown.lower,
        upper=shown.upper,
        polarity=Polarity(occurrence.polarity),
        cited=[r.fact for r in rows if r.used],
        near=[r.fact for r in rows if r.index in shown.near and not r.used],
        others=[r.fact for r in rows if not r.used and r.index not in shown.near],
        relies_on=[line.mention for line in shown.context],
        searched=variant != Variant.UNIMODAL,
        no_rows=no_rows,
        reference=reference.time if reference else None,
        alternatives=[
            (e.label, e.time) for e in estimates if e.kind == TimelineKind.REVISED and not e.shown
        ]
        if shown.kind == TimelineKind.REVISED
        else [],
    )


def _claims(
    answers: OccurrenceAnswers | None, estimates: list[Estimate], corrected: bool
) -> dict[str, Any]:
    """Return what people say about the time, for the sentences."""
    if answers is None:
        return {}
    shown = next((line for line in answers.lines if line.applied), None) if corrected else None
    made = next((e for e in estimates if e.public_id == answers.base), None)
    # Answers that differ have a box of their own.
    others = [] if shown or answers.disputed else [line.claim for line in answers.lines]
    return {
        "correction": shown and shown.claim,
        "made": made.time if made else None,
        "claims": others,
        **({"alternatives": []} if corrected else {}),
    }


def _calls(occurrence: Occurrence, chosen: Choice) -> list[ModelCall]:
    """Return the language model's calls that decided the occurrence.

    Empty if no model was asked.
    """
    if chosen.case_run_id is None:
        return []
    case_run = CaseRun.objects.select_related("run").get(pk=chosen.case_run_id)
    return deciding_calls(case_run, occurrence) if case_run.run.language_models else []


def _estimates(
    occurrence: Occurrence, chosen: Choice, choices: Choices, clock: Clock
) -> list[Estimate]:
    """Return the occurrence's time in each timeline of the group.

    These are the text-only timeline and each alternative, or the authored timeline alone.
    """
    group = choices.find_group(chosen)
    members = group.members if group else [chosen]
    entries = {
        e.timeline_id: e
        for e in Entry.objects.filter(
            occurrence=occurrence, timeline_id__in=[c.pk for c in members]
        ).select_related("timeline")
    }
    text = entries.get(group.text_only.pk) if group and group.text_only else None
    lines = _context_lines(occurrence, list(entries.values()), chosen, clock)
    return [
        _estimate(c, entries[c.pk], text, clock, lines, c.pk == chosen.pk)
        for c in members
        if c.pk in entries
    ]


def _estimate(
    choice: Choice,
    entry: Entry,
    text: Entry | None,
    clock: Clock,
    lines: dict[str, ContextLine],
    shown: bool,
) -> Estimate:
    revised = choice.kind is TimelineKind.REVISED
    label = {TimelineKind.TEXT_ONLY: "Text alone", TimelineKind.REFERENCE: "Reference"}.get(
        choice.kind, f"Alternative {choice.alternative}"
    )
    if choice.is_curated:
        label = "With corrections"
    return Estimate(
        label=label,
        kind=choice.kind.value,
        time=entry.time,
        lower=entry.lower,
        upper=entry.upper,
        when=clock.read(entry.time),
        bounds=clock.bounds(entry.lower, entry.upper),
        status=find_status(
            entry.time,
            known=entry.known,
            kind=choice.kind,
            cited_rows=entry.adopted_rows,
            corrected=choice.is_curated and entry.decided_by in CORRECTING,
        ),
        known=entry.known,
        decided_by=entry.decided_by,
        reason=entry.reason,
        public_id=choice.public_id,
        shown=shown,
        shift=(
            shift_words(text.time, entry.time, cited=bool(entry.adopted_rows))
            if revised and text
            else ""
        ),
        adopted=tuple(entry.adopted_rows),
        near=tuple(entry.near_rows),
        link=entry.link,
        reasoning=entry.timeline.reasoning,
        context=tuple(lines[uid] for uid in entry.context if uid in lines),
    )


def _context_lines(
    occurrence: Occurrence, entries: list[Entry], chosen: Choice, clock: Clock
) -> dict[str, ContextLine]:
    """Return the context occurrences by UID.

    Each has its time in the timeline that is shown.
    """
    uids = {uid for entry in entries for uid in entry.context}
    if not uids:
        return {}
    found = Entry.objects.filter(
        timeline_id=chosen.pk,
        occurrence__inventory_id=occurrence.inventory_id,
        occurrence__uid4__in=uids,
    )
    rows = found.values_list("occurrence__uid4", "occurrence__mention", "time")
    return {uid: ContextLine(uid, mention, clock.read(time)) for uid, mention, time in rows}


def _variant(chosen: Choice) -> str:
    """Return which parts of the pipeline the timeline's run used.

    "" for a timeline without a run.
    """
    return (
        ""
        if chosen.case_run_id is None
        else CaseRun.objects.select_related("run").get(pk=chosen.case_run_id).run.variant
    )


def _queries(occurrence: Occurrence, chosen: Choice) -> list[QueryLine]:
    if chosen.case_run_id is None:
        return []
    queries = Query.objects.filter(case_run_id=chosen.case_run_id, occurrence=occurrence).order_by(
        "ordinal"
    )
    lines = {q.pk: QueryLine(q.ordinal + 1, q.text) for q in queries}
    candidates = (
        Candidate.objects.filter(query_id__in=lines)
        .select_related("series")
        .defer("series__row_indices")
    )
    for candidate in candidates.order_by("dense_rank"):
        lines[candidate.query_id].candidates.append(candidate)
    return list(lines.values())


def _rows(
    occurrence: Occurrence, chosen: Choice, clock: Clock, shown: Estimate | None
) -> list[RowLine]:
    """Return the rows that reached the occurrence, in order of time.

    Each appears once, by its best query; rows that its time cites or leans on are among them, also
    if they were found for another occurrence.
    """
    if chosen.case_run_id is None:
        return []
    cited, near = (shown.adopted, shown.near) if shown else ((), ())
    of_it = Q(candidate__query__occurrence=occurrence)
    evidence = Evidence.objects.filter(
        of_it | Q(row_index__in=[*cited, *near]), case_run_id=chosen.case_run_id
    )
    own: dict[int, RowLine] = {}
    others: dict[int, RowLine] = {}
    link = shown.link if shown else ""
    for e in evidence.select_related("candidate__query").order_by(
        "hours", "candidate__query__ordinal", "candidate__dense_rank"
    ):
        query = e.candidate.query if e.candidate else None
        mine = query is not None and query.occurrence_id == occurrence.pk
        through = "another occurrence" if e.candidate else "the stay itself"
        if e.candidate and query and mine:
            through = f"query {query.ordinal + 1}, rank {e.candidate.dense_rank}"
        used = e.row_index in cited
        how = CITED_WORDS[cited_as(link, own=mine)] if used else ""
        if not used and e.row_index in near:
            how = "leans on it"
        (own if mine else others).setdefault(e.row_index, _row_line(e, clock, used, how, through))
    lines = {**others, **own}
    hours = {e.row_index: e.hours for e in evidence}
    return sorted(lines.values(), key=lambda line: (hours[line.index], line.index))


def _row_line(e: Evidence | SourceRow, clock: Clock, used: bool, how: str, through: str) -> RowLine:
    if isinstance(e, Evidence):
        hours: float | None = e.hours
    else:
        hours = None if e.time is None else clock.hours(e.time)
    return RowLine(
        e.row_index,
        event_words(e.event),
        value_words(e.value, e.unit),
        clock.read(hours),
        time_kind_words(e.time_kind),
        used,
        how,
        through,
        RowFact(e.event, value_words(e.value, e.unit), hours, e.time_kind),
    )


def _why_no_rows(occurrence: Occurrence, chosen: Choice) -> NoRows | None:
    """Return why no row reached the occurrence; None if unknown."""
    if chosen.case_run_id is None:
        return None
    reasons = load_reasons(CaseRun.objects.get(pk=chosen.case_run_id))
    return reasons.get(occurrence.uid4)


def _own_rows(encounter: Encounter, shown: Estimate | None, clock: Clock) -> list[RowLine]:
    """The rows that an author named as evidence of this occurrence."""
    if shown is None or not shown.adopted:
        return []
    rows = encounter.rows.filter(dataset_id=encounter.dataset_id, row_index__in=shown.adopted)
    return [_row_line(row, clock, used=True, how="used", through="") for row in rows]


def _reference(
    occurrence: Occurrence, chosen: Choice, choices: Choices, clock: Clock
) -> Estimate | None:
    """Return the reference's time for the paired span.

    It is shown next to a reconstructed one.
    """
    if (
        chosen.kind is TimelineKind.REFERENCE
        or not choices.references
        or occurrence.start is None
        or occurrence.end is None
    ):
        return None
    reference = choices.references[0]
    near = Entry.objects.filter(
        timeline_id=reference.pk,
        occurrence__start__lt=occurrence.end,
        occurrence__end__gt=occurrence.start,
    )
    theirs = {e.occurrence.uid4: e for e in near.select_related("occurrence") if e.occurrence}
    spans = [
        Span(uid, e.occurrence.start or 0, e.occurrence.end or 0)
        for uid, e in theirs.items()
        if e.occurrence
    ]
    pair = pair_spans([Span(occurrence.uid4, occurrence.start, occurrence.end)], spans)
    entry = theirs.get(pair.get(occurrence.uid4, ""))
    return _estimate(reference, entry, None, clock, {}, False) if entry else None
