"""Build what a test needs, as short as a sentence.

These are people, studies, cases, runs, timelines and the chain behind them. Accounts go through
their actions. Clinical rows are stored directly, as an import and a run leave them; every row
satisfies the database's own constraints. `tests/demo_cases.py` builds whole cases on top of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import count
from typing import Any

from django.db import connection, transaction
from django.db.models import QuerySet
from django.utils import timezone

from accounts.actions import add_role, create_study
from accounts.models import Role, Study, User
from adjudication.models import Game
from ehr.models import Dataset, Encounter, EventSeries, Note, SourceRow
from ehr.partitions import ensure_partition
from timelines.domain import Lane, Polarity, TimelineKind
from timelines.models import (
    Candidate,
    CaseRun,
    Entry,
    Evidence,
    Inventory,
    Occurrence,
    Query,
    Run,
    Timeline,
)

PASSWORD = "correct-horse-battery-4"
ADMITTED = datetime(2131, 2, 24, 14, 38)
_number = count(1)


def make_study(name: str = "") -> Study:
    """A study without members."""
    return create_study(name=name or f"Study {next(_number)}", by=None)


def make_user(study: Study | None = None, *roles: Role, username: str = "") -> User:
    """A person whose password is PASSWORD, with `roles` in the study."""
    user = User.objects.create_user(username or f"person-{next(_number)}", password=PASSWORD)
    for role in roles:
        assert study is not None
        add_role(study=study, user=user, role=role, by=None)
    return user


def make_dataset(study: Study | None = None, name: str = "") -> Dataset:
    """An imported, empty cohort."""
    return Dataset.objects.create(
        study=study or make_study(),
        name=name or f"Cohort {next(_number)}",
        format="cases",
        state=Dataset.State.READY,
    )


def make_encounter(
    dataset: Dataset | None = None,
    *,
    case_id: str = "",
    title: str = "",
    admitted_at: datetime = ADMITTED,
    stay_hours: float | None = 96.0,
) -> Encounter:
    """One stay."""
    return Encounter.objects.create(
        dataset=dataset or make_dataset(),
        case_id=case_id or f"case-{next(_number)}",
        title=title,
        admitted_at=admitted_at,
        discharged_at=None if stay_hours is None else admitted_at + timedelta(hours=stay_hours),
    )


def make_note(encounter: Encounter, text: str) -> Note:
    """The note of an encounter, with its checksum."""
    return Note.objects.create(encounter=encounter, text=text, sha256=Note.digest(text))


def make_run(
    dataset: Dataset, *, label: str = "", source: str = "rules", variant: str = "full"
) -> Run:
    """A finished cohort run."""
    return Run.objects.create(
        study=dataset.study,
        dataset=dataset,
        label=label,
        source=source,
        backbone="rules",
        variant=variant,
        config={},
        code_revision="test",
    )


def make_inventory(note: Note, run: Run | None = None, *, origin: str = "") -> Inventory:
    """Create an open inventory, of a run if given, else a reference.

    `seal` it when its occurrences and timelines are stored.
    """
    chosen = origin or (Inventory.Origin.RUN if run else Inventory.Origin.REFERENCE)
    return Inventory.objects.create(encounter=note.encounter, note=note, origin=chosen, run=run)


def seal(inventory: Inventory) -> None:
    """From now on the inventory and its timelines stay as they are."""
    inventory.sealed_at = timezone.now()
    inventory.save()


def make_occurrence(
    inventory: Inventory,
    phrase: str = "",
    *,
    span: tuple[int, int] | None = None,
    mention: str = "",
    uid4: str = "",
    lane: Lane = Lane.FINDING,
    polarity: Polarity = Polarity.PRESENT,
) -> Occurrence:
    """Create the next occurrence, at `span` or at the first `phrase`."""
    ordinal = inventory.occurrences.count()
    if span is None and phrase:
        start = inventory.note.text.index(phrase)
        span = (start, start + len(phrase))
    return Occurrence.objects.create(
        inventory=inventory,
        ordinal=ordinal,
        uid4=uid4 or f"{ordinal + 0xA000:04x}",
        mention=mention or phrase,
        start=span[0] if span else None,
        end=span[1] if span else None,
        lane=lane.value,
        polarity=polarity.value,
    )


def make_case_run(run: Run, encounter: Encounter, inventory: Inventory | None = None) -> CaseRun:
    """One case of a run, without stage rows: nothing of it is under way."""
    return CaseRun.objects.create(run=run, encounter=encounter, inventory=inventory)


def make_timeline(
    inventory: Inventory,
    times: Mapping[Occurrence, float | None] | Sequence[Entry],
    *,
    kind: TimelineKind = TimelineKind.TEXT_ONLY,
    case_run: CaseRun | None = None,
    alternative: int = 1,
    source: str = "",
) -> Timeline:
    """A complete timeline from times (hours) or from unsaved entries."""
    entries = (
        [Entry(occurrence=o, time=t, decided_by="test/given") for o, t in times.items()]
        if isinstance(times, Mapping)
        else times
    )
    with transaction.atomic():
        timeline = Timeline.objects.create(
            encounter=inventory.encounter,
            inventory=inventory,
            case_run=case_run,
            source=source or (case_run.run.source if case_run else "reference"),
            kind=kind.value,
            alternative=alternative,
        )
        for entry in entries:
            entry.timeline = timeline
        Entry.objects.bulk_create(entries)
    return timeline


def make_bare_timeline(
    encounter: Encounter, times: Mapping[str, float | None], *, source: str
) -> Timeline:
    """A timeline of a source that names events itself and has no inventory."""
    timeline = Timeline.objects.create(
        encounter=encounter, source=source, kind=TimelineKind.TEXT_ONLY.value
    )
    Entry.objects.bulk_create(
        Entry(timeline=timeline, event=event, time=time) for event, time in times.items()
    )
    return timeline


def make_row(
    encounter: Encounter,
    event: str,
    hours: float | None,
    *,
    value: str = "",
    number: float | None = None,
    unit: str = "",
    time_kind: str = "administration",
) -> SourceRow:
    """Create the next row of an encounter's structured record.

    The dataset's partition is made if it is missing.
    """
    ensure_partition(encounter.dataset_id)
    index = SourceRow.objects.filter(dataset_id=encounter.dataset_id, encounter=encounter).count()
    time = None if hours is None else encounter.admitted_at + timedelta(hours=hours)
    row = SourceRow(
        dataset=encounter.dataset,
        encounter=encounter,
        row_index=index,
        time=time,
        event=event,
        value=value,
        numeric_value=number,
        unit=unit,
        time_kind=time_kind,
    )
    SourceRow.objects.bulk_create([row])
    return row


def make_series(
    encounter: Encounter, event: str, rows: Sequence[SourceRow], *, summary: str = ""
) -> EventSeries:
    """The series of one event name over its rows."""
    times = [row.time for row in rows if row.time is not None]
    return EventSeries.objects.create(
        encounter=encounter,
        event=event,
        summary=summary or f"{event}: {len(rows)} values",
        row_indices=[row.row_index for row in rows],
        count=len(rows),
        first=min(times, default=None),
        last=max(times, default=None),
        priority=5,
    )


def make_query(case_run: CaseRun, occurrence: Occurrence, text: str, ordinal: int = 0) -> Query:
    """A retrieval query."""
    return Query.objects.create(
        case_run=case_run, occurrence=occurrence, text=text, ordinal=ordinal
    )


def make_candidate(
    query: Query,
    series: EventSeries,
    *,
    rank: int = 1,
    kept: bool = True,
    fate: str = "",
    rerank: float | None = 0.8,
) -> Candidate:
    """A series that a query brought back."""
    return Candidate.objects.create(
        query=query,
        series=series,
        dense_rank=rank,
        dense_score=round(0.8 - 0.05 * rank, 3),
        rerank_score=rerank,
        kept=kept,
        fate=fate,
    )


def make_evidence(candidate: Candidate, row: SourceRow) -> Evidence:
    """Create evidence: a copy of a source row for the candidate's occurrence."""
    return _make_evidence(candidate.query.case_run, candidate, row)


