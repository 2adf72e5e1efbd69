"""What deleting cases deletes here (`ehr.registry.register_losses`)."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import QuerySet

from cohorts.models import (
    AsOfReport,
    ConceptSampleItem,
    LeakageCheck,
    MemberDecision,
    Trajectory,
    WindowMember,
    WindowResult,
)
from ehr.models import Dataset, Encounter
from ehr.registry import Keep, Loss


def cohort_losses(encounters: QuerySet[Encounter]) -> Iterator[Loss]:
    """Yield people's answers about members, and members that can be computed again."""
    cases = encounters.values("pk")
    yield Loss(
        MemberDecision.objects.filter(encounter__in=cases).count(),
        "decisions on members of windows",
        "decision on a member of a window",
        Keep.UNLESS_ASKED,
    )
    yield Loss(
        ConceptSampleItem.objects.filter(
            occurrence__inventory__encounter__in=cases, answered_at__isnull=False
        ).count(),
        "answers in samples of concepts",
        "answer in a sample of a concept",
        Keep.UNLESS_ASKED,
    )
    yield Loss(
        WindowMember.objects.filter(encounter__in=cases).count(),
        "members of window results",
        "member of a window result",
    )


def dataset_losses(dataset: Dataset) -> Iterator[Loss]:
    """Yield what was computed over the dataset; concepts and windows stay."""
    for model, plural, singular in (
        (WindowResult, "window results", "window result"),
        (AsOfReport, "as-of reports", "as-of report"),
        (LeakageCheck, "leakage checks", "leakage check"),
        (Trajectory, "trajectories", "trajectory"),
    ):
        yield Loss(model.objects.filter(dataset=dataset).count(), plural, singular)


def delete_of_dataset(dataset: Dataset) -> None:
    """Delete what was computed over the dataset."""
    for model in (WindowResult, AsOfReport, LeakageCheck, Trajectory):
        model.objects.filter(dataset=dataset).delete()
