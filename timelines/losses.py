"""The losses of this app if cases are deleted.

They are registered with `ehr.registry.register_losses`.
"""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import QuerySet

from ehr.models import Encounter
from ehr.registry import Keep, Loss
from timelines.models import (
    Authoring,
    Comment,
    Correction,
    EvaluationCase,
    Flag,
    Inventory,
    OccurrenceLink,
    Timeline,
    Unlinking,
)


def timeline_losses(encounters: QuerySet[Encounter]) -> Iterator[Loss]:
    """Yield what is lost when these cases are deleted.

    What people wrote comes first: only that cannot be made again.
    """
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
        Correction.objects.filter(base__encounter__in=cases).count(),
        "corrections of times",
        "correction of a time",
        Keep.UNLESS_ASKED,
    )
    linked = OccurrenceLink.objects.filter(inventory__encounter__in=cases)
    yield Loss(
        linked.filter(author__isnull=False).count()
        + Unlinking.objects.filter(link__in=linked).count(),
        "decisions on links between notes",
        "decision on a link between notes",
        Keep.UNLESS_ASKED,
    )
    yield Loss(
        Comment.objects.filter(encounter__in=cases, kind=Comment.Kind.COMMENT).count(),
        "comments",
        "comment",
        Keep.UNLESS_ASKED,
    )
    yield Loss(
        Flag.objects.filter(occurrence__inventory__encounter__in=cases).count(),
        "flags",
        "flag",
        Keep.UNLESS_ASKED,
    )
    yield Loss(
        timelines.filter(case_run__isnull=False).count(), "timelines of runs", "timeline of a run"
    )
    yield Loss(imported.count(), "imported timelines", "imported timeline")
    yield Loss(results.count(), "case results of evaluations", "case result of an evaluation")
