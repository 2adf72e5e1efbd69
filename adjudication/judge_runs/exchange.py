"""Judge runs whose model is asked by files (`llm_runtime.exchange`)."""

from __future__ import annotations

from functools import partial

from adjudication.judge_runs.actions import CALLS_OWNER, judge_game
from adjudication.judge_runs.following import (
    asking_run,
    is_under_way,
    judge_inline,
    progress_words,
)
from adjudication.models import Game, JudgeRun
from llm_runtime.calls.calling import Ledger
from llm_runtime.exchange.runs import ExchangeKind, ExchangeRun
from timelines.pipeline.backbone import never_stop


def find_run(public_id: str) -> ExchangeRun | None:
    """Return the judge run with that public id, as the exchange sees it."""
    run = JudgeRun.objects.select_related("study").filter(public_id=public_id).first()
    if run is None:
        return None
    asking = asking_run(run)
    return ExchangeRun(
        public_id=asking.public_id,
        owner_type=asking.owner_type,
        jobs=asking.jobs,
        study=run.study,
        object_type="adjudication.judgerun",
        describe=partial(progress_words, run),
        is_active=partial(is_under_way, run),
        work_inline=partial(judge_inline, run),
    )


def replay_game(game_id: int, ledger: Ledger) -> None:
    """Ask the judge up to the first missing answer; store nothing."""
    judge_game(Game.objects.select_related("run").get(pk=game_id), ledger, never_stop)


KIND = ExchangeKind(CALLS_OWNER, find_run, replay_game)
