"""A reviewer's notes to the study admin about an item.

A note goes to admins only: other reviewers of the packet never see it, and admins see it on the
packet's page, which is closed to those who review it.
"""

from __future__ import annotations

from django.db import transaction
from django.db.models import QuerySet
from django.urls import reverse

from accounts.audit.trail import record
from accounts.models import Notification, Role, User
from accounts.notifications.actions import notify
from accounts.permissions import NotAllowed
from adjudication.models import Assignment, ItemNote, Packet, PacketItem
from adjudication.review import slots
from adjudication.review.decisions import TOKEN, DecisionRefused

#: The action of the audit trail; its detail has no text of the note.
WROTE = "review.note"
LONGEST_NOTE = 2_000


@transaction.atomic
def write_note(
    *, assignment: Assignment, item: PacketItem, text: str, token: str, by: User
) -> ItemNote:
    """Store a note to the study admin; a repeated request stores nothing.

    Raises NotAllowed, DecisionRefused without text, InvalidTransition unless the packet is open.
    """
    if by.pk != assignment.person_id or not by.is_active:
        raise NotAllowed("Only the reviewer can open this review.")
    if not TOKEN.fullmatch(token):
        raise DecisionRefused("A token must have 1 to 64 letters, digits, hyphens or underscores.")
    if not text.strip() or len(text) > LONGEST_NOTE or "\x00" in text:
        raise DecisionRefused(f"Write a note of at most {LONGEST_NOTE} characters.")
    slots.check_open(assignment)
    values = {"item": item, "text": text.strip()}
    note, new = ItemNote.objects.get_or_create(assignment=assignment, token=token, defaults=values)
    if new:
        _record(note, by)
    return note


def load_notes(packet: Packet) -> QuerySet[ItemNote]:
    """Return the notes of a packet, oldest first."""
    found = ItemNote.objects.filter(item__packet=packet)
    return found.select_related("assignment__person", "item__finding").order_by("at", "pk")


def _record(note: ItemNote, by: User) -> None:
    packet = note.item.packet
    record(
        actor=by,
        study=packet.study,
        action=WROTE,
        object_type="adjudication.packetitem",
        object_id=note.item.public_id,
        detail={"note": note.public_id},
    )
    assigned = packet.assignments.filter(withdrawn_at__isnull=True).values("person")
    admins = User.objects.filter(
        memberships__study=packet.study, memberships__role=Role.ADMIN, is_active=True
    ).exclude(pk__in=assigned)
    notify(
        recipients=admins.distinct(),
        study=packet.study,
        kind=Notification.Kind.REVIEW_NOTE,
        path=reverse("adjudication:packet", args=[packet.public_id]) + "#notes",
        name=packet.label,
        key=note.public_id,
    )
