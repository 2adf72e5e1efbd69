"""Facts about the installation: disk, trail, waiting messages, versions."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib.metadata import version
from pathlib import Path

from django.conf import settings
from django.db import connection
from django.utils import timezone

from accounts.audit.chain import current_head
from accounts.models import AuditLink, Notification
from accounts.notifications.mail import GIVE_UP_AFTER
from config.health.checks import find_files_folder, known_migrations
from jobs.models import JobState, WebhookDelivery
from timelines.runs.versions import code_revision

#: Most mails and deliveries that are counted.
MOST = 10_000


@dataclass(frozen=True, slots=True)
class Disk:
    """The disk of a folder, in bytes."""

    place: str
    free: int
    total: int

    @property
    def low(self) -> bool:
        """Return True if too little is free to go on."""
        return self.free < settings.FREE_DISK_BYTES


def find_disks() -> list[Disk]:
    """Return the disks of files and, if it is embedded, of the database."""
    places = {"files": find_files_folder()}
    if settings.EMBEDDED_DATABASE:
        places["database"] = Path(settings.SERVICES.state)
    return [_measure(place, folder) for place, folder in places.items() if folder.exists()]


def _measure(place: str, folder: Path) -> Disk:
    usage = shutil.disk_usage(folder)
    return Disk(place, usage.free, usage.total)


@dataclass(frozen=True, slots=True)
class Trail:
    """The end of the audit trail: its place, and the time of its event."""

    sequence: int
    at: datetime | None


def find_trail() -> Trail:
    """Return the end of the audit trail."""
    head = current_head()
    link = AuditLink.objects.select_related("event").filter(sequence=head.sequence).first()
    return Trail(head.sequence, link.event.at if link else None)


@dataclass(frozen=True, slots=True)
class Messages:
    """Mails that wait or were given up, and webhook deliveries that failed."""

    waiting: int
    oldest: timedelta | None
    given_up: int
    failed_deliveries: int


def count_messages() -> Messages:
    """Count mails and deliveries, at most MOST of each."""
    now = timezone.now()
    unsent = Notification.objects.filter(mail=True, mailed_at__isnull=True).order_by("pk")
    waiting = unsent.filter(created_at__gte=now - GIVE_UP_AFTER)
    first = waiting.values_list("created_at", flat=True).first()
    return Messages(
        waiting=waiting[:MOST].count(),
        oldest=now - first if first else None,
        given_up=unsent.filter(created_at__lt=now - GIVE_UP_AFTER)[:MOST].count(),
        failed_deliveries=WebhookDelivery.objects.filter(state=JobState.FAILED)[:MOST].count(),
    )


def list_versions() -> Mapping[str, str]:
    """Return name → version of ourselves and of what we run on."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('server_version')")
        (server,) = cursor.fetchone()
        cursor.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
        (vector,) = cursor.fetchone() or ("not installed",)
    return {
        "Occurrent": f"{settings.VERSION}, {_shorten(code_revision())}",
        "PostgreSQL": server,
        "pgvector": vector,
        "Python": platform.python_version(),
        "Django": version("django"),
    }


def _shorten(revision: str) -> str:
    """Return a commit by its first digits, with "+" for changed files."""
    changed = "+" if revision.endswith("+") else ""
    commit = revision.removesuffix("+")
    return f"{commit[:12]}{changed}" if len(commit) == 40 else revision


def count_missing_migrations() -> int:
    """Return how many migrations of this version are not applied."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT app, name FROM django_migrations")
        return len(known_migrations() - set(cursor.fetchall()))
