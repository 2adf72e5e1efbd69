"""Search by meaning: vectors of mentions, and what people search for."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from pgvector.django import HalfVectorField

from accounts.ids import PUBLIC_ID_LENGTH, new_public_id
from accounts.models import Study
from ehr.models import Dataset
from jobs.models import ClaimableJob
from timelines.models.runs import Run


class MentionVector(models.Model):
    """One vector for each distinct mention of a dataset and each model.

    `key` is `mention_key` of the occurrences (`timelines/migrations/sql/search.sql`): the same for
    mentions that differ in case alone. They are searched exactly (docs/adr/0051-search.md).
    """

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="+", db_index=False)
    model = models.CharField(max_length=200)
    key = models.CharField(max_length=32)
    vector = HalfVectorField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["dataset", "model", "key"], name="mention_vector_once_per_model"
            )
        ]


class MentionIndexing(ClaimableJob):
    """The job that embeds the mentions of a run that became a study timeline."""

    run = models.OneToOneField(Run, on_delete=models.CASCADE, related_name="mention_indexing")

    class Meta(ClaimableJob.Meta):
        abstract = False
        #: One row a run: the sweeper needs no index.
        indexes: ClassVar[list[models.Index]] = []


class MeaningSearch(ClaimableJob):
    """The job that embeds what a person searches for.

    Only the person's latest is stored, and its text only until it has a vector.
    """

    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    text = models.TextField(blank=True)
    #: The model that embedded it; empty before.
    model = models.CharField(max_length=200, blank=True)
    vector = HalfVectorField(null=True)

    class Meta(ClaimableJob.Meta):
        abstract = False
        indexes: ClassVar[list[models.Index]] = []
