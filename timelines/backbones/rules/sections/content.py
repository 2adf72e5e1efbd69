"""Say what kind of section a passage is from its words.

A softmax regression over words, pairs of words, shapes of numbers and form, learned from notes
with headings (`learn.py`). It needs no heading, and uses the words of an unknown one.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import exp, log, log1p, sqrt
from pathlib import Path

WEIGHTS = Path(__file__).with_name("weights.json")
_TOKEN = re.compile(
    r"\d{1,2}/\d{1,2}/\d{2,4}|\d{4}-\d\d-\d\d|\d{1,2}:\d\d|\d+/\d+|\d+(?:\.\d+)?|[a-z]+|->|#|:"
)
#: The first pattern that fits a number names it, so that all dates are one word.
_SHAPES = [
    (re.compile(r"\d{4}-|\d{1,2}/\d{1,2}/|(?:0?\d|1[0-2])/\d{1,2}$"), "<date>"),
    (re.compile(r"\d{1,2}:"), "<clock>"),
    (re.compile(r"\d+/"), "<ratio>"),
    (re.compile(r"\d+\."), "<decimal>"),
    (re.compile(r"\d{4}"), "<long>"),
    (re.compile(r"\d"), "<number>"),
]
#: A verb in the past (pattern), as in a story.
PAST_VERB = (
    r"was|were|had|underwent|began|became|came|went|took|given|fell|rose|grew|felt|woke|\w{3,}ed"
)
_PAST = re.compile(PAST_VERB)
_BULLET = re.compile(r"\s*(?:[-*•]|\d+[.)])")
#: Length of the vector of word features, so that long passages do not outvote their form.
_NORM = 3.0
#: Fifths of the note in which a passage may begin.
_PLACES = 5


def _tokens(text: str) -> list[str]:
    found = []
    for token in _TOKEN.findall(text.lower()):
        shape = next((name for pattern, name in _SHAPES if pattern.match(token)), token)
        found.append(shape)
    return found


def passage_features(text: str, place: float, title: str = "") -> dict[str, float]:
    """Return the features of a passage.

    `place`: where it begins, as a share of the note (0 to 1). `title`: the words of its heading if
    they are not known.
    """
    tokens = _tokens(text)
    counts = Counter(tokens)
    counts.update(f"{a} {b}" for a, b in pairwise(tokens))
    words = {name: 1.0 + log(count) for name, count in counts.items()}
    norm = sqrt(sum(v * v for v in words.values())) or 1.0
    found = {name: _NORM * value / norm for name, value in words.items()}
    found[f"@place {min(int(place * _PLACES), _PLACES - 1)}"] = 1.0
    found.update({f"@title {word}": 1.0 for word in set(_tokens(title))})
    lines = [line for line in text.split("\n") if line.strip()]
    total = max(len(tokens), 1)
    past = sum(_PAST.fullmatch(t) is not None for t in tokens)
    found["@past"] = 10 * past / total
    found["@numbers"] = 3 * sum(t[0] == "<" for t in tokens) / total
    found["@commas"] = 10 * text.count(",") / total
    found["@bullets"] = sum(bool(_BULLET.match(line)) for line in lines) / max(len(lines), 1)
    found["@length"] = min(log1p(len(text)) / 8, 1.0)
    return found


@dataclass(frozen=True)
class ContentModel:
    """Weights of a softmax regression, and how kinds follow each other.

    `weights`: feature → one weight for each kind. `follows[a][b]`: log-probability that a section
    of kind b follows one of kind a; the last row is for the beginning of a note. `priors`:
    log-shares of the kinds among the passages it learned from.
    """

    kinds: tuple[str, ...]
    weights: Mapping[str, tuple[float, ...]]
    bias: tuple[float, ...]
    follows: tuple[tuple[float, ...], ...]
    priors: tuple[float, ...]

    def scores(self, features: Mapping[str, float]) -> list[float]:
        """Return the log-probability of each kind, in the order of `kinds`."""
        sums = list(self.bias)
        for name, value in features.items():
            for i, weight in enumerate(self.weights.get(name, ())):
                sums[i] += value * weight
        top = max(sums)
        total = top + log(sum(exp(s - top) for s in sums))
        return [s - total for s in sums]


@lru_cache(maxsize=1)
def content_model() -> ContentModel:
    """The model that `learn.py` wrote, read once a process."""
    data = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    return ContentModel(
        tuple(data["kinds"]),
        {name: tuple(values) for name, values in data["weights"].items()},
        tuple(data["bias"]),
        tuple(tuple(row) for row in data["follows"]),
        tuple(data["priors"]),
    )
