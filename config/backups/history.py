"""The backups of this installation, as events of the audit trail.

The trail is append-only and is in every backup, so that it needs no table of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from accounts.audit.trail import LONGEST_TEXT, record
from accounts.models import AuditEvent, Study, User
from ehr.models import Encounter
from ehr.registry import Trace

OBJECT_TYPE = "config.backup"
MADE, FAILED, RESTORED = "backup.make", "backup.fail", "backup.restore"


@dataclass(frozen=True, slots=True)
class Backup:
    """The last backup: when it ended, and whether it succeeded.

    `reason` says why it failed. `seconds` and `bytes` are 0 then.
    """

    at: datetime
    ok: bool
    name: str
    bytes: int = 0
    seconds: float = 0.0
    encrypted: bool = False
    reason: str = ""


def last_backup() -> Backup | None:
    """Return the last backup that ended, also a failed one; else None."""
    return _find(MADE, FAILED)


def last_good_backup() -> Backup | None:
    """Return the last backup that succeeded, or None."""
    return _find(MADE)


def record_made(*, name: str, by: User | None, detail: dict[str, Any]) -> None:
    """Record a finished backup."""
    _record(MADE, name, by, detail)


def record_failed(*, name: str, by: User | None, reason: str) -> None:
    """Record why a backup failed."""
    _record(FAILED, name, by, {"reason": reason[:LONGEST_TEXT]})


def record_restored(*, name: str, by: User | None, detail: dict[str, Any]) -> None:
    """Record a restore, in the restored trail."""
    _record(RESTORED, name, by, detail)


def backup_traces(study: Study, encounters: QuerySet[Encounter]) -> Iterator[Trace]:
    """Yield how many backups contain a patient who is deleted now."""
    count = AuditEvent.objects.filter(object_type=OBJECT_TYPE, action=MADE).count()
    yield Trace(count, "backups made so far; they have the patient until they are deleted")


def _record(action: str, name: str, by: User | None, detail: dict[str, Any]) -> None:
    record(
        actor=by, study=None, action=action, object_type=OBJECT_TYPE, object_id=name, detail=detail
    )


def _find(*actions: str) -> Backup | None:
    event = (
        AuditEvent.objects.filter(object_type=OBJECT_TYPE, action__in=actions)
        .order_by("-at", "-id")
        .first()
    )
    if event is None:
        return None
    known = ("bytes", "seconds", "encrypted", "reason")
    values = {name: event.detail[name] for name in known if name in event.detail}
    return Backup(event.at, event.action == MADE, event.object_id, **values)
