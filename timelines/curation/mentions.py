"""Notify people that a comment names them, if they may read it.

A person whose packet or draft closes the case cannot be mentioned: a notification would show them
that others discuss it. The author of the comment learns this, and no reason.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.urls import reverse

from accounts.models import Notification, User
from accounts.notifications.actions import notify
from accounts.permissions import NotAllowed
from ehr.models import Encounter
from timelines.access.authoring import CURATED, SUPERSEDED_TIMELINES
from timelines.curation.opening import check_user_may_answer
from timelines.domain import TimelineKind
from timelines.drafts.values import EditRefused
from timelines.models import Comment, Timeline


def check_mentions(people: Iterable[User], encounter: Encounter) -> None:
    """Raise EditRefused if someone must not see what is said of the case."""
    closed = [person.get_username() for person in people if not _may_read(person, encounter)]
    if closed:
        named = ", ".join(f"@{name}" for name in closed)
        raise EditRefused(
            "body", f"{named} cannot be mentioned in this case now. Remove the @ or the name."
        )


def notify_mentioned(made: Comment, people: Iterable[User]) -> None:
    """Notify the people whom a comment names, without its author.

    No words of the case or the comment leave its page.
    """
    notify(
        recipients=[person for person in people if person.pk != made.author_id],
        study=made.encounter.dataset.study,
        kind=Notification.Kind.MENTIONED,
        path=_find_path(made),
        key=made.public_id,
    )


def _find_path(made: Comment) -> str:
    """Return the case page with the occurrence, in a timeline that has it."""
    path = reverse("timelines:case", args=[made.encounter.public_id])
    occurrence = made.occurrence
    if occurrence is None:
        return path
    timelines = Timeline.objects.filter(inventory=occurrence.inventory_id)
    shown = timelines.exclude(SUPERSEDED_TIMELINES).exclude(source__startswith=CURATED)
    first = shown.exclude(kind=TimelineKind.REFERENCE).order_by("kind", "alternative").first()
    # Without it the page chooses its default timeline.
    chosen = f"t={first.public_id}&" if first else ""
    return f"{path}?{chosen}o={occurrence.uid4}"


def _may_read(person: User, encounter: Encounter) -> bool:
    try:
        check_user_may_answer(person, encounter)
    except NotAllowed:
        return False
    return True
