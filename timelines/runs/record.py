"""The structured record of one encounter, as the pipeline takes it.

Summaries, rows in hours, and a search over embedded summaries.
"""

from __future__ import annotations

from collections import defaultdict

from ehr.index import EncounterSearch, embed_encounter
from ehr.models import Encounter, EventSeries, SourceRow
from jobs.leases.hold import Hold
from llm_runtime.base import Embedder
from timelines import domain
from timelines.pipeline.run import Record


def load_record(encounter: Encounter, embedder: Embedder) -> Record:
    """Return the record, in three queries.

    The search covers vectors under the embedder's name.
    """
    series = list(EventSeries.objects.filter(encounter=encounter).values_list("event", "summary"))
    return Record(dict(series), load_rows(encounter), EncounterSearch(encounter.pk, embedder.name))


def load_names(encounter: Encounter) -> list[str]:
    """Return the names of the encounter's series, never a value or a time."""
    series = EventSeries.objects.filter(encounter=encounter).order_by("event")
    return list(series.values_list("event", flat=True))


def load_rows(encounter: Encounter) -> dict[str, list[domain.SourceRow]]:
    """event → its rows in order, times in hours from the anchor."""
    anchor = domain.Anchor(encounter.admitted_at)
    rows: dict[str, list[domain.SourceRow]] = defaultdict(list)
    for r in SourceRow.objects.filter(
        dataset_id=encounter.dataset_id, encounter_id=encounter.pk
    ).order_by("row_index"):
        hours = None if r.time is None else anchor.hours(r.time)
        kind = domain.TimeKind(r.time_kind)
        rows[r.event].append(
            domain.SourceRow(
                r.row_index, hours, r.event, r.value, r.unit, r.source, kind, r.numeric_value
            )
        )
    return dict(rows)


def embed_missing(encounter: Encounter, embedder: Embedder, hold: Hold) -> int:
    """Embed the summaries without a vector under this embedder's name.

    Returns how many. Vectors of an encounter serve every run, so they belong to no batch: storing
    them twice changes nothing. Raises JobCancelled or LostLease between two blocks.
    """

    def progress(done: int, total: int) -> None:
        hold.check()
        hold.report(
            done=done, total=total, words=f"embedding series summaries, {done} of {total} done"
        )

    return embed_encounter(encounter, embedder, progress=progress)
