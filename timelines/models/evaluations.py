"""Evaluations of timelines against a reference."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models

from accounts.ids import PUBLIC_ID_LENGTH, new_public_id
from accounts.models import Study
from ehr.models import Dataset, Encounter
from jobs.models import ClaimableJob


class Evaluation(ClaimableJob):
    """One evaluation of timelines against a reference.

    It has everything that its pages and files show. Immutable once done.
    """

    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="evaluations")
    datasets = models.ManyToManyField(Dataset, related_name="evaluations")
    label = models.CharField(max_length=200, blank=True)
    #: Source of the reference timelines ("reference", or an author's).
    reference = models.CharField(max_length=100)
    #: Sources of further references of the same cases, which show the spread of the figures.
    further_references = ArrayField(models.CharField(max_length=100), default=list, blank=True)
    #: Sources that are compared; empty means all.
    sources = ArrayField(models.CharField(max_length=100), default=list, blank=True)
    #: `timelines.evaluation.values.EvaluationSettings` as plain values.
    config = models.JSONField(default=dict)
    #: `timelines.evaluation.values.Report` as plain values; null until the job is done.
    report = models.JSONField(null=True, blank=True)
    code_revision = models.CharField(max_length=64, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta(ClaimableJob.Meta):
        abstract = False
        ordering = ["-created_at"]


class EvaluationCase(models.Model):
    """The result of an evaluation in one case.

    Figures and matched pairs of every source (`values.CaseResult`, plain values).
    """

    evaluation = models.ForeignKey(Evaluation, on_delete=models.CASCADE, related_name="cases")
    encounter = models.ForeignKey(Encounter, on_delete=models.CASCADE, related_name="+")
    result = models.JSONField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["evaluation", "encounter"], name="case_once_per_evaluation"
            )
        ]
