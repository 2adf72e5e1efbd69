"""Roles resolve lazily; what is missing is explained."""

import asyncio
import json
import re
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any, cast

import pytest

from config.env import BASE_DIR
from llm_runtime.base import Embedder, LanguageModel, Message, ModelRequest, ProviderError, Reranker
from llm_runtime.calls.blocking import run_blocking
from llm_runtime.providers.minilm import MiniLMEmbedder
from llm_runtime.providers.qwen import QwenEmbedder, QwenReranker
from llm_runtime.providers.scripted import HashingEmbedder, ScriptedModel
from llm_runtime.roles import DEFAULT_ROLES, MATCHER, PRESETS, PROVIDERS, ModelRoles
from llm_runtime.servers.configured import configured_roles


def test_defaults_are_an_embedder_and_a_reranker_built_once() -> None:
    roles = ModelRoles()
    assert roles.embedder() is roles.embedder()
    assert roles.embedder().name == "all-MiniLM-L6-v2"
    assert run_blocking(roles.embedder().dimension()) == 384
    assert isinstance(roles.reranker(), Reranker)
    assert set(DEFAULT_ROLES) == {"embedder", "reranker"}


def test_the_entries_in_the_guide_to_gpus_can_be_built() -> None:
    text = (BASE_DIR / "docs" / "gpu.md").read_text(encoding="utf-8")
    blocks = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", text, re.DOTALL)]
    entries = {
        name: entry
        for block in blocks
        for name, entry in block.items()
        if entry["provider"] == "openai"
    }
    roles = ModelRoles({}, entries)
    names = {roles.language_model("judge", name).name.partition("@")[0] for name in entries}
    assert names == {
        "zai-org/GLM-5.2-FP8",
        "deepseek-ai/DeepSeek-V3.2",
        "Qwen/Qwen3.5-397B-A17B-FP8",
        "openai/gpt-oss-120b",
        "mistralai/Mistral-Medium-3.5-128B",
        "MiniMaxAI/MiniMax-M2.7",
    }


def test_the_preset_qwen3_sets_embedder_and_reranker_and_leaves_the_matcher(
    settings,
) -> None:
    settings.MODEL_PRESET = "qwen3"
    settings.MODEL_ROLES = {}
    configured_roles.cache_clear()
    try:
        roles = configured_roles()
        assert isinstance(roles.embedder(), QwenEmbedder)
        assert isinstance(roles.reranker(), QwenReranker)
        assert (roles.embedder().name, roles.reranker().threshold) == ("Qwen3-Embedding-8B", 0.05)
        assert roles.embedder(MATCHER).name == "all-MiniLM-L6-v2"
        settings.MODEL_ROLES = {"matcher": {"provider": "sentence_transformer"}}
        configured_roles.cache_clear()
        assert configured_roles().embedder(MATCHER).name == "pubmedbert-base-embeddings"
        assert isinstance(configured_roles().reranker(), QwenReranker), "the preset stays"
    finally:
        configured_roles.cache_clear()


def test_without_a_preset_minilm_and_the_lexical_reranker_are_used() -> None:
    assert PRESETS[""] is DEFAULT_ROLES
    assert set(PRESETS) == {"", "qwen3"}


def test_options_reach_the_provider() -> None:
    roles = ModelRoles(
        {
            "embedder": {"provider": "hashing", "dimension": 16},
            "reranker": {"provider": "lexical", "threshold": 0.4},
        }
    )
    assert run_blocking(roles.embedder().dimension()) == 16
    assert roles.reranker().threshold == 0.4


HTTP = {"provider": "openai", "base_url": "http://127.0.0.1:8001/v1", "model": "a"}


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({}, "no model is set for the role 'embedder'"),
        (
            {"embedder": {"provider": "oracle"}},
            "provider is unknown or missing; known: exchange, hashing",
        ),
        ({"embedder": {}}, "provider is unknown or missing"),
        ({"embedder": {"provider": "lexical"}}, "'lexical' is not an embedder"),
        (
            {"embedder": {"provider": "hashing", "size": 3}},
            "options with unknown names: 1; known: dimension$",
        ),
        ({"embedder": {"provider": "openai"}}, "'openai': missing options: base_url, model$"),
        ({"embedder": {"provider": "replay"}}, "'replay': missing options: folder, model$"),
        ({"embedder": [1]}, "role 'embedder' is not an object: write it as {\"provider\": …}"),
        (
            {"embedder": {**HTTP, "base_url": "gpu1:8001"}},
            "role 'embedder': provider 'openai': base_url must be",
        ),
    ],
)
def test_a_wrong_role_is_explained(mapping: dict[str, Any], message: str) -> None:
    with pytest.raises(ProviderError, match=message):
        ModelRoles(mapping).embedder()


