"""Inventories of one note use a UID for one occurrence only.

Concurrent runs, drafts, references and imports are covered.
"""

from __future__ import annotations

import random
import threading

import pytest
from django.db import connection, transaction

from ehr.models import Note
from tests import factories
from timelines.domain import TaggedSpan
from timelines.models import Inventory, Occurrence
from timelines.pipeline.uids import assign_uids
from timelines.runs import storage

RUNS = 5
SPANS = 12
TEXT = "word " * 200


class Counting(random.Random):
    """Draws the same numbers in every generator.

    Without the lock and the check of the UIDs in use, all runs would give the same UIDs.
    """

    def __init__(self) -> None:
        super().__init__(0)
        self._next = 0

    def randrange(self, *args: int, **kwargs: int) -> int:  # type: ignore[override]
        self._next += 1
        return self._next % 256


def store(note: Note, run: object, first: int) -> None:
    """Store an inventory of the note as a stage does."""
    spans = [TaggedSpan(first + 5 * n, first + 5 * n + 4, "word") for n in range(SPANS)]
    with transaction.atomic():
        inventory = assign_uids(spans, rng=Counting(), in_use=storage.uids_in_use(note.pk))
        storage.save_inventory(note=note, inventory=inventory, origin=Inventory.Origin.RUN, run=run)  # type: ignore[arg-type]


def meanings(note: Note) -> dict[str, set[tuple]]:
    found: dict[str, set[tuple]] = {}
    for uid, *identity in Occurrence.objects.filter(inventory__note=note).values_list(
        "uid4", "start", "end", "mention"
    ):
        found.setdefault(uid, set()).add(tuple(identity))
    return found


@pytest.mark.django_db(transaction=True)
def test_runs_that_tag_one_note_at_the_same_time_wait_for_each_other():
    encounter = factories.make_encounter(factories.make_dataset(factories.make_study()))
    note = factories.make_note(encounter, TEXT)
    runs = [factories.make_run(encounter.dataset) for _ in range(RUNS)]
    barrier, faults = threading.Barrier(RUNS), []

    def work(number: int) -> None:
        try:
            barrier.wait(timeout=30)
            # The first and the last run tag the same spans: they share UIDs.
            store(note, runs[number], 60 * (number % (RUNS - 1)))
        except Exception as error:
            faults.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(RUNS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not faults
    found = meanings(note)
    assert len(found) == (RUNS - 1) * SPANS
    assert all(len(identities) == 1 for identities in found.values())
    assert Occurrence.objects.filter(inventory__note=note).count() == RUNS * SPANS


@pytest.mark.django_db
def test_a_run_takes_no_uid_of_a_draft():
    encounter = factories.make_encounter(factories.make_dataset(factories.make_study()))
    note = factories.make_note(encounter, TEXT)
    authored = factories.make_inventory(note)
    for n in range(1, 4):
        factories.make_occurrence(authored, "word", uid4=f"{n:04x}")
    store(note, factories.make_run(encounter.dataset), 0)
    assert not {"0001", "0002", "0003"} & set(
        Occurrence.objects.filter(inventory__run__isnull=False).values_list("uid4", flat=True)
    )


@pytest.mark.django_db
def test_other_notes_do_not_matter():
    encounter = factories.make_encounter(factories.make_dataset(factories.make_study()))
    first, second = (factories.make_note(encounter, f"{TEXT}{n}") for n in range(2))
    for note in (first, second):
        store(note, factories.make_run(encounter.dataset), 0)
    assert meanings(first) == meanings(second)
