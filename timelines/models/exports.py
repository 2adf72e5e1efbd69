"""Exports of a cohort or a run, which people download when they are done."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models

from accounts.ids import PUBLIC_ID_LENGTH, new_public_id
from accounts.models import Study
from ehr.models import Dataset
from jobs.models import ClaimableJob
from timelines.models.runs import Run


class Export(ClaimableJob):
    """One export that a person started.

    Its file is on the disk of the installation. Without a run it has the study timeline and the references, or `all_sources`.
    """

    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="+")
    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="+")
    run = models.ForeignKey(Run, null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    #: A name of `timelines.exports.formats`.
    format = models.CharField(max_length=20)
    with_note_text = models.BooleanField(default=False)
    #: Without a run: the best timelines of each source, not only the study timeline and references.
    all_sources = models.BooleanField(default=False)
    #: What an upper app selects (`timelines.registry.ExportView`): its name under "name", and
    #: values of its own; null for whole timelines.
    view = models.JSONField(null=True, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    paused_at = models.DateTimeField(null=True, blank=True)
    #: Occurrences (for `prov` documents) in the file, and its bytes; null until it is done.
    lines = models.PositiveBigIntegerField(null=True, blank=True)
    size = models.PositiveBigIntegerField(null=True, blank=True)
    sha256 = models.CharField(max_length=64, blank=True)
    #: When the person first downloaded it: the audit trail then has every case as exposed.
    downloaded_at = models.DateTimeField(null=True, blank=True)
    #: When its files were deleted, by a person or because it expired.
    deleted_at = models.DateTimeField(null=True, blank=True)

    class Meta(ClaimableJob.Meta):
        abstract = False
        ordering = ["-created_at", "-pk"]


class ExportPart(models.Model):
    """Some cases of an export, written as files of their own.

    The parts are fixed when the export begins; one that is written is not written again.
    """

    export = models.ForeignKey(Export, on_delete=models.CASCADE, related_name="parts")
    number = models.PositiveIntegerField()
    #: Primary keys of its cases; once it is written, of those that were open to the person.
    encounters = ArrayField(models.BigIntegerField())
    lines = models.PositiveIntegerField(null=True, blank=True)
    written_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["export", "number"], name="part_once_per_export")
        ]
