"""The tools of this process: backbones, embedder and reranker.

Backbones are selected by name, the others by role. They are built on first use, once a process.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from llm_runtime.roles import TKW2_EMBEDDER, ModelRoles
from llm_runtime.servers.configured import configured_roles
from timelines.models import Stage
from timelines.pipeline.backbone import Backbone, Check, never_stop
from timelines.pipeline.config import PipelineConfig
from timelines.pipeline.run import Tools
from timelines.pipeline.variants import check_supported
from timelines.runs.baselines import BASELINES, baseline_stages, is_baseline
from timelines.runs.language_models import (
    Calls,
    Recorded,
    UnknownModel,
    find_model_names,
    make_askers,
    recorded_models,
)

#: name → module and function that build it, and the roles of the language models that its stages
#: ask.
BACKBONES: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "rules": ("timelines.backbones.rules.backbone", "rules_backbone", ()),
    "prompted": (
        "timelines.backbones.prompted.backbone",
        "prompted_backbone",
        ("tagger", "timer", "query_writer", "reviser"),
    ),
}


class UnknownBackbone(ValueError):
    """An unknown backbone; the message names the known ones."""

    log_safe = True
    retryable = False


def roles() -> ModelRoles:
    """The providers behind the roles (the setting MODEL_ROLES)."""
    return configured_roles()


def backbone(name: str, check: Check = never_stop) -> Backbone:
    """Return the backbone of that name, which uses no language model.

    `check` interrupts its stages. Raises UnknownBackbone.
    """
    module, attribute, _ = _known(name)
    built: Backbone = getattr(importlib.import_module(module), attribute)(check)
    return built


def build_prompted(name: str, config: PipelineConfig, calls: Calls) -> Backbone:
    """Return the backbone of that name over askers for one stage's calls.

    Raises UnknownBackbone, ProviderError.
    """
    module, attribute, wanted = _known(name)
    askers = make_askers(wanted, config, calls, roles())
    built: Backbone = getattr(importlib.import_module(module), attribute)(askers, config)
    return built


def build_tools(name: str, config: PipelineConfig, calls: Calls | None = None) -> Tools:
    """Return everything the stages of a run need.

    `calls` are those of the executed stage.
    """
    calls = calls or Calls()
    built = (
        build_prompted(name, config, calls)
        if asks_models(name)
        else backbone(name, calls.check or never_stop)
    )
    return Tools(built, roles().embedder(), roles().reranker(), config)


def asks_models(name: str) -> bool:
    """Return whether stages of that backbone or baseline ask models.

    Raises UnknownBackbone.
    """
    return bool(find_roles(name))


def find_roles(name: str) -> tuple[str, ...]:
    """Return the roles of the language models that its stages ask.

    `name` is a backbone or a baseline. Raises UnknownBackbone.
    """
    return BASELINES[name].roles if is_baseline(name) else _known(name)[2]


def describe_models(
    name: str, choices: Mapping[str, str] | None = None
) -> dict[str, dict[str, Any]]:
    """Return what a run by that backbone records of its language models.

    See `timelines.runs.language_models`. Raises UnknownModel, ProviderError.
    """
    if choices and not asks_models(name):
        raise UnknownModel(f"the backbone {name} uses no language model")
    return recorded_models(find_roles(name), choices or {}, roles())


def tool_names(
    name: str, config: PipelineConfig, choices: Mapping[str, str], models: Recorded
) -> dict[str, str]:
    """Return the tools of a run of that configuration, as it records them.

    `models` are those of `describe_models`. Raises UnknownBackbone, ProviderError, and
    VariantUnsupported if the backbone or baseline cannot run the variant.
    """
    if is_baseline(name):
        stages = baseline_stages(name, config.variant)
        rows = (
            {TKW2_EMBEDDER: roles().embedder(TKW2_EMBEDDER).name} if Stage.REVISE in stages else {}
        )
        return {"backbone": f"{name} {BASELINES[name].version}", **find_model_names(models), **rows}
    used = build_tools(name, config, Calls(choices))
    check_supported(used.backbone, config.variant)
    return name_tools(used, models)


def name_tools(used: Tools, models: Recorded | None = None) -> dict[str, str]:
    """Return the names of the tools, as a run by a backbone records them."""
    return {
        "backbone": f"{used.backbone.name} {used.backbone.version}",
        **find_model_names(models or {}),
        "embedder": used.embedder.name,
        "reranker": used.reranker.name if used.reranker else "none",
    }


def find_queue(name: str, stage: str, *, kept: bool = False, begun: bool = False) -> str:
    """Return the queue of a stage of a run by that backbone.

    Searches wait at the embedder, calls of a language model at their own queue. `kept`: the stage
    only copies what another run has stored. `begun`: some results are stored, so the queries exist
    and are searched for, or the notes of a chart have times and are linked.
    """
    if kept:
        return "pipeline"
    if begun and stage == Stage.INFER:
        return "embed"
    if asks_models(name) and (
        stage in (Stage.TAG, Stage.INFER, Stage.REVISE) or (stage == Stage.RETRIEVE and not begun)
    ):
        return "generate"
    return "embed" if stage == Stage.RETRIEVE else "pipeline"


def _known(name: str) -> tuple[str, str, tuple[str, ...]]:
    try:
        return BACKBONES[name]
    except KeyError:
        raise UnknownBackbone(
            f"unknown backbone {name!r}; known: {', '.join(sorted([*BACKBONES, *BASELINES]))}"
        ) from None
