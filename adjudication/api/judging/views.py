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
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request

from accounts.models import Role
from accounts.permissions import CASE_READERS
from adjudication.access.closed import (
    closed_to,
    open_games,
    open_judge_runs,
)
from adjudication.access.exposure import record_exposure
from adjudication.access.games import check_user_may_see_game
from adjudication.api.access import (
    ADMINS,
    STUDY,
    ApiView,
    check_form,
    judge_run_of,
    one_study,
    open_judge_run,
    page_request,
    person_of,
    read,
    requested_studies,
    studies_with,
)
from adjudication.api.errors import Refusal
from adjudication.api.judging import bodies
from adjudication.api.operations import operation
from adjudication.api.paging import AFTER, LIMIT, OFFSET, counted_page, games_after, limit_of
from adjudication.findings.listing import FindingLine, finding_line
from adjudication.judge_runs import actions
from adjudication.judge_runs.data import sources_of
from adjudication.judge_runs.forms import JudgeForm
from adjudication.judge_runs.lines import GameLine, RunLine, run_lines
from adjudication.judge_runs.progress import GameStatus
from adjudication.models import Finding, Game, JudgeRun
from ehr.models import Dataset
from timelines.access.authoring import is_superseded
from timelines.runs import tools

judging_operation = partial(operation, "judging")
GAME_RELATED = (
    "run__study",
    "comparison__encounter__dataset__study",
    "comparison__first",
    "comparison__second",
)


def choice(name: str, values: Iterable[object], words: str) -> OpenApiParameter:
    return OpenApiParameter(name, str, enum=[v for v in map(str, values) if v], description=words)


@dataclass(frozen=True, slots=True)
class GameDetail(GameLine):
    """A game with its findings."""

    told: tuple[FindingLine, ...]


class JudgeRuns(ApiView):
    @judging_operation(
        "judge_run_list",
        bodies.JudgeRunPage,
        refuses=(403,),
        parameters=[STUDY, LIMIT, OFFSET],
    )
    def get(self, request: Request) -> dict[str, Any]:
        """Judge runs of your studies, newest first."""
        closed = closed_to(person_of(request))
        runs = open_judge_runs(
            JudgeRun.objects.filter(study__in=requested_studies(request)), closed
        )
        runs = runs.select_related("study", "created_by").prefetch_related("datasets")
        return counted_page(
            request, runs.order_by("-created_at", "-pk"), lambda found: run_lines(found, closed)
        )

    @judging_operation(
        "judge_run_start",
        bodies.JudgeRunDetail,
        refuses=(403, 422),
        takes=bodies.JudgeStart,
        status=HTTPStatus.CREATED,
    )
    def post(self, request: Request) -> RunLine:
        """Compare every pair of the sources in each case that has both.

        For study admins.
        """
        studies_with(request, ADMINS)
        values = read(bodies.JudgeStart, request)
        study = one_study(request, values["study"])
        form = JudgeForm(
            {**values, "cases": "\n".join(values["cases"])},
            study=study,
            closed=closed_to(person_of(request)).cases,
        )
        check_form(form)
        run = actions.start_judging(study=study, by=person_of(request), **form.arguments())
        return _line(request, run)


class JudgeChoices(ApiView):
    @judging_operation("judge_choices", bodies.JudgeChoices, refuses=(400, 403), parameters=[STUDY])
    def get(self, request: Request) -> dict[str, Any]:
        """Return the cohorts, sources and models that a run can be started with.

        For study admins of the study.
        """
        study = one_study(request, request.query_params.get("study", ""))
        datasets = list(Dataset.objects.filter(study=study).order_by("name"))
        sources = sources_of(datasets, closed_to(person_of(request)).cases)
        return {
            "study": study.public_id,
            "datasets": datasets,
            "sources": [key for key in sources if not is_superseded(key.source)],
            "models": sorted(tools.roles().endpoints),
        }


