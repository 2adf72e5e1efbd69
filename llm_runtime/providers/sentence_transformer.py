"""Sentence embedders of the BERT family through transformers: mean pooling over the tokens, L2.

For matching events in an evaluation (the PubMedBERT family) and for the baseline TKW2 (MedTE). `model` is a name or a folder; a
machine without a network needs the folder. Queries and documents are embedded alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from llm_runtime.base import Vectors
from llm_runtime.providers.own_thread import OwnThread
from llm_runtime.providers.weights import Loaded, batches_by_length, load_weights

#: The family with which the published figures were made; the name of one member of it.
PUBMEDBERT = "NeuML/pubmedbert-base-embeddings"
MAX_TOKENS = 512
BATCH = 32


class SentenceTransformerEmbedder:
    """Embedder; the weights are read at the first use."""

    def __init__(self, *, model: str = PUBMEDBERT, max_tokens: int = MAX_TOKENS, device: str = "", dtype: str = "") -> None:
        self._model, self._max_tokens = model, max_tokens
        self._device, self._dtype = device, dtype
        self.name = model.rstrip("/").split("/")[-1]
        self._thread = OwnThread(self.name)

    async def dimension(self) -> int:
        """As the weights have it; reads them."""
        return await self._thread.run(self._width)

    def _width(self) -> int:
        return int(self._loaded.model.config.hidden_size)

    async def embed_queries(self, texts: Sequence[str], *, batch_size: int | None = None) -> Vectors:
        return await self.embed_documents(texts, batch_size=batch_size)

    async def embed_documents(self, texts: Sequence[str], *, batch_size: int | None = None) -> Vectors:
        return await self._thread.run(self._embed, list(texts), batch_size or BATCH)

    def _embed(self, texts: list[str], batch_size: int) -> Vectors:
        vectors = np.empty((len(texts), self._width()), dtype=np.float32)
        for batch in batches_by_length(texts, batch_size):
            vectors[batch] = self._forward([texts[i] for i in batch])
        return vectors

    def _forward(self, texts: list[str]) -> Vectors:
        loaded = self._loaded
        torch = loaded.torch
        inputs = loaded.tokenizer(texts, padding=True, truncation=True, max_length=self._max_tokens, return_tensors="pt").to(loaded.device)
        with torch.inference_mode():
            hidden = loaded.model(**inputs).last_hidden_state.float()
            mask = inputs["attention_mask"].unsqueeze(-1).to(hidden.dtype)
            pooled = (hidden * mask).sum(1) / mask.sum(1).clamp(min=1e-9)
            unit: Vectors = torch.nn.functional.normalize(pooled, p=2, dim=1).cpu().numpy().astype(np.float32)
        return unit

    @cached_property
    def _loaded(self) -> Loaded:
        return load_weights("AutoModel", self._model, self._device, self._dtype)
