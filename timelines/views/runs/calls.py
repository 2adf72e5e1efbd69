"""Model calls: costs of a run by stage and case, and single calls.

A single call is shown with its prompt and raw answer.
"""

from __future__ import annotations

import json

from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from accounts.audit.trail import record
from accounts.permissions import CASE_READERS
from accounts.scoping import StudyRequest, filter_by_role, study_role_required
from llm_runtime.accounting import total
from llm_runtime.ledger import parse_reply, request_messages
from llm_runtime.models import ModelCall
from timelines.access.closed import check_run_is_open, closed_encounters, exclude_closed
from timelines.cases.opening import open_case
from timelines.cases.way_back import link_back_to_draft
from timelines.models import CaseRun, Run, Stage, StageRun
from timelines.runs.calls import CALLS_OWNER, find_calls, run_spent, spent_by_stage
from timelines.runs.costs import (
    COST_FILES,
    MEASURES,
    load_case_costs,
    load_costs,
    summarise_costs,
)
from timelines.runs.progress import count_run

CASES_PER_PAGE = 20


@require_GET
@study_role_required(*CASE_READERS)
def run_calls(request: StudyRequest, public_id: str) -> HttpResponse:
    """Return the part of a run's page that counts its calls.

    It polls while the run is active.
    """
    run = get_object_or_404(
        filter_by_role(Run.objects.all(), request.user, roles=CASE_READERS), public_id=public_id
    )
    closed = closed_encounters(request.user)
    check_run_is_open(run, closed)
    costs = load_costs(run, closed)
    context = {
        "run": run,
        "spent": run_spent(run, closed),
        "measures": list(MEASURES.values()),
        "lines": summarise_costs(costs),
        "active": count_run(run, closed).active,
    }
    return render(request, "timelines/calls/_run.html", context)


@require_GET
@study_role_required(*CASE_READERS)
def case_costs(request: StudyRequest, public_id: str) -> HttpResponse:
    """Show time and cost of each case and stage, a page of cases at a time."""
    run = get_object_or_404(
        filter_by_role(Run.objects.all(), request.user, roles=CASE_READERS), public_id=public_id
    )
    closed = closed_encounters(request.user)
    check_run_is_open(run, closed)
    cases = exclude_closed(CaseRun.objects.filter(run=run), closed).select_related("encounter")
    page = Paginator(cases.order_by("pk"), CASES_PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "run": run,
        "page": page,
        "measures": list(MEASURES.values()),
        "cases": load_case_costs(list(page.object_list)),
    }
    return render(request, "timelines/calls/costs.html", context)


@require_GET
@study_role_required(*CASE_READERS)
def run_costs(request: StudyRequest, public_id: str, format: str) -> HttpResponse:
    """Return time and cost by case and stage as a file: csv or json."""
    run = get_object_or_404(
        filter_by_role(Run.objects.all(), request.user, roles=CASE_READERS), public_id=public_id
    )
    closed = closed_encounters(request.user)
    check_run_is_open(run, closed)
    if format not in COST_FILES:
        raise Http404
    kind, render_file = COST_FILES[format]
    response = HttpResponse(
        render_file(run, load_costs(run, closed)), content_type=f"{kind}; charset=utf-8"
    )
    response["Content-Disposition"] = f'attachment; filename="costs-{run.public_id}.{format}"'
    return response


@require_GET
@study_role_required(*CASE_READERS)
@link_back_to_draft
def case_calls(request: StudyRequest, public_id: str, case_run_id: str) -> HttpResponse:
    """List every call of one case of a run, in order.

    Rejected answers have their reasons.
    """
    case_run = _case_run(
        request, CaseRun.objects.filter(public_id=case_run_id, run__public_id=public_id).first()
    )
    stages = StageRun.objects.filter(case_run=case_run)
    by_stage = spent_by_stage(stages)
    context = {
        "run": case_run.run,
        "case_run": case_run,
        "encounter": case_run.encounter,
        "calls": find_calls(stages).defer("response"),
        "stages": by_stage,
        "total": total(s.spent for s in by_stage),
        "failed": stages.filter(state="failed"),
    }
    return render(request, "timelines/calls/case.html", context)


@require_GET
@study_role_required(*CASE_READERS)
@link_back_to_draft
def call(request: StudyRequest, public_id: str) -> HttpResponse:
    """Show one call: the exact request, and the reply.

    It contains the note, so reading it is recorded as opening the case.
    """
    found = get_object_or_404(
        ModelCall.objects.select_related("request"), public_id=public_id, owner_type=CALLS_OWNER
    )
    stage = StageRun.objects.select_related("case_run").filter(pk=found.owner_id).first()
    case_run = _case_run(request, stage.case_run if stage else None)
    encounter = case_run.encounter
    reply = parse_reply(found.response) if found.response is not None else None
    context = {
        "call": found,
        "run": case_run.run,
        "case_run": case_run,
        "encounter": encounter,
        "stage": Stage(stage.stage).label if stage and stage.stage in Stage.values else "",
        "messages_sent": request_messages(found.request.body),
        "schema": _schema(found.request.body),
        "reply": reply,
    }
    seen = {"timelines": True, "call": found.public_id}
    study = encounter.dataset.study
    record(
        actor=request.user,
        study=study,
        action="case.open",
        object_type="ehr.encounter",
        object_id=encounter.public_id,
        detail=seen,
    )
    return render(request, "timelines/calls/call.html", context)


def _case_run(request: StudyRequest, case_run: CaseRun | None) -> CaseRun:
    """Return the case run, if the person may see its case.

    Raises Http404, NotAllowed, CaseClosed.
    """
    if case_run is None:
        raise Http404
    case_run = CaseRun.objects.select_related("run", "encounter__dataset__study").get(
        pk=case_run.pk
    )
    open_case(request, case_run.encounter.public_id)
    return case_run


def _schema(body: str) -> str:
    """The JSON schema that constrained the answer, "" if there was none."""
    schema = json.loads(body).get("schema")
    return json.dumps(schema, indent=2, ensure_ascii=False) if schema else ""
