"""A real vLLM server's answers, refusals and cuts.

They are followed to the timeline.
"""

from __future__ import annotations

import asyncio

import pytest

from llm_runtime.base import Message, ModelRequest
from llm_runtime.calls.calling import Asker, MemoryLedger
from llm_runtime.errors import (
    AttemptsExhausted,
    ModelError,
    PromptTooLong,
    RequestRefused,
    SchemaRefused,
    TooLarge,
    Truncated,
    Unavailable,
)
from llm_runtime.prompts import Rendered
from llm_runtime.structured import json_object, object_schema
from tests.marks import deep
from tests.verification.asking import ANCHOR, WINDOW, load_plain_options, make_marked_note, model
from timelines.backbones.prompted.reviser import PromptedReviser
from timelines.backbones.prompted.timer import PromptedTimer
from timelines.domain import Entry, Expansion, Timeline, TimelineKind
from timelines.pipeline.config import PipelineConfig

FULL_LENGTH = {"ignore_eos": True}
WORD = object_schema({"word": {"type": "string"}})


def question(text, tokens=8, **fields):
    return ModelRequest((Message("user", text),), tokens, **fields)


def send_all(client, *requests):
    """The replies to requests sent at once."""

    async def all_of_them():
        await client.learn()
        try:
            return await asyncio.gather(*(client.generate(r) for r in requests))
        finally:
            await client.close()

    return asyncio.run(all_of_them())


def count_tokens(client, text):
    async def count():
        try:
            return await client.count_tokens([Message("user", text)])
        finally:
            await client.close()

    return asyncio.run(count())


def test_the_server_tells_its_context_and_counts_as_it_charges(server):
    client = model(server)
    (reply,) = send_all(client, question("Count the tokens of this."))
    assert client.limits.context == 4096
    assert count_tokens(client, "Count the tokens of this.") == reply.tokens_in
    assert 1 <= reply.tokens_out <= 8
    assert reply.tokens_cached is not None


@pytest.mark.parametrize("identifiers", [4, *deep(8, 20)])
def test_identifiers_are_all_answered_in_their_order(server, identifiers):
    note = make_marked_note(identifiers)
    ledger = MemoryLedger()
    timer = PromptedTimer(
        Asker("timer", model(server), ledger, extra=load_plain_options(server)),
        PipelineConfig(infer_batch_size=identifiers),
    )
    timeline = timer.infer(note, ANCHOR)
    assert tuple(e.uid for e in timeline) == note.inventory.uids
    accepted = [call for call in ledger.calls if not call.error]
    assert len(accepted) == 1
    assert list(json_object(accepted[0].reply.text)) == list(note.inventory.uids)


@pytest.mark.deep
def test_a_table_is_a_whole_timeline_or_none(server):
    note = make_marked_note(1)
    ledger = MemoryLedger()
    timer = PromptedTimer(Asker("timer", model(server, output="table"), ledger), PipelineConfig())
    try:
        timeline = timer.infer(note, ANCHOR)
    except (AttemptsExhausted, Truncated):
        assert [call for call in ledger.calls if not call.error] == []
    else:
        assert tuple(e.uid for e in timeline) == note.inventory.uids
    assert ledger.calls
    assert all(call.reply is not None for call in ledger.calls), (
        "a refused answer was paid for, and is kept"
    )
    assert all(call.reasons for call in ledger.calls if call.error)
    assert all(call.request.schema is None for call in ledger.calls)


def test_a_prompt_longer_than_the_context_is_too_long(server):
    client = model(server)
    with pytest.raises(PromptTooLong):
        send_all(client, question("word " * 5000))


def test_a_note_longer_than_the_context_is_refused_before_it_is_sent(server):
    ledger = MemoryLedger()
    timer = PromptedTimer(Asker("timer", model(server), ledger), PipelineConfig())
    with pytest.raises(PromptTooLong):
        timer.infer(make_marked_note(400), ANCHOR)
    assert ledger.calls == []


@pytest.mark.deep
def test_tokens_that_the_server_takes_away_never_shorten_an_answer(server):
    # A context set too large by hand: nobody but the server notices, and it says nothing.
    client = model(server, context=100_000)
    long = "x " * (4096 - count_tokens(client, "x") - 30)
    (reply,) = send_all(client, question(long, tokens=500, extra=FULL_LENGTH))
    assert reply.finish_reason == "length"
    assert reply.tokens_out < 500, "fewer tokens than were asked for"
    ledger = MemoryLedger()
    asker = Asker("timer", client, ledger, extra=FULL_LENGTH)
    prompt = Rendered("long", "", (Message("user", long),))

    async def ask():
        return await asker.ask(prompt, lambda reply: reply.text, max_tokens=500, part="all of it")

    with pytest.raises(TooLarge):
        asker.run(ask)
    assert all(call.error for call in ledger.calls)


def test_a_cut_answer_says_that_it_is_cut(server):
    (reply,) = send_all(model(server), question("Say something long.", tokens=3, schema=WORD))
    assert (reply.finish_reason, reply.tokens_out) == ("length", 3)


def test_a_schema_that_the_server_cannot_hold_is_refused(server):
    unique = object_schema(
        {"words": {"type": "array", "items": {"type": "string"}, "uniqueItems": True}}
    )
    with pytest.raises(SchemaRefused):
        send_all(model(server), question("Words.", schema=unique))


def test_a_model_that_is_not_served_is_refused_without_another_try(server):
    with pytest.raises(RequestRefused):
        send_all(model(server, model="another", context=4096), question("x"))


def test_nobody_at_the_address_is_an_outage(server):
    client = model(server, base_url="http://127.0.0.1:9/v1", context=4096)
    with pytest.raises(Unavailable):
        send_all(client, question("x"))


def test_a_failed_call_is_a_model_error_that_quotes_nothing(server):
    with pytest.raises(ModelError) as caught:
        send_all(model(server), question("Mr. Doe's secret " * 2000))
    assert "Doe" not in str(caught.value)


@pytest.mark.deep
def test_two_timelines_may_keep_rows_and_take_over_those_of_the_first(server):
    note = make_marked_note(4)
    ledger = MemoryLedger()
    reviser = PromptedReviser(
        Asker("reviser", model(server), ledger, extra=load_plain_options(server)), PipelineConfig()
    )
    before = Timeline.complete(
        note.inventory, [Entry(uid, None) for uid in note.inventory.uids], TimelineKind.TEXT_ONLY
    )
    found = reviser.revise(note, before, Expansion(()), WINDOW, alternatives=2)
    assert 1 <= len(found) <= 2
    assert {tuple(e.uid for e in timeline) for timeline in found} == {note.inventory.uids}
    accepted = next(call for call in ledger.calls if not call.error)
    for number, timeline in enumerate(json_object(accepted.reply.text)["timelines"]):
        assert list(timeline) == [*note.inventory.uids, "why"]
        assert isinstance(timeline.pop("why"), list)
        words = {row for row in timeline.values() if isinstance(row, str)}
        assert words <= ({"keep", "first"} if number else {"keep"})
        assert all(4 <= len(row) <= 7 for row in timeline.values() if isinstance(row, list))
