"""The card of the home page: members that wait for review."""

from __future__ import annotations

from django.urls import reverse

from accounts.models import Study, User
from accounts.permissions import user_can_open_cases
from accounts.registry import Card, Link
from accounts.wording import format_count
from cohorts.concepts.counting import count_waiting
from timelines.access.closed import closed_encounters


def concept_card(user: User, study: Study) -> Card | None:
    """Return how many proposed members wait; None if there are none."""
    if not user_can_open_cases(user, study):
        return None
    waiting = sum(count_waiting(study, closed_encounters(user)).values())
    if not waiting:
        return None
    words = f"{format_count(waiting, 'proposed member')} of concepts to accept or reject."
    return Card("Concepts", [words], [Link("Open concepts", reverse("cohorts:concepts"))])
