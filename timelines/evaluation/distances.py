"""The distance of two mentions.

It is the angle of their embeddings, or the number of letters to change. No Django, and no embedder:
vectors are made elsewhere. Source: protocol section 3 ("Matching").
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Decimals of a cosine distance. Products of equal vectors differ in their last bits with the
#: place in the matrix; without rounding that noise, not the tie rule, would choose between
#: duplicate mentions.
DECIMALS = 12


def cosine_distance(ref_vectors: ArrayLike, pred_vectors: ArrayLike) -> NDArray[np.float64]:
    """Return 1 − cosine, 0…2, shape (n_ref, n_pred).

    For vectors of shapes (n_ref, d) and (n_pred, d); lengths need not be 1.

    A vector of zeros has no direction and is at distance 1 from everything. Either side may be
    empty. Raises ValueError for vectors that are not finite or differ in size.
    """
    references, predictions = _directions(ref_vectors), _directions(pred_vectors)
    if not len(references) or not len(predictions):
        return np.zeros((len(references), len(predictions)))
    if references.shape[1] != predictions.shape[1]:
        raise ValueError(f"vectors of {references.shape[1]} and of {predictions.shape[1]} numbers")
    return np.clip(np.round(1 - references @ predictions.T, DECIMALS), 0, 2)


def levenshtein_distance(refs: Sequence[str], preds: Sequence[str]) -> NDArray[np.float64]:
    """Return edits over the longer length, 0…1, shape (n_ref, n_pred).

    Edits are the fewest insertions, deletions and substitutions of code points.

    Texts are compared as they are: case and spaces count. Two empty texts are at distance 0. Each
    row is computed against all predictions at once, one step a character of the reference.
    """
    distance = np.zeros((len(refs), len(preds)))
    if not len(refs) or not len(preds):
        return distance
    lengths = np.array([len(text) for text in preds])
    letters = np.zeros((len(preds), max(1, lengths.max())), dtype=np.uint32)
    for p, text in enumerate(preds):
        letters[p, : len(text)] = _letters(text)
    rows = {
        text: _edits(_letters(text), letters, lengths)
        / np.maximum(np.maximum(lengths, len(text)), 1)
        for text in set(refs)
    }
    for r, text in enumerate(refs):
        distance[r] = rows[text]
    return distance


def _directions(vectors: ArrayLike) -> NDArray[np.float64]:
    matrix = np.asarray(vectors, dtype=np.float64)
    if matrix.size == 0:
        return np.empty((len(matrix), 0))
    if matrix.ndim != 2 or not np.isfinite(matrix).all():
        raise ValueError("vectors are rows of finite numbers")
    matrix = matrix / (
        np.abs(matrix).max(axis=1, keepdims=True) + (matrix == 0).all(axis=1, keepdims=True)
    )
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    return matrix / np.where(norms == 0, 1, norms)


def _letters(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


def _edits(
    text: NDArray[np.uint32], letters: NDArray[np.uint32], lengths: NDArray[np.intp]
) -> NDArray[np.int32]:
    """Count edits from one text to each row of `letters`.

    Rows are padded; `lengths` says how much of each counts. Wagner and Fischer's table, a row at a
    time. The cost of insertions runs along the row: subtracting the column number turns it into a
    running minimum.
    """
    columns = np.arange(letters.shape[1] + 1, dtype=np.int32)
    row = np.broadcast_to(columns, (len(letters), len(columns))).copy()
    for done, letter in enumerate(text, start=1):
        kept_or_changed = row[:, :-1] + (letters != letter)
        after = row + 1
        after[:, 0] = done
        np.minimum(after[:, 1:], kept_or_changed, out=after[:, 1:])
        row = np.minimum.accumulate(after - columns, axis=1) + columns
    return row[np.arange(len(letters)), lengths]
