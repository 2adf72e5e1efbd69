"""Embedders and rerankers behind an HTTP server.

vLLM with `--runner pooling`, or another that answers `/v1/embeddings` and `/v1/rerank`.

One server serves one model. Batches go out at once, as many as the endpoint has slots for. Three
jittered attempts on connect, timeout, 429 and 5xx; every outcome is one of `llm_runtime.errors`.
Texts that are too long are cut by the server at `max_tokens`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cached_property
from typing import Any

import numpy as np

from llm_runtime.base import Vectors
from llm_runtime.calls.calling import gather_results
from llm_runtime.calls.slots import take_slot
from llm_runtime.errors import RequestRefused, Unavailable
from llm_runtime.providers.http_client import TRIES, call_with_retries, client_library, parse_host

#: Texts a call: few enough that an answer stays small, enough to keep a server busy.
EMBED_BATCH = 64
RERANK_BATCH = 64

#: The chat form in which Qwen3-Reranker was trained, as the documentation of vLLM has clients write
#: it: before and after a text.
QWEN3_FORM: Mapping[str, tuple[str, str]] = {
    "query": (
        (
            "<|im_start|>system\nJudge whether the Document meets the requirements based on the"
            ' Query and the Instruct provided. Note that the answer can only be "yes" or'
            ' "no".<|im_end|>\n<|im_start|>user\n<Instruct>: {task}\n<Query>: '
        ),
        "\n",
    ),
    "document": ("<Document>: ", "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"),
}


class _Pooling:
    """One model of one server.

    `concurrency` limits the requests of this process to the endpoint. Texts are cut at
    `max_tokens`. Raises ProviderError if the address is not one.
    """

    def __init__(
        self,
        *,
        base_url: str,
        model: str,
        task: str = "",
        max_tokens: int | None = None,
        api_key: str = "",
        concurrency: int = 8,
        timeout: float = 300.0,
        backoff: float = 1.0,
    ) -> None:
        self.endpoint = parse_host(base_url, port=8002)
        self.base_url, self.model = base_url.rstrip("/"), model
        #: The model's, without the server: vectors of one model are the same wherever it runs.
        self.name = model.rstrip("/").split("/")[-1]
        self._task = task
        self._api_key, self._concurrency, self._timeout, self._backoff = (
            api_key or "none",
            concurrency,
            timeout,
            backoff,
        )
        self._cut = {} if max_tokens is None else {"truncate_prompt_tokens": max_tokens}
        # A client belongs to one event loop, and is open while calls of that loop are.
        self._open: dict[asyncio.AbstractEventLoop, tuple[Any, int]] = {}

    def ready(self) -> None:
        """Import the client library, a second or more the first time.

        Raises ProviderError if it is missing.
        """
        _ = self._library

    async def state(self) -> tuple[Mapping[str, Any], str]:
        """Return (what the endpoint says of this model, its metrics).

        Metrics are text or ""; both are asked once. Raises Unavailable, RequestRefused.
        """
        async with self._client() as client:
            page = await self._retry(lambda: client.get("/models", cast_to=dict[str, Any]), 1)
            served = next(
                (entry for entry in page.get("data") or () if entry.get("id") == self.model), None
            )
            if served is None:
                raise RequestRefused(
                    f"the server at {self.endpoint} does not serve the model {self.model}"
                )
            try:
                metrics = await client.get(
                    f"{self.base_url.removesuffix('/v1')}/metrics", cast_to=str
                )
            except self._library.OpenAIError:
                metrics = ""
            return served, str(metrics)

    async def _post(self, path: str, **body: Any) -> dict[str, Any]:
        """The answer's JSON. Raises Unavailable, RequestRefused."""
        whole = {"model": self.model, **self._cut, **body}
        async with self._client() as client, take_slot(self.endpoint, self._concurrency):
            return await self._retry(lambda: client.post(path, body=whole, cast_to=dict[str, Any]))

    async def _retry(
        self, call: Callable[[], Awaitable[dict[str, Any]]], tries: int = TRIES
    ) -> dict[str, Any]:
        return await call_with_retries(
            call, name=self.model, refusal=self._refusal, tries=tries, backoff=self._backoff
        )

    def _refusal(self, status: int, message: str) -> RequestRefused:
        return RequestRefused(f"{self.model}: the server refuses the request ({status})")

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[Any]:
        """The running loop's client, which the last of its users closes."""
        loop = asyncio.get_running_loop()
        client, users = self._open.get(loop) or (self._connect(), 0)
        self._open[loop] = (client, users + 1)
        try:
            yield client
        finally:
            _, users = self._open.pop(loop)
            if users > 1:
                self._open[loop] = (client, users - 1)
            else:
                await client.close()

    def _connect(self) -> Any:
        timeout = self._library.Timeout(self._timeout, connect=5.0)
        return self._library.AsyncOpenAI(
            base_url=self.base_url, api_key=self._api_key, max_retries=0, timeout=timeout
        )

    @cached_property
    def _library(self) -> Any:
        return client_library("an embedder or reranker over HTTP")


