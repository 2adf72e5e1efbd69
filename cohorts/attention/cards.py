"""The card of the home page: what needs a look."""

from __future__ import annotations

from django.urls import reverse

from accounts.models import Study, User
from accounts.permissions import user_can_open_cases
from accounts.registry import Card, Link
from accounts.wording import format_count
from cohorts.attention.ranking import find_items, find_latest
from timelines.access.closed import closed_encounters


def attention_card(user: User, study: Study) -> Card | None:
    """Return how many places need a look; None if nothing was ranked or nothing is left."""
    if not user_can_open_cases(user, study) or find_latest(study) is None:
        return None
    count = find_items(study, closed_encounters(user)).count()
    if not count:
        return None
    words = f"{format_count(count, 'place')} where a person’s look would change most."
    return Card(
        "Where review is needed", [words], [Link("Open the list", reverse("cohorts:attention"))]
    )
