"""A person's notifications as pages list them."""

from __future__ import annotations

from django.db.models import QuerySet

from accounts.models import Notification, User
from accounts.scoping import find_studies


def own_notifications(user: User) -> QuerySet[Notification]:
    """Return what the person is shown, latest first.

    What concerns a study that they have left is not shown.
    """
    return (
        Notification.objects.filter(recipient=user, shown=True, study__in=find_studies(user))
        .select_related("study")
        .order_by("-created_at", "-pk")
    )


def count_unread(user: User) -> int:
    """Return how many of them are unread."""
    return own_notifications(user).filter(read_at__isnull=True).count()