KEY = "sk-very-secret"
MISPLACED: list[tuple[Any, str]] = [
    (KEY, "entry 'glm' of MODEL_ENDPOINTS is not an object"),
    ([KEY], "entry 'glm' of MODEL_ENDPOINTS is not an object"),
    ({"provider": KEY}, "provider is unknown"),
    ({"provider": [KEY]}, "provider is unknown"),
    ({**HTTP, KEY: True}, "options with unknown names: 1; known: base_url, model"),
    ({**HTTP, "api_key": KEY}, "api_key_env instead of the key itself"),
    ({**HTTP, "api_key_env": KEY}, "api_key_env must be the name of an environment variable"),
    ({**HTTP, "api_key_env": "hf_" + KEY[3:7]}, "api_key_env must be the name"),
    ({**HTTP, "output": KEY}, "output must be schema or table"),
    ({"provider": "exchange", "model": "a", "output": KEY}, "output must be schema or table"),
    (
        {"provider": "vllm", "model": "a", "context": 9, "output": KEY},
        "output must be schema or table",
    ),
    ({**HTTP, "context": KEY}, "context must be a whole number of 1 or more"),
    ({**HTTP, "read": KEY}, "read must be a number of seconds above 0"),
    ({**HTTP, "base_url": [KEY]}, "an option has a value of the wrong type"),
    ({**HTTP, "base_url": f"http://me:{KEY}@gpu1/v1"}, "base_url must not have a user"),
]


@pytest.mark.parametrize(("entry", "message"), MISPLACED)
def test_an_error_of_a_setting_never_repeats_its_value(entry: Any, message: str) -> None:
    """The whole traceback is looked at: a log prints the causes too."""
    roles = ModelRoles({"language_model": "glm"}, cast(Any, {"glm": entry}))
    with pytest.raises(ProviderError, match=message) as caught:
        roles.language_model("tagger")
    printed = "".join(traceback.format_exception(caught.value))
    assert not any(key in printed for key in (KEY, "hf_very"))


def test_the_name_that_a_role_is_set_to_is_not_repeated() -> None:
    with pytest.raises(ProviderError, match=r"the name that is set; MODEL_ENDPOINTS has: large$"):
        ModelRoles({"judge": KEY}, {"large": HTTP}).language_model("judge")


def test_a_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ProviderError, match=r"pip install --no-deps -r requirements/models\.txt"):
        run_blocking(MiniLMEmbedder().embed_queries(["lactate"]))


def test_importing_every_provider_loads_no_heavy_package() -> None:
    imports = "; ".join(f"import {module}" for module, _ in PROVIDERS.values())
    heavy = "{'torch', 'transformers', 'django'}"
    check = f"import sys, llm_runtime.roles; {imports}; bad = {heavy} & set(sys.modules); sys.exit(str(bad) if bad else 0)"
    done = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, check=False
    )
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


SERVER = {
    "provider": "openai",
    "base_url": "http://127.0.0.1:8001/v1",
    "model": "a",
    "context": 8192,
}


def test_one_language_model_serves_every_language_role_that_has_none_of_its_own() -> None:
    roles = ModelRoles(
        {"language_model": "small", "judge": {**SERVER, "model": "b"}}, {"small": SERVER}
    )
    assert roles.language_model("tagger") is roles.language_model("reviser")
    assert roles.language_model("tagger").name == "a@127.0.0.1:8001"
    assert roles.language_model("judge").name == "b@127.0.0.1:8001"
    assert not roles.has("embedder")


def test_a_run_may_choose_another_entry_of_the_catalogue() -> None:
    roles = ModelRoles({"language_model": SERVER}, {"large": {**SERVER, "model": "c"}})
    assert roles.language_model("reviser", "large").name == "c@127.0.0.1:8001"
    with pytest.raises(ProviderError, match="MODEL_ENDPOINTS has: large"):
        roles.language_model("reviser", "huge")


def test_the_matcher_is_the_embedder_unless_set() -> None:
    assert (
        run_blocking(
            ModelRoles({"embedder": {"provider": "hashing", "dimension": 8}})
            .embedder("matcher")
            .dimension()
        )
        == 8
    )
    both = ModelRoles(
        {"embedder": {"provider": "hashing"}, "matcher": {"provider": "hashing", "dimension": 4}}
    )
    assert run_blocking(both.embedder("matcher").dimension()) == 4


def test_a_key_comes_from_the_variable_that_the_entry_names(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SOME_KEY", "hunter2")
    model = ModelRoles({"judge": {**SERVER, "api_key_env": "SOME_KEY"}}).language_model("judge")
    assert getattr(model, "_api_key") == "hunter2"  # noqa: B009
    monkeypatch.delenv("SOME_KEY")
    file = tmp_path / "key"
    file.write_text("from a file\n")
    monkeypatch.setenv("SOME_KEY_FILE", str(file))
    again = ModelRoles({"judge": {**SERVER, "api_key_env": "SOME_KEY"}}).language_model("judge")
    assert getattr(again, "_api_key") == "from a file"  # noqa: B009
    roles = ModelRoles({"judge": SERVER}, secret=lambda name: f"secret of {name}")
    assert roles.language_model("judge").name == "a@127.0.0.1:8001"


def test_a_key_itself_is_refused_and_a_missing_one_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(ProviderError, match="api_key_env instead of the key itself") as caught:
        ModelRoles({"judge": {**SERVER, "api_key": "hunter2"}}).language_model("judge")
    assert "hunter2" not in str(caught.value)
    with pytest.raises(ProviderError, match="ABSENT_KEY is not set"):
        ModelRoles({"judge": {**SERVER, "api_key_env": "ABSENT_KEY"}}).language_model("judge")
