"""all-MiniLM-L6-v2 on the CPU, without a download and without a server.

Mean pooling over the tokens, L2-normalised, 384 dimensions. It knows neither drug classes nor brand
names, so queries have to name what they look for. `llm_runtime.model_files` finds its weights.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from llm_runtime.base import ProviderError, Vectors
from llm_runtime.model_files import MINILM
from llm_runtime.providers.own_thread import OwnThread
from llm_runtime.providers.weights import require_package

DIMENSION = 384
MAX_TOKENS = 256
BATCH_SIZE = 32
MAX_THREADS = 4
FLOAT32, BFLOAT16 = "float32", "bfloat16"


class MiniLMEmbedder:
    """Embedder; the weights are read at the first use, not at construction.

    bfloat16 is about 2.6 times as fast on CPUs that compute in it, and 1 in 100 of the ten best
    series differs (`benchmarks.embedding`). Its vectors have a name of their own, so that one case
    never mixes the two.
    """

    def __init__(
        self, *, batch_size: int = BATCH_SIZE, threads: int | None = None, dtype: str = FLOAT32
    ) -> None:
        if dtype not in (FLOAT32, BFLOAT16):
            raise ProviderError(f"minilm: dtype is {dtype!r}; set it to {FLOAT32} or {BFLOAT16}")
        self.name = MINILM.name if dtype == FLOAT32 else f"{MINILM.name}-{dtype}"
        self._dtype = dtype
        self._batch_size = batch_size
        self._threads = threads or _threads_of_this_process()
        self._thread = OwnThread("minilm")

    async def dimension(self) -> int:
        return DIMENSION

    async def embed_queries(
        self, texts: Sequence[str], *, batch_size: int | None = None
    ) -> Vectors:
        """Embed queries as documents.

        This model has no query instruction.
        """
        return await self._thread.run(self._embed, texts, batch_size or self._batch_size)

    async def embed_documents(
        self, texts: Sequence[str], *, batch_size: int | None = None
    ) -> Vectors:
        return await self._thread.run(self._embed, texts, batch_size or self._batch_size)

    def _embed(self, texts: Sequence[str], batch_size: int) -> Vectors:
        vectors = np.empty((len(texts), DIMENSION), dtype=np.float32)
        # Texts of like length share a batch, so that little of it is padding.
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        for at in range(0, len(order), batch_size):
            batch = order[at : at + batch_size]
            vectors[batch] = self._forward([texts[i] for i in batch])
        return vectors

    def _forward(self, texts: list[str]) -> Vectors:
        torch, tokenizer, model = self._loaded_model
        inputs = tokenizer(
            texts,
            padding=True,
            truncation=True,
            max_length=MAX_TOKENS,
            return_tensors="pt",
        )
        with torch.inference_mode():
            # Means of 256 states need more than the 8 bits of bfloat16.
            hidden = model(**inputs).last_hidden_state.float()
            mask = inputs["attention_mask"].unsqueeze(-1).to(hidden.dtype)
            pooled = (hidden * mask).sum(1) / mask.sum(1).clamp(min=1e-9)
            unit: Vectors = torch.nn.functional.normalize(pooled, p=2, dim=1).numpy()
        return unit

    @cached_property
    def _loaded_model(self) -> tuple[Any, Any, Any]:
        """(torch, tokenizer, model in inference mode)."""
        # The files are local; a look at the network would only delay a machine that has none.
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
        folder = MINILM.find()
        torch = require_package("torch")
        torch.set_num_threads(self._threads)
        transformers = require_package("transformers")
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        model = transformers.AutoModel.from_pretrained(
            folder, local_files_only=True, dtype=getattr(torch, self._dtype)
        )
        return torch, tokenizer, model.eval()


def _threads_of_this_process() -> int:
    """What OMP_NUM_THREADS grants, else half of the cores.

    Threads that wait for each other spin; on shared cores that costs far more than it gains.
    """
    granted = os.environ.get("OMP_NUM_THREADS", "")
    return (
        int(granted)
        if granted.isdigit() and int(granted)
        else max(1, min(MAX_THREADS, (os.cpu_count() or 1) // 2))
    )
