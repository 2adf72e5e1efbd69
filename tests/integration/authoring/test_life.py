"""An authored timeline from start to submission and back.

Tested are its locks, its stored log, and the trail of every step.
"""

import threading

import pytest
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.urls import reverse

from accounts.models import AuditEvent, Role
from tests import factories
from tests.support.pages import join_markup
from tests.worlds.authored import NOTE, Page, make_author, make_case, make_draft, settle, span
from timelines.authoring.actions import NotReady, reopen, start_authoring, submit
from timelines.authoring.edits import Conflict, Edit, Locked, apply_edit
from timelines.authoring.storage import load_document
from timelines.models import Authoring, AuthoringEdit, DraftEntry, Entry, Occurrence, Timeline

pytestmark = pytest.mark.django_db

QUOTED = 'so-called "fall" | at \\ home'


@pytest.fixture
def tab():
    encounter = make_case()
    return Page(make_draft(encounter, make_author(encounter, username="ana")))


def load_authoring(tab: Page) -> Authoring:
    return Authoring.objects.get(public_id=tab.id)


def execute(statement: str) -> None:
    """Execute a statement with the checks of a transaction's end."""
    with connection.cursor() as cursor:
        cursor.execute(statement)
    settle()


def write(tab: Page) -> list[str]:
    """Add three occurrences out of order: by a row, N/A, by typing."""
    row = factories.make_row(load_authoring(tab).encounter, "lab:inr:blood", 1.5, value="2.1")
    bleed = tab.add(
        "CT showed a bleed",
        time=1.5,
        lower=1.0,
        upper=2.0,
        known=True,
        rows=[row.row_index],
        reason="the row says so",
    )
    fell = tab.add("Fell at home", mention=QUOTED, time=None, context=[bleed])
    fever = tab.add("Fever for three days", time_text="-3 d", polarity="absent")
    return [fever, fell, bleed]


def test_a_submitted_draft_is_a_sealed_reference_timeline(tab):
    uids = write(tab)
    answer = tab.post("submit", {"revision": tab.revision})
    assert answer.status_code == 200, answer.content
    timeline = Timeline.objects.get()
    assert (timeline.source, timeline.kind, timeline.case_run_id) == (
        "author:ana",
        "reference",
        None,
    )
    assert timeline.inventory.sealed_at is not None
    stored = list(
        Entry.objects.filter(timeline=timeline)
        .select_related("occurrence")
        .order_by("occurrence__ordinal")
    )
    assert [e.occurrence.uid4 for e in stored] == uids, "ordinals follow the note"
    assert [e.occurrence.ordinal for e in stored] == [0, 1, 2]
    assert [(e.time, e.lower, e.upper, e.known) for e in stored] == [
        (-72, None, None, False),
        (None, None, None, False),
        (1.5, 1, 2, True),
    ]
    assert stored[1].context == [uids[2]]
    assert (stored[2].adopted_rows, stored[2].reason) == ([0], "the row says so")
    assert stored[0].occurrence.polarity == "absent"
    assert stored[1].occurrence.mention == 'so-called \\"fall\\" \\| at \\\\ home', (
        "escaped once, as stage 2 does"
    )
    assert load_document(load_authoring(tab).inventory).get(uids[1]).mention == QUOTED


def test_nothing_is_submitted_while_something_is_to_do(tab):
    assert tab.post("submit", {}).json()["unplaced"] == []
    uid = tab.add("Fell at home")
    answer = tab.post("submit", {"revision": tab.revision})
    assert (answer.status_code, answer.json()["unplaced"]) == (422, [uid])
    with pytest.raises(NotReady):
        submit(authoring=load_authoring(tab), by=load_authoring(tab).author)
    tab.edit("change", uid=uid, values={"time": None})
    assert tab.post("submit", {"revision": tab.revision}).status_code == 200, "N/A is a decision"


def test_a_submission_of_an_old_revision_is_refused(tab):
    write(tab)
    answer = tab.post("submit", {"revision": tab.revision - 1})
    assert (answer.status_code, len(answer.json()["occurrences"])) == (409, 3)
    with pytest.raises(Conflict):
        submit(authoring=load_authoring(tab), by=load_authoring(tab).author, revision=1)


