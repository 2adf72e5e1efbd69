"""Review card and navigation entry, only for people assigned to a packet."""

from __future__ import annotations

from datetime import date

from django.urls import reverse

from accounts.models import Study, User
from accounts.registry import Card, Link, Place, Task
from accounts.wording import format_count
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
    # What is due first comes first; a packet without a due date can wait.
    mine.sort(key=lambda a: a.deadline or date.max)
    return Card("My review", place=Place.NEXT, tasks=[_task(a) for a in mine]) if mine else None


def has_reviews(user: User, study: Study) -> bool:
    """Return whether the person is assigned to a packet past drafting."""
    found = Assignment.objects.filter(person=user, packet__study=study, withdrawn_at__isnull=True)
    return found.exclude(packet__state=Packet.State.DRAFT).exists()


def _task(assignment: Assignment) -> Task:
    progress = slots.progress(assignment=assignment)
    step, detail = _next_step(assignment, progress)
    due = assignment.due
    return Task(
        f"Review: {assignment.packet.label}",
        Link(step, reverse("adjudication:review_queue")),
        detail,
        progress.done,
        progress.total,
        due=due.words if due else "",
        overdue=due is not None and due.overdue,
    )


def _next_step(assignment: Assignment, progress: slots.Progress) -> tuple[str, str]:
    """Return what the person does next, and how far they are."""
    if not assignment.practised:
        return "Practise", f"{format_count(progress.total, 'item')}. Practice comes first"
    if assignment.searches.filter(submission__isnull=True).exists():
        return "Search", "Searches for differences come before the items"
    if progress.done and progress.done >= progress.total:
        return "Sign", f"All {progress.total} items decided. Sign to finish"
    left = time_left_words(progress.seconds_each, progress.total - progress.done)
    done = f"{progress.done} of {progress.total} items decided"
    return "Review", f"{done}{', ' if left else ''}{left}"
