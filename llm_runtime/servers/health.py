"""What the configured models say of themselves when asked.

Reachable or not, context length, load. Short waits, never an exception.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from llm_runtime.base import ProviderError
from llm_runtime.errors import ModelError
from llm_runtime.roles import ModelRoles

#: Seconds that one server has to answer all requests.
PATIENCE = 3.0
_RUNNING = re.compile(r"^vllm:num_requests_running(?:\{[^}]*\})? (\S+)$", re.MULTILINE)
_WAITING = re.compile(r"^vllm:num_requests_waiting(?:\{[^}]*\})? (\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Health:
    """One configured model.

    `roles` it serves by the settings, `names` under which runs may choose it.

    `reachable` is None for a model that is not asked: one of the worker's process, or one that is
    asked by files. `running` and `waiting` are requests at the server, if it reports them (vLLM's
    /metrics).
    """

    provider: str
    model: str
    endpoint: str = ""
    roles: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    output: str = ""
    context: int | None = None
    reachable: bool | None = None
    running: int | None = None
    waiting: int | None = None
    trouble: str = ""
    last_error: str = ""
    name: str = ""


def check_health(roles: ModelRoles, wanted: Sequence[str]) -> list[Health]:
    """Return the health of every configured model.

    Those that serve one of the roles, or have a name in the catalogue; all servers are asked at
    once.
    """
    return asyncio.run(_check_all(list(_uses(roles, wanted).values())))


@dataclass
class _Use:
    spec: Mapping[str, Any]
    roles: list[str]
    names: list[str]
    model: Any
    trouble: str = ""


def _uses(roles: ModelRoles, wanted: Sequence[str]) -> dict[str, _Use]:
    """Options → what they are used for. A model that cannot be built says why."""
    found: dict[str, _Use] = {}

    def use(role: str, choice: str | None) -> _Use | None:
        try:
            spec = roles.spec(role, choice)
        except ProviderError as error:
            return found.setdefault(str(error), _Use({}, [], [], None, str(error)))
        key = json.dumps(dict(spec), sort_keys=True, default=repr)
        if key not in found:
            found[key] = _build_use(roles, role, choice, spec)
        return found[key]

    for role in wanted:
        if roles.has(role) and (used := use(role, None)):
            used.roles.append(role)
    for name in roles.endpoints:
        if used := use("language model", name):
            used.names.append(name)
    return found


def _build_use(roles: ModelRoles, role: str, choice: str | None, spec: Mapping[str, Any]) -> _Use:
    try:
        model = roles.provider(role, choice)
        if hasattr(model, "ready"):
            # Before the servers' time begins to count.
            model.ready()
        return _Use(spec, [], [], model)
    except ProviderError as error:
        return _Use(spec, [], [], None, str(error))


async def _check_all(uses: Sequence[_Use]) -> list[Health]:
    return list(await asyncio.gather(*(_check_one(use) for use in uses)))


async def _check_one(use: _Use) -> Health:
    health = Health(
        provider=str(use.spec.get("provider", "")),
        model=str(use.spec.get("model", "") or getattr(use.model, "name", "")),
        endpoint=getattr(use.model, "endpoint", ""),
        roles=tuple(use.roles),
        names=tuple(use.names),
        output=str(use.spec.get("output", "schema")) if hasattr(use.model, "generate") else "",
        context=use.spec.get("context"),
        trouble=use.trouble,
        name=getattr(use.model, "name", ""),
    )
    if not hasattr(use.model, "state"):
        return (
            replace(health, context=use.model.limits.context)
            if hasattr(use.model, "generate")
            else health
        )
    try:
        facts, metrics = await asyncio.wait_for(use.model.state(), PATIENCE)
    except (ModelError, TimeoutError) as error:
        return replace(
            health, reachable=False, trouble=str(error) or f"no answer within {PATIENCE:g} s"
        )
    context = health.context or facts.get("max_model_len")
    return replace(
        health,
        reachable=True,
        context=context,
        running=_load(_RUNNING, metrics),
        waiting=_load(_WAITING, metrics),
    )


def _load(pattern: re.Pattern[str], metrics: str) -> int | None:
    values = pattern.findall(metrics)
    try:
        return round(sum(float(value) for value in values)) if values else None
    except (ValueError, OverflowError):
        return None
