"""Judge runs: the list, the form that starts one, its page and actions."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.db.models import Count, OuterRef, Subquery
from django.db.models.functions import Coalesce
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from accounts.models import Role
from accounts.permissions import CASE_READERS, STUDY_ADMINS, user_can_manage_study
from accounts.scoping import StudyRequest, study_role_required
from accounts.wording import format_count
from adjudication.access.closed import (
    ClosedObjects,
    exclude_closed_games,
    exclude_closed_runs,
    find_closed_objects,
)
from adjudication.access.judge_runs import find_judge_run, find_open_judge_run
from adjudication.findings.changes import find_comparable_runs
from adjudication.judge_runs import actions
from adjudication.judge_runs.calls import sum_run_calls
from adjudication.judge_runs.forms import JudgeForm
from adjudication.judge_runs.lines import GameLine, run_lines
from adjudication.judge_runs.progress import (
    GameStatus,
    GameTotals,
    count_games,
    derive_state,
    waiting_warning,
)
from adjudication.judge_runs.tools import UnknownJudge
from adjudication.judging.config import JudgeConfig, SourceUnknown
from adjudication.models import Finding, Game, JudgeRun
from ehr.models import Dataset
from llm_runtime.base import ProviderError
from timelines.access.closed import has_closed
from timelines.evaluation.values import SourceKey
from timelines.runs.language_models import UnknownModel
from timelines.runs.page.controls import Choice, RunAction

RUNS_PER_PAGE = 30
GAMES_PER_PAGE = 50
_REFUSALS = (actions.JudgingRefused, SourceUnknown, UnknownJudge, UnknownModel, ProviderError)


@require_GET
@study_role_required(*CASE_READERS)
def judge_runs(request: StudyRequest) -> HttpResponse:
    """List all judge runs of the study, newest first.

    htmx gets the table, which polls while a run is under way.
    """
    closed = find_closed_objects(request.user)
    runs = exclude_closed_runs(
        JudgeRun.objects.filter(study=request.study).prefetch_related("datasets"), closed
    )
    page = Paginator(runs, RUNS_PER_PAGE).get_page(request.GET.get("page"))
    lines = run_lines(list(page.object_list), closed)
    context = {
        "page": page,
        "lines": lines,
        "active": any(line.totals.under_way for line in lines),
        "closed": has_closed(Dataset.objects.filter(study=request.study), closed.cases),
        "may_start": user_can_manage_study(request.user, request.study),
    }
    return _render_part(
        request, "adjudication/judge_runs/_list.html", "adjudication/judge_runs/list.html", context
    )


@require_http_methods(["GET", "POST"])
@study_role_required(Role.ADMIN)
def judge_run_new(request: StudyRequest) -> HttpResponse:
    """Show the form, and start a judge run."""
    closed = find_closed_objects(request.user)
    form = JudgeForm(request.POST or None, study=request.study, closed=closed.cases)
    if request.method == "POST" and form.is_valid():
        try:
            started = actions.start_judging(
                study=request.study, by=request.user, **form.arguments()
            )
        except _REFUSALS as refused:
            form.add_error(None, f"Nothing was started: {refused}.")
        else:
            messages.success(request, _start_message(started, closed))
            return redirect("adjudication:judge_run", started.public_id)
    return render(request, "adjudication/judge_runs/new.html", {"form": form})


@require_GET
@study_role_required(*CASE_READERS)
def judge_run(request: StudyRequest, public_id: str) -> HttpResponse:
    """Show one run: its state and its games; `show` filters them.

    htmx gets that part, which polls while anything is under way.
    """
    run, closed = find_open_judge_run(request.user, public_id)
    context = _build_live_context(request, run, closed)
    if not request.htmx:  # type: ignore[attr-defined]  # set by django-htmx's middleware
        context |= _facts(run, closed)
    return _render_part(
        request, "adjudication/judge_runs/_poll.html", "adjudication/judge_runs/page.html", context
    )


def _facts(run: JudgeRun, closed: ClosedObjects) -> dict[str, Any]:
    """Return the values for the whole page only.

    These are the run's settings, and other runs that judged the same.
    """
    return {
        "config_items": sorted(
            {**run.config, "preset": JudgeConfig.from_dict(run.config).preset}.items()
        ),
        "prompt_items": sorted(run.prompt_hashes.items()),
        "model_items": sorted(run.language_models.items()),
        "sources": [SourceKey(*source).label for source in run.sources],
        "others": find_comparable_runs(run, closed),
    }


@require_GET
@study_role_required(*CASE_READERS)
def judge_run_calls(request: StudyRequest, public_id: str) -> HttpResponse:
    """Show the calls of a run; the part polls while games are under way."""
    run, closed = find_open_judge_run(request.user, public_id)
    context = {
        "run": run,
        "spent": sum_run_calls(run, closed),
        "active": count_games([run], closed)[run.pk].under_way,
    }
    return render(request, "adjudication/judge_runs/_calls.html", context)


@require_POST
@study_role_required(Role.ADMIN)
def judge_run_action(request: StudyRequest, public_id: str, action: str) -> HttpResponse:
    """Pause, resume, cancel, retry failed games, or judge unjudged ones again."""
    run = find_judge_run(request.user, public_id, roles=STUDY_ADMINS)
    act = actions.STEPS.get(action)
    if act is None:
        raise Http404
    act(run=run, by=request.user)
    return redirect("adjudication:judge_run", run.public_id)


def _build_live_context(
    request: StudyRequest, run: JudgeRun, closed: ClosedObjects
) -> dict[str, Any]:
    """Return the parts that change during a run, without the closed games.

    A game's state and its number of findings reveal nothing of a timeline or a finding, so
    following a run is no exposure.
    """
    totals = count_games([run], closed)[run.pk]
    show = request.GET.get("show", "")
    page, games = _page(request, run, totals, show, closed)
    lines = [GameLine(game, getattr(game, "found", 0)) for game in games]
    state = derive_state(run, totals)
    return {
        "run": run,
        "page": page,
        "lines": lines,
        "totals": totals,
        "state": state,
        "show": show,
        "choices": [
            Choice("", "All", totals.total),
            *(
                Choice(s.value, s.capitalize(), totals.count(s))
                for s in GameStatus
                if totals.count(s)
            ),
        ],
        "closed": has_closed(run.datasets.all(), closed.cases),
        "may_start": user_can_manage_study(request.user, run.study),
        "actions": _actions(run, totals),
        "queue_warning": waiting_warning(run, totals),
        "cancel_words": _cancel_words(totals),
    }


def _page(
    request: StudyRequest, run: JudgeRun, totals: GameTotals, show: str, closed: ClosedObjects
) -> tuple[Page[int], list[Game]]:
    """Return one page of the run's games, case by case.

    Their number is already known, so no other game is read.
    """
    status = GameStatus(show) if show in list(GameStatus) else None
    # added case after case, in order
    games = exclude_closed_games(Game.objects.filter(run=run), closed).order_by("pk")
    paginator = Paginator(
        (games if status is None else games.filter(status.condition)).values_list("pk", flat=True),
        GAMES_PER_PAGE,
    )
    paginator.count = totals.total if status is None else totals.count(status)
    page = paginator.get_page(request.GET.get("page"))
    found = (
        Finding.objects.filter(game=OuterRef("pk"))
        .order_by()
        .values("game")
        .annotate(n=Count("pk"))
        .values("n")
    )
    listed = (
        Game.objects.filter(pk__in=list(page.object_list))
        .annotate(found=Coalesce(Subquery(found), 0))
        .order_by("pk")
    )
    return page, list(
        listed.prefetch_related(
            "comparison__encounter__dataset__study", "comparison__first", "comparison__second"
        )
    )


def _actions(run: JudgeRun, totals: GameTotals) -> list[RunAction]:
    over = "" if totals.under_way else "No work of this run is in progress."
    nothing_failed = "" if totals.retryable else "No game failed or was cancelled."
    all_judged = "" if totals.unjudged else "No game is unjudged."
    return [
        (
            RunAction("resume", "Resume", over)
            if run.paused_at is not None
            else RunAction("pause", "Pause", over)
        ),
        RunAction("cancel", "Cancel", over),
        RunAction("retry", "Retry", nothing_failed),
        RunAction("unjudged", "Judge unjudged again", all_judged),
    ]


def _cancel_words(totals: GameTotals) -> str:
    """Say which games cancelling leaves unjudged, and which results stay."""
    left = totals.total - totals.done
    return (
        f"{_games(left)} will not be judged. Answers that the judge is writing are lost."
        f" {_games(totals.judged)} judged so far and their"
        f" {format_count(totals.findings, 'finding')} stay stored. Retry continues from there."
    )


def _render_part(
    request: HttpRequest, part: str, whole: str, context: dict[str, Any]
) -> HttpResponse:
    htmx = request.htmx  # type: ignore[attr-defined]  # set by django-htmx's middleware
    response = render(request, part if htmx else whole, context)
    response["Vary"] = "HX-Request"
    return response


def _start_message(run: JudgeRun, closed: ClosedObjects) -> str:
    """Return the message to the person who started the run."""
    totals = count_games([run], closed)[run.pk]
    if totals.preparation is None:
        return f"{_games(totals.total)} wait to be judged."
    return (
        f"The judge run over {format_count(totals.preparation.total, 'case')} has started. Its games are being"
        " added."
    )


def _games(count: int) -> str:
    return format_count(count, "game")
