"""Judge runs and games in the API: list, start, follow and steer them.

The guards are those of the pages.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any

from django.db.models import Count
from django.http import Http404
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request

from accounts.api_access.access import (
    ADMINS,
    STUDY,
    ApiView,
    build_page_request,
    check_form,
    find_requested_studies,
    find_study,
    read_body,
    require_person,
    require_studies,
)
from accounts.api_access.errors import Refusal
from accounts.api_access.operations import operation
from accounts.api_access.paging import AFTER, LIMIT, OFFSET, load_page, read_limit
from accounts.models import Role
from accounts.permissions import CASE_READERS
from adjudication.access.closed import (
    exclude_closed_games,
    exclude_closed_runs,
    find_closed_objects,
)
from adjudication.access.exposure import record_exposure
from adjudication.access.games import RELATED, find_game
from adjudication.api.access import find_judge_run, find_open_judge_run
from adjudication.api.judging import bodies
from adjudication.api.paging import load_game_page
from adjudication.findings.listing import FindingLine, finding_line
from adjudication.judge_runs import actions
from adjudication.judge_runs.data import find_sources
from adjudication.judge_runs.forms import JudgeForm
from adjudication.judge_runs.lines import GameLine, RunLine, run_lines
from adjudication.judge_runs.progress import GameStatus
from adjudication.models import Finding, Game, JudgeRun
from ehr.models import Dataset
from timelines.access.authoring import is_superseded
from timelines.runs import tools

judging_operation = partial(operation, "judging")


def build_choice_parameter(name: str, values: Iterable[object], words: str) -> OpenApiParameter:
    return OpenApiParameter(name, str, enum=[v for v in map(str, values) if v], description=words)


@dataclass(frozen=True, slots=True)
class GameDetail(GameLine):
    """A game with its findings."""

    finding_list: tuple[FindingLine, ...]


class JudgeRuns(ApiView):
    @judging_operation(
        "judge_run_list",
        bodies.JudgeRunPage,
        parameters=[STUDY, LIMIT, OFFSET],
    )
    def get(self, request: Request) -> dict[str, Any]:
        """Judge runs of your studies, newest first."""
        closed = find_closed_objects(require_person(request))
        runs = exclude_closed_runs(
            JudgeRun.objects.filter(study__in=find_requested_studies(request)), closed
        )
        runs = runs.select_related("study", "created_by").prefetch_related("datasets")
        return load_page(
            request, runs.order_by("-created_at", "-pk"), lambda found: run_lines(found, closed)
        )

    @judging_operation(
        "judge_run_start",
        bodies.JudgeRunDetail,
        refuses=(422,),
        takes=bodies.JudgeStart,
        status=HTTPStatus.CREATED,
        starts=True,
    )
    def post(self, request: Request) -> RunLine:
        """Compare every pair of the sources in each case that has both.

        For study admins.
        """
        require_studies(request, ADMINS)
        values = read_body(bodies.JudgeStart, request)
        study = find_study(request, values["study"])
        form = JudgeForm(
            {**values, "cases": "\n".join(values["cases"])},
            study=study,
            closed=find_closed_objects(require_person(request)).cases,
        )
        check_form(form)
        run = actions.start_judging(study=study, by=require_person(request), **form.arguments())
        return _build_run_line(request, run)


class JudgeChoices(ApiView):
    @judging_operation("judge_choices", bodies.JudgeChoices, parameters=[STUDY])
    def get(self, request: Request) -> dict[str, Any]:
        """Return the cohorts, sources and models that a run can be started with.

        For study admins of the study.
        """
        study = find_study(request, request.query_params.get("study", ""))
        datasets = list(Dataset.objects.filter(study=study).order_by("name"))
        sources = find_sources(datasets, find_closed_objects(require_person(request)).cases)
        return {
            "study": study.public_id,
            "datasets": datasets,
            "sources": [key for key in sources if not is_superseded(key.source)],
            "models": sorted(tools.roles().endpoints),
        }


class JudgeRunOne(ApiView):
    @judging_operation("judge_run", bodies.JudgeRunDetail)
    def get(self, request: Request, run_id: str) -> RunLine:
        """Return one judge run: its progress and all its settings."""
        run, closed = find_open_judge_run(request, run_id)
        return run_lines([run], closed)[0]


class JudgeRunAction(ApiView):
    @judging_operation(
        "judge_run_action",
        bodies.JudgeRunDetail,
        parameters=[
            OpenApiParameter("action", str, OpenApiParameter.PATH, enum=list(actions.STEPS))
        ],
    )
    def post(self, request: Request, run_id: str, action: str) -> RunLine:
        """Pause, resume, cancel, retry failed games, or judge unjudged ones again.

        For study admins. Repeating a request does no harm.
        """
        run = find_judge_run(request, run_id, ADMINS)
        if (act := actions.STEPS.get(action)) is None:
            raise Http404
        act(run=run, by=require_person(request))
        return _build_run_line(request, find_judge_run(request, run_id, ADMINS))


class Games(ApiView):
    @judging_operation(
        "judge_game_list",
        bodies.GamePage,
        parameters=[build_choice_parameter("status", GameStatus, "Only those."), LIMIT, AFTER],
    )
    def get(self, request: Request, run_id: str) -> dict[str, Any]:
        """Return games of one judge run, with the reasons for missing results.

        Those of cases that are closed to you are left out.
        """
        run, closed = find_open_judge_run(request, run_id)
        games = exclude_closed_games(Game.objects.filter(run=run), closed)
        if status := request.query_params.get("status", ""):
            if status not in list(GameStatus):
                raise serializers.ValidationError({"status": ["Unknown status."]})
            games = games.filter(GameStatus(status).condition)
        asked = request.query_params.get("after", "")
        found, after = load_game_page(
            games.select_related(*RELATED), run, asked, read_limit(request)
        )
        counts = Finding.objects.filter(game__in=found).order_by().values_list("game_id")
        values = dict(counts.annotate(n=Count("pk")))
        seen = {game.comparison.encounter for game in found if values.get(game.pk)}
        record_exposure(user=require_person(request), encounters=seen, page="judge run")
        lines = [GameLine(game, values.get(game.pk, 0)) for game in found]
        return {"next": after, "results": lines}


class GameOne(ApiView):
    @judging_operation("judge_game", bodies.GameDetail)
    def get(self, request: Request, game_id: str) -> GameDetail:
        """Return one game with its findings."""
        game = _find_game(request, game_id, CASE_READERS)
        record_exposure(
            user=require_person(request), encounters=[game.comparison.encounter], page="game"
        )
        findings = Finding.objects.filter(game=game).order_by("ordinal")
        lines = tuple(finding_line(f, game) for f in findings)
        return GameDetail(game, len(lines), lines)


class GameAgain(ApiView):
    @judging_operation("judge_game_again", None, refuses=(409,))
    def post(self, request: Request, game_id: str) -> None:
        """Retry one failed, cancelled or unjudged game. For study admins."""
        game = _find_game(request, game_id, ADMINS)
        if not actions.judge_again(game=game, by=require_person(request)):
            raise Refusal(HTTPStatus.CONFLICT, "not_now", actions.NOT_REPEATED)


def _build_run_line(request: Request, run: JudgeRun) -> RunLine:
    return run_lines([run], find_closed_objects(require_person(request)))[0]


def _find_game(request: Request, public_id: str, roles: frozenset[Role]) -> Game:
    """Return such a game if the person may see its case.

    Raises Http404, NotAllowed.
    """
    require_studies(request, roles)
    return find_game(build_page_request(request), public_id, roles=roles)
