"""The append-only trail of who opened, changed or exported what.

A database trigger refuses every other write to it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q, QuerySet

from accounts.models import AuditEvent, Membership, Study, User

ACTION = re.compile(r"[a-z][a-z_]*(\.[a-z][a-z_]*)*")
LONGEST_TEXT = 200
_recorded: ContextVar[int] = ContextVar("recorded", default=0)


def count_recorded() -> int:
    """Return how many events this thread has recorded."""
    return _recorded.get()


def record(
    *,
    actor: User | AnonymousUser | None,
    study: Study | None,
    action: str,
    object_type: str = "",
    object_id: str = "",
    detail: Mapping[str, Any] | None = None,
) -> AuditEvent:
    """Append one event.

    `action` is dotted lower-case words ("case.open"); `object_id` is the object's public id.
    `detail` has counts, states and ids, never patient text: flat, scalars, texts of at most 200
    characters. Raises ValueError for anything else.
    """
    return record_each(
        actor=actor,
        study=study,
        action=action,
        object_type=object_type,
        object_ids=[object_id],
        detail=detail,
    )[0]


def record_each(
    *,
    actor: User | AnonymousUser | None,
    study: Study | None,
    action: str,
    object_type: str,
    object_ids: Iterable[str],
    detail: Mapping[str, Any] | None = None,
) -> list[AuditEvent]:
    """Append one event for each object, in one statement.

    Pages that show many objects use it. Arguments and errors are those of `record`.
    """
    if not ACTION.fullmatch(action):
        raise ValueError("an audit action is dotted lower-case words")
    known = actor if isinstance(actor, User) else None
    values = {
        "actor": known,
        "study": study,
        "action": action,
        "object_type": object_type,
        "detail": _check_detail(detail or {}),
    }
    events = AuditEvent.objects.bulk_create(
        [AuditEvent(**values, object_id=object_id) for object_id in object_ids]
    )
    _recorded.set(_recorded.get() + len(events))
    return events


@dataclass(frozen=True)
class AuditFilter:
    """What an admin looks for; empty means all. `person` is a public id."""

    person: str = ""
    action: str = ""


def find_events(
    study: Study, wanted: AuditFilter = AuditFilter(), *, closed: Collection[str] = ()
) -> QuerySet[AuditEvent]:
    """Return the study's events and the sign-ins of its members, newest first.

    `closed` is as for `exclude_closed_events`.
    """
    members = Membership.objects.filter(study=study).values("user")
    events = exclude_closed_events(
        AuditEvent.objects.filter(Q(study=study) | Q(study__isnull=True, actor__in=members)), closed
    )
    if wanted.person:
        events = events.filter(actor__public_id=wanted.person)
    if wanted.action:
        events = events.filter(action=wanted.action)
    return events.select_related("actor").order_by("-at", "-id")


def exclude_closed_events(
    events: QuerySet[AuditEvent], closed: Collection[str]
) -> QuerySet[AuditEvent]:
    """Leave out the events of closed objects (public ids).

    How often people corrected or exported a case depends on what was made of it.
    """
    ids = list(closed)
    # A detail without "case" compares as NULL, which would leave the event out.
    inside = Q(detail__has_key="case", detail__case__in=ids)
    return events.exclude(Q(object_id__in=ids) | inside) if ids else events


def _check_detail(detail: Mapping[str, Any]) -> dict[str, Any]:
    for value in detail.values():
        if not isinstance(value, str | int | float | bool | None):
            raise ValueError("an audit detail is a flat mapping of scalars")
        if isinstance(value, str) and len(value) > LONGEST_TEXT:
            raise ValueError("a text in an audit detail is too long")
    return dict(detail)
