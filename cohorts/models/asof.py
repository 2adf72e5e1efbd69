"""When occurrences were documented, and reports of what was known at an hour."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models

from accounts.ids import PUBLIC_ID_LENGTH, new_public_id
from accounts.models import Study
from cohorts.models.concepts import ConceptVersion
from cohorts.values import Source
from ehr.models import Dataset
from jobs.models import ClaimableJob
from timelines.models import Entry, Run

SOURCES = [(s.value, s.value) for s in Source]


class Documented(models.Model):
    """When an entry was first documented, in hours from admission.

    It is the earliest of the rows that the time rests on and the note.
    """

    class By(models.TextChoices):
        RESULT = "result", "when the result was filed"
        CHARTED = "charted", "when it was charted"
        ORDER = "order", "when it was ordered"
        NOTE = "note", "when the note was written"
        DISCHARGE = "discharge", "at discharge: the note has no time"

    entry = models.OneToOneField(
        Entry, primary_key=True, on_delete=models.CASCADE, related_name="documented"
    )
    #: Null if neither a row nor the note nor the stay has such a time.
    hours = models.FloatField(null=True)
    by = models.CharField(max_length=10, choices=By.choices, blank=True)
    row_index = models.IntegerField(null=True)


class Documenting(ClaimableJob):
    """The job that stores when the entries of a run were documented."""

    run = models.OneToOneField(Run, on_delete=models.CASCADE, related_name="+")

    class Meta(ClaimableJob.Meta):
        abstract = False
        indexes: ClassVar[list[models.Index]] = []


class AsOfReport(ClaimableJob):
    """What a model that reads the finished notes of a cohort would know too early."""

    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+")
    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="+")
    label = models.CharField(max_length=200, blank=True)
    source = models.CharField(max_length=10, choices=SOURCES)
    #: At this hour from admission, or from the first occurrence of `after`.
    hours = models.FloatField()
    after = models.ForeignKey(
        ConceptVersion, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    #: Concepts that the table counts besides the kinds.
    concepts = models.ManyToManyField(ConceptVersion, blank=True, related_name="+")
    report = models.JSONField(null=True, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta(ClaimableJob.Meta):
        abstract = False
        ordering: ClassVar = ["-created_at", "-pk"]


class LeakageCheck(ClaimableJob):
    """A check of a file of features, or of a rule of prediction, against what was known."""

    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+")
    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="+")
    label = models.CharField(max_length=200, blank=True)
    source = models.CharField(max_length=10, choices=SOURCES)
    #: [[line, case, name, hours], …] as brought; empty with a rule alone.
    features = models.JSONField(default=list)
    #: The prediction is made so many hours after `after`, or after admission; null with a file.
    hours = models.FloatField(null=True, blank=True)
    after = models.ForeignKey(
        ConceptVersion, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    report = models.JSONField(null=True, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta(ClaimableJob.Meta):
        abstract = False
        ordering: ClassVar = ["-created_at", "-pk"]
