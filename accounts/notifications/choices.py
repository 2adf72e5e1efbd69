"""Which kinds of notification a person wants."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.conf import settings

from accounts.models import Notification, NotificationChoice, User


@dataclass(frozen=True, slots=True)
class Wish:
    """Whether a kind is shown on the page, and whether it is sent by e-mail."""

    shown: bool = True
    mailed: bool = False


def load_wishes(people: Iterable[User], kind: str) -> dict[int, Wish]:
    """Return each person's wish for one kind, by primary key."""
    found: dict[int, Wish] = {person.pk: Wish() for person in people}
    stored = NotificationChoice.objects.filter(user_id__in=list(found), kind=kind)
    found.update({c.user_id: Wish(c.shown, c.mailed) for c in stored})
    return found


def own_wishes(user: User) -> dict[str, Wish]:
    """Return one person's wish for every kind."""
    stored = {c.kind: Wish(c.shown, c.mailed) for c in NotificationChoice.objects.filter(user=user)}
    return {kind: stored.get(kind, Wish()) for kind in Notification.Kind.values}


def mail_is_set_up() -> bool:
    """Return whether this installation can send e-mail."""
    return bool(settings.EMAIL_HOST and settings.SITE_URL)


def can_mail(user: User) -> bool:
    """Return whether e-mail can reach the person."""
    return mail_is_set_up() and bool(user.email)
