"""The in-process engine's batching and failures, over a stand-in.

The real vllm is in tests/verification.
"""

from __future__ import annotations

import asyncio
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from llm_runtime.base import LanguageModel, Message, ModelRequest, ProviderError
from llm_runtime.errors import PromptTooLong, SchemaRefused, Unavailable
from llm_runtime.providers.vllm_local import LocalVllm


class Engine:
    """Answers with the number of words.

    It refuses a batch with an impossible request.
    """

    batches: list[int]
    #: What the last batch was asked with.
    asked: list[Any]
    template: dict[str, Any]

    def __init__(self, **options: Any) -> None:
        self.options = options
        Engine.batches = []

    def get_tokenizer(self) -> Any:
        def ids(chat: list[dict[str, str]], **words: Any) -> list[str]:
            return [w for m in chat for w in m["content"].split()] * (
                1 + ("enable_thinking" in words)
            )

        return SimpleNamespace(apply_chat_template=ids)

    def chat(
        self,
        conversations: list[list[dict[str, str]]],
        parameters: list[Any],
        use_tqdm: bool,
        **template: Any,
    ) -> list[Any]:
        Engine.asked, Engine.template = parameters, template
        Engine.batches.append(len(conversations))
        texts = [c[0]["content"] for c in conversations]
        if any(p.structured_outputs == "bad" for p in parameters):
            raise ValueError("Grammar error: of a secret")
        if any("crash" in t for t in texts):
            raise RuntimeError("worker died over a secret")
        return [
            SimpleNamespace(
                outputs=[
                    SimpleNamespace(text=str(len(t.split())), finish_reason="stop", token_ids=[1])
                ],
                prompt_token_ids=[0] * len(t.split()),
                num_cached_tokens=0,
            )
            for t in texts
        ]


@pytest.fixture(autouse=True)
def _vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    module, sampling = ModuleType("vllm"), ModuleType("vllm.sampling_params")
    module.LLM = Engine  # type: ignore[attr-defined]
    module.SamplingParams = SimpleNamespace  # type: ignore[attr-defined]
    sampling.StructuredOutputsParams = lambda json: "bad" if "bad" in json else "kept"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "vllm", module)
    monkeypatch.setitem(sys.modules, "vllm.sampling_params", sampling)


def request(text: str, **fields: Any) -> ModelRequest:
    return ModelRequest((Message("user", text),), 5, **fields)


def ask_all(model: LocalVllm, *requests: ModelRequest) -> list[Any]:
    async def all_of_them() -> list[Any]:
        return await asyncio.gather(*(model.generate(r) for r in requests), return_exceptions=True)

    return asyncio.run(all_of_them())


def test_requests_at_once_share_batches_and_get_their_own_answers() -> None:
    model = LocalVllm(model="m", context=100, batch=4)
    assert isinstance(model, LanguageModel)
    replies = ask_all(model, *(request("word " * n) for n in range(1, 10)))
    assert [r.text for r in replies] == [str(n) for n in range(1, 10)]
    assert [r.tokens_in for r in replies] == list(range(1, 10))
    assert sum(Engine.batches) == 9
    assert max(Engine.batches) <= 4


def test_one_request_that_fails_a_batch_fails_alone_and_quotes_nothing() -> None:
    good, crash, schema, long = ask_all(
        LocalVllm(model="m", context=20),
        request("a b"),
        request("crash"),
        request("c", schema={"bad": 1}),
        request("w " * 30),
    )
    assert good.text == "2"
    assert isinstance(crash, Unavailable)
    assert isinstance(schema, SchemaRefused)
    assert isinstance(long, PromptTooLong)
    assert "secret" not in f"{crash} {schema} {long}"


def test_a_request_that_is_no_longer_wanted_is_not_computed() -> None:
    model = LocalVllm(model="m", context=100)

    async def cancelled() -> None:
        task = asyncio.ensure_future(model.generate(request("a")))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await model.generate(request("b c"))).text == "2"

    asyncio.run(cancelled())


def test_what_the_settings_add_decides_sampling_and_template_and_is_recorded() -> None:
    extra = {
        "temperature": 0.6,
        "top_p": 0.95,
        "priority": 1,
        "chat_template_kwargs": {"enable_thinking": True},
    }
    model = LocalVllm(model="org/m", context=100, batch=4, output="table", reasoning=7, extra=extra)
    # As `Asker` does, the request carries the model's own fields.
    ask_all(model, request("a b", extra=extra))
    (sampling,) = Engine.asked
    assert (sampling.temperature, sampling.top_p, sampling.max_tokens) == (0.6, 0.95, 5)
    assert not hasattr(sampling, "priority")
    assert Engine.template == {"chat_template_kwargs": {"enable_thinking": True}}
    assert asyncio.run(model.count_tokens([Message("user", "a b")])) == 4
    facts = {
        "context": 100,
        "concurrency": 4,
        "output": "table",
        "thinking": "native",
        "reasoning": 7,
        "extra": extra,
    }
    assert model.describe() == {"name": "m@local", "endpoint": "", **facts}


def test_without_extra_the_request_decides() -> None:
    ask_all(LocalVllm(model="m", context=100), request("a", temperature=0.2))
    assert Engine.asked[0].temperature == 0.2
    assert Engine.template == {}


@pytest.mark.parametrize("options", [{"extra": "priority"}, {"engine": 2}, {"output": "xml"}])
def test_options_that_cannot_be_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ProviderError, match=next(iter(options))):
        LocalVllm(model="m", context=100, **options)


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vllm", None)
    (error,) = ask_all(LocalVllm(model="m", context=100), request("a"))
    assert isinstance(error, ProviderError)
    assert "pip install vllm" in str(error)
