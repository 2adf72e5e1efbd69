"""Roles, not model names.

Code asks for "the embedder"; a mapping says which provider that is. The setting MODEL_ROLES is role
→ {"provider": name, **options}, or role → the name of an entry of MODEL_ENDPOINTS, which maps names
to such options. `language_model` sets every role of a language model that has no entry of its own.
Options go to the provider's constructor. Providers are imported when first asked for, and one
instance serves a process.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from llm_runtime.base import Embedder, LanguageModel, ProviderError, Reranker
from llm_runtime.calls.server_facts import NO_FACTS, ServerFacts

EMBEDDER = "embedder"
RERANKER = "reranker"
#: The embedder that matches events of two timelines in an evaluation; defaults to the embedder.
MATCHER = "matcher"
#: The embedder with which the baseline TKW2 retrieves rows for its events (mean pooling, of the
#: MedTE class); defaults to the embedder.
TKW2_EMBEDDER = "tkw2_embedder"
#: Sets every language role that has no setting of its own.
LANGUAGE_MODEL = "language_model"
LANGUAGE_ROLES = ("tagger", "timer", "query_writer", "reviser", "judge")
#: Role → the role whose model serves it if it has no model of its own.
FALLBACKS: Mapping[str, str] = {
    **dict.fromkeys(LANGUAGE_ROLES, LANGUAGE_MODEL),
    MATCHER: EMBEDDER,
    TKW2_EMBEDDER: EMBEDDER,
}

Spec = Mapping[str, Any]

_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")

#: What a machine without a model server uses: both run on the CPU of a worker.
DEFAULT_ROLES: Mapping[str, Spec | str] = {
    EMBEDDER: {"provider": "minilm"},
    RERANKER: {"provider": "lexical"},
}

QWEN3 = "qwen3"
#: Name of a preset (MODEL_PRESET) → its embedders and reranker; "" is the default.
PRESETS: Mapping[str, Mapping[str, Spec | str]] = {
    "": DEFAULT_ROLES,
    QWEN3: {
        EMBEDDER: {"provider": "qwen_embedder"},
        RERANKER: {"provider": "qwen_reranker"},
        # Evaluation figures under different matchers are not comparable: this one stays.
        MATCHER: {"provider": "minilm"},
    },
}

#: provider name → module and class. Importing the module loads no heavy package.
PROVIDERS: Mapping[str, tuple[str, str]] = {
    "openai": ("llm_runtime.providers.openai_http", "OpenAIModel"),
    "exchange": ("llm_runtime.providers.exchange", "ExchangeModel"),
    "replay": ("llm_runtime.providers.exchange", "ReplayModel"),
    "openai_embeddings": ("llm_runtime.providers.pooling_http", "HTTPEmbedder"),
    "openai_rerank": ("llm_runtime.providers.pooling_http", "HTTPReranker"),
    "vllm": ("llm_runtime.providers.vllm_local", "LocalVllm"),
    "minilm": ("llm_runtime.providers.minilm", "MiniLMEmbedder"),
    "lexical": ("llm_runtime.providers.lexical", "LexicalReranker"),
    "sentence_transformer": (
        "llm_runtime.providers.sentence_transformer",
        "SentenceTransformerEmbedder",
    ),
    "qwen_embedder": ("llm_runtime.providers.qwen", "QwenEmbedder"),
    "qwen_reranker": ("llm_runtime.providers.qwen", "QwenReranker"),
    "hashing": ("llm_runtime.providers.scripted", "HashingEmbedder"),
    "scripted": ("llm_runtime.providers.scripted", "ScriptedModel"),
}


class ModelRoles:
    """The providers of one process, built on first use.

    From a role mapping and a catalogue of named models.
    """

    def __init__(
        self,
        roles: Mapping[str, Spec | str] = DEFAULT_ROLES,
        endpoints: Mapping[str, Spec] | None = None,
        *,
        secret: Callable[[str], str] | None = None,
        facts: ServerFacts = NO_FACTS,
    ) -> None:
        """Set the roles, endpoints, secrets and facts.

        `secret` reads the variable that an `api_key_env` names; by default the process environment,
        or a file it points to. `facts` store what servers said; by default nothing.
        """
        self._roles = roles
        self.endpoints: Mapping[str, Spec] = endpoints or {}
        self._secret = secret or _secret
        self._facts = facts
        self._built: dict[str, Any] = {}

    def embedder(self, role: str = EMBEDDER) -> Embedder:
        provider = self.provider(role, None)
        if not isinstance(provider, Embedder):
            raise ProviderError(
                f"role '{role}': provider '{self.spec(role)['provider']}' is not an embedder"
            )
        return provider

    def reranker(self, role: str = RERANKER) -> Reranker:
        provider = self.provider(role, None)
        if not isinstance(provider, Reranker):
            raise ProviderError(
                f"role '{role}': provider '{self.spec(role)['provider']}' is not a reranker"
            )
        return provider

    def language_model(self, role: str, choice: str | None = None) -> LanguageModel:
        """Return the role's model, or the entry chosen in its place.

        Entries are those of the catalogue. Raises ProviderError.
        """
        provider = self.provider(role, choice)
        # Not isinstance: before 3.12 that reads every attribute, and `limits` may have to be
        # learned from a server first.
        if not hasattr(provider, "generate"):
            raise ProviderError(
                f"role '{role}': provider '{self.spec(role, choice)['provider']}' is not a language"
                " model"
            )
        model: LanguageModel = provider
        return model

    def has(self, role: str) -> bool:
        """Return True if a model is set for the role or for its fallback."""
        return role in self._roles or FALLBACKS.get(role) in self._roles

    def spec(self, role: str, choice: str | None = None) -> Spec:
        """Return provider and options of a role, or of a chosen entry.

        Raises ProviderError if nothing is set.
        """
        if choice is None and not self.has(role):
            raise ProviderError(
                f"no model is set for the role '{role}'; MODEL_ROLES has:"
                f" {', '.join(sorted(self._roles)) or 'nothing'}"
            )
        wanted = (
            choice
            if choice is not None
            else self._roles.get(role, self._roles.get(FALLBACKS.get(role, role)))
        )
        if not isinstance(wanted, str):
            return _object(wanted, f"role '{role}'")
        if wanted not in self.endpoints:
            known = ", ".join(sorted(self.endpoints)) or "nothing"
            raise ProviderError(
                f"role '{role}': no model has the name that is set; MODEL_ENDPOINTS has: {known}"
            )
        return _object(self.endpoints[wanted], f"entry '{wanted}' of MODEL_ENDPOINTS")

    def provider(self, role: str, choice: str | None = None) -> Any:
        """Return the provider of the role, of any kind. Raises ProviderError."""
        spec = self.spec(role, choice)
        # Roles with the same options share an instance, and so its connections and their limit.
        key = json.dumps(dict(spec), sort_keys=True, default=repr)
        if key not in self._built:
            self._built[key] = provider = _build(role, spec, self._secret)
            if hasattr(type(provider), "facts"):
                provider.facts = self._facts
        return self._built[key]


def _build(role: str, spec: Spec, secret: Callable[[str], str]) -> Any:
    options = dict(spec)
    name = options.pop("provider", None)
    known = ", ".join(sorted(PROVIDERS))
    if not isinstance(name, str) or name not in PROVIDERS:
        raise ProviderError(f"role '{role}': provider is unknown or missing; known: {known}")
    if "api_key" in options:
        raise ProviderError(
            f"role '{role}': put the key's environment variable into api_key_env instead of the key"
            " itself"
        )
    variable = options.pop("api_key_env", None)
    if variable:
        if not isinstance(variable, str) or not _VARIABLE.fullmatch(variable):
            raise ProviderError(
                f"role '{role}': api_key_env must be the name of an environment variable, in"
                " capitals, such as VLLM_KEY"
            )
        options["api_key"] = secret(variable)
    module, attribute = PROVIDERS[name]
    provider = getattr(importlib.import_module(module), attribute)
    if faults := _option_faults(provider, options):
        raise ProviderError(f"role '{role}': provider '{name}': {faults}")
    try:
        return provider(**options)
    except ProviderError as error:
        raise ProviderError(f"role '{role}': provider '{name}': {error}") from error
    except (AttributeError, TypeError, ValueError):  # these may quote a value
        raise ProviderError(
            f"role '{role}': provider '{name}': an option has a value of the wrong type"
        ) from None


def _option_faults(provider: type, options: Spec) -> str:
    """Return which options are missing or unknown, or "".

    Unknown names are counted, not quoted: a key may be written in place of a name.
    """
    known = _parameters(provider)
    missing = [
        name
        for name, parameter in known.items()
        if parameter.default is parameter.empty and name not in options
    ]
    unknown = len(set(options) - set(known))
    faults = [f"missing options: {', '.join(missing)}"] if missing else []
    if unknown:
        names = ["api_key_env" if name == "api_key" else name for name in known]
        faults.append(f"options with unknown names: {unknown}; known: {', '.join(names)}")
    return "; ".join(faults)


def _parameters(provider: type) -> dict[str, inspect.Parameter]:
    """Return the constructor's options by name.

    A constructor that takes `**options` passes them to its base class.
    """
    found: dict[str, inspect.Parameter] = {}
    for constructor in (vars(base).get("__init__") for base in provider.__mro__):
        if constructor is None:
            continue
        parameters = list(inspect.signature(constructor).parameters.values())[1:]
        found |= {one.name: one for one in parameters if one.kind is not one.VAR_KEYWORD}
        if all(one.kind is not one.VAR_KEYWORD for one in parameters):
            break
    return found


def _object(spec: object, what: str) -> Spec:
    """Return the object. Raises ProviderError without the value."""
    if not isinstance(spec, Mapping):
        raise ProviderError(f'{what} is not an object: write it as {{"provider": …}}')
    return spec


def _secret(variable: str) -> str:
    """Return a secret from the environment.

    The value of the variable, or of the file that `variable`_FILE names. Raises ProviderError,
    without the value.
    """
    if os.environ.get(variable):
        return os.environ[variable].strip()
    file = os.environ.get(f"{variable}_FILE")
    if not file:
        raise ProviderError(
            f"{variable} is not set. Set it, or set {variable}_FILE to a file with the key."
        )
    try:
        return Path(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise ProviderError(
            f"{variable}_FILE points to a file that cannot be read. Check its path and permissions."
        ) from None
