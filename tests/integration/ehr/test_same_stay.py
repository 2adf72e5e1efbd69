"""A case that is closed or seen counts for every import of its stay."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import DatabaseError, transaction
from django.test import Client

from accounts.models import Role
from accounts.permissions import NotAllowed
from adjudication.access.asking import accept_exposure
from adjudication.access.eligibility import find_ineligibility_reasons
from adjudication.packets import actions as packets
from ehr.actions import delete_dataset
from ehr.models import Dataset, DeletedStay, Encounter
from ehr.record.same_stay import find_copies
from tests import factories
from tests.unit.adjudication.judging.judge_games import NOTE
from tests.worlds.ehr_cases import write_case
from tests.worlds.judged import (
    RECORD,
    SOURCES,
    JudgedWorld,
    make_case,
    make_judged_run,
    make_judged_world,
    make_source,
)
from tests.worlds.reviewed import draw_packet
from timelines.authoring.actions import start_authoring
from timelines.models import Authoring

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_stay_is_known_by_its_case_id_and_its_note_or_admission():
    study = factories.make_study()
    first, again, later, other = (factories.make_dataset(study, name) for name in "abcd")
    case = factories.make_encounter(first, case_id="c1")
    factories.make_note(case, "Fever.")
    same_admission = factories.make_encounter(again, case_id="c1")
    same_note = factories.make_encounter(later, case_id="c1")
    factories.make_note(same_note, "Fever.")
    stranger = factories.make_encounter(other, case_id="c1")
    factories.make_note(stranger, "Cough.")
    factories.make_encounter(first, case_id="c2")
    moved = factories.ADMITTED + timedelta(days=400)
    Encounter.objects.filter(pk__in=[same_note.pk, stranger.pk]).update(
        admitted_at=moved, discharged_at=None
    )
    found = {case.public_id, same_admission.public_id, same_note.public_id}
    assert find_copies([case.public_id]) == found
    # The stranger was admitted when the third one was: those two are one stay, too.
    assert find_copies([stranger.public_id]) == {stranger.public_id, same_note.public_id}
    assert find_copies([]) == set()


def test_a_packet_closes_every_import_of_its_stays():
    world = make_judged_world(1)
    copy = make_case(factories.make_dataset(world.study, "again"), world.encounters[0].case_id)
    admin = factories.make_user(world.study, Role.ADMIN)
    person = factories.make_user(world.study, Role.CLINICIAN, Role.REVIEWER, username="both")
    client = Client()
    client.force_login(person)
    pages = [f"/cases/{e.public_id}/" for e in (copy, *world.encounters)]
    packet = draw_packet(world, by=admin)
    packets.assign(packet=packet, person=person, by=admin)
    packets.open_packet(packet=packet, by=admin)
    assert [client.get(page).status_code for page in pages] == [403, 403]
    assert "rules-orion" not in client.get("/cases/").content.decode()
    packets.close_packet(packet=packet, by=admin)
    assert [client.get(page).status_code for page in pages] == [200, 200]


def test_who_has_seen_or_written_a_copy_is_not_eligible():
    world = make_judged_world(1)
    copy = make_case(factories.make_dataset(world.study, "again"), world.encounters[0].case_id)
    packet = draw_packet(world, by=factories.make_user(world.study, Role.ADMIN))
    reader = factories.make_user(world.study, Role.CLINICIAN, username="reader")
    client = Client()
    client.force_login(reader)
    assert find_ineligibility_reasons(reader, packet) == []
    refused = client.get(f"/cases/{copy.public_id}/")
    assert refused.status_code == 403, "a copy asks, too"
    assert "you cannot review it" in refused.content.decode()
    accept_exposure(by=reader, case_ids=[copy.public_id])
    assert client.get(f"/cases/{copy.public_id}/").status_code == 200
    assert find_ineligibility_reasons(reader, packet) == [
        "They have seen 1 case of the packet unblinded."
    ]
    writer = factories.make_user(world.study, Role.CLINICIAN, username="writer")
    start_authoring(encounter=copy, protocol=Authoring.Protocol.UNAIDED, by=writer)
    assert find_ineligibility_reasons(writer, packet) == [
        "They author a timeline of 1 case of the packet."
    ]
    client.force_login(writer)
    assert client.get(f"/cases/{world.encounters[0].public_id}/").status_code == 403


def import_stay(folder: Path, name: str, *options: str) -> JudgedWorld:
    """Import the folder's only case by command, and judge its timelines."""
    call_command(
        "import_dataset",
        "--format=cases",
        f"--path={folder}",
        f"--name={name}",
        "--study=s",
        *options,
    )
    dataset = Dataset.objects.get(name=name)
    case = dataset.encounters.get()
    for source, events in SOURCES.items():
        make_source(case, source, events)
    return JudgedWorld(dataset.study, dataset, (case,), make_judged_run(dataset))


