"""Stage 4b with a scripted search: ranks, ρ, fates."""

from collections.abc import Sequence

import numpy as np

from llm_runtime.base import Vectors
from llm_runtime.calls.blocking import run_blocking
from llm_runtime.providers.scripted import HashingEmbedder
from tests.unit.timelines.pipeline.scripted_reranker import ScriptedReranker
from timelines.domain import Query
from timelines.pipeline.config import PipelineConfig, Variant
from timelines.pipeline.retrieval import BELOW_THRESHOLD, KEPT, OUTSIDE_TOP, retrieve, rho_threshold

SUMMARIES = {e: f"summary of {e}" for e in "abcdef"}
RHO = {
    "summary of a": 0.04,
    "summary of b": 0.3,
    "summary of c": 0.9,
    "summary of d": 0.3,
    "summary of e": 0.05,
    "summary of f": 0.2,
}
RERANKER = ScriptedReranker(lambda _, document: RHO[document], threshold=0.05)


class FixedSearch:
    def __init__(self) -> None:
        self.asked: tuple[tuple[int, ...], int] | None = None

    def top_k(self, queries: Vectors, k: int) -> Sequence[Sequence[tuple[str, float]]]:
        self.asked = (queries.shape, k)
        return [
            [("a", 0.9), ("b", 0.8), ("c", 0.7), ("d", 0.6), ("e", 0.5), ("f", 0.4)][:k]
            for _ in queries
        ]


def test_threshold_then_top_three_ties_to_the_better_dense_rank() -> None:
    search = FixedSearch()
    found = retrieve(
        [Query("0a1b", 0, "q")],
        SUMMARIES,
        embedder=HashingEmbedder(dimension=8),
        search=search,
        reranker=RERANKER,
        config=PipelineConfig(),
    )
    assert search.asked == ((1, 8), 10)
    assert [(c.event, c.dense_rank, c.dense_score, c.rerank_score, c.fate) for c in found] == [
        ("a", 1, 0.9, 0.04, BELOW_THRESHOLD),
        ("b", 2, 0.8, 0.3, KEPT),
        ("c", 3, 0.7, 0.9, KEPT),
        ("d", 4, 0.6, 0.3, KEPT),
        ("e", 5, 0.5, 0.05, OUTSIDE_TOP),
        ("f", 6, 0.4, 0.2, OUTSIDE_TOP),
    ]
    assert [c.kept for c in found] == [False, True, True, True, False, False]


def test_no_reranker_means_cosine_order_without_threshold_and_the_same_caps() -> None:
    config = PipelineConfig(variant=Variant.NO_RERANKER, rho_threshold=0.99)
    found = retrieve(
        [Query("0a1b", 0, "q")],
        SUMMARIES,
        embedder=HashingEmbedder(),
        search=FixedSearch(),
        reranker=RERANKER,
        config=config,
    )
    assert [c.event for c in found if c.kept] == ["a", "b", "c"]
    assert {c.rerank_score for c in found} == {None}


def test_queries_keep_their_own_ranking() -> None:
    queries = [Query("0a1b", 0, "q"), Query("0a1b", 1, "r"), Query("a5d3", 0, "q")]
    found = retrieve(
        queries,
        SUMMARIES,
        embedder=HashingEmbedder(),
        search=FixedSearch(),
        reranker=RERANKER,
        config=PipelineConfig(top_k_dense=2),
    )
    assert [(c.uid, c.query, c.dense_rank) for c in found] == [
        (q.uid, q.ordinal, r) for q in queries for r in (1, 2)
    ]


def test_nothing_to_ask_or_to_search() -> None:
    for queries, summaries in (([], SUMMARIES), ([Query("0a1b", 0, "q")], {})):
        assert (
            retrieve(
                queries,
                summaries,
                embedder=HashingEmbedder(),
                search=FixedSearch(),
                reranker=RERANKER,
                config=PipelineConfig(),
            )
            == ()
        )


def test_each_reranker_has_its_own_threshold_and_a_run_may_override_it() -> None:
    assert rho_threshold(None, PipelineConfig(rho_threshold=0.5)) is None
    assert rho_threshold(RERANKER, PipelineConfig()) == 0.05
    assert rho_threshold(RERANKER, PipelineConfig(rho_threshold=0.0)) == 0.0


def test_hashing_embedder_is_normalised_and_deterministic() -> None:
    vectors = run_blocking(
        HashingEmbedder().embed_documents(["serum creatinine", "creatinine serum", ""])
    )
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0)
    assert np.array_equal(vectors[0], vectors[1])
