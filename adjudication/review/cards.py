"""Review card and navigation entry, only for people assigned to a packet."""

from __future__ import annotations

from django.urls import reverse

from accounts.models import Study, User
from accounts.registry import Card, Link
from adjudication.access.eligibility import find_assignments
from adjudication.blinding.page import time_left_words
from adjudication.models import Assignment, Packet
from adjudication.review import slots


def review_card(user: User, study: Study) -> Card | None:
    """Return a card with the person's open packets and progress, or None."""
    mine = [a for a in find_assignments(user, study) if a.packet.state == Packet.State.OPEN]
    if not mine:
        return None
    return Card(
        "My review",
        [_line(a) for a in mine],
        [Link("Go to my review", reverse("adjudication:review_queue"))],
    )


def has_reviews(user: User, study: Study) -> bool:
    """Return whether the person is assigned to a packet past drafting."""
    found = Assignment.objects.filter(person=user, packet__study=study, withdrawn_at__isnull=True)
    return found.exclude(packet__state=Packet.State.DRAFT).exists()


def _line(assignment: Assignment) -> str:
    label = assignment.packet.label
    if assignment.signed_at is not None:
        return f"{label}: signed."
    if not assignment.practised:
        return f"{label}: practice comes first."
    progress = slots.progress(assignment=assignment)
    if progress.done and progress.done >= progress.total:
        return f"{label}: all {progress.total} items decided, to be signed."
    left = time_left_words(progress.seconds_each, progress.total - progress.done)
    return (
        f"{label}: {progress.done} of {progress.total} items decided{', ' if left else ''}{left}."
    )
