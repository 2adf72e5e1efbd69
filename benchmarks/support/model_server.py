"""A simulated model server in its own process, without a model.

It has continuous batching at a fixed rate and a prefix cache, and speaks as much of the OpenAI API
as the client needs. A call waits for one of `slots` sequences, computes those prompt tokens that
are not in the cache at `prefill` tokens a second, and writes its answer at `decode` tokens a
second. Blocks of 16 tokens enter the cache when a call is admitted, as with vLLM, whose scheduler
lets calls of one step share them. A full cache drops the blocks used longest ago, the ends of
prompts first. Answers are valid ones, made from the prompt. Tokens are those of a proxy: runs of at
most four letters, single digits, signs.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

BLOCK = 16
_TOKEN = re.compile(r" ?[A-Za-z]{1,4}|\d|[^\sA-Za-z\d]|\s")
_DATA = r"<<<BEGIN {name} (?P<tag>[0-9a-f]{{8}})>>>\n(?P<body>.*?)\n<<<END {name} (?P=tag)>>>"


@dataclass(frozen=True)
class Rates:
    """What the server can do. Tokens a second are those of one sequence."""

    slots: int = 8
    prefill: float = 120_000.0
    decode: float = 4_500.0
    #: Size of the prefix cache in tokens ("GPU KV cache size" in vLLM's log).
    cache: int = 250_000


@dataclass
class Usage:
    """What the server did: seconds its slots were in use, and tokens."""

    calls: int = 0
    occupied: float = 0.0
    read: int = 0
    computed: int = 0
    written: int = 0
    begun: float = field(default=float("inf"))
    ended: float = 0.0

    def busy(self, slots: int) -> float:
        """The share of its slots in use, from the first call to the last answer."""
        return self.occupied / (slots * (self.ended - self.begun))


@dataclass
class ServerProcess:
    """A started server; `stop` stops it and returns its counts."""

    url: str
    _pipe: Connection

    def stop(self) -> Usage:
        self._pipe.send("stop")
        counts: Usage = self._pipe.recv()
        return counts


@contextmanager
def run_server(rates: Rates) -> Iterator[ServerProcess]:
    """Run the server in another process.

    Neither process then waits for the other's interpreter.
    """
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=_process, args=(there, rates), daemon=True
    )
    process.start()
    try:
        yield ServerProcess(f"http://127.0.0.1:{here.recv()}/v1", here)
    finally:
        process.terminate()
        process.join()


def split_tokens(text: str) -> list[str]:
    """The proxy's tokens of a text."""
    return _TOKEN.findall(text)


def _process(pipe: Connection, rates: Rates) -> None:
    asyncio.run(_serve(pipe, rates))


async def _serve(pipe: Connection, rates: Rates) -> None:
    engine = Engine(rates)
    server = await asyncio.start_server(engine.connection, "127.0.0.1", 0)
    pipe.send(server.sockets[0].getsockname()[1])
    await asyncio.to_thread(pipe.recv)
    pipe.send(engine.seen)


class Engine:
    """Slots, cache and counters."""

    def __init__(self, rates: Rates) -> None:
        self.rates, self.seen = rates, Usage()
        self._slots = asyncio.Semaphore(rates.slots)
        # The one used longest ago first.
        self._cache: dict[int, None] = {}

    async def connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        try:
            while line := await reader.readline():
                method, path, _ = line.decode().split(" ", 2)
                length = 0
                while (header := (await reader.readline()).strip()) != b"":
                    name, _, value = header.partition(b":")
                    length = int(value) if name.lower() == b"content-length" else length
                body = json.loads(await reader.readexactly(length)) if length else {}
                body_bytes = json.dumps(await self._answer(f"{method} {path}", body)).encode()
                head = (
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length:"
                    f" {len(body_bytes)}\r\n\r\n"
                )
                writer.write(head.encode() + body_bytes)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _answer(self, call: str, body: dict[str, Any]) -> dict[str, Any]:
        if call == "GET /v1/models":
            return {
                "object": "list",
                "data": [
                    {
                        "id": "made-up",
                        "object": "model",
                        "created": 0,
                        "owned_by": "x",
                        "max_model_len": 131_072,
                    }
                ],
            }
        prompt = split_tokens("\n".join(m["content"] for m in body["messages"]))
        if call == "POST /tokenize":
            return {"count": len(prompt)}
        return await self._chat(prompt, body)

    async def _chat(self, prompt: list[str], body: dict[str, Any]) -> dict[str, Any]:
        arrived = time.monotonic()
        self.seen.begun = min(self.seen.begun, arrived)
        text = answer(body)
        written = len(split_tokens(text))
        blocks = _blocks(prompt)
        async with self._slots:
            started = time.monotonic()
            known = (
                next((n for n, block in enumerate(blocks) if block not in self._cache), len(blocks))
                * BLOCK
            )
            self._use(blocks)
            await asyncio.sleep(
                (len(prompt) - known) / self.rates.prefill + written / self.rates.decode
            )
            ended = time.monotonic()
        seen = self.seen
        seen.calls += 1
        seen.occupied += ended - started
        seen.ended = max(seen.ended, ended)
        seen.read, seen.computed, seen.written = (
            seen.read + len(prompt),
            seen.computed + len(prompt) - known,
            seen.written + written,
        )
        usage = {
            "prompt_tokens": len(prompt),
            "completion_tokens": written,
            "total_tokens": len(prompt) + written,
            "prompt_tokens_details": {"cached_tokens": known},
        }
        choice = {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": text},
        }
        return {
            "id": "x",
            "object": "chat.completion",
            "created": 0,
            "model": "made-up",
            "choices": [choice],
            "usage": usage,
        }

    def _use(self, blocks: list[int]) -> None:
        for block in reversed(blocks):
            self._cache.pop(block, None)
            self._cache[block] = None
        while len(self._cache) * BLOCK > self.rates.cache:
            del self._cache[next(iter(self._cache))]


