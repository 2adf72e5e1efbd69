"""The admin site's pages on runs (superusers only): to look at. Runs change through their own pages and commands alone."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from timelines.models import Run, StageRun


class LookingAdmin(admin.ModelAdmin):
    """A list and its details, nothing to change."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        """`timelines.actions.start_run` makes runs."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Every change of state is an action."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Results go with their dataset."""
        return False


@admin.register(Run)
class RunAdmin(LookingAdmin):
    list_display = ["public_id", "study", "dataset", "source", "label", "created_by", "created_at", "paused_at", "cancelled_at"]
    list_select_related = ["study", "dataset", "created_by"]
    list_filter = ["backbone", "variant"]


@admin.register(StageRun)
class StageRunAdmin(LookingAdmin):
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
