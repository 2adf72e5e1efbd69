"""The client of OpenAI-compatible servers against a real socket.

Every outcome of a server becomes one of ours.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from llm_runtime.base import Limits, Message, ModelReply, ModelRequest, ProviderError, Served
from llm_runtime.calls.calling import Asker, MemoryLedger, gather_results
from llm_runtime.calls.stopping import StoppableModel
from llm_runtime.errors import (
    AnswerRejected,
    AttemptsExhausted,
    ModelError,
    PromptTooLong,
    RequestRefused,
    SchemaRefused,
    Truncated,
    Unavailable,
)
from llm_runtime.prompts import Rendered
from llm_runtime.providers.openai_http import OpenAIModel
from tests.model_server import GRAMMAR, TOO_LONG, Answer, ModelServer

REQUEST = ModelRequest(
    (Message("system", "s"), Message("user", "hello patient")),
    max_tokens=10,
    schema={"type": "object"},
    seed=7,
)
PROMPT = Rendered("p", "0" * 64, REQUEST.messages)


def make_model(server: ModelServer, **more: object) -> OpenAIModel:
    options = {k: v for k, v in server.options(context=8192, **more).items() if k != "provider"}
    return OpenAIModel(**options)


def generate(model: OpenAIModel) -> ModelReply:
    async def once() -> ModelReply:
        try:
            return await model.generate(REQUEST)
        finally:
            await model.close()

    return asyncio.run(once())


def serving(*answers: Answer | str) -> ModelServer:
    """These answers in order, the last one for ever."""
    return ModelServer(lambda request, number: answers[min(number, len(answers)) - 1])


def test_a_reply_with_its_tokens_and_its_reasoning():
    with serving(Answer("12", reasoning="hm")) as server:
        reply = generate(make_model(server, api_key="hunter2"))
    assert (reply.text, reply.finish_reason, reply.reasoning) == ("12", "stop", "hm")
    assert (reply.tokens_in, reply.tokens_out, reply.tokens_cached) == (100, 20, 64)
    assert server.requests == [REQUEST]
    assert server.headers[0]["authorization"] == "Bearer hunter2"


@pytest.mark.parametrize(
    ("answer", "error", "hits"),
    [
        (Answer(status=400, message=TOO_LONG), PromptTooLong, 1),
        (Answer(status=400, message=GRAMMAR), SchemaRefused, 1),
        (Answer(status=400, message="something about hello patient"), RequestRefused, 1),
        (Answer(status=404), RequestRefused, 1),
        (Answer(status=401), RequestRefused, 1),
        (Answer(status=429), Unavailable, 3),
        (Answer(status=500), Unavailable, 3),
        (Answer(status=503), Unavailable, 3),
        (Answer("12", broken=True), Unavailable, 3),
    ],
)
def test_each_failure_has_its_own_class_and_quotes_nothing(
    answer: Answer, error: type[ModelError], hits: int
):
    with serving(answer) as server, pytest.raises(error) as caught:
        generate(make_model(server))
    assert len(server.requests) == hits
    assert "patient" not in str(caught.value)


@pytest.mark.parametrize(
    "trouble", [Answer(status=429), Answer(status=500), Answer("x", broken=True)]
)
def test_passing_trouble_is_tried_again(trouble: Answer):
    with serving(trouble, trouble, "12") as server:
        assert generate(make_model(server)).text == "12"
    assert len(server.requests) == 3


def test_a_server_that_is_too_slow_or_not_there_is_unavailable():
    with (
        serving(Answer("12", seconds=5)) as server,
        pytest.raises(Unavailable, match="did not answer in time"),
    ):
        generate(make_model(server, read=0.2))
    with pytest.raises(Unavailable, match="could not be reached"):
        generate(make_model(server))


def test_an_answer_cut_by_a_silent_clamp_is_refused_as_too_large():
    cut = Answer('{"time": 1', finish_reason="length")
    with serving(cut) as server:
        ledger = MemoryLedger()
        asker = Asker("timer", make_model(server), ledger)
        with pytest.raises(Truncated):
            asker.run(
                lambda: asker.ask(PROMPT, lambda reply: reply.text, max_tokens=10, part="batch 1")
            )
    assert len(server.requests) == len(ledger.calls) == 3


def test_a_wrong_answer_three_times_is_a_failure_with_reasons():
    def refuse(reply: ModelReply) -> str:
        raise AnswerRejected(["not valid JSON"])

    with serving("nonsense") as server:
        asker = Asker("timer", make_model(server), MemoryLedger())
        with pytest.raises(AttemptsExhausted, match="not valid JSON"):
            asker.run(lambda: asker.ask(PROMPT, refuse, max_tokens=10, part="batch 1"))
    assert [r.seed for r in server.requests] == [1, 2, 3]


def test_the_context_is_learned_from_the_server_once():
    with serving("12") as server:
        model = make_model(server)
        learning = OpenAIModel(base_url=server.url, model="fake")
        with pytest.raises(ProviderError, match="not known yet"):
            _ = learning.limits
        asyncio.run(learning.learn())
        assert learning.limits == Limits(context=32768)
        assert model.limits.context == 8192
        with pytest.raises(RequestRefused, match="does not serve the model other"):
            asyncio.run(OpenAIModel(base_url=server.url, model="other").learn())


def test_no_more_requests_at_once_than_the_endpoint_may_have():
    with serving(Answer("12", seconds=0.5)) as server:
        model = make_model(server, concurrency=2)

        async def many() -> list[ModelReply]:
            try:
                return await gather_results([model.generate(REQUEST) for _ in range(6)])
            finally:
                await model.close()

        assert len(asyncio.run(many())) == 6
    assert server.most_at_once == 2


async def ask_part(asker: Asker) -> str:
    return await asker.ask(PROMPT, lambda reply: reply.text, max_tokens=5, part="p")


def test_the_fields_of_the_settings_are_sent_once_and_count_in_the_digest():
    with serving("12") as server:
        ledger = MemoryLedger()
        for extra in ({"a": {"x": 1, "y": 2}}, {"a": {"y": 2, "x": 1}}, {"a": {"x": 1, "y": 3}}):
            asker = Asker("timer", make_model(server, extra=extra), ledger)
            assert asker.run(ask_part, asker) == "12"
    assert len(server.requests) == 2
    assert [call.request.extra for call in ledger.calls] == [
        {"a": {"x": 1, "y": 2}},
        {"a": {"x": 1, "y": 3}},
    ]


def test_a_temperature_of_the_settings_takes_the_place_of_zero():
    with serving("12") as server:
        generate(make_model(server))
        generate(make_model(server, extra={"temperature": 0.6}))
    assert [request.temperature for request in server.requests] == [0.0, 0.6]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("concurrency", 0), ("concurrency", "8"), ("concurrency", None), ("concurrency", True), ("context", 0), ("context", "64k"),
        ("reasoning", -1), ("reasoning", 0.5), ("read", 0), ("connect", "5"), ("backoff", -1), ("extra", ["priority"]),
    ],
)  # fmt: skip
def test_an_option_out_of_its_range_is_named_before_anything_is_asked(option: str, value: object):
    options: dict[str, Any] = {"base_url": "http://127.0.0.1:9/v1", "model": "m", option: value}
    with pytest.raises(ProviderError, match=f"^{option} must be"):
        OpenAIModel(**options)


class Stopped(Exception):
    pass


def once(true: Callable[[], bool]) -> Callable[[], None]:
    """A check that raises once it is true."""

    def check() -> None:
        if true():
            raise Stopped

    return check


def test_work_that_is_no_longer_wanted_hangs_up():
    with serving(Answer("12", seconds=600)) as server:
        model = StoppableModel(
            make_model(server), once(lambda: len(server.requests) == 3), every=0.05
        )
        assert isinstance(model, Served)
        asker = Asker("timer", model, MemoryLedger())
        begun = time.monotonic()
        with pytest.raises(Stopped):
            asker.run(
                lambda: gather_results(
                    [
                        asker.ask(PROMPT, lambda r: r.text, max_tokens=10, part=str(n))
                        for n in range(3)
                    ]
                )
            )
        assert time.monotonic() - begun < 120
        until = time.monotonic() + 60
        while server.aborted < 3 and time.monotonic() < until:
            time.sleep(0.05)
    assert server.aborted == 3
