"""Notify people of what happened, on a page and by e-mail.

A notification has a kind, the name of an object and an address on this server: ids and words of
ours, never patient text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from django.db import transaction
from django.utils import timezone

from accounts.models import Notification, NotificationChoice, Study, User
from accounts.notifications.choices import Wish, can_mail, load_wishes


def notify(
    *,
    recipients: Iterable[User],
    study: Study,
    kind: str,
    path: str,
    name: str = "",
    key: str,
) -> None:
    """Store one notification for each person who wants this kind.

    `key` names the occasion. The same occasion is stored once per person, so callers may repeat
    themselves. `name` is a label of ours (of a packet or run) or an id, never text of a note.
    """
    if not path.startswith("/") or path.startswith("//"):
        raise ValueError("the path of a notification must be on this server")
    people = sorted((p for p in recipients if p.is_active), key=lambda person: person.pk)
    wishes = load_wishes(people, kind)
    Notification.objects.bulk_create(
        (
            Notification(
                recipient=person,
                study=study,
                kind=kind,
                path=path,
                name=name[: Notification.LONGEST_NAME],
                key=key,
                shown=wish.shown,
                mail=wish.mailed and can_mail(person),
            )
            for person in people
            if (wish := wishes[person.pk]).shown or wish.mailed
        ),
        ignore_conflicts=True,
    )


@transaction.atomic
def mark_read(*, by: User, public_ids: Iterable[str] | None = None) -> int:
    """Mark a person's own notifications as read; all of them without ids."""
    mine = Notification.objects.filter(recipient=by, read_at__isnull=True)
    if public_ids is not None:
        mine = mine.filter(public_id__in=list(public_ids))
    return mine.update(read_at=timezone.now())


@transaction.atomic
def choose(*, by: User, wishes: Mapping[str, Wish]) -> None:
    """Store which kinds a person wants, on the page and by e-mail."""
    for kind, wish in wishes.items():
        NotificationChoice.objects.update_or_create(
            user=by, kind=kind, defaults={"shown": wish.shown, "mailed": wish.mailed}
        )