def replace_import(folder: Path) -> JudgedWorld:
    """Replace the case by one with another title."""
    return import_stay(folder, "cohort", "--replace", "--delete-authored")


def replace_import_twice(folder: Path) -> JudgedWorld:
    replace_import(folder)
    write_case(folder, "one", note=NOTE, rows=csv_rows(), title="Third title")
    return replace_import(folder)


def delete_and_import_again(folder: Path) -> JudgedWorld:
    """Delete the dataset, and import the stay with a longer note."""
    call_command("delete_dataset", "--study=s", "--name=cohort", "--delete-authored")
    write_case(folder, "one", note=f"{NOTE} Addendum.", rows=csv_rows())
    return import_stay(folder, "later")


def csv_rows() -> str:
    """The record of the judge's small game as rows.csv."""
    begin = datetime(2150, 1, 1, 8)
    lines = [
        f"{begin + timedelta(hours=h)},{event},{value},{unit}"
        for event, values in RECORD
        for h, value, unit in values
    ]
    return "\n".join(["t,event,value,unit", *lines, ""])


@pytest.mark.parametrize(
    "again",
    [replace_import, replace_import_twice, delete_and_import_again],
    ids=lambda f: f.__name__,
)
def test_who_has_seen_or_written_a_deleted_import_is_not_eligible(
    again: Callable[[Path], JudgedWorld], tmp_path: Path
):
    study = factories.make_study("s")
    write_case(tmp_path, "one", note=NOTE, rows=csv_rows())
    first = import_stay(tmp_path, "cohort")
    reader, writer, stranger = (
        factories.make_user(study, Role.CLINICIAN, Role.REVIEWER, username=name)
        for name in ("reader", "writer", "stranger")
    )
    client = Client()
    client.force_login(reader)
    assert client.get(f"/cases/{first.encounters[0].public_id}/").status_code == 200
    protocol = Authoring.Protocol.UNAIDED
    start_authoring(encounter=first.encounters[0], protocol=protocol, by=writer)
    write_case(tmp_path, "one", note=NOTE, rows=csv_rows(), title="Other title")
    world = again(tmp_path)
    assert not Encounter.objects.filter(public_id=first.encounters[0].public_id).exists()
    assert not Authoring.objects.exists()
    admin = factories.make_user(study, Role.ADMIN)
    packet = draw_packet(world, by=admin)
    assert find_ineligibility_reasons(reader, packet) == [
        "They have seen 1 case of the packet unblinded."
    ]
    assert find_ineligibility_reasons(writer, packet) == [
        "They author a timeline of 1 case of the packet."
    ]
    for person in (reader, writer):
        with pytest.raises(NotAllowed, match="cannot review this packet"):
            packets.assign(packet=packet, person=person, by=admin)
    packets.assign(packet=packet, person=stranger, by=admin)
    packets.open_packet(packet=packet, by=admin)


def test_a_deleted_stay_is_remembered_without_its_case_id():
    case = factories.make_encounter(factories.make_dataset(), case_id="record-4711")
    factories.make_note(case, "Fever.")
    delete_dataset(dataset=case.dataset, by=None)
    stays = DeletedStay.objects.all()
    assert [stay.case for stay in stays] == [case.public_id] * 2
    assert not any("4711" in stay.mark_sha256 for stay in stays)
    for change in (stays.delete, lambda: stays.update(case="x" * 12)):
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            change()
    # Another stay of that case id was not seen.
    other = factories.make_encounter(factories.make_dataset(), case_id="record-4711")
    later = factories.ADMITTED + timedelta(days=400)
    Encounter.objects.filter(pk=other.pk).update(admitted_at=later, discharged_at=None)
    assert find_copies([other.public_id]) == {other.public_id}
    Encounter.objects.filter(pk=other.pk).update(admitted_at=factories.ADMITTED)
    assert find_copies([other.public_id]) == {other.public_id, case.public_id}
