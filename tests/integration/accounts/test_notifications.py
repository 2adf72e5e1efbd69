"""Notifications: one for each occasion and person, as each person chose.

A mail has ids and links only.
"""

from __future__ import annotations

import re
from smtplib import SMTPDataError, SMTPRecipientsRefused

import pytest
from django.core import mail
from django.core.mail import EmailMessage
from django.core.mail.backends.locmem import EmailBackend
from django.urls import reverse
from django.utils import timezone

from accounts.actions import remove_role
from accounts.models import Membership, Notification, Role, User
from accounts.notifications.actions import choose, mark_read, notify
from accounts.notifications.choices import Wish, own_wishes
from accounts.notifications.mail import send_waiting
from accounts.notifications.reading import count_unread, own_notifications
from adjudication.packets import actions as packets
from tests import factories
from tests.worlds.reviewing import draw_review
from timelines.models import CaseRun, Stage, StageRun
from timelines.runs.ended import notify_of_ended

pytestmark = pytest.mark.django_db(transaction=True)
KIND = Notification.Kind


@pytest.fixture
def person() -> User:
    return factories.make_user(factories.make_study(), Role.CLINICIAN)


def notify_each(*people: User, key: str = "one", kind: str = KIND.MENTIONED) -> None:
    study = people[0].studies.get()
    notify(recipients=people, study=study, kind=kind, path="/cases/", name="Packet 1", key=key)


def kinds_of(user: User) -> list[str]:
    return [n.kind for n in own_notifications(user)]


def test_an_occasion_is_stored_once(person):
    notify_each(person)
    notify_each(person)
    assert count_unread(person) == 1
    notify_each(person, key="two")
    assert count_unread(person) == 2


def test_each_person_chooses(person):
    other = factories.make_user(person.studies.get(), Role.REVIEWER)
    choose(by=person, wishes={KIND.MENTIONED: Wish(shown=False, mailed=False)})
    notify_each(person, other)
    assert (kinds_of(person), kinds_of(other)) == ([], ["mentioned"])
    assert own_wishes(person)[KIND.RUN_FAILED] == Wish()


def test_an_address_elsewhere_is_refused(person):
    for path in ("https://example.org/", "//example.org/", "cases/"):
        with pytest.raises(ValueError, match="on this server"):
            notify(
                recipients=[person],
                study=person.studies.get(),
                kind=KIND.MENTIONED,
                path=path,
                key="",
            )


def test_who_left_the_study_is_shown_nothing_of_it(person):
    notify_each(person)
    role = Membership.objects.get(user=person)
    remove_role(study=role.study, user=person, role=Role.CLINICIAN, by=None)
    assert count_unread(person) == 0


def test_the_page_shows_opens_and_marks(client, person):
    notify_each(person)
    notify_each(person, key="two", kind=KIND.RUN_FAILED)
    client.force_login(person)
    page = client.get(reverse("accounts:notifications")).content.decode()
    assert "You are mentioned in a comment: Packet 1" in re.sub(r"\s+", " ", page)
    assert 'aria-label="Notifications, 2 unread"' in page
    mentioned = Notification.objects.get(kind=KIND.MENTIONED)
    opened = client.post(reverse("accounts:notification_open", args=[mentioned.public_id]))
    assert (opened.status_code, opened["Location"]) == (302, "/cases/")
    assert count_unread(person) == 1
    client.post(reverse("accounts:notifications_read"))
    assert count_unread(person) == 0
    client.post(reverse("accounts:notifications_choose"), {"shown": [KIND.RUN_FAILED]})
    wishes = own_wishes(person)
    assert wishes[KIND.RUN_FAILED] == Wish(shown=True, mailed=False)
    assert wishes[KIND.MENTIONED] == Wish(shown=False, mailed=False)


def test_a_mail_has_a_link_and_no_name(person, settings):
    settings.EMAIL_HOST, settings.SITE_URL = "smtp.example.org", "https://occurrent.example.org/"
    person.email = "vega@example.org"
    person.save()
    choose(by=person, wishes={KIND.MENTIONED: Wish(shown=False, mailed=True)})
    notify_each(person)
    notify_each(person, key="other", kind=KIND.RUN_FAILED)
    assert (send_waiting(), send_waiting()) == (1, 0)
    (sent,) = mail.outbox
    assert (sent.subject, sent.to) == (
        "Occurrent: you are mentioned in a comment",
        ["vega@example.org"],
    )
    assert "https://occurrent.example.org/cases/\n" in sent.body
    assert "Packet 1" not in sent.subject + sent.body


