"""Loading weights through transformers, the same way for every provider that computes in the worker."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from llm_runtime.base import ProviderError


@dataclass(frozen=True)
class Loaded:
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


def load_weights(kind: str, model: str, device: str = "", dtype: str = "", *, padding: str = "right") -> Loaded:
    """Weights and tokenizer of a model by name or folder, for the class `kind` of transformers.

    A CUDA card with bfloat16 where there is one, else the CPU with float32, unless said otherwise. `padding` is the side: models that
    are read at their last token need "left", those with absolute positions "right". Raises ProviderError where a package or the
    weights are missing.
    """
    torch, transformers = _require("torch"), _require("transformers")
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    number = getattr(torch, dtype or ("bfloat16" if device.startswith("cuda") else "float32"))
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(model, padding_side=padding)
        weights = getattr(transformers, kind).from_pretrained(model, dtype=number)
    except OSError as error:
        offline = " (HF_HUB_OFFLINE is set)" if os.environ.get("HF_HUB_OFFLINE") else ""
        raise ProviderError(
            f"the weights of {model} are not there{offline}: download them once, or name their folder in MODEL_ROLES"
        ) from error
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return Loaded(torch, tokenizer, weights.to(device).eval(), device)


def _require(package: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise ProviderError(
            f"this provider needs the package '{package}', which is not installed: "
            "run `make setup`, or `pip install torch` and then `pip install -r requirements/models.txt`"
        ) from error
