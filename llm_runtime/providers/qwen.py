"""Qwen3-Embedding and Qwen3-Reranker through transformers.

They compute exactly as their references (protocol section 2, stage 4). Embedding: `Instruct:
…\\nQuery:…` on queries only, left padding, the last token's state, L2. Reranker: the probability of
"yes" between "yes" and "no" as the next token, at most 8192 tokens. Device and number format are
chosen: a CUDA card with bfloat16 if there is one, else the CPU with float32. Weights are read at
the first use, and computed with in a thread of the model's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from llm_runtime.base import ProviderError, Vectors
from llm_runtime.providers.weights import WeightsEmbedder, WeightsInWorker, batches_by_length

EMBEDDING_MODEL = "Qwen/Qwen3-Embedding-8B"
RERANKER_MODEL = "Qwen/Qwen3-Reranker-8B"
MAX_TOKENS = 8192
EMBED_BATCH = 8
RERANK_BATCH = 4
#: ρ below which candidates are dropped; it belongs to this reranker (protocol stage 5).
THRESHOLD = 0.05

#: The search instruction given to both models.
TASK = (
    "Given a clinical event from a discharge summary, retrieve the structured EHR event series that"
    " record it or its time"
)

# The chat form in which the reranker was trained; another form gives other probabilities.
_PREFIX = (
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and"
    ' the Instruct provided. Note that the answer can only be "yes" or'
    ' "no".<|im_end|>\n<|im_start|>user\n'
)
_SUFFIX = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"


class QwenEmbedder(WeightsEmbedder):
    """Embedder by last-token pooling.

    `model` is a name or a folder; `name` is stored beside every vector.
    """

    padding = "left"
    batch = EMBED_BATCH

    def __init__(
        self,
        *,
        model: str = EMBEDDING_MODEL,
        task: str = TASK,
        max_tokens: int = MAX_TOKENS,
        device: str = "",
        dtype: str = "",
    ) -> None:
        super().__init__(model=model, max_tokens=max_tokens, device=device, dtype=dtype)
        self._task = task

    async def embed_queries(
        self, texts: Sequence[str], *, batch_size: int | None = None
    ) -> Vectors:
        return await self.embed_documents(
            [f"Instruct: {self._task}\nQuery:{text}" for text in texts], batch_size=batch_size
        )

    def _pool(self, hidden: Any, mask: Any) -> Any:
        # Padding is on the left, so the last position is the last token of every text.
        return hidden[:, -1]


class QwenReranker(WeightsInWorker):
    """Reranker by P(yes). `model` is a name or a folder."""

    kind = "AutoModelForCausalLM"
    padding = "left"
    threshold = THRESHOLD

    def __init__(
        self,
        *,
        model: str = RERANKER_MODEL,
        task: str = TASK,
        max_tokens: int = MAX_TOKENS,
        device: str = "",
        dtype: str = "",
    ) -> None:
        super().__init__(model=model, max_tokens=max_tokens, device=device, dtype=dtype)
        self._task = task

    async def rerank(
        self,
        query: str,
        documents: Sequence[str],
        *,
        cosines: Sequence[float] | None = None,
        batch_size: int | None = None,
    ) -> Sequence[float]:
        """P(yes) of each document, in input order; the cosines are not looked at."""
        texts = [
            f"<Instruct>: {self._task}\n<Query>: {query}\n<Document>: {document}"
            for document in documents
        ]
        return await self._thread.run(self._score, texts, batch_size or RERANK_BATCH)

    def _score(self, texts: list[str], batch_size: int) -> list[float]:
        scores = np.empty(len(texts), dtype=np.float64)
        for batch in batches_by_length(texts, batch_size):
            scores[batch] = self._forward([texts[i] for i in batch])
        return [float(s) for s in scores]

    def _forward(self, texts: list[str]) -> np.ndarray:
        loaded, (prefix, suffix, yes, no) = self._loaded_model, self._frame
        torch = loaded.torch
        most = self._max_tokens - len(prefix) - len(suffix)
        cut = loaded.tokenizer(
            texts,
            truncation=True,
            max_length=most,
            add_special_tokens=False,
            return_attention_mask=False,
        )
        framed = {"input_ids": [prefix + ids + suffix for ids in cut["input_ids"]]}
        inputs = loaded.tokenizer.pad(framed, padding=True, return_tensors="pt").to(loaded.device)
        with torch.inference_mode():
            logits = loaded.model(**inputs).logits[:, -1, [no, yes]].double()
            found: np.ndarray = torch.softmax(logits, dim=1)[:, 1].cpu().numpy()
        return found

    @cached_property
    def _frame(self) -> tuple[list[int], list[int], int, int]:
        """Return (prefix tokens, suffix tokens, token "yes", token "no").

        Raises ProviderError if "yes" or "no" is no single token.
        """
        tokenizer = self._loaded_model.tokenizer
        tokens = []
        for word in ("yes", "no"):
            ids = tokenizer.encode(word, add_special_tokens=False)
            if len(ids) != 1:
                raise ProviderError(
                    f"the tokenizer of {self._model} has no single token {word!r}, which its answer"
                    " is read from"
                )
            tokens.append(ids[0])
        prefix = tokenizer.encode(_PREFIX, add_special_tokens=False)
        return prefix, tokenizer.encode(_SUFFIX, add_special_tokens=False), tokens[0], tokens[1]
