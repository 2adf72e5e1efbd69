"""Review card and navigation entry, only for people assigned to a packet."""

from __future__ import annotations

from django.urls import reverse

from accounts.models import Study, User
from accounts.registry import Card, Link, Place, Task
from adjudication.access.eligibility import find_assignments
from adjudication.blinding.page import time_left_words
from adjudication.models import Assignment, Packet
from adjudication.review import slots


def review_card(user: User, study: Study) -> Card | None:
    """Return the person's open packets as tasks, or None.

    Packets that the person has signed ask for nothing more.
    """
    mine = [
        a
        for a in find_assignments(user, study)
        if a.packet.state == Packet.State.OPEN and a.signed_at is None
    ]
    return Card("My review", place=Place.NEXT, tasks=[_task(a) for a in mine]) if mine else None


def has_reviews(user: User, study: Study) -> bool:
    """Return whether the person is assigned to a packet past drafting."""
    found = Assignment.objects.filter(person=user, packet__study=study, withdrawn_at__isnull=True)
    return found.exclude(packet__state=Packet.State.DRAFT).exists()


def _task(assignment: Assignment) -> Task:
    words = f"Review: {assignment.packet.label}"
    address = reverse("adjudication:review_queue")
    if not assignment.practised:
        return Task(words, Link("Practise", address), "Practice comes first")
    progress = slots.progress(assignment=assignment)
    if progress.done and progress.done >= progress.total:
        detail = f"All {progress.total} items decided. Sign to finish"
        return Task(words, Link("Sign", address), detail, progress.done, progress.total)
    left = time_left_words(progress.seconds_each, progress.total - progress.done)
    detail = f"{progress.done} of {progress.total} items decided{', ' if left else ''}{left}"
    return Task(words, Link("Review", address), detail, progress.done, progress.total)
