"""The known judges, built for one game or to read name and version."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from adjudication.judging.config import JudgeConfig
from adjudication.judging.input import Judge
from adjudication.judging.prompted.judge import PromptedJudge
from llm_runtime.calls.calling import Asker, Ledger, MemoryLedger
from llm_runtime.calls.stopping import StoppableModel
from timelines.pipeline.backbone import never_stop
from timelines.runs.language_models import (
    Recorded,
    UnknownModel,
    find_choices,
    find_model,
    recorded_models,
)
from timelines.runs.tools import roles

RULES, PROMPTED = "rules", "prompted"
JUDGES = (RULES, PROMPTED)
JUDGE = "judge"


class UnknownJudge(ValueError):
    """An unknown judge; the message names the known ones."""

    log_safe = True
    retryable = False


def describe_judge_models(judge: str, model: str = "") -> dict[str, dict[str, Any]]:
    """Return a judge run's record of its language model.

    `model` names an entry of MODEL_ENDPOINTS; "" uses MODEL_ROLES. Raises UnknownJudge,
    UnknownModel, ProviderError.
    """
    if judge not in JUDGES:
        raise UnknownJudge(f"unknown judge {judge!r}; known: {', '.join(JUDGES)}")
    if judge == RULES:
        if model:
            raise UnknownModel("the judge rules uses no language model")
        return {}
    return recorded_models((JUDGE,), {JUDGE: model} if model else {}, roles())


def build_judge(
    judge: str,
    config: JudgeConfig,
    models: Recorded,
    *,
    ledger: Ledger | None = None,
    check: Callable[[], None] | None = None,
    round: int = 0,
) -> Judge:
    """Build the judge of a run.

    A prompted one asks through `ledger`, and stops if `check` raises. Raises ProviderError.
    """
    if judge == RULES:
        # Imported here: reading notes loads a language pipeline that the web process does not need.
        built: Judge = importlib.import_module("adjudication.judging.rules.judge").RulesJudge(
            config.tolerance, check or never_stop
        )
        return built
    choices: Mapping[str, str] = find_choices(models)
    model = find_model(JUDGE, choices, roles())
    if check is not None:
        model = StoppableModel(model, check)
    return PromptedJudge(
        Asker(
            JUDGE,
            model,
            ledger or MemoryLedger(),
            seed=config.seed,
            attempts=config.attempts,
            round=round,
        ),
        config.tolerance,
        config.record_times,
        config.repair,
    )
