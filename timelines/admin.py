"""The admin site's pages on runs (superusers only): to look at. Runs change through their own pages and commands alone."""

from __future__ import annotations

from django.contrib import admin

from accounts.admin_site import ReadOnlyAdmin
from timelines.models import Run, StageRun


@admin.register(Run)
class RunAdmin(ReadOnlyAdmin):
    list_display = ["public_id", "study", "dataset", "source", "label", "created_by", "created_at", "paused_at", "cancelled_at"]
    list_select_related = ["study", "dataset", "created_by"]
    list_filter = ["backbone", "variant"]


@admin.register(StageRun)
class StageRunAdmin(ReadOnlyAdmin):
    list_display = ["id", "run", "case", "stage", "state", "attempt", "worker", "queued_at", "started_at", "finished_at"]
    list_select_related = ["case_run__run"]
    list_filter = ["state", "stage"]

    @admin.display(description="run")
    def run(self, stage: StageRun) -> str:
        """The run's public id."""
        return stage.case_run.run.public_id

    @admin.display(description="case run")
    def case(self, stage: StageRun) -> str:
        """The case run's public id: a case id may be a record number."""
        return stage.case_run.public_id
