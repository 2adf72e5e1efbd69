"""One case of an evaluation.

It shows the figures of every timeline, and the pairs of one of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_GET

from accounts.audit.trail import record
from accounts.ids import parse_place
from accounts.permissions import CASE_READERS
from accounts.scoping import StudyRequest, study_role_required
from ehr.presentation.clock import Clock, Moment
from ehr.presentation.wording import span_words
from ehr.record.clock import clock_of
from timelines.cases.opening import open_case
from timelines.cases.way_back import link_back_to_draft
from timelines.evaluation.plain import case_from_plain, report_from_plain
from timelines.evaluation.values import Basis, CaseSource, PlacedEvent
from timelines.evaluations.cases import CASE_METRICS
from timelines.evaluations.opening import chosen_basis, open_evaluation
from timelines.evaluations.pairs import (
    Compared,
    PairRow,
    compared_timeline,
    find_unpaired,
    pair_rows,
    reference_timeline,
)
from timelines.models import EvaluationCase
from timelines.presentation.evaluation import tables as shown


@dataclass(frozen=True)
class Side:
    """One occurrence in words."""

    mention: str
    when: Moment


@dataclass(frozen=True)
class PairLine:
    """One pair in words; `link` leads to it on the case page."""

    reference: Side
    predicted: Side
    error: str
    tolerance: str
    verdict: str
    within: bool
    distance: str
    link: str


@dataclass(frozen=True)
class SourceLine:
    """One timeline of the case, with its figures.

    `chosen`: its pairs are shown.
    """

    number: int
    label: str
    available: bool
    events: int
    pairs: int
    figures: tuple[shown.Figure, ...]
    chosen: bool
    primary: bool


@require_GET
@study_role_required(*CASE_READERS)
@link_back_to_draft
def evaluation_case(request: StudyRequest, public_id: str, case_id: str) -> HttpResponse:
    """Show one case.

    `basis` chooses the pairing, `s` the timeline (its number in the report).
    """
    encounter = open_case(request, case_id)
    evaluation = open_evaluation(request, public_id)
    stored = get_object_or_404(EvaluationCase, evaluation=evaluation, encounter=encounter)
    if evaluation.report is None:
        raise Http404
    report = report_from_plain(evaluation.report)
    basis = chosen_basis(request, report)
    keys = {key: n for n, key in enumerate(report.keys)}
    sources = {
        keys[s.key]: s
        for s in case_from_plain(stored.result).sources
        if s.basis is basis and s.key in keys
    }
    number = _number(request.GET.get("s", ""), sources)
    chosen = sources.get(number)
    lines = [_source_line(n, s, n == number) for n, s in sorted(sources.items())]
    context = {
        "evaluation": evaluation,
        "encounter": encounter,
        "basis": basis,
        "bases": [(b.value, shown.BASIS_WORDS[b], b is basis) for b in report.settings.bases],
        "heads": [shown.metric_words(m, basis) for m in CASE_METRICS],
        "sources": [line for line in lines if line.primary],
        "further": [line for line in lines if not line.primary],
        "further_open": any(line.chosen for line in lines if not line.primary),
        "number": number,
        "chosen": chosen,
        "distance_head": "1 − overlap" if basis is Basis.SPAN else "Distance",
    }
    predicted = (
        compared_timeline(evaluation, encounter, chosen) if chosen and chosen.available else None
    )
    reference = reference_timeline(evaluation, encounter, chosen) if chosen else None
    if chosen and predicted and reference:
        query = {"t": predicted.timeline.public_id, "e": evaluation.public_id, "b": basis.value}
        context |= _pairs(
            chosen,
            reference,
            predicted,
            clock_of(encounter),
            f"{reverse('timelines:case', args=[encounter.public_id])}?{urlencode(query)}",
        )
    study = encounter.dataset.study
    record(
        actor=request.user,
        study=study,
        action="evaluation.case",
        object_type="ehr.encounter",
        object_id=encounter.public_id,
    )
    return render(request, "timelines/evaluations/case.html", context)


def _number(wanted: str, sources: dict[int, CaseSource]) -> int:
    """Return the timeline whose pairs are shown.

    The requested one, else the first revised one that the case has. Raises Http404 for an unknown
    one.
    """
    if wanted:
        place = parse_place(wanted, max(sources, default=-1) + 1)
        if place not in sources:
            raise Http404
        return place
    available = [n for n, s in sorted(sources.items()) if s.available]
    return next(
        (n for n in available if sources[n].key.kind == "revised"),
        available[0] if available else -1,
    )


def _source_line(number: int, source: CaseSource, chosen: bool) -> SourceLine:
    figures = tuple(shown.figure(m, source.metrics.get(m)) for m in CASE_METRICS)
    return SourceLine(
        number,
        source.key.label,
        source.available,
        source.predicted_events,
        len(source.pairs),
        figures,
        chosen,
        shown.is_primary(source.key),
    )


def _pairs(
    source: CaseSource, reference: Compared, predicted: Compared, clock: Clock, link: str
) -> dict[str, object]:
    missed, extra = find_unpaired(source, reference, predicted)
    return {
        "case_link": link,
        "pairs": [_pair_line(row, clock, link) for row in pair_rows(source, reference, predicted)],
        "missed": [_side(e, clock) for e in missed],
        "extra": [_side(e, clock) for e in extra],
        "reference_count": len(reference.events),
        "predicted_count": len(predicted.events),
    }


def _pair_line(row: PairRow, clock: Clock, link: str) -> PairLine:
    uid = row.predicted.key
    address = link if uid.startswith("#") else f"{link}&{urlencode({'o': uid})}"
    distance = f"{row.distance:.3f}"
    if row.error is None or row.tolerance is None:
        side = "reference" if row.reference.time is None else "prediction"
        sides = _side(row.reference, clock), _side(row.predicted, clock)
        return PairLine(
            *sides, shown.NO_FIGURE, "", f"no time in the {side}", False, distance, address
        )
    verdict = "within tolerance" if row.within else "beyond tolerance"
    error, tolerance = span_words(row.error), span_words(row.tolerance)
    return PairLine(
        _side(row.reference, clock),
        _side(row.predicted, clock),
        error,
        tolerance,
        verdict,
        row.within,
        distance,
        address,
    )


def _side(event: PlacedEvent, clock: Clock) -> Side:
    return Side(event.mention, clock.read(event.time))
