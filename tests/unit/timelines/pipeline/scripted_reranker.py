"""A reranker whose scores are known beforehand."""

from __future__ import annotations

from collections.abc import Callable, Sequence


class ScriptedReranker:
    """Scores a pair by a given function."""

    name = "scripted"

    def __init__(self, score: Callable[[str, str], float], *, threshold: float = 0.05) -> None:
        self._score = score
        self.threshold = threshold

    async def rerank(
        self,
        query: str,
        documents: Sequence[str],
        *,
        cosines: Sequence[float] | None = None,
        batch_size: int | None = None,
    ) -> Sequence[float]:
        return [self._score(query, document) for document in documents]
