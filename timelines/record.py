"""The structured record of one encounter as the pipeline takes it: summaries, rows in hours, and a search over embedded summaries."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from ehr.models import Encounter, EventSeries, SeriesEmbedding, SourceRow
from jobs.holding import Hold, write_guard
from llm_runtime.base import Embedder, Vectors
from timelines import domain
from timelines.pipeline.run import Record

EMBED_BATCH = 256


def load_record(encounter: Encounter, embedder: Embedder) -> Record:
    """Everything in three queries; the search is over what is embedded under the embedder's name."""
    series = list(EventSeries.objects.filter(encounter=encounter).values_list("event", "summary"))
    return Record(dict(series), load_rows(encounter), EncounterSearch(encounter, embedder.name))


def load_rows(encounter: Encounter) -> dict[str, list[domain.SourceRow]]:
    """event → its rows in order, times in hours from the anchor."""
    anchor = domain.Anchor(encounter.admitted_at)
    rows: dict[str, list[domain.SourceRow]] = defaultdict(list)
    for r in SourceRow.objects.filter(dataset_id=encounter.dataset_id, encounter_id=encounter.pk).order_by("row_index"):
        hours = None if r.time is None else anchor.hours(r.time)
        kind = domain.TimeKind(r.time_kind)
        rows[r.event].append(domain.SourceRow(r.row_index, hours, r.event, r.value, r.unit, r.source, kind, r.numeric_value))
    return dict(rows)


def embed_missing(encounter: Encounter, embedder: Embedder, hold: Hold) -> int:
    """Embed the summaries that have no vector under this embedder's name yet; returns how many. Batches are stored as they come."""
    missing = EventSeries.objects.filter(encounter=encounter).exclude(embeddings__model=embedder.name).order_by("pk")
    series = list(missing.values_list("pk", "summary"))
    for at in range(0, len(series), EMBED_BATCH):
        hold.check()
        batch = series[at : at + EMBED_BATCH]
        hold.report(done=at, total=len(series), words=f"embedding summaries {at + 1} to {at + len(batch)} of {len(series)}")
        vectors = embedder.embed_documents([summary for _, summary in batch])
        rows = [
            SeriesEmbedding(series_id=pk, encounter_id=encounter.pk, model=embedder.name, vector=vector)
            for (pk, _), vector in zip(batch, vectors, strict=True)
        ]
        with write_guard(hold):
            SeriesEmbedding.objects.bulk_create(rows, ignore_conflicts=True)
    return len(series)


class EncounterSearch:
    """Exact search by cosine over the vectors of one encounter and one model: one fetch, one matrix product."""

    def __init__(self, encounter: Encounter, model: str) -> None:
        stored = SeriesEmbedding.objects.filter(encounter=encounter, model=model).order_by("series__event")
        rows = list(stored.values_list("series__event", "vector"))
        self._events = [event for event, _ in rows]
        self._vectors = np.array([vector for _, vector in rows], dtype=np.float32)

    def top_k(self, queries: Vectors, k: int) -> list[list[tuple[str, float]]]:
        """For each query at most k (event, cosine), best first, ties by event name."""
        if not self._events:
            return [[] for _ in queries]
        scores = queries @ self._vectors.T
        return [[(self._events[i], float(row[i])) for i in np.argsort(-row, kind="stable")[:k]] for row in scores]
