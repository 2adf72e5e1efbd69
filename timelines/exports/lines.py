"""Exports as lists show them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings

from accounts.models import User
from jobs.models import JobState
from jobs.states import FINAL
from timelines.exports.access import closed_exports
from timelines.exports.actions import may_download
from timelines.exports.formats import EXPORT_FORMATS
from timelines.exports.views import label_view
from timelines.models import Export


@dataclass(frozen=True, slots=True)
class ExportLine:
    """One export of the list.

    A closed one shows nothing that depends on its cases.
    """

    export: Export
    format: str
    closed: bool

    @property
    def paused(self) -> bool:
        return self.export.paused_at is not None and self.export.state not in FINAL

    @property
    def active(self) -> bool:
        """Whether its state changes without a person."""
        return self.export.state not in FINAL and not self.paused

    @property
    def downloadable(self) -> bool:
        return not self.closed and may_download(self.export)

    @property
    def expires_at(self) -> datetime | None:
        """When its file is deleted; None if there is none."""
        if not may_download(self.export) or self.export.finished_at is None:
            return None
        return self.export.finished_at + timedelta(days=settings.EXPORT_DAYS)

    @property
    def actions(self) -> list[tuple[str, str]]:
        """Return (name, label) of what a person can do."""
        if self.export.state in (JobState.FAILED, JobState.CANCELLED):
            return [("retry", "Retry"), *self._deletion]
        if self.export.state in FINAL:
            return self._deletion
        paused = ("resume", "Resume") if self.paused else ("pause", "Pause")
        return [paused, ("cancel", "Cancel")]

    @property
    def _deletion(self) -> list[tuple[str, str]]:
        return [("delete", "Delete")] if self.export.deleted_at is None else []


def describe_exports(person: User, exports: Iterable[Export]) -> list[ExportLine]:
    """Return the lines of a person's exports, of one study or several."""
    found = list(exports)
    closed: set[int] = set()
    for study in {export.study for export in found}:
        closed |= closed_exports(person, study, [e for e in found if e.study_id == study.pk])
    return [ExportLine(export, _format_words(export), export.pk in closed) for export in found]


def _format_words(export: Export) -> str:
    """Return the format and, if it is of a view, which."""
    parts = (EXPORT_FORMATS[export.format].label, label_view(export.view))
    return ", ".join(filter(None, parts))
