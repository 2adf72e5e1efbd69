"""When the last backup was made, as the audit trail records it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from accounts.models import AuditEvent
from config.backups.history import FAILED, MADE, OBJECT_TYPE


@dataclass(frozen=True, slots=True)
class Backups:
    """When the last backup succeeded, and when one failed; None for never."""

    made: datetime | None
    failed: datetime | None

    @property
    def last_failed(self) -> bool:
        """Return True if the last attempt failed."""
        return self.failed is not None and (self.made is None or self.failed > self.made)


def find_backups() -> Backups:
    """Return the times of the last backups."""
    return Backups(_find(MADE), _find(FAILED))


def _find(action: str) -> datetime | None:
    events = AuditEvent.objects.filter(object_type=OBJECT_TYPE, action=action)
    return events.order_by("-at").values_list("at", flat=True).first()
