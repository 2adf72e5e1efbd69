"""Facts of a server are used while it is away.

They are counts of prompts, and its context.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from llm_runtime.base import Message
from llm_runtime.calls.calling import Asker, MemoryLedger, ask_in_parts
from llm_runtime.calls.server_facts import CONTEXT, messages_sha256
from llm_runtime.errors import RequestRefused, Unavailable
from llm_runtime.prompts import Rendered
from llm_runtime.providers.openai_http import OpenAIModel
from tests.model_server import GRAMMAR, Answer, ModelServer

MESSAGES = [Message("user", "x" * 40)]


class Facts:
    def __init__(self) -> None:
        self.tokens: dict[tuple[str, str], int] = {}

    async def find(self, model: str, of: str) -> int | None:
        return self.tokens.get((model, of))

    async def keep(self, model: str, of: str, tokens: int) -> None:
        self.tokens[model, of] = tokens


def make_model(url: str, facts: Facts, model_name: str = "fake") -> OpenAIModel:
    model = OpenAIModel(base_url=url, model=model_name, backoff=0.01)
    model.facts = facts
    return model


def count(model: OpenAIModel) -> int:
    async def once() -> int:
        try:
            return await model.count_tokens(MESSAGES)
        finally:
            await model.close()

    return asyncio.run(once())


def test_messages_differ_by_role_and_by_boundary():
    a, b = Message("user", "ab"), Message("user", "c")
    assert messages_sha256([a, b]) != messages_sha256([Message("user", "a"), Message("user", "bc")])
    assert messages_sha256([a]) != messages_sha256([Message("system", "ab")])
    assert messages_sha256([a]) == messages_sha256((Message("user", "ab"),))
    assert len(messages_sha256([Message("user", "\ud800\x00")])) == 64


def test_a_count_outlives_the_server_and_one_that_was_never_made_does_not():
    facts = Facts()
    with ModelServer(lambda request, number: "12") as server:
        assert count(make_model(server.url, facts)) == 14
    assert count(make_model(server.url, facts)) == 14
    with pytest.raises(Unavailable):
        count(make_model(server.url, Facts()))


def test_a_learned_context_outlives_the_server_and_is_asked_for_again_when_it_is_back():
    facts = Facts()
    with ModelServer(lambda request, number: "12", context=9000) as server:
        asyncio.run(make_model(server.url, facts).learn())
        name = make_model(server.url, facts).name
    assert facts.tokens == {(name, CONTEXT): 9000}
    away = make_model(server.url, facts)
    asyncio.run(away.learn())
    assert away.limits.context == 9000
    with pytest.raises(Unavailable):
        asyncio.run(make_model(server.url, Facts()).learn())


def test_another_context_of_a_server_that_came_back_replaces_the_known_one():
    facts = Facts()
    with ModelServer(lambda request, number: "12", context=9000) as server:
        model = make_model(server.url, facts)
        facts.tokens[model.name, CONTEXT] = 5000
        asyncio.run(model.learn())
    assert (model.limits.context, facts.tokens[model.name, CONTEXT]) == (9000, 9000)


def test_an_estimate_is_kept_of_a_server_that_cannot_count_and_not_of_one_that_does_not_serve_the_model(
    monkeypatch,
):
    """40 characters at 2.5 a token and 8 for the message."""

    async def cannot(self: OpenAIModel, messages: object) -> int:
        raise RequestRefused("no such call")

    monkeypatch.setattr(OpenAIModel, "_request_count", cannot)
    facts = Facts()
    with ModelServer(lambda request, number: "12") as server:
        assert count(make_model(server.url, facts, "other")) == 24
        assert facts.tokens == {}
        assert count(make_model(server.url, facts)) == 24
        assert list(facts.tokens.values()) == [24]


def test_what_was_split_at_the_server_is_split_again_without_it():
    """Two items split at the server are asked one by one without it."""

    def answer(request: object, number: int) -> Answer | str:
        return Answer(status=400, message=GRAMMAR) if number == 1 else str(number)

    facts, ledger = Facts(), MemoryLedger()

    def asked(url: str) -> dict[str, str]:
        asker = Asker("timer", make_model(url, facts), ledger)

        async def ask(items: Sequence[str]) -> Mapping[str, str]:
            prompt = Rendered("p", "0" * 64, (Message("user", " ".join(items)),))
            text = await asker.ask(
                prompt, lambda reply: reply.text, max_tokens=10, part="p", schema={"type": "object"}
            )
            return dict.fromkeys(items, text)

        return asker.run(ask_in_parts, ["a", "b"], ask)

    with ModelServer(answer) as server:
        first = asked(server.url)
    assert sorted(first.values()) == ["2", "3"]
    assert asked(server.url) == first
    assert [c.error for c in ledger.calls] == ["SchemaRefused", "", ""]
    assert len(ledger.reused) == 2
