"""Roles, not model names: code asks for "the embedder", a mapping says which provider that is.

The mapping (the setting MODEL_ROLES) is role → {"provider": name, **options}; options go to the
provider's constructor. Providers are imported when first asked for, and one instance serves a process.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from llm_runtime.base import Embedder, LanguageModel, ProviderError, Reranker

EMBEDDER = "embedder"
RERANKER = "reranker"

#: What a machine without a model server uses: both run on the CPU of a worker.
DEFAULT_ROLES: Mapping[str, Mapping[str, Any]] = {
    EMBEDDER: {"provider": "minilm"},
    RERANKER: {"provider": "lexical"},
}

#: provider name → where its class lives. Importing the module costs no heavy package.
PROVIDERS: Mapping[str, tuple[str, str]] = {
    "minilm": ("llm_runtime.providers.minilm", "MiniLMEmbedder"),
    "lexical": ("llm_runtime.providers.lexical", "LexicalReranker"),
    "hashing": ("llm_runtime.providers.scripted", "HashingEmbedder"),
    "scripted": ("llm_runtime.providers.scripted", "ScriptedModel"),
}


class ModelRoles:
    """The providers of one process, built on first use from a role mapping."""

    def __init__(self, roles: Mapping[str, Mapping[str, Any]] = DEFAULT_ROLES) -> None:
        self._roles = roles
        self._built: dict[str, Any] = {}

    def embedder(self, role: str = EMBEDDER) -> Embedder:
        provider = self._provider(role)
        if not isinstance(provider, Embedder):
            raise ProviderError(f"role '{role}': provider '{self._roles[role]['provider']}' is not an embedder")
        return provider

    def reranker(self, role: str = RERANKER) -> Reranker:
        provider = self._provider(role)
        if not isinstance(provider, Reranker):
            raise ProviderError(f"role '{role}': provider '{self._roles[role]['provider']}' is not a reranker")
        return provider

    def language_model(self, role: str) -> LanguageModel:
        provider = self._provider(role)
        if not isinstance(provider, LanguageModel):
            raise ProviderError(f"role '{role}': provider '{self._roles[role]['provider']}' is not a language model")
        return provider

    def _provider(self, role: str) -> Any:
        if role not in self._built:
            self._built[role] = _build(role, self._roles)
        return self._built[role]


def _build(role: str, roles: Mapping[str, Mapping[str, Any]]) -> Any:
    if role not in roles:
        raise ProviderError(f"no model is set for the role '{role}'; MODEL_ROLES has: {', '.join(sorted(roles)) or 'nothing'}")
    options = dict(roles[role])
    name = options.pop("provider", None)
    if name not in PROVIDERS:
        raise ProviderError(f"role '{role}': unknown provider {name!r}; known: {', '.join(sorted(PROVIDERS))}")
    module, attribute = PROVIDERS[name]
    try:
        return getattr(importlib.import_module(module), attribute)(**options)
    except TypeError as error:
        raise ProviderError(f"role '{role}': provider '{name}' does not take these options ({error})") from error
