"""The occurrences behind one cell of an evaluation's evidence funnel."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET

from accounts.audit.trail import record_each
from accounts.ids import parse_place
from accounts.permissions import CASE_READERS
from accounts.scoping import StudyRequest, study_role_required
from ehr.presentation.clock import Moment
from timelines.access.asking import ask_first
from timelines.evaluation.plain import report_from_plain
from timelines.evaluation.tables import LOST_WORDS, STEP_WORDS
from timelines.evaluation.values import Basis, Lost, Report, Step
from timelines.evaluations.funnel import FunnelCell, Listed, ListedOccurrences
from timelines.evaluations.opening import open_evaluation
from timelines.models import Evaluation
from timelines.presentation.evaluation.funnel import kind_words

LINES_PER_PAGE = 50
Choice = TypeVar("Choice", bound=StrEnum)


@dataclass(frozen=True)
class OccurrenceLine:
    """One occurrence in words.

    `link` leads to it on the case page; it is empty if the timeline was deleted.
    """

    encounter: str
    case_id: str
    dataset: str
    mention: str
    link: str
    kind: str
    reference: Moment
    predicted: Moment
    steps: tuple[bool, ...]
    lost: str


@require_GET
@study_role_required(*CASE_READERS)
def evaluation_funnel(request: StudyRequest, public_id: str) -> HttpResponse:
    """List the occurrences of one cell.

    `s` is the timeline's number in the report (default: the first of the funnel); `kind`, and
    `step` or `lost`, choose the cell.
    """
    evaluation = open_evaluation(request, public_id)
    if evaluation.report is None:
        raise Http404
    report = report_from_plain(evaluation.report)
    cell = _cell(request, report)
    page = Paginator(ListedOccurrences(evaluation, cell), LINES_PER_PAGE).get_page(
        request.GET.get("page")
    )
    lines = [_line(listed, evaluation, report.settings.bases[0]) for listed in page.object_list]
    ask_first(request.user, [line.encounter for line in lines])
    record_each(
        actor=request.user,
        study=evaluation.study,
        action="evaluation.funnel",
        object_type="ehr.encounter",
        object_ids=dict.fromkeys(line.encounter for line in lines),
    )
    context = {
        "evaluation": evaluation,
        "source": cell.key.label,
        "kind": kind_words(cell.kind),
        "title": _title(cell),
        "heads": list(STEP_WORDS.values()),
        "page": page,
        "lines": lines,
    }
    return render(request, "timelines/evaluations/funnel.html", context)


def _cell(request: StudyRequest, report: Report) -> FunnelCell:
    """Return the cell that the address names.

    Raises Http404 if the report has no such cell.
    """
    known, keys = [(r.key, r.kind) for r in report.funnel], list(report.keys)
    if not known:
        raise Http404
    place = parse_place(request.GET.get("s", str(keys.index(known[0][0]))), len(keys))
    if place is None:
        raise Http404
    key, kind = keys[place], request.GET.get("kind", "")
    step = _choice(Step, request.GET.get("step", ""))
    lost = _choice(Lost, request.GET.get("lost", ""))
    if (key, kind) not in known or (step and lost):
        raise Http404
    return FunnelCell(key, kind, step, lost)


def _choice(choices: type[Choice], wanted: str) -> Choice | None:
    if not wanted:
        return None
    try:
        return choices(wanted)
    except ValueError:
        raise Http404 from None


def _title(cell: FunnelCell) -> str:
    if cell.step is not None:
        return f"Reached: {STEP_WORDS[cell.step].lower()}"
    if cell.lost is not None:
        return f"Lost: {LOST_WORDS[cell.lost].lower()}"
    return "Occurrences whose reference cites rows"


def _line(listed: Listed, evaluation: Evaluation, basis: Basis) -> OccurrenceLine:
    line = listed.line
    query = {
        "t": listed.timeline,
        "e": evaluation.public_id,
        "b": basis.value,
        "o": line.predicted,
    }
    link = f"{reverse('timelines:case', args=[listed.encounter])}?{urlencode(query)}"
    return OccurrenceLine(
        listed.encounter,
        listed.case_id,
        listed.dataset,
        listed.mention,
        link if listed.timeline else "",
        kind_words(line.kind),
        listed.clock.read(line.reference_time),
        listed.clock.read(line.predicted_time),
        tuple(step in line.reached for step in Step),
        "" if line.lost is None else LOST_WORDS[line.lost],
    )
