"""Retrieval of rows for the TKW2 baseline (protocol section 2).

Rows are documents `event,value`, the bare event is the query, and the nearest are taken without a
threshold. Rows with the same event and value are one document that lists some of their times,
equally spaced, always including the last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from timelines.domain import SourceRow
from timelines.pipeline.config import PROTOCOL

#: Texts → (n, d) unit vectors, mean-pooled; the same for queries and documents.
Embed = Callable[[Sequence[str]], NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class RowDocument:
    """One (event, value) of a record; `times` in hours, ascending.

    Hours count from admission.
    """

    event: str
    value: str
    times: tuple[float, ...]

    @property
    def text(self) -> str:
        return f"{self.event},{self.value}"


def build_documents(
    rows: Sequence[SourceRow], most_times: int = PROTOCOL.tkw2_times
) -> tuple[RowDocument, ...]:
    """Return the record's documents in order of first appearance.

    Each lists at most `most_times` times. Rows without a time give none.
    """
    times: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if row.time is not None:
            times.setdefault((row.event, row.value), []).append(row.time)
    return tuple(
        RowDocument(event, value, select_times(sorted(found), most_times))
        for (event, value), found in times.items()
    )


def select_times(times: Sequence[float], most: int = PROTOCOL.tkw2_times) -> tuple[float, ...]:
    """Return at most `most` times, equally spaced by position.

    The last is always included, and the first if `most` is more than one.
    """
    if len(times) <= most:
        return tuple(times)
    if most == 1:
        return (times[-1],)
    step = (len(times) - 1) / (most - 1)
    return tuple(times[round(k * step)] for k in range(most))


def nearest(
    events: Sequence[str],
    documents: Sequence[RowDocument],
    embed: Embed,
    most: int = PROTOCOL.tkw2_rows,
) -> list[list[RowDocument]]:
    """Return the `most` nearest documents of each event, by cosine.

    The earlier document wins a tie. Lists are empty for an empty record.
    """
    if not documents or not events:
        return [[] for _ in events]
    scores = embed(list(events)) @ embed([d.text for d in documents]).T
    return [[documents[i] for i in np.argsort(-row, kind="stable")[:most]] for row in scores]
