"""The series of an encounter as vectors in PostgreSQL.

They are stored once for each model and searched exactly within the encounter. All queries of a case
take one binary fetch and one matrix product. There is no approximate index, so no series can be
lost (protocol stage 4; architecture, "Scale").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import psycopg
from django.db import connection, transaction
from numpy.typing import NDArray

from ehr.models import Encounter, EventSeries, SeriesEmbedding
from llm_runtime.base import Embedder, Vectors
from llm_runtime.calls.blocking import run_blocking

Ints = NDArray[np.int64]

EMBED_SERIES = 256
#: Decimals to which scores are ranked: sums of float32 in different order differ beyond them.
SCORE_DECIMALS = 5
#: pgvector's binary form of a vector: its dimension and a reserved field, 2 bytes each, before the
#: numbers (big-endian).
VECTOR_HEADER = 4
COPY_HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
COPY_TRAILER = b"\xff\xff"
FETCH = """
    SELECT array_agg(s.event ORDER BY s.event COLLATE "C"), string_agg(vector_send(v.vector), ''::bytea ORDER BY s.event COLLATE "C")
    FROM ehr_seriesembedding v JOIN ehr_eventseries s ON s.id = v.series_id
    WHERE v.encounter_id = %s AND v.model = %s
"""
#: Vectors of equal summaries of the same stay, imported before into the study. Other stays have none:
#: a summary has dates (0 of 4,877 of the demo are in two stays).
COPY_EQUAL = """
    INSERT INTO ehr_seriesembedding (series_id, encounter_id, model, vector)
    SELECT DISTINCT ON (mine.id) mine.id, mine.encounter_id, v.model, v.vector
    FROM ehr_eventseries mine
    JOIN ehr_eventseries other ON other.encounter_id = ANY(%s) AND (other.event, other.summary) = (mine.event, mine.summary)
    JOIN ehr_seriesembedding v ON v.series_id = other.id AND v.model = %s
    WHERE mine.encounter_id = %s
    ORDER BY mine.id
    ON CONFLICT (series_id, model) DO NOTHING
