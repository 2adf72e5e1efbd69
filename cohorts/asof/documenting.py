"""Find and store when entries were first documented.

`documented.sql` has the rule. Entries and rows never change, so what is stored stays true.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from django.db import connection, transaction

from cohorts.models import Documenting
from jobs.hints import send_hints
from jobs.leases.hold import Hold, write_guard
from jobs.models import JobState
from jobs.worker import work
from timelines.domain import TimelineKind
from timelines.models import Run, Timeline

_RULE = Path(__file__).with_name("documented.sql").read_text(encoding="utf-8")
_STORE = f"""
    INSERT INTO cohorts_documented (entry_id, hours, by, row_index)
    SELECT entry_id, hours, coalesce(by, ''), row_index FROM ({_RULE}) AS found
    ON CONFLICT DO NOTHING
"""
_MISSING = """
    SELECT t.id FROM unnest(%s::bigint[]) AS t (id)
    WHERE EXISTS (
        SELECT 1 FROM timelines_entry e WHERE e.timeline_id = t.id
        AND NOT EXISTS (SELECT 1 FROM cohorts_documented d WHERE d.entry_id = e.id)
    ) ORDER BY t.id
"""
#: Timelines of one statement: some ten thousand entries, less than a second.
BATCH = 200


@dataclass(frozen=True, slots=True)
class FirstDocumented:
    """When an entry was first documented, and when its note was written.

    `row_index` is the row that documented it; None for a note.
    """

    hours: float | None
    by: str
    row_index: int | None
    noted: float | None


@transaction.atomic
def start_documenting(run: Run) -> Documenting:
    """Queue the storing for a run; a job that is there already is used again."""
    job, _ = Documenting.objects.get_or_create(run=run)
    send_hints(Documenting, [job.pk])
    return job


def execute_documenting(job_id: int) -> JobState | None:
    """Store if the job waits; return its new state.

    None if there was nothing to do.
    """
    return work(Documenting, job_id, _document_run)


def _document_run(job: Documenting, hold: Hold) -> None:
    kinds = [TimelineKind.TEXT_ONLY.value, TimelineKind.REVISED.value]
    found = Timeline.objects.filter(case_run__run=job.run_id, alternative=1, kind__in=kinds)
    store_documented(list(found.order_by("pk").values_list("pk", flat=True)), hold)


def store_documented(timelines: Sequence[int], hold: Hold) -> None:
    """Store when entries were documented, if it is missing."""
    missing = _find_missing(timelines)
    for start in range(0, len(missing), BATCH):
        batch = missing[start : start + BATCH]
        with write_guard(hold), connection.cursor() as cursor:
            cursor.execute(_STORE, {"timelines": batch})
        done = start + len(batch)
        hold.report(done=done, total=len(missing), words="finding when it was documented")


def find_documented(timelines: Sequence[int]) -> dict[int, FirstDocumented]:
    """Return when each entry of these timelines was documented."""
    with connection.cursor() as cursor:
        cursor.execute(_RULE, {"timelines": list(timelines)})
        return {
            entry: FirstDocumented(hours, by or "", row, noted)
            for entry, hours, by, row, noted in cursor.fetchall()
        }


def _find_missing(timelines: Sequence[int]) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(_MISSING, [list(timelines)])
        return [pk for (pk,) in cursor.fetchall()]
