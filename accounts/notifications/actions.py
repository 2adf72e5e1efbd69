"""Tell people what happened, on the page and by e-mail if they want that.

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
) -> int:
    """Store one notification for each person who wants this kind.

    Returns how many are new. `key` names the occasion: the same occasion is stored once per person, so callers may repeat
    themselves. `name` is a label of ours (of a packet or run) or an id, never text of a note.
    """
    if not path.startswith("/") or path.startswith("//"):
        raise ValueError("the path of a notification must be on this server")
    people = {p.pk: p for p in recipients if p.is_active}
    wishes = load_wishes(people.values(), kind)
    rows = [
        Notification(
            recipient_id=pk,
            study=study,
            kind=kind,
            path=path,
            name=name[: Notification.LONGEST_NAME],
            key=key,
            shown=wishes[pk].shown,
            mail=wishes[pk].mailed and can_mail(person),
        )
        for pk, person in sorted(people.items())
        if wishes[pk].shown or wishes[pk].mailed
    ]
    before = Notification.objects.filter(kind=kind, key=key, recipient_id__in=people).count()
    Notification.objects.bulk_create(rows, ignore_conflicts=True)
    after = Notification.objects.filter(kind=kind, key=key, recipient_id__in=people).count()
    return after - before


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
