"""The database itself refuses broken timelines.

Each attempt is plain SQL, without any Python of the application.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from django.db import IntegrityError, connection, transaction

from ehr.models import Dataset, SourceRow
from tests import factories
from timelines.domain import TimelineKind
from timelines.models import CaseRun, Entry, Evidence, Inventory, Occurrence, Run, Timeline

pytestmark = pytest.mark.django_db

TEXT = "Fever 😀 and rash. Given ceftriaxone."


@dataclass
class World:
    """A finished case with two occurrences and both timelines.

    One row of evidence moved the revised timeline.
    """

    inventory: Inventory
    fever: Occurrence
    drug: Occurrence
    case_run: CaseRun
    text_only: Timeline
    revised: Timeline
    evidence: Evidence
    other_row: SourceRow


@pytest.fixture
def world() -> World:
    encounter = factories.make_encounter()
    run = factories.make_run(encounter.dataset)
    inventory = factories.make_inventory(factories.make_note(encounter, TEXT), run)
    fever, drug = (
        factories.make_occurrence(inventory, "Fever"),
        factories.make_occurrence(inventory, "ceftriaxone"),
    )
    factories.seal(inventory)
    case_run = factories.make_case_run(run, encounter, inventory)
    text_only = factories.make_timeline(inventory, {fever: -5.0, drug: 1.0}, case_run=case_run)
    rows = [
        factories.make_row(encounter, "med:ceftriaxone:start", 4.0),
        factories.make_row(encounter, "lab:lactate:blood", 5.0),
    ]
    series = factories.make_series(encounter, "med:ceftriaxone:start", rows[:1])
    candidate = factories.make_candidate(
        factories.make_query(case_run, drug, "ceftriaxone"), series
    )
    evidence = factories.make_evidence(candidate, rows[0])
    entries = [
        Entry(occurrence=fever, time=-5.0),
        Entry(occurrence=drug, time=4.0, adopted_rows=[0]),
    ]
    revised = factories.make_timeline(
        inventory, entries, kind=TimelineKind.REVISED, case_run=case_run
    )
    check_deferred()
    return World(inventory, fever, drug, case_run, text_only, revised, evidence, rows[1])


def check_deferred() -> None:
    """Judge now what the database judges at the end of the transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")


