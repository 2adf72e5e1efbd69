"""Where a person should look, and what people have looked at."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from accounts.models import Study
from ehr.models import Encounter
from jobs.models import ClaimableJob


class AttentionRanking(ClaimableJob):
    """The job that ranks what a person should look at in a study.

    The latest that succeeded says how old the stored items are.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+")

    class Meta(ClaimableJob.Meta):
        abstract = False


class AttentionItem(models.Model):
    """An occurrence, or with an empty `uid4` a stay, and why to look at it.

    The job replaces all items of its study.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+", db_index=False)
    encounter = models.ForeignKey(Encounter, on_delete=models.CASCADE, related_name="+")
    uid4 = models.CharField(max_length=4, blank=True)
    #: Names of `cohorts.attention.values.Reason`.
    reasons = ArrayField(models.CharField(max_length=12))
    #: Reason → public id of the finding or result, or "".
    targets = models.JSONField(default=dict)
    score = models.FloatField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["study", "encounter", "uid4"], name="attention_once_per_place"
            )
        ]
        indexes: ClassVar = [
            models.Index(fields=["study", "-score", "id"], name="attention_by_score")
        ]


class AttentionMark(models.Model):
    """A person has looked at a place; it comes back if it has other reasons."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+")
    encounter = models.ForeignKey(Encounter, on_delete=models.CASCADE, related_name="+")
    uid4 = models.CharField(max_length=4, blank=True)
    reasons = ArrayField(models.CharField(max_length=12))
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["study", "encounter", "uid4"], name="mark_by_place")
        ]


class RowDismissal(models.Model):
    """A person's decision that an important row needs no occurrence; append-only."""

    encounter = models.ForeignKey(Encounter, on_delete=models.CASCADE, related_name="+")
    row_index = models.IntegerField()
    kind = models.CharField(max_length=40)
    reason = models.TextField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["encounter", "row_index"], name="row_dismissed_once"),
            models.CheckConstraint(condition=~Q(reason=""), name="dismissal_has_a_reason"),
        ]
