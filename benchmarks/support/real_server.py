"""Measure the real server on this CPU.

The backbone's calls are compared with the same calls sent at once.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from llm_runtime.base import ModelRequest
from llm_runtime.calls.calling import Asker, MemoryLedger
from llm_runtime.providers.openai_http import OpenAIModel
from tests.verification.asking import ANCHOR, load_plain_options, make_marked_note, model
from tests.verification.vllm_server import (
    GENERATE,
    NotInstalled,
    Server,
    environment,
    language_model,
)
from timelines.backbones.prompted.timer import PromptedTimer
from timelines.pipeline.config import PipelineConfig

CASES, EVENTS, BATCH = 6, 6, 2


def measure_server() -> None:
    """Print tokens a second of both and their ratio.

    If the server is not installed, a line says why.
    """
    try:
        folder = environment()
    except NotInstalled as error:
        print(f"no real server here: {error}")
        return
    with tempfile.TemporaryDirectory() as place:
        server = Server(
            folder, language_model(folder), "smol", GENERATE, Path(place) / "server.log"
        )
        try:
            server.start()
            _compare(server)
        finally:
            server.stop()


def _compare(server: Server) -> None:
    ledger, client = MemoryLedger(), model(server)
    asker = Asker("timer", client, ledger, extra=load_plain_options(server))
    timer = PromptedTimer(asker, PipelineConfig(infer_batch_size=BATCH))
    notes = [
        replace(make_marked_note(EVENTS), text=f"{make_marked_note(EVENTS).text} Case {n}.")
        for n in range(CASES)
    ]
    timer.infer(make_marked_note(1), ANCHOR)
    ledger.calls.clear()
    began = time.perf_counter()
    with ThreadPoolExecutor(CASES) as pool:
        list(pool.map(lambda note: timer.infer(note, ANCHOR), notes))
    ours = time.perf_counter() - began
    written = sum(call.reply.tokens_out or 0 for call in ledger.calls if call.reply)
    cached = sum(call.reply.tokens_cached or 0 for call in ledger.calls if call.reply)
    read = sum(call.reply.tokens_in or 0 for call in ledger.calls if call.reply)
    # Other seeds and another first word: the same work, of which only the common beginning of all
    # calls is in the cache.
    began = time.perf_counter()
    again = asyncio.run(_send_all(client, [_vary_request(call.request) for call in ledger.calls]))
    ideal = time.perf_counter() - began
    mine, best = written / ours, again / ideal
    print(
        f"real server, {CASES} cases at once, {len(ledger.calls)} calls: {mine:.0f} tokens/s; sent"
        f" at once {best:.0f}; {mine / best:.2f}"
    )
    print(f"prompt tokens it computed: {read - cached} of {read}, {(read - cached) / read:.0%}")


def _vary_request(request: ModelRequest) -> ModelRequest:
    messages = tuple(
        replace(m, content=m.content.replace("event", "thing")) for m in request.messages
    )
    return replace(request, messages=messages)


async def _send_all(client: OpenAIModel, requests: list[ModelRequest]) -> int:
    """Tokens written."""
    try:
        replies = await asyncio.gather(*(client.generate(request) for request in requests))
    finally:
        await client.close()
    return sum(reply.tokens_out or 0 for reply in replies)
