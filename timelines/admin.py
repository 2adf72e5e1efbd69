"""The admin site's pages on runs (superusers only), read-only.

Runs change only through their own pages and commands.
"""

from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from accounts.admin_site.site import ReadOnlyAdmin
from timelines.access.closed import closed_encounters, exclude_closed, open_runs
from timelines.models import Run, StageRun


@admin.register(Run)
class RunAdmin(ReadOnlyAdmin):
    list_display = [
        "public_id",
        "study",
        "dataset",
        "source",
        "label",
        "created_by",
        "created_at",
        "paused_at",
        "cancelled_at",
    ]
    list_select_related = ["study", "dataset", "created_by"]
    list_filter = ["backbone", "variant"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Run]:
        """Exclude the runs whose every case is closed to the person."""
        return open_runs(super().get_queryset(request), closed_encounters(request.user))


@admin.register(StageRun)
class StageRunAdmin(ReadOnlyAdmin):
    list_display = [
        "id",
        "run",
        "case",
        "stage",
        "state",
        "attempt",
        "worker",
        "queued_at",
        "started_at",
        "finished_at",
    ]
    list_select_related = ["case_run__run"]
    list_filter = ["state", "stage"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[StageRun]:
        """Exclude the stages of cases that are closed to the person."""
        return exclude_closed(
            super().get_queryset(request), closed_encounters(request.user), "case_run__encounter"
        )

    @admin.display(description="run")
    def run(self, stage: StageRun) -> str:
        """The run's public id."""
        return stage.case_run.run.public_id

    @admin.display(description="case run")
    def case(self, stage: StageRun) -> str:
        """The case run's public id: a case id may be a record number."""
        return stage.case_run.public_id
