"""Notes to the study admin, practice steps, due dates and reminders."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.models import AuditEvent, Notification, Role
from accounts.permissions import NotAllowed
from adjudication.models import Assignment, ItemNote, Packet, PracticeAnswer
from adjudication.packets import actions as packets
from adjudication.packets.actions import PacketRefused
from adjudication.packets.deadlines import remind_reviewers, set_own_due_date
from adjudication.review import slots
from adjudication.review.decisions import DecisionRefused
from adjudication.review.notes import write_note
from adjudication.review.practice import (
    answer_practice,
    find_answered,
    load_practice_state,
    next_practice,
    skip_practice,
    undo_practice,
)
from adjudication.states import InvalidTransition
from adjudication.tasks import remind_of_reviews
from tests import factories
from tests.support.pages import join_markup
from tests.worlds.judged import make_judged_world
from tests.worlds.reviewed import ReviewedWorld, build_open_world

pytestmark = pytest.mark.django_db(transaction=True)
TODAY = date(2030, 5, 10)


@pytest.fixture
def world() -> ReviewedWorld:
    return build_open_world(make_judged_world(1))


@pytest.fixture
def mine(world) -> Assignment:
    return world.assignment(world.reviewers[0])


def kinds_of(person) -> list[str]:
    return list(Notification.objects.filter(recipient=person).values_list("kind", flat=True))


# Notes


def test_a_note_reaches_admins_outside_the_packet_alone(client, world, mine):
    slot = slots.next_item(assignment=mine)
    assert slot is not None
    blinded = factories.make_user(world.packet.study, Role.ADMIN)
    packets.assign(packet=world.packet, person=blinded, by=world.admin)
    client.force_login(mine.person)
    address = reverse("adjudication:review_note", args=[mine.public_id, slot.item.public_id])
    body = {"text": " zqnote <i> ", "token": "one"}
    for _ in range(2):
        answer = client.post(address, body, content_type="application/json")
        assert answer.status_code == 200
    (note,) = ItemNote.objects.all()
    assert note.text == "zqnote <i>"
    assert "review_note" in kinds_of(world.admin)
    assert "review_note" not in kinds_of(blinded)
    event = AuditEvent.objects.get(action="review.note")
    assert (event.object_id, event.detail) == (slot.item.public_id, {"note": note.public_id})
    page = reverse("adjudication:packet", args=[world.packet.public_id])
    client.force_login(world.admin)
    assert "zqnote &lt;i&gt;" in join_markup(client.get(page))
    client.force_login(blinded)
    refused = client.get(page)
    assert refused.status_code == 403
    assert b"zqnote" not in refused.content


@pytest.mark.parametrize("text", ["", "  ", "x" * 2001, "a\x00b"])
def test_notes_without_or_with_too_much_text_are_refused(world, mine, text):
    item = world.packet.items.first()
    with pytest.raises(DecisionRefused, match="at most 2000 characters"):
        write_note(assignment=mine, item=item, text=text, token="t", by=mine.person)


def test_notes_are_written_by_the_reviewer_while_the_packet_is_open(world, mine):
    item = world.packet.items.first()
    with pytest.raises(NotAllowed):
        write_note(assignment=mine, item=item, text="x", token="t", by=world.admin)
    packets.close_packet(packet=world.packet, by=world.admin)
    closed = world.assignment(mine.person)
    with pytest.raises(InvalidTransition):
        write_note(assignment=closed, item=item, text="x", token="t", by=mine.person)


# Practice


def test_skipped_cases_come_last_and_an_undone_answer_is_shown_again(client, mine):
    Assignment.objects.filter(pk=mine.pk).update(practised_at=None)
    mine.refresh_from_db()
    person = mine.person
    assert skip_practice(assignment=mine, number=1, by=person) == 2
    assert skip_practice(assignment=mine, number=2, by=person) == 3
    answer_practice(assignment=mine, number=3, answer="A", by=person)
    answer_practice(assignment=mine, number=4, answer="UNCLEAR", by=person)
    assert undo_practice(assignment=mine, by=person) == 4
    assert find_answered(mine) == {3}
    assert load_practice_state(mine, 4).answer == "UNCLEAR"
    client.force_login(person)
    page = client.get(reverse("adjudication:review_practice_case", args=[mine.public_id, 4]))
    assert 'data-answer="UNCLEAR"' in page.content.decode()
    for number in (4, 5, 6, 7):
        assert next_practice(mine) == number
        answer_practice(assignment=mine, number=number, answer="A", by=person)
    assert next_practice(mine) == 1, "in the order in which they were skipped"
    answer_practice(assignment=mine, number=1, answer="A", by=person)
    mine.refresh_from_db()
    assert mine.practised_at is None
    answer_practice(assignment=mine, number=2, answer="A", by=person)
    mine.refresh_from_db()
    assert mine.practised_at is not None
    with pytest.raises(NotAllowed):
        undo_practice(assignment=mine, by=factories.make_user(mine.packet.study, Role.REVIEWER))


def test_steps_of_practice_are_those_of_the_page(client, mine):
    client.force_login(mine.person)

    def post(name: str, *args: object, **body: object):
        address = reverse(f"adjudication:review_practice_{name}", args=[mine.public_id, *args])
        return client.post(address, body, content_type="application/json")

    assert post("undo").json() == {"next": ""}
    second = reverse("adjudication:review_practice_case", args=[mine.public_id, 2])
    assert post("skip", 1).json() == {"next": second}
    assert post("flag", 2, flagged=True).status_code == 200
    assert b"data-flagged" in client.get(second).content
    assert post("flag", 2, flagged="yes").status_code == 400
    assert post("skip", 99).status_code == 404
    third = reverse("adjudication:review_practice_case", args=[mine.public_id, 3])
    assert post("decide", 2, answer="A").json()["next"] == third
    assert post("undo").json() == {"next": second}
    assert PracticeAnswer.objects.get(number=2).flagged, "a mark is not undone"


def test_guidelines_explain_every_question(client, mine):
    client.force_login(mine.person)
    shown = join_markup(client.get(reverse("adjudication:review_guidelines")))
    for words in ("Which one is right?", "Did this event happen?", "Did it happen again?"):
        assert words in shown


# Due dates


def test_reminders_come_once_before_and_once_after_the_due_date(world, mine):
    Packet.objects.filter(pk=world.packet.pk).update(due_on=TODAY)
    other = world.assignment(world.reviewers[1])
    assert remind_reviewers(TODAY - timedelta(days=3)) == 0
    for _ in range(2):
        assert remind_reviewers(TODAY - timedelta(days=2)) == 2
    remind_reviewers(TODAY)
    assert kinds_of(mine.person).count("review_due") == 1
    Assignment.objects.filter(pk=other.pk).update(signed_at=timezone.now())
    assert remind_reviewers(TODAY + timedelta(days=1)) == 1
    assert kinds_of(mine.person).count("review_due") == 2
    assert kinds_of(other.person).count("review_due") == 1
    packets.close_packet(packet=world.packet, by=world.admin)
    assert remind_reviewers(TODAY + timedelta(days=1)) == 0


def test_a_persons_own_due_date_replaces_the_packets(client, world, mine):
    today = timezone.localdate()
    client.force_login(world.admin)
    address = reverse("adjudication:packet_action", args=[world.packet.public_id, "own-due"])
    body = {"assignment": mine.public_id, "due_on": (today + timedelta(days=1)).isoformat()}
    assert "is due tomorrow" in join_markup(client.post(address, body, follow=True))
    mine.refresh_from_db()
    assert mine.deadline == today + timedelta(days=1)
    remind_of_reviews()
    assert "review_due" in kinds_of(mine.person)
    assert "review_due" not in kinds_of(world.reviewers[1])
    found = Notification.objects.get(recipient=mine.person, kind="review_due")
    assert found.path == reverse("adjudication:review_packet", args=[mine.public_id])
    client.force_login(mine.person)
    assert "Due tomorrow" in join_markup(client.get(reverse("adjudication:review_queue")))
    with pytest.raises(PacketRefused, match="past"):
        set_own_due_date(assignment=mine, due_on=today - timedelta(days=1), by=world.admin)
    with pytest.raises(NotAllowed):
        set_own_due_date(assignment=mine, due_on=None, by=mine.person)
