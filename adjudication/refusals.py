"""Responses of the API to exceptions of this app."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from accounts.api_access.errors import Build, Refusal, build_not_now, build_refused
from adjudication.judge_runs.actions import JudgingRefused
from adjudication.judge_runs.tools import UnknownJudge
from adjudication.judging.config import SourceUnknown
from adjudication.packets.actions import PacketRefused
from adjudication.ratings.figures import FiguresPending
from adjudication.recipes.actions import RecipeRefused
from adjudication.review.decisions import Conflict, DecisionRefused, NotFinished
from adjudication.review.slots import DraftRefused
from adjudication.states import InvalidTransition

LATE = (
    "Your answer is stored but does not count: enough others answered this item first, or the"
    " packet was closed."
)


def _build_conflict(error: Conflict) -> Refusal:
    standing = {} if error.standing is None else {"standing": error.standing.public_id}
    return Refusal(HTTPStatus.CONFLICT, "conflict", f"{error} Nothing was changed.", **standing)


def _build_not_finished(error: NotFinished) -> Refusal:
    return Refusal(HTTPStatus.CONFLICT, "not_finished", str(error), left=error.left)


REFUSALS: Mapping[type[Exception], Build] = {
    Conflict: _build_conflict,
    NotFinished: _build_not_finished,
    InvalidTransition: build_not_now,
    FiguresPending: build_not_now,
    DecisionRefused: build_refused,
    DraftRefused: build_refused,
    PacketRefused: build_refused,
    JudgingRefused: build_refused,
    RecipeRefused: build_refused,
    SourceUnknown: build_refused,
    UnknownJudge: build_refused,
}
