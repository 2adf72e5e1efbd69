"""Jobs on datasets: check files, import them, delete a dataset."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models

from accounts.ids import PUBLIC_ID_LENGTH, new_public_id
from accounts.models import Study
from ehr.models.record import Dataset
from ehr.models.uploads import Upload
from jobs.models import ClaimableJob, JobState

ACTIVE = (JobState.BLOCKED, JobState.QUEUED, JobState.RUNNING)


class ImportJob(ClaimableJob):
    """A check (dry run) or an import of an upload."""

    class Kind(models.TextChoices):
        CHECK = "check", "Check"
        IMPORT = "import", "Import"

    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
    upload = models.ForeignKey(Upload, on_delete=models.CASCADE, related_name="jobs")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    format = models.CharField(max_length=20)
    mapping = models.JSONField(default=dict, blank=True)
    #: The dataset's name; "" for a check.
    name = models.CharField(max_length=200, blank=True)
    #: Whether cases whose files changed are deleted and imported again.
    replace = models.BooleanField(default=False)
    #: With `replace`: whether timelines that people wrote of such cases are deleted, too.
    delete_authored = models.BooleanField(default=False)
    dataset = models.ForeignKey(
        Dataset, null=True, blank=True, on_delete=models.SET_NULL, related_name="import_jobs"
    )
    #: The counts at the end, and for a check what it found.
    result = models.JSONField(default=dict, blank=True)
    paused_at = models.DateTimeField(null=True, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta(ClaimableJob.Meta):
        abstract = False
        ordering = ["-id"]
        #: Few rows: the sweeper needs no index.
        indexes: ClassVar[list[models.Index]] = []
        constraints = [
            *ClaimableJob.Meta.constraints,
            models.UniqueConstraint(
                fields=["upload"],
                condition=models.Q(state__in=ACTIVE),
                name="one_active_job_per_upload",
            ),
        ]


class DatasetDeletion(ClaimableJob):
    """The deletion of a dataset with everything made from it, in batches."""

    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="dataset_deletions")
    #: Null once it is deleted.
    dataset = models.ForeignKey(
        Dataset, null=True, blank=True, on_delete=models.SET_NULL, related_name="deletions"
    )
    name = models.CharField(max_length=200)
    #: Public id of the dataset; the audit trail has it.
    dataset_key = models.CharField(max_length=PUBLIC_ID_LENGTH)
    delete_authored = models.BooleanField(default=False)
    #: What is lost, as listed when it was confirmed: [[count, words], …].
    losses = models.JSONField(default=list)
    #: Stays at the start, and how many of them are deleted.
    total = models.PositiveIntegerField(default=0)
    deleted = models.PositiveIntegerField(default=0)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta(ClaimableJob.Meta):
        abstract = False
        ordering = ["-id"]
        #: Few rows: the sweeper needs no index.
        indexes: ClassVar[list[models.Index]] = []
        constraints = [
            *ClaimableJob.Meta.constraints,
            models.UniqueConstraint(
                fields=["dataset"],
                condition=models.Q(state__in=ACTIVE),
                name="one_active_deletion_per_dataset",
            ),
        ]
