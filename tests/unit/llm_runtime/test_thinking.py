"""One switch for thinking: its values, and settings that contradict it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from llm_runtime.base import Limits, Message, ProviderError, Thinking
from llm_runtime.calls.budget import limit_answer
from llm_runtime.providers.exchange import ExchangeModel
from llm_runtime.providers.openai_http import OpenAIModel
from llm_runtime.providers.scripted import ScriptedModel
from llm_runtime.providers.vllm_local import LocalVllm
from llm_runtime.thinking import choose_thinking

ON: Mapping[str, Any] = {"chat_template_kwargs": {"enable_thinking": True}}
OFF: Mapping[str, Any] = {"chat_template_kwargs": {"thinking": False}}
HIGH: Mapping[str, Any] = {"reasoning_effort": "high"}
NO_EFFORT: Mapping[str, Any] = {"chat_template_kwargs": {"reasoning_effort": "none"}}


@pytest.mark.parametrize(
    ("thinking", "reasoning", "extra", "chosen"),
    [
        (None, 4000, None, "answer"),
        (None, 0, None, "none"),
        (None, 4000, ON, "native"),
        (None, 4000, HIGH, "native"),
        (None, 4000, OFF, "answer"),
        (None, 4000, NO_EFFORT, "answer"),
        (None, 4000, {"priority": 1}, "answer"),
        ("native", 4000, None, "native"),
        ("native", 4000, ON, "native"),
        ("answer", 4000, OFF, "answer"),
        ("none", 4000, OFF, "none"),
        ("none", 0, None, "none"),
    ],
)
def test_the_switch(
    thinking: str | None, reasoning: int, extra: Mapping[str, Any] | None, chosen: str
) -> None:
    assert choose_thinking(thinking, reasoning, extra) == chosen


@pytest.mark.parametrize(
    ("thinking", "reasoning", "extra", "message"),
    [
        ("both", 4000, None, "thinking must be one of none, native, answer"),
        ("answer", 0, None, "thinking is answer, but reasoning is 0 tokens"),
        ("native", 0, None, "thinking is native, but reasoning is 0 tokens"),
        ("answer", 4000, ON, "thinking is answer, but extra turns the model's own thinking on"),
        ("none", 4000, HIGH, "thinking is none, but extra turns the model's own thinking on"),
        ("native", 4000, OFF, "thinking is native, but extra turns the model's own thinking off"),
        (None, -1, None, "reasoning must be a whole number of 0 or more"),
        (None, True, None, "reasoning must be a whole number of 0 or more"),
    ],
)
def test_settings_that_contradict_each_other(
    thinking: str | None, reasoning: int, extra: Mapping[str, Any] | None, message: str
) -> None:
    with pytest.raises(ProviderError, match=message):
        choose_thinking(thinking, reasoning, extra)


@pytest.mark.parametrize(
    ("thinking", "limits"), [("native", (0, 900)), ("answer", (900, 0)), ("none", (0, 0))]
)
def test_every_provider_takes_the_switch(thinking: str, limits: tuple[int, int]) -> None:
    models = (
        OpenAIModel(
            base_url="http://localhost:1/v1",
            model="m",
            context=9000,
            thinking=thinking,
            reasoning=900,
        ),
        LocalVllm(model="m", context=9000, thinking=thinking, reasoning=900),
        ExchangeModel(model="m", thinking=thinking, reasoning=900),
    )
    for model in models:
        assert (model.limits.reasoning, model.limits.native) == limits
        assert model.limits.thinking == thinking
        described = model.describe()
        assert (described["thinking"], described["reasoning"]) == (thinking, max(limits))


def test_a_model_thinks_in_one_place() -> None:
    with pytest.raises(ValueError, match="not both"):
        Limits(context=1000, reasoning=10, native=10)


def test_a_models_own_thinking_has_its_tokens_besides_those_of_the_answer() -> None:
    def limit(native: int, context: int = 20_000) -> int:
        model = ScriptedModel([], limits=Limits(context=context, reasoning=0, native=native))
        found = limit_answer(model, [Message("user", "a")], at_least=10, at_most=100)
        return asyncio.run(found)

    assert (limit(0), limit(5000)) == (100, 5100)
    assert limit(5000, context=3000) < 3000


def test_thinking_is_a_text_of_the_settings() -> None:
    assert [t.value for t in Thinking] == ["none", "native", "answer"]