def test_after_submission_every_change_is_locked(tab):
    uid = write(tab)[0]
    sent = tab.edit("change", token="before", uid=uid, values={"reason": "why"})
    tab.post("submit", {"revision": tab.revision})
    tab.edit("change", expect=423, uid=uid, values={"reason": "late"})
    tab.edit("undo", expect=423)
    assert tab.post("submit", {}).status_code == 423
    assert (
        tab.edit("change", token="before", uid=uid, values={"reason": "why"})["changed"]
        == sent["changed"]
    ), "an answered edit stays answered"


def test_reopening_needs_a_reason_and_keeps_uids_and_history(tab):
    uids = write(tab)
    tab.post("submit", {"revision": tab.revision})
    assert tab.post("reopen", {"reason": "  "}).json()["field"] == "reason"
    answer = tab.post("reopen", {"reason": "the CT time was the report's"})
    assert answer.json()["state"] == "draft"
    tab.revision = answer.json()["revision"]
    draft = load_authoring(tab)
    assert [o.uid for o in load_document(draft.inventory).ordered] == uids
    assert Timeline.objects.filter(source="author:ana").count() == 1, (
        "the submitted one stays meanwhile"
    )
    undone = tab.edit("undo")
    assert undone["removed"] == [uids[0]], "history goes on behind the submission"
    tab.edit("redo")
    tab.edit("change", uid=uids[2], values={"time": 2.0})
    tab.post("submit", {"revision": tab.revision})
    # Filtered first: otherwise the time would be any entry's.
    assert dict(
        Timeline.objects.filter(entries__occurrence__uid4=uids[2]).values_list(
            "source", "entries__time"
        )
    ) == {
        "author:ana": 2.0,
        "author:ana#1": 1.5,
    }
    again = load_authoring(tab)
    assert again.timeline is not None
    assert again.timeline.source == "author:ana"
    tab.post("reopen", {"reason": "again"})
    tab.post("submit", {})
    assert sorted(Timeline.objects.values_list("source", flat=True)) == [
        "author:ana",
        "author:ana#1",
        "author:ana#2",
    ]
    assert list(AuthoringEdit.objects.filter(kind="reopen").values_list("reason", flat=True)) == [
        "the CT time was the report's",
        "again",
    ]
    history = tab.client.get(reverse("timelines:authoring_history", args=[tab.id])).content.decode()
    assert "the CT time was the report&#x27;s" in history
    assert "so-called &quot;fall&quot;" in history
    assert "time HD 1 · 16:08 (+1.5 h) → HD 1 · 16:38 (+2 h)" in history


def test_a_replaced_submission_is_in_no_list(tab):
    write(tab)
    for _ in range(2):
        tab.post("submit", {})
        tab.post("reopen", {"reason": "r"})
    tab.post("submit", {})
    encounter = load_authoring(tab).encounter
    shown = join_markup(tab.client.get(reverse("timelines:case", args=[encounter.public_id])))
    assert shown.count("Reference by ana") == 1
    assert "ana#" not in shown


def test_a_study_admin_opens_again_and_may_not_read_or_edit(tab):
    write(tab)
    tab.post("submit", {})
    draft = load_authoring(tab)
    admin = make_author(draft.encounter, Role.ADMIN)
    tab.client.force_login(admin)
    for name in ("authoring", "authoring_history"):
        assert tab.client.get(reverse(f"timelines:{name}", args=[tab.id])).status_code == 404
    assert tab.post("edits", {}).status_code == 404
    listed = tab.client.get(reverse("timelines:authorings")).content.decode()
    assert "3 of 3 placed" in listed
    assert "so-called" not in listed
    address = reverse("timelines:authoring_reopen", args=[tab.id])
    assert tab.client.post(address, {"reason": "asked by the author"}).status_code == 302
    assert load_authoring(tab).state == "draft"
    event = AuditEvent.objects.get(action="authoring.reopen")
    assert (event.actor, event.detail["by_author"]) == (admin, False)


def test_another_clinician_may_not_open_it_again(tab):
    write(tab)
    tab.post("submit", {})
    tab.client.force_login(make_author(load_authoring(tab).encounter))
    assert tab.post("reopen", {"reason": "mine"}).status_code == 404
    assert load_authoring(tab).state == "submitted"


def test_every_step_is_in_the_trail_without_text(tab):
    write(tab)
    tab.client.get(reverse("timelines:authoring", args=[tab.id]))
    tab.post("submit", {})
    tab.post("reopen", {"reason": "the reason"})
    events = AuditEvent.objects.filter(object_type="timelines.authoring").order_by("pk")
    assert list(events.values_list("action", flat=True)) == [
        "authoring.start",
        "authoring.open",
        "authoring.submit",
        "authoring.reopen",
    ]
    assert not [e for e in events if "fall" in str(e.detail) or "reason" in str(e.detail)]


