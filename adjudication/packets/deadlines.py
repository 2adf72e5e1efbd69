"""A reviewer's own due date, and reminders before and after it."""

from __future__ import annotations

from datetime import date, timedelta

from django.db import transaction
from django.db.models.functions import Coalesce
from django.urls import reverse
from django.utils import timezone

from accounts.audit.trail import record
from accounts.models import Notification, User
from accounts.notifications.actions import notify
from adjudication.models import Assignment, Packet
from adjudication.packets.actions import PacketRefused, check_due_date, lock_managed_packet

#: The action of the audit trail that sets a person's own due date.
OWN_DUE = "packet.own_due_date"
#: A reminder comes so many days before the due date, and another one after it.
DAYS_BEFORE = 2


@transaction.atomic
def set_own_due_date(*, assignment: Assignment, due_on: date | None, by: User) -> Assignment:
    """Set, move or remove a person's own due date; None for the packet's.

    Raises NotAllowed, PacketRefused for a closed packet, a removed person or a day in the past.
    """
    packet = lock_managed_packet(assignment.packet, by)
    if packet.state == Packet.State.CLOSED or assignment.withdrawn_at is not None:
        raise PacketRefused("The packet is closed, or the person was removed from it.")
    check_due_date(due_on)
    Assignment.objects.filter(pk=assignment.pk).update(due_on=due_on)
    record(
        actor=by,
        study=packet.study,
        action=OWN_DUE,
        object_type="adjudication.packet",
        object_id=packet.public_id,
        detail={
            "assignment": assignment.public_id,
            "after": None if due_on is None else due_on.isoformat(),
        },
    )
    assignment.refresh_from_db()
    return assignment


def remind_reviewers(today: date | None = None) -> int:
    """Notify reviewers whose unsigned review is due soon or overdue.

    Once for each due date before it, and once after it. Returns the number of due reviews.
    """
    today = today or timezone.localdate()
    due = (
        Assignment.objects.filter(
            packet__state=Packet.State.OPEN,
            role=Assignment.Role.REVIEWER,
            signed_at__isnull=True,
            withdrawn_at__isnull=True,
        )
        .annotate(day=Coalesce("due_on", "packet__due_on"))
        .filter(day__lte=today + timedelta(days=DAYS_BEFORE))
        .select_related("person", "packet__study")
        .order_by("pk")
    )
    for assignment in due:
        day = assignment.deadline
        if day is not None:
            _remind(assignment, day, overdue=day < today)
    return len(due)


def _remind(assignment: Assignment, day: date, *, overdue: bool) -> None:
    notify(
        recipients=[assignment.person],
        study=assignment.packet.study,
        kind=Notification.Kind.REVIEW_DUE,
        path=reverse("adjudication:review_packet", args=[assignment.public_id]),
        name=assignment.packet.label,
        key=f"{assignment.public_id} {day.isoformat()} {'after' if overdue else 'before'}",
    )
