"""Load when the occurrences of concepts happened, as columns.

One query a source, read with COPY: no loop over stays.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl
from django.db import connection
from django.db.models import Exists, OuterRef

from cohorts.facts.choosing import find_timelines
from cohorts.models import ConceptVersion
from cohorts.values import Source
from ehr.models import Dataset, EventSeries
from timelines.curation.curated import load_standing
from timelines.models import Correction, CuratedTimeline

#: The columns of a frame of facts; `fact` is unique within a stay: the key of an entry, or
#: −1 − row_index of a row. A fact of two concepts is in two lines.
SCHEMA = {
    "stay": pl.Int64,
    "concept": pl.String,
    "fact": pl.Int64,
    "ordinal": pl.Int32,
    "point": pl.Float64,
    "lower": pl.Float64,
    "upper": pl.Float64,
    "value": pl.Float64,
}
_MEMBERS = """
    WITH members AS (
        SELECT * FROM unnest(%(concepts)s::text[], %(kinds)s::text[], %(keys)s::text[], %(polarities)s::text[])
        AS m (concept, kind, key, polarity)
    )
"""
#: The value of an entry is that of the first row that its time rests on.
_ENTRIES = f"""{_MEMBERS}
    SELECT t.encounter_id, m.concept, e.id, o.ordinal, e.time, e.lower, e.upper, r.numeric_value
    FROM members m
    JOIN timelines_occurrence o ON o.mention_key = m.key AND o.polarity = m.polarity
    JOIN timelines_entry e ON e.occurrence_id = o.id
    JOIN timelines_timeline t ON t.id = e.timeline_id
    LEFT JOIN ehr_sourcerow r ON r.dataset_id = %(dataset)s AND r.encounter_id = t.encounter_id
        AND r.row_index = e.adopted_rows[1]
    WHERE m.kind = 'mention' AND t.id = ANY(%(timelines)s) AND NOT e.id = ANY(%(left_out)s)
    ORDER BY t.encounter_id, o.ordinal, m.concept
"""
_ROWS = f"""{_MEMBERS}
    SELECT s.encounter_id, m.concept, -1 - r.row_index, r.row_index,
        extract(epoch FROM r.time - c.admitted_at) / 3600 AS at,
        extract(epoch FROM r.time - c.admitted_at) / 3600,
        extract(epoch FROM r.time - c.admitted_at) / 3600, r.numeric_value
    FROM members m
    JOIN ehr_eventseries s ON s.event = m.key
    JOIN ehr_encounter c ON c.id = s.encounter_id AND c.dataset_id = %(dataset)s
    JOIN ehr_sourcerow r ON r.dataset_id = c.dataset_id AND r.encounter_id = c.id
        AND r.row_index = ANY(s.row_indices)
    WHERE m.kind = 'series' AND r.time IS NOT NULL
    ORDER BY s.encounter_id, r.row_index, m.concept
"""


@dataclass(frozen=True, slots=True)
class Loaded:
    """The facts of the stays that have times from a source.

    `stays`: also those without any fact.
    """

    facts: pl.DataFrame
    stays: frozenset[int]


def load_facts(dataset: Dataset, source: Source, concepts: Mapping[str, ConceptVersion]) -> Loaded:
    """Return the facts of these concepts (name → version) in the stays of a dataset.

    An entry with a time and no bounds is exact; a missing bound of any other is open (±inf).
    """
    members = _columns(concepts)
    if source is Source.ROWS:
        recorded = Exists(EventSeries.objects.filter(encounter=OuterRef("pk")))
        stays = dataset.encounters.filter(recorded).order_by().values_list("pk", flat=True)
        return Loaded(_copy(_ROWS, members | {"dataset": dataset.pk}), frozenset(stays))
    chosen = dict(find_timelines(dataset, source).values_list("pk", "encounter_id"))
    values = members | {
        "dataset": dataset.pk,
        "timelines": list(chosen),
        "left_out": find_not_happened(chosen) if source is Source.CURATED else [],
    }
    return Loaded(_open_bounds(_copy(_ENTRIES, values)), frozenset(chosen.values()))


def _columns(concepts: Mapping[str, ConceptVersion]) -> dict[str, list[str]]:
    found = [(name, member) for name, version in concepts.items() for member in version.members]
    return {
        "concepts": [name for name, _ in found],
        "kinds": [member["kind"] for _, member in found],
        "keys": [member["key"] for _, member in found],
        "polarities": [member["polarity"] for _, member in found],
    }


def _copy(query: str, values: Mapping[str, Any]) -> pl.DataFrame:
    written = io.BytesIO()
    with (
        connection.cursor() as cursor,
        cursor.copy(f"COPY ({query}) TO STDOUT (FORMAT csv)", values) as lines,
    ):
        for part in lines:
            written.write(part)
    if not written.tell():
        return pl.DataFrame(schema=SCHEMA)
    written.seek(0)
    return pl.read_csv(written, has_header=False, schema=SCHEMA)


def _open_bounds(facts: pl.DataFrame) -> pl.DataFrame:
    exact = pl.col("lower").is_null() & pl.col("upper").is_null()
    return facts.with_columns(
        lower=pl.when(exact).then(pl.col("point")).otherwise(pl.col("lower")).fill_null(-_OPEN),
        upper=pl.when(exact).then(pl.col("point")).otherwise(pl.col("upper")).fill_null(_OPEN),
    )


_OPEN = float("inf")


def find_not_happened(timelines: Collection[int]) -> list[int]:
    """Return the entries of curated timelines that people say did not happen."""
    curated = CuratedTimeline.objects.filter(timeline__in=timelines)
    bases = Correction.objects.filter(
        base__in=curated.values("base"), kind=Correction.Kind.NOT_HAPPENED
    )
    found: list[int] = []
    for base in bases.values_list("base", flat=True).distinct():
        denied = _denied(load_standing(base))
        found += curated.filter(
            base=base, timeline__entries__occurrence__in=list(denied)
        ).values_list("timeline__entries__pk", flat=True)
    return found


def _denied(standing: Mapping[int, Any]) -> Iterable[int]:
    for occurrence, marks in standing.items():
        if marks.applied is not None and marks.applied.kind == Correction.Kind.NOT_HAPPENED:
            yield occurrence
