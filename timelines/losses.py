"""What this app loses when cases are deleted (`ehr.registry.register_losses`)."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import QuerySet

from ehr.models import Encounter
from ehr.registry import Keep, Loss
from timelines.models import Authoring, EvaluationCase, Inventory, Timeline


def timeline_losses(encounters: QuerySet[Encounter]) -> Iterator[Loss]:
    """Authored timelines first: they are the only ones that nobody can make again."""
    cases = encounters.values("pk")
    timelines = Timeline.objects.filter(encounter__in=cases)
    imported = timelines.filter(inventory__origin=Inventory.Origin.IMPORT)
    results = EvaluationCase.objects.filter(encounter__in=cases)
    yield Loss(
        Authoring.objects.filter(encounter__in=cases).count(),
        "authored timelines",
        "authored timeline",
        Keep.UNLESS_ASKED,
    )
    yield Loss(
        timelines.filter(case_run__isnull=False).count(), "timelines of runs", "timeline of a run"
    )
    yield Loss(imported.count(), "imported timelines", "imported timeline")
    yield Loss(results.count(), "case results of evaluations", "case result of an evaluation")
