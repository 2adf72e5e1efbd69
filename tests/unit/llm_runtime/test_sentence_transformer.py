"""Mean pooling over real weights.

The packaged MiniLM by the general provider gives the vectors of its own provider.
"""

from __future__ import annotations

import numpy as np
import pytest

from llm_runtime.base import Embedder, ProviderError
from llm_runtime.calls.blocking import run_blocking
from llm_runtime.model_files import MINILM
from llm_runtime.providers.minilm import MiniLMEmbedder
from llm_runtime.providers.sentence_transformer import SentenceTransformerEmbedder
from llm_runtime.roles import MATCHER, ModelRoles

TEXTS = ["lactate 4.1", "intubated for hypoxic respiratory failure overnight", "x", "no fever"]


@pytest.mark.slow
def test_the_same_weights_give_the_same_vectors() -> None:
    general = SentenceTransformerEmbedder(model=str(MINILM.find()), max_tokens=256, device="cpu")
    assert isinstance(general, Embedder)
    assert run_blocking(general.dimension()) == 384
    found = run_blocking(general.embed_documents(TEXTS, batch_size=3))
    np.testing.assert_allclose(
        found, run_blocking(MiniLMEmbedder().embed_documents(TEXTS)), atol=2e-6
    )
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1.0, atol=1e-6)
    np.testing.assert_allclose(run_blocking(general.embed_queries(TEXTS)), found, atol=2e-6)


def test_weights_that_are_not_there_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ProviderError, match=r"the weights of /nowhere/at-all are not there"):
        run_blocking(SentenceTransformerEmbedder(model="/nowhere/at-all").embed_documents(["x"]))


def test_the_matcher_is_the_embedder_unless_it_is_set() -> None:
    assert ModelRoles({"embedder": {"provider": "hashing"}}).embedder(MATCHER).name == "hashing-64"
    own = ModelRoles(
        {
            "embedder": {"provider": "hashing"},
            MATCHER: {"provider": "sentence_transformer", "model": "/models/pubmedbert"},
        }
    )
    assert own.embedder(MATCHER).name == "pubmedbert"
