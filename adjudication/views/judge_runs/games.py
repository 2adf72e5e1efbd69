"""One game of a judge run with its findings and calls; one call."""

from __future__ import annotations

import json

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from accounts.models import Role
from accounts.permissions import CASE_READERS, STUDY_ADMINS, user_can_manage_study
from accounts.scoping import StudyRequest, study_role_required
from adjudication.access.exposure import record_exposure
from adjudication.access.games import find_game
from adjudication.findings.listing import finding_line
from adjudication.judge_runs import actions
from adjudication.judge_runs.calls import find_calls, find_side_labels, source_names
from adjudication.judge_runs.progress import derive_status
from adjudication.models import Finding, Game
from llm_runtime.accounting import spent_by_owner, total
from llm_runtime.ledger import parse_reply, request_messages
from llm_runtime.models import ModelCall
from timelines.cases.way_back import link_back_to_draft


@require_GET
@study_role_required(*CASE_READERS)
@link_back_to_draft
def judge_game(request: StudyRequest, public_id: str, game_id: str) -> HttpResponse:
    """Show one game."""
    game = find_game(request, game_id, run_id=public_id)
    calls = find_calls(Game.objects.filter(pk=game.pk))
    findings = Finding.objects.filter(game=game).order_by("ordinal")
    first, second = source_names(game.comparison)
    _record_exposure(request, game, "game")
    context = {
        "game": game,
        "run": game.run,
        "encounter": game.comparison.encounter,
        "status": derive_status(game),
        "first": first,
        "second": second,
        "sides": find_side_labels(game),
        "lines": [finding_line(f, game) for f in findings],
        "calls": calls.defer("response"),
        "total": total(spent_by_owner(calls).values()),
        "may_start": user_can_manage_study(request.user, game.run.study),
    }
    return render(request, "adjudication/judge_runs/game.html", context)


@require_POST
@study_role_required(Role.ADMIN)
def judge_game_again(request: StudyRequest, public_id: str, game_id: str) -> HttpResponse:
    """Retry one failed, cancelled or unjudged game."""
    game = find_game(request, game_id, run_id=public_id, roles=STUDY_ADMINS)
    if not actions.judge_again(game=game, by=request.user):
        messages.warning(request, actions.NOT_REPEATED)
    return redirect("adjudication:judge_run", public_id)


@require_GET
@study_role_required(*CASE_READERS)
@link_back_to_draft
def judge_call(request: StudyRequest, public_id: str) -> HttpResponse:
    """Show one call of a judge: the whole request and the response."""
    call = get_object_or_404(
        ModelCall.objects.select_related("request"),
        public_id=public_id,
        owner_type=actions.CALLS_OWNER,
    )
    found = Game.objects.filter(pk=call.owner_id).values_list("public_id", "run__public_id").first()
    if found is None:
        raise Http404
    game = find_game(request, found[0], run_id=found[1])
    _record_exposure(request, game, "call")
    schema = json.loads(call.request.body).get("schema")
    context = {
        "call": call,
        "run": game.run,
        "game": game,
        "encounter": game.comparison.encounter,
        "messages_sent": request_messages(call.request.body),
        "schema": json.dumps(schema, indent=2, ensure_ascii=False) if schema else "",
        "reply": parse_reply(call.response) if call.response is not None else None,
    }
    return render(request, "adjudication/judge_runs/call.html", context)


def _record_exposure(request: HttpRequest, game: Game, page: str) -> None:
    assert request.user.is_authenticated
    record_exposure(user=request.user, encounters=[game.comparison.encounter], page=page)
