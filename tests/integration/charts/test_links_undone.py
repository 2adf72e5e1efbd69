"""People undo links between notes, and link again."""

from __future__ import annotations

import pytest
from django.db import DatabaseError, connection, transaction

from accounts.models import AuditEvent, Role
from accounts.permissions import NotAllowed
from tests import factories
from tests.integration.charts.linked import STARTED, STOPPED, WARM, WBC, find_link, run, words
from tests.support.api import ApiClient
from timelines.curation import corrections
from timelines.curation.corrections import Corrected
from timelines.curation.curated import find_current
from timelines.curation.links import DEFAULT_LINK_REASON, link_occurrences, undo_link
from timelines.drafts.values import EditRefused
from timelines.models import (
    OccurrenceLink,
    OwnTime,
    Unlinking,
)

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_clinician_undoes_a_link_and_links_again(encounter):
    base = run(encounter)
    before = words(base)
    study = encounter.dataset.study
    anna, boris, admin = (
        factories.make_user(study, role) for role in (Role.CLINICIAN, Role.CLINICIAN, Role.ADMIN)
    )
    undone = undo_link(link=find_link(WBC), reason="another specimen", by=anna)
    assert (undone.author, undone.reason) == (anna, "another specimen")
    curated = find_current(base)
    after = words(curated)
    alone = words(base)[WBC[1]].own
    assert after[WBC[1]].time == alone.time
    assert after[WBC[1]].reason == alone.reason
    assert "also in" not in after[WBC[0]].reason
    assert after[STARTED[1]].time == before[STARTED[1]].time, "another group stays"
    assert words(base)[WBC[1]].reason == before[WBC[1]].reason, "the base stays"
    event = AuditEvent.objects.get(action="case.link")
    assert (event.actor, event.object_id) == (anna, encounter.public_id)
    assert event.detail["step"] == "undo"
    assert "specimen" not in str(event.detail)
    with pytest.raises(EditRefused, match="undone already"):
        undo_link(link=find_link(WBC), reason="", by=anna)
    one, other = (before[w].occurrence for w in WBC)
    again = link_occurrences(first=other, second=one, reason="", by=boris)
    assert (again.first, again.second, again.decided_by) == (one, other, "person")
    assert again.reason == DEFAULT_LINK_REASON
    assert find_current(base) is None, "the times of the base again"
    with pytest.raises(EditRefused, match="linked already"):
        link_occurrences(first=one, second=other, reason="", by=boris)
    with pytest.raises(NotAllowed):
        undo_link(link=again, reason="", by=anna)
    undo_link(link=again, reason="", by=admin)
    assert find_current(base) is not None


def test_only_occurrences_of_two_notes_are_linked(encounter):
    base = run(encounter)
    found = words(base)
    anna = factories.make_user(encounter.dataset.study, Role.CLINICIAN)
    started, stopped = (found[w].occurrence for w in (STARTED[1], STOPPED))
    for second in (started, stopped):
        with pytest.raises(EditRefused, match="Undo the other link"):
            link_occurrences(first=started, second=second, reason="", by=anna)
    with pytest.raises(EditRefused, match="Undo the other link"):
        link_occurrences(first=found[STARTED[0]].occurrence, second=stopped, reason="", by=anna)
    with pytest.raises(EditRefused) as refused:
        link_occurrences(first=found[WARM].occurrence, second=stopped, reason="x" * 2001, by=anna)
    assert refused.value.field == "reason"
    outsider = factories.make_user(factories.make_study(), Role.CLINICIAN)
    with pytest.raises(NotAllowed):
        undo_link(link=find_link(WBC), reason="", by=outsider)
    for wrong in (
        {"first": started, "second": stopped},
        {"first": stopped, "second": found[WBC[0]].occurrence},
        {"first": found[WBC[0]].occurrence, "second": found[WBC[1]].occurrence},
    ):
        with pytest.raises(DatabaseError), transaction.atomic():
            OccurrenceLink.objects.create(inventory=base.inventory, reason="x", **wrong)


def delete_now(rows) -> None:
    """Delete rows, and let the database judge that at once."""
    rows.delete()
    connection.check_constraints()


def test_links_and_own_times_are_append_only(encounter):
    run(encounter)
    anna = factories.make_user(encounter.dataset.study, Role.CLINICIAN)
    undo_link(link=find_link(WBC), reason="", by=anna)
    for rows, change in (
        (OccurrenceLink.objects.all(), {"reason": "other"}),
        (Unlinking.objects.all(), {"reason": "other"}),
        (OwnTime.objects.all(), {"time": 1.0}),
    ):
        with pytest.raises(DatabaseError), transaction.atomic():
            rows.update(**change)
        with pytest.raises(DatabaseError), transaction.atomic():
            delete_now(rows)
    encounter.delete()
    assert not OccurrenceLink.objects.exists()
    assert not OwnTime.objects.exists()


def test_a_correction_of_one_occurrence_is_the_time_of_its_group(encounter):
    base = run(encounter)
    anna = factories.make_user(encounter.dataset.study, Role.CLINICIAN)
    found = words(base)
    made = corrections.correct(
        base=base,
        occurrence=found[WBC[0]].occurrence,
        what=Corrected("+16", reason="seen in the laboratory"),
        by=anna,
    )
    after = words(find_current(base))
    assert [after[w].time for w in WBC] == [16.0, 16.0]
    assert "whose time a person corrected" in after[WBC[1]].reason
    corrections.correct(
        base=base,
        occurrence=found[WBC[1]].occurrence,
        what=Corrected("+40", reason="the next day"),
        by=anna,
    )
    after = words(find_current(base))
    assert [after[w].time for w in WBC] == [16.0, 40.0]
    assert "the notes differ" in after[WBC[1]].reason
    corrections.undo(correction=made, by=anna)
    after = words(find_current(base))
    assert after[WBC[0]].time == found[WBC[0]].time, "its note was written before 40 h"
    assert "says 40.0 h, which cannot be the same time" in after[WBC[0]].reason


def test_programs_list_undo_and_link(encounter):
    run(encounter)
    person = factories.make_user(encounter.dataset.study, Role.CLINICIAN, username="anna")
    api, path = ApiClient(person), f"cases/{encounter.public_id}/links/"
    status, listed = api.get(path)
    assert status == 200
    found = next(link for link in listed if link["id"] == find_link(WBC).public_id)
    assert (found["decided_by"], found["by"], found["undone_by"]) == ("rules", None, None)
    assert WBC[0].endswith(found["mention"])
    status, undone = api.post(f"{path}{found['id']}/undo/", reason="another specimen")
    assert (status, undone["undone_by"], undone["undone_reason"]) == (
        200,
        "anna",
        "another specimen",
    )
    assert api.post(f"{path}{found['id']}/undo/")[0] == 422
    assert api.post(f"{path}{'z' * 12}/undo/")[0] == 404
    status, again = api.post(path, uid=found["other"], other=found["uid"])
    assert (status, again["decided_by"], again["by"]) == (201, "person", "anna")
    assert api.post(path, uid=found["uid"], other=found["other"])[0] == 422
    assert len(api.get(path)[1]) == len(listed) + 1
    outsider = ApiClient(factories.make_user(factories.make_study(), Role.CLINICIAN))
    assert outsider.get(path)[0] == 404