def _blocks(prompt: list[str]) -> list[int]:
    """Return a number for each whole block of a prompt.

    The number identifies the block and everything before it.
    """
    found, before = [], 0
    for at in range(0, len(prompt) - BLOCK + 1, BLOCK):
        before = hash((before, *prompt[at : at + BLOCK]))
        found.append(before)
    return found


def answer(body: dict[str, Any]) -> str:
    """Return a valid answer to any prompt of the stages.

    It follows the schema that was sent with the prompt.
    """
    text = body["messages"][1]["content"]
    schema = body["response_format"]["json_schema"]["schema"]
    if "SENTENCES" in text:
        sentences = [line.split(": ", 1)[1] for line in _data(text, "SENTENCES").split("\n")]
        return _json(
            {"reasoning": "r", **{str(n): _events(s) for n, s in enumerate(sentences, start=1)}}
        )
    if "timelines" in schema["properties"]:
        asked = schema["$defs"]["timeline"]["properties"]
        uids = [key for key in asked if key not in ("reasoning", "why")]
        count = schema["properties"]["timelines"]["minItems"]
        cites = "why" in asked
        why = {"why": _make_whys(uids)} if cites else {}
        listed = [
            {"reasoning": "r", **_make_revision(uids, n, cites=cites), **why} for n in range(count)
        ]
        return _json({"reasoning_summary": "r", "timelines": listed})
    uids = [key for key in schema["properties"] if key != "reasoning"]
    if "texts" in schema["$defs"]:
        return _json(
            {uid: ["laboratory lactate in blood", "first dose of an antibiotic"] for uid in uids}
        )
    return _json({"reasoning": "r", **_rows(uids, 0)})


def _events(sentence: str) -> list[dict[str, str]]:
    """Return about one event for eight words.

    Its quote is the word, its mention the words from it on.
    """
    words = sentence.split()
    chosen = [n for n in range(0, len(words), 8) if words[n].isalpha()]
    return [
        {
            "quote": words[n],
            "mention": " ".join(w for w in words[n : n + 5] if w.isalpha()),
            "polarity": "present",
            "kind": "finding",
        }
        for n in chosen
    ]


def _rows(uids: list[str], number: int) -> dict[str, Any]:
    rows: dict[str, Any] = {}
    for at, uid in enumerate(uids):
        hour = (at * 7 + number) % 97 - 20
        context = [[uids[at - 1]]] if at % 2 else []
        rows[uid] = [hour, hour - 6, hour + 12, int(at % 3 == 0), *context]
    return rows


def _make_revision(uids: list[str], number: int, *, cites: bool) -> dict[str, Any]:
    """Return rows of which one in five is unchanged from the text.

    In a later timeline, one in two of the others is as in the first. Where rows of the record can
    be cited, none is.
    """
    rows = _rows(uids, number)
    if cites:
        rows = {uid: [*row[:4], [], [], *row[4:]] for uid, row in rows.items()}
    for at, uid in enumerate(uids):
        if at % 5 == 0:
            rows[uid] = "keep"
        elif number and at % 2:
            rows[uid] = "first"
    return rows


def _make_whys(uids: list[str]) -> list[dict[str, str]]:
    """Return why one event in four moved."""
    return [{"uid4": uid, "words": "the record has it at this hour"} for uid in uids[1::4]]


def _data(text: str, name: str) -> str:
    found = re.search(_DATA.format(name=name), text, re.DOTALL)
    assert found is not None, name
    return found["body"]


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
