"""Pages of the audit trail that continue after an event.

An event has no public id, and its number would count the events of closed cases. A page therefore
continues after a time, and after so many events of exactly that time.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.http import Http404
from django.utils.dateparse import parse_datetime

from accounts.audit.trail import AuditFilter, find_events
from accounts.models import AuditEvent, Study

_PLACE = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z)-(\d{1,6})")


@dataclass(frozen=True)
class EventPage:
    """Some events; `count` of all on the first page, None on later ones."""

    events: list[AuditEvent]
    count: int | None
    next: str | None


def load_event_page(
    study: Study, wanted: AuditFilter, closed: Collection[str], after: str, limit: int
) -> EventPage:
    """Return at most `limit` events after the place, newest first.

    Raises Http404 for a place that no page returned.
    """
    found = find_events(study, wanted, closed=closed)
    count, skipped, at = (found.count() if not after else None), 0, None
    if after:
        at, skipped = _read_place(after)
        found = found.filter(at__lte=at)
    events = list(found[skipped : skipped + limit + 1])
    page = events[:limit]
    following = len(events) > limit
    return EventPage(page, count, _write_place(page, at, skipped) if following else None)


def _write_place(page: list[AuditEvent], before: datetime | None, skipped: int) -> str:
    last = page[-1].at
    same = sum(event.at == last for event in page) + (skipped if last == before else 0)
    return f"{last:%Y-%m-%dT%H:%M:%S.%f}Z-{same}"


def _read_place(after: str) -> tuple[datetime, int]:
    match = _PLACE.fullmatch(after)
    try:
        at = parse_datetime(match[1]) if match else None
    except ValueError:
        at = None
    if match is None or at is None:
        raise Http404
    return at, int(match[2])
