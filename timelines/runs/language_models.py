"""The language models of a run.

They serve roles, are recorded with the run, and are asked through askers over the ledger. A run may
choose its models by name (`MODEL_ENDPOINTS`), role → name; `language_model` covers every role that
it does not name. Roles that are not chosen are served as configured (`MODEL_ROLES`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from asgiref.sync import sync_to_async

from accounts.wording import format_count
from jobs.errors import PermanentFailure
from jobs.leases.hold import Hold
from llm_runtime.base import LanguageModel, ModelReply
from llm_runtime.calls.calling import Asker, Call, Ledger, MemoryLedger
from llm_runtime.calls.stopping import StoppableModel
from llm_runtime.errors import TooLarge
from llm_runtime.roles import LANGUAGE_MODEL, LANGUAGE_ROLES, ModelRoles
from timelines.pipeline.config import PipelineConfig

#: Role → recorded model: the chosen entry ("" for the configured one), name, endpoint, limits.
Recorded = Mapping[str, Mapping[str, Any]]


class UnknownModel(ValueError):
    """A role or an entry that is not there; the message names the known ones."""

    log_safe = True
    retryable = False


@dataclass(frozen=True)
class Calls:
    """What the calls of one stage have in common.

    `check` raises if the work must stop.
    """

    choices: Mapping[str, str] = field(default_factory=dict)
    ledger: Ledger = field(default_factory=MemoryLedger)
    check: Callable[[], None] | None = None
    round: int = 0


@dataclass
class ReportingLedger:
    """A ledger that reports the number of answers on the job's row.

    Raises LostLease if another worker has the job.
    """

    ledger: Ledger
    hold: Hold
    answers: int = 0

    async def find(self, request_sha256: str) -> ModelReply | None:
        return await self.ledger.find(request_sha256)

    async def too_large(self, request_sha256: str) -> TooLarge | None:
        return await self.ledger.too_large(request_sha256)

    async def keep(self, call: Call) -> None:
        await self.ledger.keep(call)
        await self._report(call)

    async def reuse(self, call: Call) -> None:
        await self.ledger.reuse(call)
        await self._report(call)

    async def _report(self, call: Call) -> None:
        self.answers += call.reply is not None
        words = f"{format_count(self.answers, 'answer')} of the model"
        # The total is not known: requests that are too large are split on the way.
        await sync_to_async(self.hold.report)(done=self.answers, total=0, words=words)


def find_model(role: str, choices: Mapping[str, str], roles: ModelRoles) -> LanguageModel:
    """Return the model that serves the role in a run with these choices.

    Raises ProviderError.
    """
    return roles.language_model(role, choices.get(role) or choices.get(LANGUAGE_MODEL) or None)


def make_askers(
    wanted: Sequence[str], config: PipelineConfig, calls: Calls, roles: ModelRoles
) -> dict[str, Asker]:
    """Return an asker for each role, over the calls' ledger.

    The seeds of attempts start from the run's seed. Raises ProviderError.
    """
    askers = {}
    for role in wanted:
        model = find_model(role, calls.choices, roles)
        if calls.check is not None:
            model = StoppableModel(model, calls.check)
        askers[role] = Asker(
            role,
            model,
            calls.ledger,
            seed=config.seed,
            attempts=config.max_attempts,
            round=calls.round,
        )
    return askers


def recorded_models(
    wanted: Sequence[str], choices: Mapping[str, str], roles: ModelRoles
) -> dict[str, dict[str, Any]]:
    """Return what a run records of its models, never a key.

    Raises UnknownModel, ProviderError.
    """
    known = {*LANGUAGE_ROLES, LANGUAGE_MODEL}
    for role, entry in choices.items():
        if role not in known:
            raise UnknownModel(f"unknown role {role!r}; known: {', '.join(sorted(known))}")
        if entry not in roles.endpoints:
            raise UnknownModel(
                f"no model is named {entry!r}; MODEL_ENDPOINTS has:"
                f" {', '.join(sorted(roles.endpoints)) or 'nothing'}"
            )
    recorded = {}
    for role in wanted:
        model = find_model(role, choices, roles)
        facts = model.describe() if hasattr(model, "describe") else {"name": model.name}
        recorded[role] = {"entry": choices.get(role) or choices.get(LANGUAGE_MODEL) or "", **facts}
    return recorded


def find_choices(recorded: Recorded) -> dict[str, str]:
    """Return a run's choices, as `Calls` takes them."""
    return {role: facts["entry"] for role, facts in recorded.items() if facts.get("entry")}


def check_unchanged(recorded: Recorded, roles: ModelRoles) -> None:
    """Raise PermanentFailure if a model has changed since the run started.

    An entry then names another model or has other `extra` fields, so the run's cases would not be
    comparable.
    """
    for role, facts in recorded.items():
        now = find_model(role, find_choices(recorded), roles)
        if now.name != facts["name"]:
            raise PermanentFailure(
                f"the run was started with {facts['name']} as {role}, which is {now.name} now:"
                " start another run"
            )
        if dict(now.extra) != facts.get("extra", now.extra):
            raise PermanentFailure(
                f"the run was started with other `extra` fields for {facts['name']} as {role}:"
                " start another run"
            )


def find_model_names(recorded: Recorded) -> dict[str, str]:
    """Role → name, for what a run says it was made with."""
    return {role: str(facts["name"]) for role, facts in recorded.items()}


def make_label(recorded: Recorded) -> str:
    """Return the models of a run as its source names them.

    "GLM-4.6", or "GLM-4.6+Qwen3-32B" in order of roles; "" for none.
    """
    names = dict.fromkeys(
        str(facts["name"]).partition("@")[0].rpartition("/")[2] for facts in recorded.values()
    )
    return "+".join(names)[:60]
