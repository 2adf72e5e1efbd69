"""The Qwen providers on small real weights.

They are compared with a computation of their references in NumPy, one text at a time. The weights
are SmolLM2's: a decoder of the same kind, whose judgements mean nothing and whose numbers are as
good as any.
"""

from __future__ import annotations

import numpy as np
import pytest

from llm_runtime.calls.blocking import run_blocking
from llm_runtime.providers.qwen import TASK, QwenEmbedder, QwenReranker
from tests.verification.numpy_llama import NumpyLlama

TEXTS = [
    "Lactate, blood: 4.1 mmol/L at 2.5 h",
    "Vancomycin",
    "Intubated in the emergency department after worsening hypoxia; transferred to intensive care on pressors, sedated and ventilated",
    "CT of the head without contrast",
    "Ceftriaxone 1 g intravenously, first dose six hours after arrival",
]
QUERY = "lactate was high on arrival"
FRAME = (
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct provided. "
    'Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n',
    "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",
)


@pytest.fixture(scope="module")
def reference(small_model):
    return NumpyLlama(small_model)


@pytest.fixture(scope="module")
def embedder(small_model):
    return QwenEmbedder(model=str(small_model), device="cpu", dtype="float32")


@pytest.fixture(scope="module")
def reranker(small_model):
    return QwenReranker(model=str(small_model), device="cpu", dtype="float32")


def compute_probability(reference, document, most=None):
    """Return P(yes) of the reference.

    The text between the frame's halves is cut at `most` tokens.
    """
    before, after = (reference.tokens(part) for part in FRAME)
    text = reference.tokens(f"<Instruct>: {TASK}\n<Query>: {QUERY}\n<Document>: {document}")
    (yes,), (no,) = reference.tokens("yes"), reference.tokens("no")
    return reference.probability([*before, *text[:most], *after], yes, no)


def test_documents_are_embedded_as_the_reference_has_them(embedder, reference):
    vectors = run_blocking(embedder.embed_documents(TEXTS))
    expected = np.array([reference.embedding(reference.tokens(text)) for text in TEXTS])
    assert vectors.shape == (len(TEXTS), run_blocking(embedder.dimension()))
    assert np.abs(vectors - expected).max() < 2e-5
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_queries_alone_carry_the_instruction(embedder, reference):
    (vector,) = run_blocking(embedder.embed_queries([QUERY]))
    instructed = reference.embedding(reference.tokens(f"Instruct: {TASK}\nQuery:{QUERY}"))
    assert np.abs(vector - instructed).max() < 2e-5
    assert np.abs(vector - reference.embedding(reference.tokens(QUERY))).max() > 1e-3


def test_who_shares_a_batch_changes_nothing(embedder):
    alone = np.concatenate([run_blocking(embedder.embed_documents([text])) for text in TEXTS])
    assert np.abs(run_blocking(embedder.embed_documents(TEXTS, batch_size=5)) - alone).max() < 1e-5
    shuffled = run_blocking(embedder.embed_documents(TEXTS[::-1], batch_size=3))[::-1]
    assert np.abs(shuffled - alone).max() < 1e-5


def test_a_long_text_is_cut_at_its_end(small_model, reference):
    short = QwenEmbedder(model=str(small_model), max_tokens=12, device="cpu", dtype="float32")
    vectors = run_blocking(short.embed_documents([TEXTS[2], TEXTS[1]]))
    assert len(reference.tokens(TEXTS[2])) > 12
    assert np.abs(vectors[0] - reference.embedding(reference.tokens(TEXTS[2])[:12])).max() < 2e-5
    assert np.abs(vectors[1] - reference.embedding(reference.tokens(TEXTS[1]))).max() < 2e-5


def test_documents_are_judged_as_the_reference_has_them(reranker, reference):
    scores = run_blocking(reranker.rerank(QUERY, TEXTS))
    assert scores == pytest.approx(
        [compute_probability(reference, text) for text in TEXTS], abs=1e-5
    )
    assert len(set(scores)) == len(TEXTS)
    assert all(0 < score < 1 for score in scores)


def test_scores_come_in_the_order_of_the_documents_whatever_the_batches(reranker):
    scores = run_blocking(reranker.rerank(QUERY, TEXTS))
    assert run_blocking(reranker.rerank(QUERY, TEXTS, batch_size=1)) == pytest.approx(
        scores, abs=1e-5
    )
    assert run_blocking(reranker.rerank(QUERY, TEXTS[::-1], batch_size=2)) == pytest.approx(
        scores[::-1], abs=1e-5
    )


def test_a_long_document_is_cut_and_its_frame_is_not(small_model, reference):
    frame = sum(len(reference.tokens(part)) for part in FRAME)
    short = QwenReranker(
        model=str(small_model), max_tokens=frame + 60, device="cpu", dtype="float32"
    )
    assert run_blocking(short.rerank(QUERY, [TEXTS[2] * 3])) == pytest.approx(
        [compute_probability(reference, TEXTS[2] * 3, most=60)], abs=1e-5
    )
