"""A small cohort whose study timeline is known, and concepts over it."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from accounts.models import Study
from cohorts.models import Concept, ConceptMember, ConceptVersion
from ehr.models import Dataset, Encounter
from tests import factories
from timelines.domain import Polarity, TimelineKind
from timelines.models import CaseRun, Entry, Run, StudyTimeline


@dataclass(frozen=True)
class Event:
    """One occurrence: its words, and its times by note and record."""

    words: str
    note: float | None
    record: float | None
    note_bounds: tuple[float | None, float | None] = (None, None)
    record_bounds: tuple[float | None, float | None] = (None, None)
    rows: tuple[int, ...] = ()
    polarity: Polarity = Polarity.PRESENT


@dataclass(frozen=True)
class Row:
    """A row of the record, which the revision saw."""

    event: str
    hours: float
    value: str = ""
    time_kind: str = "administration"


def make_study_run(dataset: Dataset) -> Run:
    """A run that is the dataset's study timeline."""
    run = factories.make_run(dataset)
    StudyTimeline.objects.create(dataset=dataset, run=run)
    return run


def make_stay(
    run: Run, events: Sequence[Event], rows: Sequence[Row] = (), *, hours: float = 96.0
) -> Encounter:
    """A stay whose note names these events, one in each sentence.

    `rows` of events are places in the rows of the stay.
    """
    encounter = factories.make_encounter(run.dataset, stay_hours=hours)
    text = "".join(f"{event.words}. " for event in events) or "Nothing happened."
    inventory = factories.make_inventory(factories.make_note(encounter, text), run)
    case_run = factories.make_case_run(run, encounter, inventory)
    _make_rows(case_run, rows)
    made, at = [], 0
    for event in events:
        span = (at, at + len(event.words))
        at = span[1] + 2
        made.append(
            factories.make_occurrence(
                inventory, span=span, mention=event.words, polarity=event.polarity
            )
        )
    for kind, of_note in ((TimelineKind.TEXT_ONLY, True), (TimelineKind.REVISED, False)):
        entries = [
            Entry(
                occurrence=occurrence,
                time=event.note if of_note else event.record,
                lower=(event.note_bounds if of_note else event.record_bounds)[0],
                upper=(event.note_bounds if of_note else event.record_bounds)[1],
                adopted_rows=[] if of_note else list(event.rows),
                decided_by="test/given",
            )
            for occurrence, event in zip(made, events, strict=True)
        ]
        factories.make_timeline(inventory, entries, kind=kind, case_run=case_run)
    factories.seal(inventory)
    return encounter


def _make_rows(case_run: CaseRun, rows: Sequence[Row]) -> None:
    series = defaultdict(list)
    for row in rows:
        made = factories.make_row(
            case_run.encounter,
            row.event,
            row.hours,
            value=row.value,
            number=float(row.value) if row.value.isdecimal() else None,
            time_kind=row.time_kind,
        )
        factories.make_stay_row(case_run, made)
        series[row.event].append(made)
    for event, found in series.items():
        factories.make_series(case_run.encounter, event, found)


def make_concept(
    study: Study,
    name: str,
    *,
    mentions: Sequence[str] = (),
    series: Sequence[str] = (),
    polarity: Polarity = Polarity.PRESENT,
) -> ConceptVersion:
    """A concept with these accepted members, and its version 1."""
    concept = Concept.objects.create(study=study, name=name)
    members = [
        {
            "kind": "mention",
            "key": hashlib.md5(words.lower().encode()).hexdigest(),
            "polarity": polarity.value,
            "words": words.lower(),
        }
        for words in mentions
    ] + [{"kind": "series", "key": event, "polarity": "", "words": event} for event in series]
    for member in members:
        ConceptMember.objects.create(
            concept=concept, state=ConceptMember.State.ACCEPTED, found_by="test", **member
        )
    return ConceptVersion.objects.create(
        concept=concept, number=1, members=members, sha256="0" * 64
    )
