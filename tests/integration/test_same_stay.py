"""A case that is closed or seen counts for every import of its stay."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client

from accounts.models import Role
from adjudication.access.eligibility import find_ineligibility_reasons
from adjudication.packets import actions as packets
from ehr.models import Encounter
from ehr.record.same_stay import find_copies
from tests import factories
from tests.integration.judged import make_case, make_judged_world
from tests.integration.reviewed import draw_packet
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
