"""The losses of this app if cases are deleted.

They are registered with `ehr.registry.register_losses`.
"""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import Count, Q, QuerySet

from accounts.models import Study
from ehr.models import Dataset, Encounter
from ehr.registry import Keep, Loss, Trace
from timelines.models import (
    Authoring,
    Comment,
    Correction,
    Evaluation,
    EvaluationCase,
    ExportPart,
    Flag,
    Inventory,
    OccurrenceLink,
    Run,
    RunPreparation,
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


def timeline_traces(study: Study, encounters: QuerySet[Encounter]) -> Iterator[Trace]:
    """Yield what this app has of the cases after they are deleted."""
    keys = list(encounters.values_list("pk", flat=True))
    names = list(encounters.values_list("case_id", flat=True))
    exports = ExportPart.objects.filter(
        export__study=study, export__deleted_at=None, encounters__overlap=keys
    )
    yield Trace(
        exports.values("export").distinct().count(),
        "exports with its timelines; delete them on the page Exports, or wait until they expire",
    )
    named = Q(wanted__overlap=names) | Q(cursor__in=names)
    yield Trace(
        RunPreparation.objects.filter(named, run__study=study).count(),
        "runs whose list of cases names its case ids; they go with the runs",
    )


def dataset_losses(dataset: Dataset) -> Iterator[Loss]:
    """Yield the runs and evaluations that are deleted with the dataset."""
    yield Loss(Run.objects.filter(dataset=dataset).count(), "runs", "run")
    yield Loss(len(_only_evaluations(dataset)), "evaluations", "evaluation")


def delete_of_dataset(dataset: Dataset) -> None:
    """Delete evaluations of this dataset alone.

    Its runs are deleted with it. Evaluations that cover other datasets too stay.
    """
    Evaluation.objects.filter(pk__in=_only_evaluations(dataset)).delete()


def _only_evaluations(dataset: Dataset) -> list[int]:
    counted = Evaluation.objects.filter(study=dataset.study_id).annotate(
        all=Count("datasets", distinct=True),
        this=Count("datasets", distinct=True, filter=Q(datasets=dataset)),
    )
    return list(counted.filter(all=1, this=1).values_list("pk", flat=True))
