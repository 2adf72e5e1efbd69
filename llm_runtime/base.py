"""Define the protocols of a language model, an embedder and a reranker.

Pipelines know these protocols only; `roles.py` chooses the provider for each. A
provider that needs a heavy package imports it inside a function, so importing this package costs
nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

#: (n, d) float32; every row has length 1, so a dot product is a cosine.
Vectors = NDArray[np.float32]


class ProviderError(RuntimeError):
    """A provider cannot be built or used.

    The message says what is missing and how to supply it, never what was asked or answered.

    Trying again would fail the same way, unless a subclass says otherwise.
    """

    log_safe = True
    retryable = False


@runtime_checkable
class Embedder(Protocol):
    """Text → vectors.

    `name` is stored beside every vector: vectors of two names are never compared.

    Synchronous code waits for a call with `llm_runtime.calls.blocking.run_blocking`.
    """

    @property
    def name(self) -> str: ...

    async def dimension(self) -> int:
        """Length of a vector; may read weights or ask a server."""
        ...

    async def embed_queries(
        self, texts: Sequence[str], *, batch_size: int | None = None
    ) -> Vectors:
        """Return (len(texts), dimension), L2-normalised, in input order.

        Instruction-tuned models add their query instruction.
        """
        ...

    async def embed_documents(
        self, texts: Sequence[str], *, batch_size: int | None = None
    ) -> Vectors:
        """(len(texts), dimension), L2-normalised, in input order."""
        ...


@runtime_checkable
class Reranker(Protocol):
    """Relevance ρ of documents to one query, each 0…1.

    Scores of two rerankers are not comparable: `threshold` is the ρ below which this one's
    candidates are dropped (protocol section 2, stage 5).
    """

    @property
    def name(self) -> str: ...

    @property
    def threshold(self) -> float: ...

    async def rerank(
        self,
        query: str,
        documents: Sequence[str],
        *,
        cosines: Sequence[float] | None = None,
        batch_size: int | None = None,
    ) -> Sequence[float]:
        """Return one score for each document, in input order.

        `cosines` are the dense scores that retrieval already has; a model may ignore them.
        """
        ...


@dataclass(frozen=True, slots=True)
class Message:
    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One call.

    `schema` asks for constrained decoding to that JSON schema if the server supports it.
    """

    messages: tuple[Message, ...]
    max_tokens: int
    schema: Mapping[str, Any] | None = None
    temperature: float = 0.0
    seed: int | None = None
    #: Fields of the server's own ("chat_template_kwargs", "priority"), sent as they are.
    extra: Mapping[str, Any] = field(default_factory=dict)

    def sha256(self, model: str) -> str:
        """Return the digest of everything that decides the answer.

        With `model`: equal requests have equal digests, on every machine.
        """
        parts = {
            "model": model,
            "messages": [[m.role, m.content] for m in self.messages],
            "max_tokens": self.max_tokens,
            "schema": self.schema,
            "temperature": self.temperature,
            "seed": self.seed,
            "extra": dict(self.extra),
        }
        text = json.dumps(parts, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class ModelReply:
    """An unparsed reply.

    `finish_reason` "length" means that the text is cut. `reasoning` is what the server sent apart
    from the answer (reasoning models); it is stored and never parsed.
    """

    text: str
    finish_reason: str = "stop"
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    raw: Mapping[str, Any] = field(default_factory=dict)
    reasoning: str = ""


class Thinking(StrEnum):
    """Where a model thinks before it answers."""

    NONE = "none"
    #: By itself, apart from the answer or in `<think>`.
    NATIVE = "native"
    #: In a field of the answer, or before a table.
    ANSWER = "answer"


@dataclass(frozen=True, slots=True)
class Limits:
    """What a model can take.

    `context` counts tokens of prompt and answer together; `concurrency` calls at once to its
    endpoint.
    """

    context: int
    concurrency: int = 8
    #: Whether the server follows a JSON schema; without it the table protocol is used.
    schema: bool = True
    #: Tokens of thinking in the answer; 0 leaves the reasoning out, for models that think by
    #: themselves or are too small to end a thought.
    reasoning: int = 4000
    #: Tokens of the model's own thinking, which count against those of the answer.
    native: int = 0

    def __post_init__(self) -> None:
        if self.reasoning and self.native:
            raise ValueError("a model thinks by itself or in its answer, not both")

    @property
    def thinking(self) -> Thinking:
        if self.native:
            return Thinking.NATIVE
        return Thinking.ANSWER if self.reasoning else Thinking.NONE


@runtime_checkable
class LanguageModel(Protocol):
    """A model behind an endpoint. One instance may serve many calls at once."""

    @property
    def name(self) -> str: ...

    @property
    def limits(self) -> Limits: ...

    @property
    def extra(self) -> Mapping[str, Any]:
        """Return the server's own fields that every request carries.

        They come from the settings and decide answers, so `Asker` writes them into each request.
        """
        ...

    async def generate(self, request: ModelRequest) -> ModelReply:
        """Return one reply.

        Raises a ModelError (`llm_runtime.errors`) that says how the request ended.
        """
        ...

    async def count_tokens(self, messages: Sequence[Message]) -> int:
        """Return the tokens of the rendered prompt.

        By the model's own tokenizer if the server offers it, else an upper estimate.
        """
        ...


@runtime_checkable
class Served(Protocol):
    """Additions of a model behind a server.

    Facts to learn from it, and connections that belong to one event loop.
    """

    async def learn(self) -> None:
        """Ask the server once for what the settings leave open.

        Raises Unavailable, RequestRefused.
        """
        ...

    async def close(self) -> None:
        """Close the connections of the running event loop."""
        ...
