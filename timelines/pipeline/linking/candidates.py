"""Find occurrences of different notes that may be the same event.

Their mentions are similar, their times can be the same, and both are plans or neither is. Vectors
are compared note by note, so that memory does not grow with the square of a chart.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from llm_runtime.base import Embedder, Vectors
from llm_runtime.calls.blocking import run_blocking
from timelines.domain import Entry, Polarity, TaggedNote, Timeline
from timelines.pipeline.linking.intervals import find_interval
from timelines.pipeline.linking.values import Pair, find_part

#: Mentions below this cosine are not alike, as in the search by meaning.
LEAST_SIMILAR = 0.35
#: Candidates of an occurrence in each other note.
MOST_EACH = 5


def embed_mentions(note: TaggedNote, embedder: Embedder, batch_size: int | None = None) -> Vectors:
    """Return a vector for each occurrence, in inventory order.

    Mentions that differ in case alone have one vector.
    """
    texts = [o.mention.lower() for o in note.inventory]
    places = {text: at for at, text in enumerate(dict.fromkeys(texts))}
    vectors = run_blocking(embedder.embed_documents(list(places), batch_size=batch_size))
    return vectors[[places[text] for text in texts]]


def find_pairs(note: TaggedNote, timeline: Timeline, vectors: Vectors) -> tuple[Pair, ...]:
    """Return the candidates of a chart, most similar first.

    `vectors` are those of `embed_mentions`.
    """
    uids = note.inventory.uids
    found = [
        Pair(uids[min(i, j)], uids[max(i, j)], similarity)
        for i, j, similarity in _find_places(note, timeline, vectors)
    ]
    order = {uid: at for at, uid in enumerate(uids)}
    return tuple(sorted(found, key=lambda p: (-p.similarity, order[p.first], order[p.second])))


def _find_places(
    note: TaggedNote, timeline: Timeline, vectors: Vectors
) -> Iterator[tuple[int, int, float]]:
    by_part: dict[int, list[int]] = defaultdict(list)
    for at, occurrence in enumerate(note.inventory):
        part = find_part(note.parts, occurrence.start)
        if part is not None and find_interval(timeline.by_uid[occurrence.uid]) is not None:
            by_part[part].append(at)
    low, high = _bounds(timeline.entries)
    planned = np.array([o.polarity is Polarity.PLANNED for o in note.inventory])
    for one, other in combinations(sorted(by_part), 2):
        rows, columns = np.array(by_part[one]), np.array(by_part[other])
        similar = vectors[rows] @ vectors[columns].T
        meets = (low[rows][:, None] <= high[columns]) & (low[columns] <= high[rows][:, None])
        meets &= planned[rows][:, None] == planned[columns]
        similar = np.where(meets & (similar >= LEAST_SIMILAR), similar, -1.0)
        for at, scores in enumerate(similar):
            for best in np.argsort(-scores, kind="stable")[:MOST_EACH]:
                if scores[best] > 0:
                    yield int(rows[at]), int(columns[best]), float(scores[best])


def _bounds(entries: Sequence[Entry]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    found = [find_interval(e) or (-math.inf, math.inf) for e in entries]
    return np.array([low for low, _ in found]), np.array([high for _, high in found])
