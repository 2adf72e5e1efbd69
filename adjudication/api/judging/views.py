"""Judge runs and games for programs: started, watched and steered as on their pages, with the same
guards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import Study
from adjudication.access.closed import (
    Closed,
    check_judge_run_is_open,
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
    judge_run_of,
    one_study,
    page_request,
    person_of,
    read,
    requested_studies,
    studies_with,
)
from adjudication.api.errors import Refusal, errors
from adjudication.api.judging import serializers as bodies
from adjudication.api.judging.bodies import (
    finding_body,
    findings_in,
    game_body,
    run_body,
    runs_body,
    source_body,
)
from adjudication.api.paging import (
    AFTER,
    LIMIT,
    OFFSET,
    games_after,
    limit_of,
    page_of,
    page_response,
)
from adjudication.findings.listing import finding_line
from adjudication.judge_runs import actions
from adjudication.judge_runs.data import sources_of
from adjudication.judge_runs.forms import JudgeForm
from adjudication.judge_runs.progress import GameStatus
from adjudication.models import Finding, Game, JudgeRun
from ehr.models import Dataset
from timelines.access.authoring import is_superseded
from timelines.runs import tools

TAGS = ["judging"]
_ACTIONS: Mapping[str, Callable[..., object]] = {
    "pause": actions.pause_judging,
    "resume": actions.resume_judging,
    "cancel": actions.cancel_judging,
    "retry": lambda *, run, by: actions.judge_failed_again(run=run, by=by, only=~actions.UNJUDGED),
    "unjudged": lambda *, run, by: actions.judge_failed_again(
        run=run, by=by, only=actions.UNJUDGED
    ),
}
GAME_RELATED = (
    "run__study",
    "comparison__encounter__dataset__study",
    "comparison__first",
    "comparison__second",
)


def choice(name: str, values: Any, words: str) -> OpenApiParameter:
    return OpenApiParameter(name, str, enum=[v for v in map(str, values) if v], description=words)


class JudgeRuns(ApiView):
    """Judge runs."""

    @extend_schema(
        operation_id="judge_run_list",
        tags=TAGS,
        parameters=[STUDY, LIMIT, OFFSET],
        responses={200: bodies.JudgeRunPageSerializer, **errors(403)},
    )
    def get(self, request: Request) -> Response:
        """Those of your studies, newest first."""
        closed = closed_to(person_of(request))
        runs = open_judge_runs(
            JudgeRun.objects.filter(study__in=requested_studies(request)), closed
        )
        runs = (
            runs.select_related("study", "created_by")
            .prefetch_related("datasets")
            .order_by("-created_at", "-pk")
        )
        pages, found = page_of(request, runs)
        return page_response(
            pages, bodies.JudgeRunSerializer(runs_body(found, closed), many=True).data
        )

    @extend_schema(
        operation_id="judge_run_start",
        tags=TAGS,
        request=bodies.JudgeStartSerializer,
        responses={201: bodies.JudgeRunDetailSerializer, **errors(400, 403, 422)},
    )
    def post(self, request: Request) -> Response:
        """Start a judge over every two of the sources in each case that has both. Study admins."""
        studies_with(request, ADMINS)
        values = read(bodies.JudgeStartSerializer, request)
        study = one_study(request, values["study"])
        closed = closed_to(person_of(request))
        form = JudgeForm(
            {**values, "cases": "\n".join(values["cases"])}, study=study, closed=closed.cases
        )
        if not form.is_valid():
            raise serializers.ValidationError(
                {name: [str(w) for w in words] for name, words in form.errors.items()}
            )
        run = actions.start_judging(study=study, by=person_of(request), **form.arguments())
        return Response(
            bodies.JudgeRunDetailSerializer(run_body(run, closed)).data, status=HTTPStatus.CREATED
        )


class JudgeChoices(ApiView):
    """What there is to judge."""

    @extend_schema(
        operation_id="judge_choices",
        tags=TAGS,
        parameters=[STUDY],
        responses={200: bodies.JudgeChoicesSerializer, **errors(400, 403)},
    )
    def get(self, request: Request) -> Response:
        """Cohorts, sources and language models that a run of the study can be started with. Study
        admins.
        """
        study = one_study(request, request.query_params.get("study", ""))
        return Response(
            bodies.JudgeChoicesSerializer(_choices(study, closed_to(person_of(request)))).data
        )


class JudgeRunOne(ApiView):
    """A judge run."""

    @extend_schema(
        operation_id="judge_run",
        tags=TAGS,
        responses={200: bodies.JudgeRunDetailSerializer, **errors(403)},
    )
    def get(self, request: Request, run_id: str) -> Response:
        """One judge run: its progress and all its settings."""
        run, closed = judge_run_of(request, run_id), closed_to(person_of(request))
        check_judge_run_is_open(run, closed)
        return Response(bodies.JudgeRunDetailSerializer(run_body(run, closed)).data)


class JudgeRunAction(ApiView):
    """Steering a judge run."""

    @extend_schema(
        operation_id="judge_run_action",
        tags=TAGS,
        parameters=[OpenApiParameter("action", str, OpenApiParameter.PATH, enum=list(_ACTIONS))],
        request=None,
        responses={200: bodies.JudgeRunDetailSerializer, **errors(403)},
    )
    def post(self, request: Request, run_id: str, action: str) -> Response:
        """Pause, resume, cancel, retry what failed, or judge the unjudged again. Study admins;
        asking twice does no harm.
        """
        run = judge_run_of(request, run_id, ADMINS)
        if (act := _ACTIONS.get(action)) is None:
            raise Http404
        act(run=run, by=person_of(request))
        run = judge_run_of(request, run_id, ADMINS)
        return Response(
            bodies.JudgeRunDetailSerializer(run_body(run, closed_to(person_of(request)))).data
        )


class Games(ApiView):
    """Games."""

    @extend_schema(
        operation_id="judge_game_list",
        tags=TAGS,
        parameters=[choice("status", GameStatus, "Only those."), LIMIT, AFTER],
        responses={200: bodies.GamePageSerializer, **errors(400, 403)},
    )
    def get(self, request: Request, run_id: str) -> Response:
        """Of one judge run, with why a judge's answer did not hold. Those of cases that are closed
        to you are left out.
        """
        run, closed = judge_run_of(request, run_id), closed_to(person_of(request))
        check_judge_run_is_open(run, closed)
        games = open_games(Game.objects.filter(run=run), closed)
        if status := request.query_params.get("status", ""):
            if status not in list(GameStatus):
                raise serializers.ValidationError({"status": ["There is no such status."]})
            games = games.filter(GameStatus(status).condition)
        asked = request.query_params.get("after", "")
        found, after = games_after(
            games.select_related(*GAME_RELATED), run, asked, limit_of(request)
        )
        values = findings_in(found)
        seen = {game.comparison.encounter for game in found if values.get(game.pk)}
        record_exposure(user=person_of(request), encounters=seen, page="judge run")
        lines = [game_body(game, values.get(game.pk, 0)) for game in found]
        return Response(bodies.GamePageSerializer({"next": after, "results": lines}).data)


class GameOne(ApiView):
    """A game."""

    @extend_schema(
        operation_id="judge_game",
        tags=TAGS,
        responses={200: bodies.GameDetailSerializer, **errors(403)},
    )
    def get(self, request: Request, game_id: str) -> Response:
        """One game with its findings."""
        games = Game.objects.select_related(*GAME_RELATED)
        game = get_object_or_404(games, run__study__in=studies_with(request), public_id=game_id)
        check_user_may_see_game(page_request(request), game)
        record_exposure(
            user=person_of(request), encounters=[game.comparison.encounter], page="game"
        )
        lines = [
            finding_line(f, game) for f in Finding.objects.filter(game=game).order_by("ordinal")
        ]
        body = {
            **game_body(game, len(lines)),
            "told": [finding_body(line, game.run) for line in lines],
        }
        return Response(bodies.GameDetailSerializer(body).data)


class GameAgain(ApiView):
    """Another go."""

    @extend_schema(
        operation_id="judge_game_again",
        tags=TAGS,
        request=None,
        responses={204: None, **errors(403, 409)},
    )
    def post(self, request: Request, game_id: str) -> Response:
        """Give one failed, cancelled or unjudged game another go. Study admins."""
        games = Game.objects.select_related(*GAME_RELATED)
        game = get_object_or_404(
            games, run__study__in=studies_with(request, ADMINS), public_id=game_id
        )
        check_user_may_see_game(page_request(request), game)
        if not actions.judge_again(game=game, by=person_of(request)):
            raise Refusal(
                HTTPStatus.CONFLICT,
                "not_now",
                "This game is judged or under way, so there was nothing to repeat.",
            )
        return Response(status=HTTPStatus.NO_CONTENT)


def _choices(study: Study, closed: Closed) -> dict[str, Any]:
    datasets = list(Dataset.objects.filter(study=study).order_by("name"))
    return {
        "study": study.public_id,
        "datasets": [{"id": d.public_id, "name": d.name} for d in datasets],
        "sources": [
            source_body(key)
            for key in sources_of(datasets, closed.cases)
            if not is_superseded(key.source)
        ],
        "models": sorted(tools.roles().endpoints),
    }
