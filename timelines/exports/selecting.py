"""The cases of an export, in its order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.db.models import QuerySet

from ehr.models import Dataset, Encounter
from timelines.formats.meds.writer import subject_id
from timelines.models import Export
from timelines.transfer.lines import Selection, find_cases

#: So many cases are one part. It bounds what a killed worker has to write again.
CASES_PER_PART = 50
#: Cases that are read from the database at once.
CHUNK = 200


def read_cases(dataset: Dataset, wanted: Selection, format: str) -> Iterator[Encounter]:
    """Yield the cases in order of case id, for MEDS of subject id."""
    if format != "meds":
        cases = find_cases(dataset, wanted).select_related("dataset")
        yield from cases.iterator(chunk_size=CHUNK)
        return
    for _, pk in _by_subject(find_cases(dataset, wanted)):
        yield Encounter.objects.select_related("dataset").get(pk=pk)


def select_timelines(export: Export) -> Selection:
    """Return the timelines of a run, of all sources, or of the study.

    Of each source, the best run is chosen.
    """
    if export.run is not None:
        return Selection(run=export.run.public_id)
    return Selection(identified=True, of_study=not export.all_sources)


def plan_parts(export: Export) -> list[list[int]]:
    """Return the primary keys of the cases of each part.

    The stays of one MEDS subject are in one part, because a shard has every subject whole.
    """
    cases = find_cases(export.dataset, Selection())
    if export.run is not None:
        cases = cases.filter(case_runs__run=export.run)
    keys: Sequence[tuple[object, int]] = (
        _by_subject(cases)
        if export.format == "meds"
        else [(pk, pk) for pk in cases.values_list("pk", flat=True)]
    )
    parts: list[list[int]] = []
    last: object = None
    for key, pk in keys:
        if not parts or (len(parts[-1]) >= CASES_PER_PART and key != last):
            parts.append([])
        parts[-1].append(pk)
        last = key
    return parts


def _by_subject(cases: QuerySet[Encounter]) -> list[tuple[int, int]]:
    """Return (subject id, primary key) in order.

    Only ids are sorted in memory.
    """
    return sorted((subject_id(e), e.pk) for e in cases.only("pk", "subject_key", "case_id"))