"""


def missing_series(encounter: Encounter, model: str) -> list[tuple[int, str]]:
    """Return (id, summary) of the series without a vector of this model."""
    missing = EventSeries.objects.filter(encounter=encounter).exclude(embeddings__model=model)
    return list(missing.order_by("pk").values_list("pk", "summary"))


def embed_encounter(
    encounter: Encounter,
    embedder: Embedder,
    *,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> int:
    """Embed the series without a vector of this model; return how many.

    Summaries that an earlier import of the stay has are copied. A second call has nothing to do.
    Each batch is stored separately; no transaction is open while
    the model works.
    """
    missing = missing_series(encounter, embedder.name)
    if missing and copy_equal(encounter, embedder.name):
        missing = missing_series(encounter, embedder.name)
    for start in range(0, len(missing), EMBED_SERIES):
        progress(start, len(missing))
        batch = missing[start : start + EMBED_SERIES]
        vectors = run_blocking(embedder.embed_documents([summary for _, summary in batch]))
        store_vectors(encounter, embedder.name, [pk for pk, _ in batch], vectors)
    return len(missing)


def copy_equal(encounter: Encounter, model: str) -> int:
    """Copy the vectors of equal summaries of the stay in its study.

    Returns how many were copied.
    """
    others = Encounter.objects.filter(
        dataset__study=encounter.dataset.study_id, case_id=encounter.case_id
    ).exclude(pk=encounter.pk)
    cases = list(others.values_list("pk", flat=True))
    if not cases:
        return 0
    with transaction.atomic(), connection.cursor() as cursor:
        Encounter.objects.select_for_update(no_key=True).only("pk").get(pk=encounter.pk)
        cursor.execute(COPY_EQUAL, [cases, model, encounter.pk])
        return int(cursor.rowcount)


def store_vectors(encounter: Encounter, model: str, series: Sequence[int], vectors: Vectors) -> int:
    """Store one vector for each series with a binary COPY; return how many.

    Series that have a vector of this model are not changed. `vectors` is (len(series), d) float32,
    rows of length 1. Two writers of one encounter take turns.
    """
    with transaction.atomic():
        Encounter.objects.select_for_update(no_key=True).only("pk").get(pk=encounter.pk)
        there = set(
            SeriesEmbedding.objects.filter(encounter=encounter, model=model).values_list(
                "series_id", flat=True
            )
        )
        new = [i for i, pk in enumerate(series) if pk not in there]
        if new:
            copy_vectors(
                encounter.pk,
                model,
                np.asarray(series, np.int64)[new],
                np.asarray(vectors, np.float32)[new],
            )
    return len(new)


def copy_vectors(
    encounter_id: int | NDArray[np.int64], model: str, series: NDArray[np.int64], vectors: Vectors
) -> None:
    """COPY (series, encounter, model, vector) rows in binary, as one array."""
    name = model.encode()
    dimension = vectors.shape[1]
    fields = [
        ("fields", ">i2"),
        ("s", ">i4"),
        ("series", ">i8"),
        ("e", ">i4"),
        ("encounter", ">i8"),
        ("m", ">i4"),
        ("model", f"S{len(name)}"),
    ]
    rows = np.zeros(
        len(series),
        [
            *fields,
            ("v", ">i4"),
            ("dimension", ">i2"),
            ("reserved", ">i2"),
            ("vector", ">f4", (dimension,)),
        ],
    )
    rows["fields"], rows["s"], rows["e"], rows["m"], rows["v"] = (
        4,
        8,
        8,
        len(name),
        VECTOR_HEADER + 4 * dimension,
    )
    rows["series"], rows["encounter"], rows["model"], rows["dimension"], rows["vector"] = (
        series,
        encounter_id,
        name,
        dimension,
        vectors,
    )
    with (
        connection.cursor() as cursor,
        cursor.copy(
            "COPY ehr_seriesembedding (series_id, encounter_id, model, vector) FROM STDIN (FORMAT"
            " binary)"
        ) as copy,
    ):
        copy.write(COPY_HEADER + rows.tobytes() + COPY_TRAILER)


class EncounterSearch:
    """Search over the vectors of one encounter and one model.

    It satisfies the pipeline's `SeriesSearch`.
    """

    def __init__(self, encounter_id: int, model: str) -> None:
        self._encounter_id = encounter_id
        self._model = model

    def top_k(self, queries: Vectors, k: int) -> list[list[tuple[str, float]]]:
        """Return at most k (event, cosine) for each row of `queries` (n, d).

        The best come first, ties by event. One fetch, one product. Raises ValueError if the stored
        vectors have another dimension.
        """
        events, vectors = self.fetch()
        if not events or not len(queries):
            return [[] for _ in queries]
        if queries.shape[1] != vectors.shape[1]:
            raise ValueError(
                f"queries of dimension {queries.shape[1]}, stored vectors of {vectors.shape[1]}"
            )
        scores = np.asarray(queries, np.float32) @ vectors.T
        best, cosines = _best(scores, k)
        rows = zip(best.tolist(), cosines.tolist(), strict=True)
        return [
            [(events[i], cosine) for i, cosine in zip(row, found, strict=True)]
            for row, found in rows
        ]

    def fetch(self) -> tuple[list[str], Vectors]:
        """Return all events in order of code points, and their vectors (n, d).

        They come in one binary row.
        """
        connection.ensure_connection()
        # Django's own cursor fills parameters in on the client, which excludes binary results.
        with psycopg.Cursor(connection.connection) as cursor:
            row = cursor.execute(FETCH, [self._encounter_id, self._model], binary=True).fetchone()
        events, packed = row if row is not None else (None, b"")
        if not events:
            return [], np.zeros((0, 0), np.float32)
        rows = np.frombuffer(packed, np.uint8).reshape(len(events), -1)[:, VECTOR_HEADER:]
        return events, np.ascontiguousarray(rows).view(">f4").astype(np.float32)


def _best(scores: NDArray[np.float32], k: int) -> tuple[Ints, NDArray[np.float32]]:
    """Return (columns, scores), both (n, min(k, columns)).

    They are each row's highest scores to SCORE_DECIMALS; ties go to the lower column.
    """
    n, columns = scores.shape
    k = min(k, columns)
    # Only few columns are candidates: those that, rounded, reach the k-th best.
    edge = np.partition(scores, columns - k, axis=1)[:, columns - k] - 2 * 10.0**-SCORE_DECIMALS
    rows, found = np.nonzero(scores >= edge[:, None])
    kept = scores[rows, found]
    ranking = np.lexsort((found, -np.rint(kept.astype(np.float64) * 10**SCORE_DECIMALS), rows))
    counts = np.bincount(rows, minlength=n)
    place = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    chosen = ranking[place < k]
    return found[chosen].reshape(n, k), kept[chosen].reshape(n, k)
