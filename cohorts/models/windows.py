"""Windows: criteria over concepts and their times, and which stays meet them."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from accounts.ids import PUBLIC_ID_LENGTH, new_public_id
from accounts.models import Study
from cohorts.models.concepts import ConceptVersion
from cohorts.values import Source
from ehr.models import Dataset, Encounter
from jobs.models import ClaimableJob

STATUS = [("yes", "Yes"), ("no", "No"), ("uncertain", "Uncertain")]
SOURCES = [(s.value, s.value) for s in Source]


class Window(models.Model):
    """A treatment window or cohort of a study; its versions have the criteria."""

    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="windows")
    name = models.CharField(max_length=200)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    archived_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["name"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["study", "name"], name="window_name_once_per_study")
        ]

    def __str__(self) -> str:
        return self.name


class WindowVersion(models.Model):
    """The criteria of a window at one moment; it never changes."""

    window = models.ForeignKey(Window, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    #: As `cohorts.engine.writing` writes it.
    yaml = models.TextField()
    concepts = models.ManyToManyField(ConceptVersion, related_name="windows")
    #: Name in the YAML → public id of its concept, which may be renamed; empty before 0003.
    names = models.JSONField(default=dict)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["window", "-number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["window", "number"], name="version_once_per_window")
        ]


class WindowResult(ClaimableJob):
    """One evaluation of a window over a dataset, from two sources of times."""

    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
    version = models.ForeignKey(WindowVersion, on_delete=models.CASCADE, related_name="results")
    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="+")
    first = models.CharField(max_length=10, choices=SOURCES)
    second = models.CharField(max_length=10, choices=SOURCES)
    #: What was counted and what could not be decided exactly; null until it is done.
    report = models.JSONField(null=True, blank=True)
    code_revision = models.CharField(max_length=64, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta(ClaimableJob.Meta):
        abstract = False
        ordering: ClassVar = ["-created_at", "-pk"]


class WindowMember(models.Model):
    """What a result says of one stay; empty status: the source has no timeline of it."""

    result = models.ForeignKey(WindowResult, on_delete=models.CASCADE, related_name="members")
    encounter = models.ForeignKey(Encounter, on_delete=models.CASCADE, related_name="+")
    first = models.CharField(max_length=9, choices=STATUS, blank=True)
    second = models.CharField(max_length=9, choices=STATUS, blank=True)
    #: The share of the allowed region that meets the criteria; null unless uncertain.
    first_share = models.FloatField(null=True)
    second_share = models.FloatField(null=True)
    #: What decides: [{"concept", "entry", "row_index", "text"}, …].
    first_deciding = models.JSONField(default=list)
    second_deciding = models.JSONField(default=list)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["result", "encounter"], name="stay_once_per_result")
        ]
        indexes: ClassVar = [
            models.Index(fields=["result", "first", "second"], name="member_by_statuses")
        ]


class MemberDecision(models.Model):
    """A person's answer whether a stay is a member; append-only, the latest counts."""

    window = models.ForeignKey(Window, on_delete=models.CASCADE, related_name="decisions")
    encounter = models.ForeignKey(Encounter, on_delete=models.CASCADE, related_name="+")
    #: The result that the person looked at; kept if the result is deleted.
    result = models.ForeignKey(WindowResult, null=True, on_delete=models.SET_NULL, related_name="+")
    #: Empty: the person's earlier answer no longer counts.
    status = models.CharField(max_length=9, choices=STATUS, blank=True)
    reason = models.TextField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.CheckConstraint(condition=~Q(reason=""), name="decision_has_a_reason")
        ]
        indexes: ClassVar = [
            models.Index(fields=["window", "encounter", "-id"], name="decision_by_stay")
        ]
