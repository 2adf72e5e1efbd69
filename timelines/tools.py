"""What this process works with: backbones by name, embedder and reranker by role. Built on first use, once a process."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import lru_cache

from llm_runtime.configured import configured_roles
from llm_runtime.roles import ModelRoles
from timelines.backbones.base import Backbone
from timelines.models import Stage
from timelines.pipeline.config import PipelineConfig
from timelines.pipeline.run import Tools

#: name → where it is built, and whether its stages wait for a language model.
BACKBONES: Mapping[str, tuple[str, str, bool]] = {"rules": ("timelines.backbones.rules.backbone", "rules_backbone", False)}


class UnknownBackbone(ValueError):
    """The message names the known ones."""

    log_safe = True
    retryable = False


def roles() -> ModelRoles:
    """The providers behind the roles (the setting MODEL_ROLES)."""
    return configured_roles()


@lru_cache(maxsize=8)
def backbone(name: str) -> Backbone:
    """The backbone of that name. Raises UnknownBackbone."""
    module, attribute, _ = _known(name)
    built: Backbone = getattr(importlib.import_module(module), attribute)()
    return built


def tools_of(name: str, config: PipelineConfig) -> Tools:
    """Everything the stages of a run need."""
    return Tools(backbone(name), roles().embedder(), roles().reranker(), config)


def names_of(used: Tools) -> dict[str, str]:
    """What did the work, as a run records it."""
    return {
        "backbone": f"{used.backbone.name} {used.backbone.version}",
        "embedder": used.embedder.name,
        "reranker": used.reranker.name if used.reranker else "none",
    }


def queue_of(name: str, stage: str, *, kept: bool = False) -> str:
    """Where a stage of a run by that backbone waits: searches at the embedder, calls of a language model at its own queue.

    `kept`: the stage only copies what another run has stored.
    """
    _, _, prompted = _known(name)
    if kept:
        return "pipeline"
    if stage == Stage.RETRIEVE:
        return "embed"
    return "generate" if prompted and stage in (Stage.TAG, Stage.INFER, Stage.REVISE) else "pipeline"


def _known(name: str) -> tuple[str, str, bool]:
    try:
        return BACKBONES[name]
    except KeyError:
        raise UnknownBackbone(f"unknown backbone {name!r}; known: {', '.join(sorted(BACKBONES))}") from None