class HTTPEmbedder(_Pooling):
    """Embedder over `/v1/embeddings`.

    With a `task`, queries are written as Qwen3-Embedding was trained on them (`Instruct: …`).
    """

    _dimension: int | None = None

    async def dimension(self) -> int:
        """Return the dimension of the server's vectors, asked for once.

        Raises Unavailable, RequestRefused.
        """
        if self._dimension is None:
            self._dimension = (await self._embed(["length"], 1)).shape[1]
        return self._dimension

    async def embed_queries(
        self, texts: Sequence[str], *, batch_size: int | None = None
    ) -> Vectors:
        asked = (
            [f"Instruct: {self._task}\nQuery:{text}" for text in texts]
            if self._task
            else list(texts)
        )
        return await self._embed(asked, batch_size or EMBED_BATCH)

    async def embed_documents(
        self, texts: Sequence[str], *, batch_size: int | None = None
    ) -> Vectors:
        return await self._embed(list(texts), batch_size or EMBED_BATCH)

    async def _embed(self, texts: list[str], size: int) -> Vectors:
        if not texts:
            return np.empty((0, await self.dimension()), dtype=np.float32)
        found = await gather_results(
            [self._batch(texts[at : at + size]) for at in range(0, len(texts), size)]
        )
        joined = np.concatenate(found)
        lengths = np.linalg.norm(joined, axis=1, keepdims=True)
        unit: Vectors = (joined / np.maximum(lengths, 1e-12)).astype(np.float32)
        return unit

    async def _batch(self, texts: list[str]) -> Vectors:
        answer = await self._post("/embeddings", input=texts, encoding_format="float")
        try:
            listed = sorted(answer["data"], key=lambda item: item["index"])
            vectors = np.asarray([item["embedding"] for item in listed], dtype=np.float32)
        except (KeyError, TypeError, ValueError):
            raise Unavailable(f"{self.name}: the server sent something that is no answer") from None
        if vectors.ndim != 2 or [item["index"] for item in listed] != list(range(len(texts))):
            raise Unavailable(
                f"{self.name}: the server sent {len(vectors)} vectors for {len(texts)} texts"
            )
        return vectors


class HTTPReranker(_Pooling):
    """Reranker over `/v1/rerank`.

    `threshold` belongs to the model (0.05 to Qwen3's P(yes)) and is required.

    With a `task`, query and documents are written as Qwen3-Reranker was trained on them. Compare
    the scores of a newly served model with its reference (`qwen_reranker`) once: wrong rankings
    from a wrong form look like right ones.
    """

    def __init__(self, *, threshold: float, **options: Any) -> None:
        super().__init__(**options)
        self.threshold = threshold

    async def rerank(
        self,
        query: str,
        documents: Sequence[str],
        *,
        cosines: Sequence[float] | None = None,
        batch_size: int | None = None,
    ) -> Sequence[float]:
        """Return the server's relevance of each document, in input order.

        The cosines are not used.
        """
        size = batch_size or RERANK_BATCH
        asked, listed = (
            self._format_text("query", query),
            [self._format_text("document", text) for text in documents],
        )
        found = await gather_results(
            [self._batch(asked, listed[at : at + size]) for at in range(0, len(listed), size)]
        )
        return [score for batch in found for score in batch]

    async def _batch(self, query: str, documents: list[str]) -> list[float]:
        answer = await self._post("/rerank", query=query, documents=documents)
        try:
            scores = {
                int(item["index"]): float(item["relevance_score"]) for item in answer["results"]
            }
        except (KeyError, TypeError, ValueError):
            raise Unavailable(f"{self.name}: the server sent something that is no answer") from None
        if sorted(scores) != list(range(len(documents))):
            raise Unavailable(
                f"{self.name}: the server scored {len(scores)} of {len(documents)} documents"
            )
        return [scores[n] for n in range(len(documents))]

    def _format_text(self, what: str, text: str) -> str:
        if not self._task:
            return text
        before, after = QWEN3_FORM[what]
        return before.replace("{task}", self._task) + text + after
