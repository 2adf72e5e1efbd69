"""The retry policy, the ledger and the splitting of large requests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence

import pytest

from llm_runtime.base import Limits, Message, ModelReply, ModelRequest
from llm_runtime.calls.calling import Asker, MemoryLedger, ask_in_parts, gather_results
from llm_runtime.errors import (
    AnswerRejected,
    AttemptsExhausted,
    PromptTooLong,
    Truncated,
    Unavailable,
)
from llm_runtime.prompts import Rendered
from llm_runtime.providers.scripted import ScriptedModel

PROMPT = Rendered("p", "0" * 64, (Message("user", "What is left?"),))


def number(reply: ModelReply) -> int:
    if not reply.text.isdigit():
        raise AnswerRejected(["answer with digits only"])
    return int(reply.text)


def ask_model(model: ScriptedModel, ledger: MemoryLedger, seed: int = 0, round: int = 0) -> int:
    return asyncio.run(
        Asker("timer", model, ledger, seed=seed, round=round).ask(
            PROMPT, number, max_tokens=10, part="batch 1"
        )
    )


def test_the_first_valid_answer_is_returned_and_every_attempt_kept() -> None:
    model, ledger = ScriptedModel(["seven", "7"]), MemoryLedger()
    assert ask_model(model, ledger, seed=100) == 7
    assert [r.seed for r in model.requests] == [101, 102]
    assert [(c.attempt, c.reasons, c.reply.text if c.reply else None) for c in ledger.calls] == [
        (1, ("answer with digits only",), "seven"),
        (2, (), "7"),
    ]


def test_reasons_are_shown_from_the_second_attempt_on_and_come_after_the_shared_prompt() -> None:
    model = ScriptedModel(["x", "y", "3"])
    assert ask_model(model, MemoryLedger()) == 3
    assert model.requests[0].messages == PROMPT.messages
    for request in model.requests[1:]:
        assert request.messages[:-1] == PROMPT.messages
        assert "- answer with digits only" in request.messages[-1].content


def test_three_refused_answers_are_a_failure_with_its_reasons() -> None:
    ledger = MemoryLedger()
    with pytest.raises(AttemptsExhausted, match="batch 1: no valid answer in 3 attempts") as caught:
        ask_model(ScriptedModel(["a", "b", "c", "4"]), ledger)
    assert caught.value.reasons == (("answer with digits only",),) * 3
    assert len(ledger.calls) == 3


def test_a_kept_answer_is_not_asked_for_again_whether_it_was_accepted_or_refused() -> None:
    ledger = MemoryLedger()
    ask_model(ScriptedModel(["seven", "7"]), ledger)
    again = ScriptedModel([])
    assert ask_model(again, ledger) == 7
    assert again.requests == []
    assert len(ledger.calls) == 2


def test_a_later_round_meets_none_of_the_refused_answers() -> None:
    ledger = MemoryLedger()
    with pytest.raises(AttemptsExhausted):
        ask_model(ScriptedModel(["a", "b", "c"]), ledger)
    model = ScriptedModel(["9"])
    assert ask_model(model, ledger, round=1) == 9
    assert model.requests[0].seed == 4


def test_a_cut_answer_is_never_taken_even_where_it_would_pass() -> None:
    cut = ModelReply("12", finish_reason="length", tokens_out=10)
    with pytest.raises(Truncated, match="cut off at 10 tokens"):
        ask_model(ScriptedModel([cut, cut, cut]), MemoryLedger())
    assert ask_model(ScriptedModel([cut, "1234"]), MemoryLedger()) == 1234


def under(
    settings: Mapping[str, object], ledger: MemoryLedger, answer: str, **more: object
) -> tuple[int, ScriptedModel]:
    model = ScriptedModel([answer], extra=settings)
    asker = Asker("timer", model, ledger, extra=more)
    return asyncio.run(asker.ask(PROMPT, number, max_tokens=10, part="batch 1")), model


def test_an_answer_under_other_settings_is_another_answer() -> None:
    ledger = MemoryLedger()
    thinking = {
        "chat_template_kwargs": {"enable_thinking": True, "budget": 9},
        "reasoning_effort": "high",
    }
    assert under(thinking, ledger, "1")[0] == 1
    reordered = {
        "reasoning_effort": "high",
        "chat_template_kwargs": {"budget": 9, "enable_thinking": True},
    }
    assert under(reordered, ledger, "2")[0] == 1
    changed = {
        "reasoning_effort": "high",
        "chat_template_kwargs": {"budget": 9, "enable_thinking": False},
    }
    assert under(changed, ledger, "3")[0] == 3
    assert under({}, ledger, "4")[0] == 4
    answer, model = under(thinking, ledger, "5", reasoning_effort="low")
    assert answer == 5
    assert model.requests[0].extra == {**thinking, "reasoning_effort": "low"}
    assert len({call.request_sha256 for call in ledger.calls}) == 4


class Broken(ScriptedModel):
    async def generate(self, request: ModelRequest) -> ModelReply:
        raise Unavailable("the server closed the connection")


def test_a_call_that_never_came_back_is_kept_and_passed_on() -> None:
    ledger = MemoryLedger()
    with pytest.raises(Unavailable):
        ask_model(Broken([]), ledger)
    (call,) = ledger.calls
    assert call.reply is None
    assert call.reasons == ("Unavailable: the server closed the connection",)
    assert ask_model(ScriptedModel(["5"]), ledger) == 5


def test_what_is_too_large_is_split_and_nothing_is_dropped() -> None:
    sizes: list[int] = []

    async def ask(items: Sequence[int]) -> Mapping[str, int]:
        sizes.append(len(items))
        if len(items) > 2:
            raise PromptTooLong("too long")
        return {str(i): i for i in items}

    assert asyncio.run(ask_in_parts(list(range(7)), ask)) == {str(i): i for i in range(7)}
    assert max(sizes) == 7
    assert sorted(s for s in sizes if s <= 2) == [1, 2, 2, 2]


def test_a_single_item_that_does_not_fit_is_a_failure() -> None:
    async def ask(items: Sequence[int]) -> Mapping[str, int]:
        raise PromptTooLong("too long")

    with pytest.raises(PromptTooLong):
        asyncio.run(ask_in_parts([1, 2], ask))


def test_one_failure_cancels_what_else_is_under_way() -> None:
    ended: list[str] = []

    async def slow() -> None:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    async def fails() -> None:
        await asyncio.sleep(0)
        raise Unavailable("gone")

    async def both() -> None:
        await gather_results([slow(), fails()])

    with pytest.raises(Unavailable):
        asyncio.run(both())
    assert ended == ["cancelled"]


def test_equal_requests_have_equal_digests_and_every_part_counts() -> None:
    base = ModelRequest((Message("user", "a"),), 5, {"type": "object", "b": 1}, 0.0, 1)
    same = ModelRequest(
        (Message("user", "a"),), 5, json.loads('{"b": 1, "type": "object"}'), 0.0, 1
    )
    assert base.sha256("m") == same.sha256("m")
    others = [
        base.sha256("n"),
        ModelRequest((Message("system", "a"),), 5, base.schema, 0.0, 1).sha256("m"),
        ModelRequest(base.messages, 6, base.schema, 0.0, 1).sha256("m"),
        ModelRequest(base.messages, 5, None, 0.0, 1).sha256("m"),
        ModelRequest(base.messages, 5, base.schema, 0.5, 1).sha256("m"),
        ModelRequest(base.messages, 5, base.schema, 0.0, 2).sha256("m"),
    ]
    assert len({base.sha256("m"), *others}) == 7


def test_limits_say_what_a_model_takes() -> None:
    assert (
        ScriptedModel([], limits=Limits(context=8192, concurrency=2, schema=False)).limits.schema
        is False
    )