def test_begun_twice_it_is_the_same(tab):
    draft = load_authoring(tab)
    again, begun = start_authoring(
        encounter=draft.encounter, protocol=Authoring.Protocol.ASSISTED, by=draft.author
    )
    assert (again.pk, again.protocol, begun) == (draft.pk, "unaided", False)
    address = reverse("timelines:author_start", args=[draft.encounter.public_id])
    assert tab.client.post(address, {"protocol": "assisted"})["Location"] == reverse(
        "timelines:authoring", args=[tab.id]
    )


def test_a_protocol_must_be_chosen_and_a_note_be_there():
    encounter = make_case()
    author = make_author(encounter)
    client = Client()
    client.force_login(author)
    address = reverse("timelines:author_start", args=[encounter.public_id])
    assert client.get(address).status_code == 200
    assert client.post(address, {"protocol": "peeking"}).status_code == 400
    assert not Authoring.objects.exists()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE timelines_authoringedit SET reason = 'other'",
        "DELETE FROM timelines_authoringedit",
        "UPDATE timelines_draftentry SET reason = 'other'",
        "DELETE FROM timelines_draftentry",
        "UPDATE timelines_occurrence SET mention = 'other'",
        "UPDATE timelines_entry SET time = 7",
        "UPDATE timelines_authoring SET state = 'draft'",
    ],
)
def test_the_database_itself_keeps_what_was_submitted(tab, statement):
    write(tab)
    tab.post("submit", {})
    with pytest.raises(DatabaseError), transaction.atomic():
        execute(statement)


def test_edits_count_without_a_gap_and_an_authoring_stays_in_its_case(tab):
    write(tab)
    draft = load_authoring(tab)
    with pytest.raises(DatabaseError), transaction.atomic():
        AuthoringEdit.objects.create(authoring=draft, number=9, kind="add", token="x")
    elsewhere = make_case().pk
    with pytest.raises(DatabaseError), transaction.atomic():
        execute(f"UPDATE timelines_authoring SET encounter_id = {elsewhere}")


def test_a_case_without_a_note_has_nothing_to_author(client):
    bare = factories.make_encounter()
    client.force_login(make_author(bare))
    address = reverse("timelines:author_start", args=[bare.public_id])
    assert "No note is stored" in client.get(address).content.decode()
    client.post(address, {"protocol": "unaided"})
    assert not Authoring.objects.exists()


def test_all_of_it_goes_with_the_dataset(tab):
    write(tab)
    tab.post("submit", {})
    tab.post("reopen", {"reason": "r"})
    load_authoring(tab).encounter.dataset.delete()
    settle()
    assert not AuthoringEdit.objects.exists()
    assert not DraftEntry.objects.exists()
    assert not Occurrence.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_two_submissions_at_once_make_one_timeline():
    encounter = make_case()
    author = make_author(encounter)
    draft = make_draft(encounter, author)
    Page(draft).add("Fell at home", time=-2)
    outcomes: list[str] = []
    barrier = threading.Barrier(2)

    def hand_in() -> None:
        barrier.wait()
        try:
            submit(authoring=draft, by=author)
            outcomes.append("submitted")
        except Locked:
            outcomes.append("locked")
        finally:
            connection.close()

    threads = [threading.Thread(target=hand_in) for _ in range(2)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert sorted(outcomes) == ["locked", "submitted"]
    assert Timeline.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_one_token_sent_twice_at_once_is_stored_once():
    encounter = make_case()
    author = make_author(encounter)
    draft = make_draft(encounter, author)
    uids: list[str] = []
    barrier = threading.Barrier(2)

    def send() -> None:
        barrier.wait()
        try:
            applied = apply_edit(
                authoring=draft,
                edit=Edit("same", 0, "add", values=span("Fell at home", NOTE)),
                by=author,
            )
            uids.append(applied.change.after[0].uid)
        finally:
            connection.close()

    threads = [threading.Thread(target=send) for _ in range(2)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert len(set(uids)) == 1
    assert len(uids) == 2
    assert AuthoringEdit.objects.count() == 1


def test_reopening_a_draft_is_refused(tab):
    with pytest.raises(Locked):
        reopen(authoring=load_authoring(tab), reason="why", by=load_authoring(tab).author)
