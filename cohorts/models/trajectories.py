"""Saved views of many stays, aligned at a concept."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models

from accounts.ids import PUBLIC_ID_LENGTH, new_public_id
from accounts.models import Study
from cohorts.models.concepts import ConceptVersion
from cohorts.values import Source
from ehr.models import Dataset


class Trajectory(models.Model):
    """What a trajectory page shows; its figures are computed when it is opened."""

    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+")
    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=200)
    source = models.CharField(max_length=10, choices=[(s.value, s.value) for s in Source])
    #: Hour 0 is the first occurrence of it; null for admission.
    aligned_at = models.ForeignKey(
        ConceptVersion, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    concepts = models.ManyToManyField(ConceptVersion, blank=True, related_name="+")
    #: Series, range of hours, order and groups as plain values.
    config = models.JSONField(default=dict, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["name"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["study", "name"], name="trajectory_name_once_per_study")
        ]
