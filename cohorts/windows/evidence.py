"""Load the sentence and the row of what decides the members of a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cohorts.models import WindowMember
from ehr.models import Dataset, Encounter, SourceRow
from ehr.presentation.clock import Clock, Moment
from ehr.record.clock import clock_of
from timelines.models import Entry
from timelines.presentation.sentence import Sentence, find_sentence


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the record in words; `hours` from admission."""

    index: int
    event: str
    value: str
    at: Moment | None
    hours: float | None


@dataclass(frozen=True, slots=True)
class Evidence:
    """A deciding event: where the note says it, and the row that its time rests on.

    `hours`, `lower` and `upper` are its time and bounds from admission. `gone`: its timeline no
    longer exists; the words are those that were stored.
    """

    concept: str
    words: str
    uid4: str
    sentence: Sentence | None
    at: Moment | None
    earliest: Moment | None
    latest: Moment | None
    hours: float | None
    lower: float | None
    upper: float | None
    row: Row | None
    gone: bool


Rows = Mapping[tuple[int, int], SourceRow]


def load_evidence(
    dataset: Dataset, members: Sequence[WindowMember]
) -> dict[int, tuple[list[Evidence], list[Evidence]]]:
    """Return the evidence of both sources by primary key of the member, in two queries."""
    stored = [part for m in members for part in (*m.first_deciding, *m.second_deciding)]
    entries = Entry.objects.select_related("occurrence__inventory__note").in_bulk(
        [part["entry"] for part in stored if part["entry"] is not None]
    )
    rows = _load_rows(dataset, members)
    return {
        m.pk: (
            [_describe(m.encounter, part, entries, rows) for part in m.first_deciding],
            [_describe(m.encounter, part, entries, rows) for part in m.second_deciding],
        )
        for m in members
    }


def _load_rows(
    dataset: Dataset, members: Iterable[WindowMember]
) -> dict[tuple[int, int], SourceRow]:
    wanted = {
        (m.encounter_id, part["row_index"])
        for m in members
        for part in (*m.first_deciding, *m.second_deciding)
        if part["row_index"] is not None
    }
    rows = SourceRow.objects.filter(
        dataset=dataset,
        encounter__in={stay for stay, _ in wanted},
        row_index__in={index for _, index in wanted},
    )
    return {(row.encounter_id, row.row_index): row for row in rows.order_by()}


def _describe(
    encounter: Encounter, part: Mapping[str, object], entries: Mapping[int, Entry], rows: Rows
) -> Evidence:
    clock = clock_of(encounter)
    entry = entries.get(part["entry"]) if isinstance(part["entry"], int) else None
    index = part["row_index"]
    found = rows.get((encounter.pk, index)) if isinstance(index, int) else None
    row = None if found is None else _row(clock, encounter, found)
    occurrence = entry.occurrence if entry else None
    return Evidence(
        concept=str(part["concept"]),
        words=str(part["text"]),
        uid4=occurrence.uid4 if occurrence else "",
        sentence=_sentence(entry),
        at=_moment(clock, entry.time if entry else None) if entry else (row.at if row else None),
        earliest=_moment(clock, entry.lower if entry else None),
        latest=_moment(clock, entry.upper if entry else None),
        hours=entry.time if entry else (row.hours if row else None),
        lower=entry.lower if entry else None,
        upper=entry.upper if entry else None,
        row=row,
        gone=entry is None and part["entry"] is not None,
    )


def _moment(clock: Clock, hours: float | None) -> Moment | None:
    return None if hours is None else clock.read(hours)


def _row(clock: Clock, encounter: Encounter, row: SourceRow) -> Row:
    hours = None if row.time is None else (row.time - encounter.admitted_at).total_seconds() / 3600
    value = " ".join(filter(None, (row.value.strip(), row.unit)))
    return Row(row.row_index, row.event, value, _moment(clock, hours), hours)


def _sentence(entry: Entry | None) -> Sentence | None:
    occurrence = entry.occurrence if entry else None
    if occurrence is None or occurrence.start is None or occurrence.end is None:
        return None
    return find_sentence(occurrence.inventory.note.text, occurrence.start, occurrence.end)
