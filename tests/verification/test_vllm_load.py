"""A real vLLM server under several calls.

It shares their beginning, answers them together, and stops when nobody waits.
"""

from __future__ import annotations

import asyncio
import time

import pytest

from llm_runtime.base import Message, ModelRequest
from llm_runtime.calls.calling import Asker, MemoryLedger
from llm_runtime.calls.stopping import StoppableModel
from tests.verification.asking import ANCHOR, load_plain_options, make_marked_note, model
from timelines.backbones.prompted.timer import PromptedTimer
from timelines.pipeline.config import PipelineConfig

RUNNING = "vllm:num_requests_running"
HITS = "vllm:prefix_cache_hits_total"
FULL_LENGTH = {"ignore_eos": True}


def story(name, tokens):
    return ModelRequest(
        (Message("user", f"Tell a long story about {name}."),), tokens, extra=FULL_LENGTH
    )


async def until(condition, seconds):
    """Return the seconds until the condition is true; fail after `seconds`."""
    begun = time.monotonic()
    while not await asyncio.to_thread(condition):
        assert time.monotonic() - begun < seconds, "the condition never became true"
        await asyncio.sleep(0.05)
    return time.monotonic() - begun


def test_the_calls_of_a_stage_share_their_beginning(server):
    note = make_marked_note(6)
    ledger = MemoryLedger()
    before = server.metric(HITS)
    asker = Asker("timer", model(server, concurrency=1), ledger, extra=load_plain_options(server))
    PromptedTimer(asker, PipelineConfig(infer_batch_size=2)).infer(note, ANCHOR)
    cached = [call.reply.tokens_cached for call in ledger.calls]
    assert server.metric(HITS) - before == sum(cached)
    # Of every call after the first, all but its own rows (and what is left of a block of tokens)
    # was there.
    assert all(
        tokens > 0.8 * call.reply.tokens_in
        for tokens, call in zip(cached[1:], ledger.calls[1:], strict=True)
    )


def test_calls_at_once_are_answered_together(server):
    tokens, names = 48, ["ants", "bees", "cats", "dogs"]

    async def compare():
        client = model(server)
        begun = time.monotonic()
        for name in names:
            await client.generate(story(name, tokens))
        alone = time.monotonic() - begun
        begun = time.monotonic()
        waiting = asyncio.gather(*(client.generate(story(name, tokens)) for name in names))
        await until(lambda: server.metric(RUNNING) >= 2, 30)
        replies = await waiting
        together = time.monotonic() - begun
        await client.close()
        assert [r.tokens_out for r in replies] == [tokens] * len(names)
        return alone / together

    assert asyncio.run(compare()) > 1.2


def test_more_calls_than_allowed_wait_here_and_not_at_the_server(server):
    async def look():
        client = model(server, concurrency=2)
        waiting = asyncio.gather(
            *(client.generate(story(name, 24)) for name in ("ants", "bees", "cats", "dogs"))
        )
        most = 0.0
        while not waiting.done():
            most = max(most, await asyncio.to_thread(server.metric, RUNNING))
            await asyncio.sleep(0.05)
        await client.close()
        return most

    assert asyncio.run(look()) == 2


def test_a_cancelled_call_frees_the_server(server):
    async def cancel():
        client = model(server)
        task = asyncio.create_task(client.generate(story("ants", 3000)))
        await until(lambda: server.metric(RUNNING) == 1, 30)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        took = await until(lambda: server.metric(RUNNING) == 0, 15)
        await client.close()
        assert task.cancelled()
        return took

    assert asyncio.run(cancel()) < 15


def test_work_that_is_no_longer_wanted_frees_the_server(server):
    class Lost(Exception):
        pass

    def lost():
        if server.metric(RUNNING) == 1:
            raise Lost

    async def work():
        client = model(server)
        with pytest.raises(Lost):
            await StoppableModel(client, lost, every=0.1).generate(story("ants", 3000))
        await until(lambda: server.metric(RUNNING) == 0, 15)
        await client.close()

    asyncio.run(work())