def make_stay_row(case_run: CaseRun, row: SourceRow) -> Evidence:
    """Create a row of the stay itself that the case run's revision sees."""
    return _make_evidence(case_run, None, row)


def _make_evidence(case_run: CaseRun, candidate: Candidate | None, row: SourceRow) -> Evidence:
    encounter = case_run.encounter
    assert row.time is not None
    return Evidence.objects.create(
        case_run=case_run,
        candidate=candidate,
        dataset=encounter.dataset,
        encounter=encounter,
        row_index=row.row_index,
        time=row.time,
        hours=(row.time - encounter.admitted_at).total_seconds() / 3600,
        event=row.event,
        value=row.value,
        unit=row.unit,
        source=row.source,
        time_kind=row.time_kind,
    )


def change_past_guards(rows: QuerySet[Any], **values: Any) -> None:
    """Update rows past triggers, as the tables' owner can.

    It is for states that the application cannot reach from the test's own.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        rows.update(**values)
        cursor.execute("SET LOCAL session_replication_role = origin")
        if rows.model is Game:  # its counts have missed the change
            cursor.execute("DELETE FROM adjudication_judgecount WHERE state <> ''")
            cursor.execute(
                "INSERT INTO adjudication_judgecount (run_id, state, outcome, n, moved_at) "
                "SELECT run_id, state, outcome, count(*), now() FROM adjudication_game GROUP BY run_id, state, outcome"
            )
