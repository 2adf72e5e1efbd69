"""What a language model, an embedder and a reranker are to the rest of the code.

Pipelines know these protocols only; `roles.py` decides which provider stands behind them. A provider
that needs a heavy package imports it inside a function, so importing this package costs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

#: (n, d) float32; every row has length 1, so a dot product is a cosine.
Vectors = NDArray[np.float32]


class ProviderError(RuntimeError):
    """A provider cannot be built or used; the message says what is missing and how to supply it."""


@runtime_checkable
class Embedder(Protocol):
    """Text → vectors. `name` is stored beside every vector: vectors of two names are never compared."""

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    def embed_queries(self, texts: Sequence[str], *, batch_size: int | None = None) -> Vectors:
        """(len(texts), dimension), L2-normalised, in input order; instruction-tuned models add their query instruction."""
        ...

    def embed_documents(self, texts: Sequence[str], *, batch_size: int | None = None) -> Vectors:
        """(len(texts), dimension), L2-normalised, in input order."""
        ...


@runtime_checkable
class Reranker(Protocol):
    """Relevance ρ of documents to one query, each 0…1.

    Scores of two rerankers are not comparable: `threshold` is the ρ below which this one's candidates
    are dropped (protocol section 2, stage 5).
    """

    @property
    def name(self) -> str: ...

    @property
    def threshold(self) -> float: ...

    def rerank(
        self,
        query: str,
        documents: Sequence[str],
        *,
        cosines: Sequence[float] | None = None,
        batch_size: int | None = None,
    ) -> Sequence[float]:
        """One score a document, in input order. `cosines` are the dense scores retrieval already has; a model may ignore them."""
        ...


@dataclass(frozen=True, slots=True)
class Message:
    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One call. `schema` asks for constrained decoding to that JSON schema where the server supports it."""

    messages: tuple[Message, ...]
    max_tokens: int
    schema: Mapping[str, Any] | None = None
    temperature: float = 0.0
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class ModelReply:
    """What came back, unparsed. `finish_reason` "length" means that the text is cut."""

    text: str
    finish_reason: str = "stop"
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    raw: Mapping[str, Any] = field(default_factory=dict)


@runtime_checkable
class LanguageModel(Protocol):
    @property
    def name(self) -> str: ...

    def generate(self, request: ModelRequest) -> ModelReply:
        """One reply; raises ProviderError when the provider gave none."""
        ...
