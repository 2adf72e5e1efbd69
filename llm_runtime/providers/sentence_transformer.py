"""Sentence embedders of the BERT family through transformers.

Mean pooling over the tokens, L2. For matching events in an evaluation (the PubMedBERT family) and
for the baseline TKW2 (MedTE). `model` is a name or a folder; a machine without a network needs the
folder. Queries and documents are embedded alike.
"""

from __future__ import annotations

from typing import Any

from llm_runtime.providers.weights import WeightsEmbedder

#: The family with which the published figures were made; the name of one member of it.
PUBMEDBERT = "NeuML/pubmedbert-base-embeddings"
MAX_TOKENS = 512


class SentenceTransformerEmbedder(WeightsEmbedder):
    """Embedder; the weights are read at the first use."""

    def __init__(
        self,
        *,
        model: str = PUBMEDBERT,
        max_tokens: int = MAX_TOKENS,
        device: str = "",
        dtype: str = "",
    ) -> None:
        super().__init__(model=model, max_tokens=max_tokens, device=device, dtype=dtype)

    def _pool(self, hidden: Any, mask: Any) -> Any:
        states = hidden.float()
        weights = mask.unsqueeze(-1).to(states.dtype)
        return (states * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