class JudgeRunOne(ApiView):
    @judging_operation("judge_run", bodies.JudgeRunDetail, refuses=(403,))
    def get(self, request: Request, run_id: str) -> RunLine:
        """Return one judge run: its progress and all its settings."""
        run, closed = open_judge_run(request, run_id)
        return run_lines([run], closed)[0]


class JudgeRunAction(ApiView):
    @judging_operation(
        "judge_run_action",
        bodies.JudgeRunDetail,
        refuses=(403,),
        parameters=[
            OpenApiParameter("action", str, OpenApiParameter.PATH, enum=list(actions.STEPS))
        ],
    )
    def post(self, request: Request, run_id: str, action: str) -> RunLine:
        """Pause, resume, cancel, retry failed games, or judge unjudged ones again.

        For study admins. Repeating a request does no harm.
        """
        run = judge_run_of(request, run_id, ADMINS)
        if (act := actions.STEPS.get(action)) is None:
            raise Http404
        act(run=run, by=person_of(request))
        return _line(request, judge_run_of(request, run_id, ADMINS))


class Games(ApiView):
    @judging_operation(
        "judge_game_list",
        bodies.GamePage,
        refuses=(400, 403),
        parameters=[choice("status", GameStatus, "Only those."), LIMIT, AFTER],
    )
    def get(self, request: Request, run_id: str) -> dict[str, Any]:
        """Return games of one judge run, with the reasons for missing results.

        Those of cases that are closed to you are left out.
        """
        run, closed = open_judge_run(request, run_id)
        games = open_games(Game.objects.filter(run=run), closed)
        if status := request.query_params.get("status", ""):
            if status not in list(GameStatus):
                raise serializers.ValidationError({"status": ["There is no such status."]})
            games = games.filter(GameStatus(status).condition)
        asked = request.query_params.get("after", "")
        found, after = games_after(
            games.select_related(*GAME_RELATED), run, asked, limit_of(request)
        )
        counts = Finding.objects.filter(game__in=found).order_by().values_list("game_id")
        values = dict(counts.annotate(n=Count("pk")))
        seen = {game.comparison.encounter for game in found if values.get(game.pk)}
        record_exposure(user=person_of(request), encounters=seen, page="judge run")
        lines = [GameLine(game, values.get(game.pk, 0)) for game in found]
        return {"next": after, "results": lines}


class GameOne(ApiView):
    @judging_operation("judge_game", bodies.GameDetail, refuses=(403,))
    def get(self, request: Request, game_id: str) -> GameDetail:
        """Return one game with its findings."""
        game = _game(request, game_id, CASE_READERS)
        record_exposure(
            user=person_of(request), encounters=[game.comparison.encounter], page="game"
        )
        findings = Finding.objects.filter(game=game).order_by("ordinal")
        lines = tuple(finding_line(f, game) for f in findings)
        return GameDetail(game, len(lines), lines)


class GameAgain(ApiView):
    @judging_operation("judge_game_again", None, refuses=(403, 409))
    def post(self, request: Request, game_id: str) -> None:
        """Retry one failed, cancelled or unjudged game. For study admins."""
        game = _game(request, game_id, ADMINS)
        if not actions.judge_again(game=game, by=person_of(request)):
            raise Refusal(
                HTTPStatus.CONFLICT,
                "not_now",
                "This game is judged or under way, so there was nothing to repeat.",
            )


def _line(request: Request, run: JudgeRun) -> RunLine:
    return run_lines([run], closed_to(person_of(request)))[0]


def _game(request: Request, public_id: str, roles: frozenset[Role]) -> Game:
    """Return such a game if the person may see its case.

    Raises Http404, NotAllowed.
    """
    games = Game.objects.filter(run__study__in=studies_with(request, roles))
    game = get_object_or_404(games.select_related(*GAME_RELATED), public_id=public_id)
    check_user_may_see_game(page_request(request), game)
    return game
