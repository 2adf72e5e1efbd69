"""Learn the words and the order of sections from notes with headings.

Run as `python -m timelines.backbones.rules.sections.learn NOTE…`: text files, and CSV files (.csv.gz)
with a column `transcription`. Writes `weights.json`. The weights of the repository were learned from
tests/data/transcriptions and from eleven notes with headings (docs/quality.md names them).
"""

from __future__ import annotations

import csv
import gzip
import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from timelines.backbones.rules.sections.content import WEIGHTS, passage_features
from timelines.backbones.rules.sections.headings import find_sections
from timelines.backbones.rules.sections.structure import CONTENT

#: Features of fewer passages say more about one note than about a kind.
_FEWEST = 5
_PENALTY = 0.5
#: Weights below this in every kind are dropped.
_SMALLEST = 0.15
#: Added to each count of one kind that follows another.
_SMOOTHING = 0.3
_LONGEST = 700

Passage = tuple[str, dict[str, float]]


def learn(notes: Iterable[str]) -> dict[str, object]:
    """Return the model of `content.ContentModel` as JSON values."""
    passages: list[Passage] = []
    orders: list[list[str]] = []
    for note in notes:
        order = []
        for section in find_sections(note):
            body = note[section.body_start : section.end].strip()
            if section.kind == "other" or not body:
                continue
            kind = CONTENT.get(section.kind, section.kind)
            order.append(kind)
            place = section.start / len(note)
            passages += [
                (kind, passage_features(part, place, title))
                for part in {body, *body.split("\n\n"), body[:_LONGEST]}
                for title in {section.title, ""}
                if part.strip()
            ]
        orders.append(order)
    passages.sort(key=lambda p: (p[0], sorted(p[1].items())))
    kinds = sorted({kind for kind, _ in passages})
    names, weights, bias = _regress(passages, kinds)
    share = Counter(kind for kind, _ in passages)
    roots = np.sqrt([share[k] for k in kinds])
    return {
        "kinds": kinds,
        "bias": _rounded(bias),
        "priors": _rounded(np.log(roots / roots.sum())),
        "follows": [_rounded(row) for row in _followers(orders, kinds)],
        "weights": {
            name: _rounded(row)
            for name, row in zip(names, weights, strict=True)
            if np.abs(row).max() >= _SMALLEST
        },
    }


def _regress(
    passages: Sequence[Passage], kinds: Sequence[str]
) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Fit a softmax regression with a squared penalty.

    Returns the features, (features, kinds) weights and (kinds,) biases.
    """
    seen = Counter(name for _, features in passages for name in features)
    names = sorted(name for name, count in seen.items() if count >= _FEWEST)
    column = {name: i for i, name in enumerate(names)}
    cells = [
        (row, column[name], value)
        for row, (_, features) in enumerate(passages)
        for name, value in features.items()
        if name in column
    ]
    rows, columns, values = zip(*cells, strict=True)
    x = csr_matrix((values, (rows, columns)), shape=(len(passages), len(names)))
    y = np.array([kinds.index(kind) for kind, _ in passages])
    # A kind counts by the square root of its number, so that rare ones are not lost.
    weight = 1 / np.sqrt(np.bincount(y, minlength=len(kinds)))[y]
    weight *= len(y) / weight.sum()
    target = np.eye(len(kinds))[y]
    shape = (len(names), len(kinds))

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        w, b = flat[: -len(kinds)].reshape(shape), flat[-len(kinds) :]
        z = x @ w + b
        z -= z.max(axis=1, keepdims=True)
        p = np.exp(z)
        p /= p.sum(axis=1, keepdims=True)
        off = (p - target) * weight[:, None]
        value = -(weight * np.log(p[np.arange(len(y)), y] + 1e-12)).sum()
        gradient = np.concatenate([(x.T @ off + _PENALTY * w).ravel(), off.sum(axis=0)])
        return float(value + 0.5 * _PENALTY * (w * w).sum()), gradient

    start = np.zeros(shape[0] * shape[1] + shape[1])
    flat = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 150}).x
    return names, flat[: -len(kinds)].reshape(shape), flat[-len(kinds) :]


def _followers(orders: Sequence[Sequence[str]], kinds: Sequence[str]) -> np.ndarray:
    """Return (kinds + 1, kinds) log-probabilities; the last row begins a note."""
    counts = np.full((len(kinds) + 1, len(kinds)), _SMOOTHING)
    for order in orders:
        if order:
            counts[-1, kinds.index(order[0])] += 1
        for a, b in pairwise(order):
            counts[kinds.index(a), kinds.index(b)] += 1
    return np.log(counts / counts.sum(axis=1, keepdims=True))


def _rounded(values: Iterable[float]) -> list[float]:
    return [round(float(v), 2) for v in values]


def _read(path: Path) -> list[str]:
    if path.name.endswith(".csv.gz"):
        with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
            return [row["transcription"] for row in csv.DictReader(file)]
    return [path.read_text(encoding="utf-8")]


def main(paths: Sequence[str]) -> None:
    """Learn from the named files."""
    model = learn(note for path in paths for note in _read(Path(path)))
    lines = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in model.items() if k != "weights"]
    weights = model["weights"]
    assert isinstance(weights, dict)
    body = ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in weights.items())
    text = "{\n" + ",\n".join([*lines, '"weights": {\n' + body + "\n}"]) + "\n}\n"
    WEIGHTS.write_text(text, encoding="utf-8")
    print(f"{len(weights)} features, {len(text):,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
