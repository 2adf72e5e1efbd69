"""Datasets with the number of what was imported."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, QuerySet, Sum

from accounts.models import Study
from ehr.models import Dataset, Encounter, Note, RejectedRow


@dataclass(frozen=True)
class DatasetCounts:
    """How much a dataset has."""

    stays: int
    notes: int
    rows: int
    rows_without_time: int
    rejected: int


def find_datasets(studies: QuerySet[Study]) -> QuerySet[Dataset]:
    """Return the datasets of these studies by name, with the number of stays."""
    found = Dataset.objects.filter(study__in=studies).select_related("study")
    return found.annotate(stays=Count("encounters")).order_by("name", "pk")


def count_dataset(dataset: Dataset) -> DatasetCounts:
    """Return the counts of one dataset, from what each stay has stored."""
    stays = Encounter.objects.filter(dataset=dataset)
    sums = stays.order_by().aggregate(
        stays=Count("pk"), rows=Sum("row_count"), untimed=Sum("invalid_time_count")
    )
    return DatasetCounts(
        stays=sums["stays"],
        notes=Note.objects.filter(encounter__dataset=dataset, composed=False).count(),
        rows=sums["rows"] or 0,
        rows_without_time=sums["untimed"] or 0,
        rejected=RejectedRow.objects.filter(dataset=dataset).count(),
    )
