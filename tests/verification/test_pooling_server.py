"""Embeddings and scores over vLLM's pooling endpoints.

They are compared with the same weights in this process.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from llm_runtime.calls.blocking import run_blocking
from llm_runtime.model_files import MINILM
from llm_runtime.providers.minilm import MAX_TOKENS, MiniLMEmbedder
from llm_runtime.providers.pooling_http import HTTPEmbedder, HTTPReranker
from tests.verification.vllm_server import POOLING, Server

TEXTS = [
    "lactate, blood",
    "vancomycin administered",
    "Intubated on hospital day 2 " * 80,
    "CT of the head without contrast",
]


@pytest.fixture(scope="module")
def pooling(vllm_environment: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """MiniLM behind vLLM."""
    found = Server(
        vllm_environment,
        MINILM.find(),
        "minilm",
        POOLING,
        tmp_path_factory.mktemp("pooling") / "server.log",
    )
    try:
        found.start()
        yield found
    finally:
        found.stop()


def test_vectors_and_scores_are_those_of_the_weights(pooling):
    here = run_blocking(MiniLMEmbedder().embed_documents(TEXTS))
    served = HTTPEmbedder(base_url=pooling.base_url, model="minilm", max_tokens=MAX_TOKENS)
    there = run_blocking(served.embed_documents(TEXTS, batch_size=3))
    assert run_blocking(served.dimension()) == 384
    assert np.abs(there - here).max() < 1e-3
    query = "was lactate measured"
    cosines = here @ run_blocking(MiniLMEmbedder().embed_queries([query]))[0]
    reranker = HTTPReranker(
        base_url=pooling.base_url, model="minilm", threshold=0.0, max_tokens=MAX_TOKENS
    )
    scores = run_blocking(reranker.rerank(query, TEXTS, batch_size=3))
    assert np.argmax(scores) == 0
    assert np.abs(np.array(scores) - cosines).max() < 1e-3
