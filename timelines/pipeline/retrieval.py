"""Stage 4b: find and rank series summaries for each query.

Every candidate is recorded. Dense: top 10 summaries of this encounter by cosine. Rerank: ρ of each
pair. Candidates that pass the threshold and are in the top 3 of their query are retained; the fate
of every other candidate gives the reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Protocol

from llm_runtime.base import Embedder, Reranker, Vectors
from llm_runtime.calls.blocking import run_blocking
from llm_runtime.calls.calling import gather_results
from timelines.domain import Candidate, Query
from timelines.pipeline.config import PipelineConfig, Variant

KEPT = "kept"
BELOW_THRESHOLD = "below threshold"
OUTSIDE_TOP = "outside the top summaries"


class SeriesSearch(Protocol):
    """The series of one encounter, searchable by vector."""

    def top_k(self, queries: Vectors, k: int) -> Sequence[Sequence[tuple[str, float]]]:
        """Return at most k (event, cosine) for each row of `queries` (n, d).

        Best first, ties by event name.
        """
        ...


def retrieve(
    queries: Sequence[Query],
    summaries: Mapping[str, str],
    *,
    embedder: Embedder,
    search: SeriesSearch,
    reranker: Reranker | None,
    config: PipelineConfig,
) -> tuple[Candidate, ...]:
    """Return all candidates of all queries, with scores and fate.

    They are in query order and dense rank. `summaries` maps event → retrieval text. Without a
    reranker, or in variant `no_reranker`, cosine order decides, the threshold is off and the same
    caps apply.
    """
    if not queries or not summaries:
        return ()
    # Many occurrences ask the same question (every potassium of a stay): each text is embedded and
    # searched once.
    texts = {text: i for i, text in enumerate(dict.fromkeys(q.text for q in queries))}
    vectors = run_blocking(embedder.embed_queries(list(texts), batch_size=config.embed_batch_size))
    answers = search.top_k(vectors, config.top_k_dense)
    found = [answers[texts[q.text]] for q in queries]
    active = None if config.variant is Variant.NO_RERANKER else reranker
    ranked = [
        [
            Candidate(query.uid, query.ordinal, event, rank, score)
            for rank, (event, score) in enumerate(hits, start=1)
        ]
        for query, hits in zip(queries, found, strict=True)
    ]
    if active is not None:
        pairs = zip(queries, ranked, strict=True)
        ranked = run_blocking(
            gather_results(
                [_rerank(query, hits, summaries, active, config) for query, hits in pairs]
            )
        )
    threshold = rho_threshold(active, config)
    return tuple(c for hits in ranked for c in select(hits, threshold, config.top_k_rerank))


def reselect(
    candidates: Sequence[Candidate], reranker: Reranker | None, config: PipelineConfig
) -> tuple[Candidate, ...]:
    """Decide the fates anew under `config`, with known scores.

    The result is what `retrieve` would give. `candidates` are in the order of `retrieve`, of the
    same queries, embedder and reranker.
    """
    active = None if config.variant is Variant.NO_RERANKER else reranker
    decided: list[Candidate] = []
    for _, found in groupby(candidates, key=lambda c: (c.uid, c.query)):
        scored = [c if active else replace(c, rerank_score=None) for c in found]
        decided += select(scored, rho_threshold(active, config), config.top_k_rerank)
    return tuple(decided)


def rho_threshold(reranker: Reranker | None, config: PipelineConfig) -> float | None:
    """Return the ρ that applies.

    None without a reranker, the run's own if set, else the reranker's.
    """
    if reranker is None:
        return None
    return reranker.threshold if config.rho_threshold is None else config.rho_threshold


def select(candidates: Sequence[Candidate], threshold: float | None, top: int) -> list[Candidate]:
    """Decide the fate of one query's candidates.

    ρ ≥ threshold, then the `top` best by ρ (cosine without ρ). The better dense rank wins a tie.
    The order of the input does not change.
    """
    passed = [
        c
        for c in candidates
        if threshold is None or c.rerank_score is None or c.rerank_score >= threshold
    ]
    best = {id(c) for c in sorted(passed, key=lambda c: (-relevance(c), c.dense_rank))[:top]}
    decided = []
    for c in candidates:
        if id(c) in best:
            decided.append(replace(c, kept=True, fate=KEPT))
        else:
            decided.append(
                replace(
                    c,
                    kept=False,
                    fate=OUTSIDE_TOP if any(c is p for p in passed) else BELOW_THRESHOLD,
                )
            )
    return decided


def relevance(candidate: Candidate) -> float:
    """Return ρ if a reranker gave one, else the cosine."""
    return candidate.dense_score if candidate.rerank_score is None else candidate.rerank_score


async def _rerank(
    query: Query,
    candidates: list[Candidate],
    summaries: Mapping[str, str],
    reranker: Reranker,
    config: PipelineConfig,
) -> list[Candidate]:
    if not candidates:
        return candidates
    scores = await reranker.rerank(
        query.text,
        [summaries[c.event] for c in candidates],
        cosines=[c.dense_score for c in candidates],
        batch_size=config.rerank_batch_size,
    )
    return [
        replace(c, rerank_score=float(score)) for c, score in zip(candidates, scores, strict=True)
    ]