@transaction.atomic
def execute(statement: str, values: tuple[int | str | None, ...]) -> None:
    """Run a statement and end its transaction."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")


def refused(statement: str, *values: int | str | None) -> str:
    """Return the constraint that refuses the statement, at once or at the end.

    The end is that of the transaction.
    """
    with pytest.raises(IntegrityError) as error:
        execute(statement, values)
    assert error.value.__cause__ is not None
    return str(error.value.__cause__.diag.constraint_name)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "change",
    [
        "uid4 = 'ffff'",
        "mention = 'chills'",
        "start = start + 1",
        '"end" = "end" + 1',
        "ordinal = 9",
        "polarity = 'absent'",
    ],
)
def test_occurrences_of_a_sealed_inventory_do_not_change(world, change):
    assert (
        refused(f"UPDATE timelines_occurrence SET {change} WHERE id = %s", world.fever.pk)
        == "sealed_inventory_kept"
    )


def test_a_sealed_inventory_takes_no_occurrence_and_loses_none(world):
    insert = (
        'INSERT INTO timelines_occurrence (inventory_id, ordinal, uid4, mention, start, "end", polarity, lane)'
        " VALUES (%s, 2, 'ffff', 'rash', 12, 16, 'present', 'finding')"
    )
    assert refused(insert, world.inventory.pk) == "sealed_inventory_kept"
    alone = factories.make_inventory(world.inventory.note)
    rash = factories.make_occurrence(alone, "rash")
    factories.seal(alone)
    assert (
        refused("DELETE FROM timelines_occurrence WHERE id = %s", rash.pk)
        == "sealed_inventory_kept"
    )


@pytest.mark.parametrize(
    "change",
    [
        "sealed_at = NULL",
        "sealed_at = now() + interval '1 day'",
        "origin = 'reference', run_id = NULL",
    ],
)
def test_a_sealed_inventory_stays_sealed(world, change):
    assert (
        refused(f"UPDATE timelines_inventory SET {change} WHERE id = %s", world.inventory.pk)
        == "sealed_inventory_kept"
    )


def test_a_note_with_an_inventory_keeps_its_text(world):
    assert (
        refused("UPDATE ehr_note SET text = text || '!' WHERE id = %s", world.inventory.note_id)
        == "note_with_inventory_kept"
    )


def test_spans_lie_inside_the_note_counted_in_code_points(world):
    draft = factories.make_inventory(world.inventory.note)
    whole = factories.make_occurrence(draft, span=(0, len(TEXT)), mention="all")
    assert (
        refused('UPDATE timelines_occurrence SET "end" = %s WHERE id = %s', len(TEXT) + 1, whole.pk)
        == "span_inside_note"
    )
    assert (
        refused('UPDATE timelines_occurrence SET start = "end" WHERE id = %s', whole.pk)
        == "span_is_ordered"
    )
    assert (
        refused("UPDATE timelines_occurrence SET uid4 = 'FFFF' WHERE id = %s", whole.pk)
        == "uid_is_four_hex_digits"
    )
    assert (
        refused("UPDATE timelines_occurrence SET mention = '' WHERE id = %s", whole.pk)
        == "mention_is_not_empty"
    )


def test_an_inventory_is_sealed_only_when_its_timelines_are_complete(world):
    draft = factories.make_inventory(world.inventory.note)
    fever, rash = (
        factories.make_occurrence(draft, "Fever"),
        factories.make_occurrence(draft, "rash"),
    )
    timeline = factories.make_timeline(draft, {fever: 1.0}, kind=TimelineKind.REFERENCE)
    sealing = "UPDATE timelines_inventory SET sealed_at = now() WHERE id = %s"
    assert refused(sealing, draft.pk) == "timeline_complete"
    Entry.objects.create(timeline=timeline, occurrence=rash, time=2.0)
    with connection.cursor() as cursor:
        cursor.execute(sealing, [draft.pk])
    check_deferred()


def test_a_timeline_over_a_sealed_inventory_is_complete_or_not_stored(world):
    insert = (
        "INSERT INTO timelines_timeline (public_id, encounter_id, inventory_id, case_run_id, source,"
        " kind, alternative, reasoning, protocol, created_at)"
        " VALUES ('x', %s, %s, %s, 'rules', 'revised', 2, '', '', now())"
    )
    assert (
        refused(insert, world.inventory.encounter_id, world.inventory.pk, world.case_run.pk)
        == "timeline_complete"
    )


def test_entries_over_a_sealed_inventory_neither_change_nor_go(world):
    assert (
        refused("UPDATE timelines_entry SET time = 0 WHERE timeline_id = %s", world.revised.pk)
        == "sealed_timeline_kept"
    )
    assert (
        refused("DELETE FROM timelines_entry WHERE timeline_id = %s", world.revised.pk)
        == "sealed_timeline_kept"
    )


def test_entries_name_occurrences_of_their_own_inventory(world):
    draft = factories.make_inventory(world.inventory.note)
    mine = factories.make_occurrence(draft, "rash", uid4="00aa")
    timeline = factories.make_timeline(draft, {}, kind=TimelineKind.REFERENCE)
    insert = (
        "INSERT INTO timelines_entry (timeline_id, occurrence_id, event, time, known, context,"
        " decided_by, reason, link, adopted_rows, near_rows)"
        " VALUES (%s, %s, 'x', 1, false, %s, '', '', '', %s, %s)"
    )
    assert refused(insert, timeline.pk, world.fever.pk, [], [], []) == "entry_of_own_inventory"
    assert refused(insert, timeline.pk, None, [], [], []) == "entry_of_own_inventory"
    assert (
        refused(insert, timeline.pk, mine.pk, [world.drug.uid4], [], [])
        == "context_of_own_inventory"
    )
    assert refused(insert, timeline.pk, mine.pk, [], [17], []) == "adopted_row_is_evidence"
    assert refused(insert, timeline.pk, mine.pk, [], [], [17]) == "adopted_row_is_evidence"


@pytest.mark.parametrize("field", ["adopted_rows", "near_rows"])
def test_a_revised_time_names_only_rows_that_its_revision_saw(world, field):
    entries = [Entry(occurrence=world.fever, time=-5.0), Entry(occurrence=world.drug, time=5.0)]
    setattr(entries[1], field, [world.other_row.row_index])
    with pytest.raises(IntegrityError, match="did not see"), transaction.atomic():
        factories.make_timeline(
            world.inventory,
            entries,
            kind=TimelineKind.REVISED,
            case_run=world.case_run,
            alternative=2,
        )


def test_a_time_may_cite_a_row_found_for_another_occurrence_or_of_the_stay(world):
    factories.make_stay_row(world.case_run, world.other_row)
    entries = [
        Entry(occurrence=world.fever, time=4.0, adopted_rows=[0], near_rows=[1], link="cited"),
        Entry(occurrence=world.drug, time=4.0, adopted_rows=[0], link="cited"),
    ]
    factories.make_timeline(
        world.inventory,
        entries,
        kind=TimelineKind.REVISED,
        case_run=world.case_run,
        alternative=2,
    )
    check_deferred()


def test_bounds_hold_their_time_in_the_database_too(world):
    draft = factories.make_inventory(world.inventory.note)
    rash = factories.make_occurrence(draft, "rash")
    entry = factories.make_timeline(draft, {rash: 2.0}, kind=TimelineKind.REFERENCE).entries.get()
    assert (
        refused("UPDATE timelines_entry SET lower = 3 WHERE id = %s", entry.pk)
        == "lower_not_after_time"
    )
    assert (
        refused("UPDATE timelines_entry SET upper = 1 WHERE id = %s", entry.pk)
        == "upper_not_before_time"
    )
    assert (
        refused(
            "UPDATE timelines_entry SET time = NULL, lower = 3, upper = 1 WHERE id = %s", entry.pk
        )
        == "bounds_are_ordered"
    )
    context = ["0001", "0002", "0003", "0004", "0005", "0006"]
    assert (
        refused("UPDATE timelines_entry SET context = %s WHERE id = %s", context, entry.pk)
        == "at_most_five_context_uids"
    )


def test_evidence_is_a_row_that_exists_and_of_its_candidates_series(world):
    columns = (
        "case_run_id, candidate_id, dataset_id, encounter_id, time, hours, event, value, unit,"
        " source, time_kind"
    )
    copy = f"INSERT INTO timelines_evidence (row_index, {columns}) SELECT %s, {columns} FROM timelines_evidence WHERE id = %s"
    assert refused(copy, world.other_row.row_index, world.evidence.pk) == "evidence_of_own_series"
    assert (
        refused("UPDATE timelines_evidence SET row_index = 99 WHERE id = %s", world.evidence.pk)
        == "evidence_of_source_row"
    )
    assert refused("DELETE FROM ehr_sourcerow WHERE row_index = 0").startswith(
        "evidence_of_source_row"
    )


def test_a_query_asks_for_an_occurrence_of_its_own_case(world):
    stranger = factories.make_occurrence(factories.make_inventory(world.inventory.note), "rash")
    insert = "INSERT INTO timelines_query (case_run_id, occurrence_id, ordinal, text) VALUES (%s, %s, 0, 'x')"
    assert refused(insert, world.case_run.pk, stranger.pk) == "query_of_own_inventory"


def test_an_inventory_and_its_note_are_of_one_encounter(world):
    stranger = factories.make_note(factories.make_encounter(), "Another note.")
    insert = "INSERT INTO timelines_inventory (encounter_id, note_id, origin, created_at) VALUES (%s, %s, 'reference', now())"
    assert (
        refused(insert, world.inventory.encounter_id, stranger.pk) == "inventory_note_of_encounter"
    )


def test_a_run_goes_with_everything_it_made(world):
    Run.objects.get(pk=world.case_run.run_id).delete()
    check_deferred()
    assert not Inventory.objects.exists()
    assert not Entry.objects.exists()
    assert not Evidence.objects.exists()
    assert SourceRow.objects.count() == 2


def test_a_dataset_goes_with_everything_that_rests_on_it(world):
    Dataset.objects.get(pk=world.inventory.encounter.dataset_id).delete()
    check_deferred()
    assert not Timeline.objects.exists()
    assert not Occurrence.objects.exists()
    assert not SourceRow.objects.exists()
