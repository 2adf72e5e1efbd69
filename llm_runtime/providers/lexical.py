"""The CPU default reranker: a transparent score, not a trained model.

    ρ = (W_COSINE·c + W_OVERLAP·o + W_VALUE·v) / (weights of the terms that apply), 0…1

    c  cosine of query and document, negative counts 0; applies when retrieval hands it over
    o  Dice overlap of the query's words with the words of the document's heading (its first line);
    words that
       appear in half of all headings (table, act, fluid) count GENERIC_WEIGHT
    v  1 when a number of the query appears literally in the document, else 0;
       applies when the query states a number

When query and heading both name an act and the acts differ ("start" against "end" or "stop"), the
pair is about two different moments and ρ is multiplied by OTHER_ACT.

It has its own threshold: a ρ of this score and a ρ of a cross-encoder mean different things.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

NAME = "lexical-cosine-overlap-value"
W_COSINE = 0.55
W_OVERLAP = 0.35
W_VALUE = 0.10
OTHER_ACT = 0.5
GENERIC_WEIGHT = 0.25
#: Below this ρ a summary is dropped (this reranker only; Qwen3's P(yes) uses 0.05).
LEXICAL_THRESHOLD = 0.4

HEADING_CHARACTERS = 160
_WORD = re.compile(r"[a-z][a-z0-9]*|\d+(?:\.\d+)?")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?!\w)")
_BEGINS, _ENDS = frozenset({"start"}), frozenset({"end", "stop"})
_GENERIC = frozenset(
    [
        "lab",
        "chart",
        "med",
        "order",
        "procedure",
        "micro",
        "output",
        "transfer",
        "admission",
        "icu",
        "start",
        "end",
        "stop",
        "blood",
        "serum",
    ]
)
_STOP = frozenset(
    [
        "a",
        "an",
        "and",
        "at",
        "by",
        "for",
        "from",
        "in",
        "into",
        "of",
        "on",
        "or",
        "the",
        "to",
        "was",
        "were",
        "with",
        "event",
        "series",
    ]
)


class LexicalReranker:
    """Reranker; deterministic, no weights, microseconds a pair."""

    name = NAME

    def __init__(self, *, threshold: float = LEXICAL_THRESHOLD) -> None:
        self.threshold = threshold

    async def rerank(
        self,
        query: str,
        documents: Sequence[str],
        *,
        cosines: Sequence[float] | None = None,
        batch_size: int | None = None,
    ) -> Sequence[float]:
        words, numbers = _words(query), _numbers(query)
        scores = []
        for i, document in enumerate(documents):
            terms = [(W_OVERLAP, _dice(words, _words(_heading(document))))]
            if cosines is not None:
                terms.append((W_COSINE, min(1.0, max(0.0, float(cosines[i])))))
            if numbers:
                terms.append((W_VALUE, 1.0 if numbers & _numbers(document) else 0.0))
            score = sum(w * x for w, x in terms) / sum(w for w, _ in terms)
            scores.append(
                score * OTHER_ACT if _other_act(words, _words(_heading(document))) else score
            )
        return scores


def _heading(document: str) -> str:
    return document.split("\n", 1)[0][:HEADING_CHARACTERS]


def _words(text: str) -> frozenset[str]:
    """Words without plural s, without stop words and numbers."""
    found = (w for w in _WORD.findall(text.lower()) if not w[0].isdigit() and w not in _STOP)
    return frozenset(
        w[:-1] if len(w) > 3 and w.endswith("s") and not w.endswith("ss") else w for w in found
    )


def _other_act(a: frozenset[str], b: frozenset[str]) -> bool:
    return bool(
        (a & _BEGINS and b & _ENDS and not b & _BEGINS)
        or (a & _ENDS and b & _BEGINS and not b & _ENDS)
    )


def _numbers(text: str) -> frozenset[float]:
    return frozenset(float(n) for n in _NUMBER.findall(text))


def _dice(a: frozenset[str], b: frozenset[str]) -> float:
    total = _weight(a) + _weight(b)
    return 2.0 * _weight(a & b) / total if total else 0.0


def _weight(words: frozenset[str]) -> float:
    return sum(GENERIC_WEIGHT if w in _GENERIC else 1.0 for w in words)
