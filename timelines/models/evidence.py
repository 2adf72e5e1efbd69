"""The chain of provenance: queries, candidates, and the cited rows."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from ehr.fields import NaiveDateTimeField
from ehr.models import Dataset, Encounter, EventSeries
from timelines.models.inventories import Occurrence
from timelines.models.runs import CaseRun


class Query(models.Model):
    """A retrieval query that one case run wrote for one occurrence."""

    case_run = models.ForeignKey(CaseRun, on_delete=models.CASCADE, related_name="queries")
    occurrence = models.ForeignKey(Occurrence, on_delete=models.CASCADE, related_name="queries")
    ordinal = models.PositiveSmallIntegerField()
    text = models.TextField()

    class Meta:
        verbose_name_plural = "queries"
        constraints = [
            models.UniqueConstraint(
                fields=["case_run", "occurrence", "ordinal"],
                name="query_once_per_ordinal",
            ),
            models.CheckConstraint(condition=Q(ordinal__lte=2), name="at_most_three_queries"),
        ]


class Candidate(models.Model):
    """A series that a query returned, selected or not.

    `dense_rank` counts from 1.
    """

    query = models.ForeignKey(Query, on_delete=models.CASCADE, related_name="candidates")
    series = models.ForeignKey(EventSeries, on_delete=models.CASCADE, related_name="+")
    dense_rank = models.PositiveSmallIntegerField()
    dense_score = models.FloatField()
    rerank_score = models.FloatField(null=True)
    kept = models.BooleanField(default=False)
    fate = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["query", "series"], name="series_once_per_query"),
            models.UniqueConstraint(fields=["query", "dense_rank"], name="rank_once_per_query"),
        ]


class Evidence(models.Model):
    """A source row that a revision saw, of an occurrence or the stay itself.

    It has the row's key (a foreign key in `timelines/migrations/sql/entries.sql`) and a copy of the
    row at that time. `hours` is the row's time from admission. `candidate` is null for a row of the
    stay's skeleton.
    """

    case_run = models.ForeignKey(CaseRun, on_delete=models.CASCADE, related_name="evidence")
    candidate = models.ForeignKey(
        Candidate, null=True, on_delete=models.CASCADE, related_name="evidence"
    )
    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="+", db_index=False)
    encounter = models.ForeignKey(
        Encounter, on_delete=models.CASCADE, related_name="+", db_index=False
    )
    row_index = models.IntegerField()
    time = NaiveDateTimeField()
    hours = models.FloatField()
    event = models.TextField()
    value = models.TextField(blank=True)
    numeric_value = models.FloatField(null=True)
    unit = models.TextField(blank=True)
    source = models.TextField(blank=True)
    time_kind = models.CharField(max_length=20)

    class Meta:
        verbose_name_plural = "evidence"
        constraints = [
            models.UniqueConstraint(
                fields=["candidate", "row_index"], name="row_once_per_candidate"
            ),
            models.UniqueConstraint(
                fields=["case_run", "row_index"],
                condition=Q(candidate__isnull=True),
                name="row_once_in_skeleton",
            ),
        ]
        indexes = [
            models.Index(fields=["dataset", "encounter", "row_index"], name="evidence_by_row")
        ]
