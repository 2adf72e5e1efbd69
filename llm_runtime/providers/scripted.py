"""Providers whose answers are known beforehand.

For tests, demonstrations and dry runs. They are ordinary providers, chosen by role like any other,
and none of them understands anything.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from llm_runtime.base import Limits, Message, ModelReply, ModelRequest, ProviderError, Vectors

_WORD = re.compile(r"[a-z0-9.]+")
_AMPLE = Limits(context=128_000)


class HashingEmbedder:
    """Bag of words hashed into `dimension` signed buckets.

    Equal words, equal direction; same on every machine.
    """

    def __init__(self, *, dimension: int = 64) -> None:
        self._dimension = dimension
        self.name = f"hashing-{dimension}"

    async def dimension(self) -> int:
        return self._dimension

    async def embed_queries(
        self, texts: Sequence[str], *, batch_size: int | None = None
    ) -> Vectors:
        return self._embed(texts)

    async def embed_documents(
        self, texts: Sequence[str], *, batch_size: int | None = None
    ) -> Vectors:
        return self._embed(texts)

    def _embed(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), self._dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in _WORD.findall(text.lower()) or [""]:
                digest = hashlib.blake2b(word.encode(), digest_size=8).digest()
                vectors[row, int.from_bytes(digest[:4], "big") % self._dimension] += (
                    1.0 if digest[4] & 1 else -1.0
                )
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        # Words whose signs cancel would leave no direction: such a text points along the first
        # axis.
        vectors[lengths[:, 0] == 0, 0] = 1.0
        lengths[lengths == 0] = 1.0
        unit: Vectors = (vectors / lengths).astype(np.float32)
        return unit


class ScriptedModel:
    """Answers from a list in order, or by a function of the request.

    It remembers the requests.

    Raises ProviderError when the list is over. Tokens are counted as four characters each.
    """

    def __init__(
        self,
        replies: Iterable[str | ModelReply] | Callable[[ModelRequest], str | ModelReply],
        *,
        name: str = "scripted",
        limits: Limits = _AMPLE,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.limits = limits
        self.extra: Mapping[str, Any] = extra or {}
        self.requests: list[ModelRequest] = []
        self._answer = replies if callable(replies) else None
        self._replies = iter(()) if callable(replies) else iter(replies)

    async def generate(self, request: ModelRequest) -> ModelReply:
        self.requests.append(request)
        if self._answer is not None:
            return _reply(self._answer(request))
        try:
            return _reply(next(self._replies))
        except StopIteration:
            raise ProviderError(
                f"the script of model '{self.name}' ended after {len(self.requests) - 1} replies"
            ) from None

    async def count_tokens(self, messages: Sequence[Message]) -> int:
        return sum(len(m.content) // 4 + 4 for m in messages)


def _reply(given: str | ModelReply) -> ModelReply:
    return ModelReply(given) if isinstance(given, str) else given