def test_a_mail_that_fails_waits(person, settings, monkeypatch):
    settings.EMAIL_HOST, settings.SITE_URL = "smtp.example.org", "https://occurrent.example.org"
    person.email = "vega@example.org"
    person.save()
    choose(by=person, wishes={KIND.MENTIONED: Wish(shown=True, mailed=True)})
    notify_each(person)

    def fail(*_: object) -> int:
        raise OSError("no route to vega@example.org")

    with monkeypatch.context() as patched:
        patched.setattr(EmailBackend, "send_messages", fail)
        assert send_waiting() == 0
    assert Notification.objects.get().mailed_at is None
    assert send_waiting() == 1


@pytest.mark.parametrize(
    "error", [SMTPRecipientsRefused({}), SMTPDataError(550, b"refused"), ValueError("Invalid")]
)
def test_a_refused_address_does_not_stop_the_others(person, settings, monkeypatch, error):
    settings.EMAIL_HOST, settings.SITE_URL = "smtp.example.org", "https://occurrent.example.org"
    other, left = (factories.make_user(person.studies.get(), Role.CLINICIAN) for _ in range(2))
    for user in (person, other, left):
        user.email = f"{user.username}@example.org"
        user.save()
        choose(by=user, wishes={KIND.MENTIONED: Wish(shown=True, mailed=True)})
    notify_each(person, other, left)
    User.objects.filter(pk=left.pk).update(is_active=False)
    send = EmailBackend.send_messages

    def refuse(backend: EmailBackend, messages: list[EmailMessage]) -> int:
        if messages[0].to == [person.email]:
            raise error
        return send(backend, messages)

    monkeypatch.setattr(EmailBackend, "send_messages", refuse)
    assert (send_waiting(), send_waiting()) == (1, 0)
    assert [sent.to for sent in mail.outbox] == [[other.email]]
    assert Notification.objects.get(recipient=person).mailed_at is None


def test_without_a_host_no_mail_is_stored_to_send(person):
    person.email = "vega@example.org"
    person.save()
    choose(by=person, wishes={KIND.MENTIONED: Wish(shown=True, mailed=True)})
    notify_each(person)
    assert Notification.objects.get().mail is False
    assert send_waiting() == 0


def test_assigned_people_are_notified(client):
    """Each notification leads to a page that the person can open."""
    review = draw_review()
    person = factories.make_user(review.packet.study, Role.REVIEWER)
    packets.assign(packet=review.packet, person=person, by=review.admin)
    assert kinds_of(person) == [KIND.ASSIGNED]
    second = factories.make_user(review.packet.study, Role.REVIEWER)
    packets.assign(packet=review.packet, person=second, by=review.admin)
    packets.open_packet(packet=review.packet, by=review.admin)
    assert kinds_of(person) == [KIND.PACKET_OPENED, KIND.ASSIGNED]
    mine = review.packet.assignments.get(person=person)
    opened = reverse("adjudication:review_packet", args=[mine.public_id])
    found = [n.path for n in own_notifications(person)]
    assert found == [opened, reverse("adjudication:review_queue")]
    client.force_login(person)
    assert [client.get(path).status_code for path in found] == [200, 200]


@pytest.mark.parametrize(
    ("ends", "kinds"),
    [
        (["succeeded", "succeeded"], [KIND.RUN_FINISHED]),
        (["succeeded", "failed"], [KIND.RUN_FAILED]),
        (["succeeded", "queued"], []),
    ],
)
def test_the_one_who_launched_a_run_is_notified_of_its_end(person, ends, kinds):
    dataset = factories.make_dataset(person.studies.get())
    run = factories.make_run(dataset)
    run.created_by = person
    run.save()
    encounter = factories.make_encounter(dataset)
    case_run = CaseRun.objects.create(run=run, encounter=encounter)
    for stage, state in zip(Stage, ends, strict=False):
        ended = timezone.now() if state in ("succeeded", "failed") else None
        StageRun.objects.create(case_run=case_run, stage=stage, state=state, finished_at=ended)
    notify_of_ended()
    notify_of_ended()
    assert kinds_of(person) == kinds


def test_marking_needs_no_ids_of_others(person):
    other = factories.make_user(person.studies.get(), Role.REVIEWER)
    notify_each(person, other)
    theirs = Notification.objects.get(recipient=other)
    assert mark_read(by=person, public_ids=[theirs.public_id]) == 0
    assert count_unread(other) == 1
