"""Timelines: when each occurrence happened, according to one source."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q

from accounts.ids import PUBLIC_ID_LENGTH, new_public_id
from ehr.models import Encounter
from timelines.domain import MAX_CONTEXT, RowLink, TimelineKind
from timelines.models.inventories import Inventory, Occurrence
from timelines.models.runs import CaseRun


def require_ordered_bounds(name: str) -> models.CheckConstraint:
    """Return the constraint that bounds and time are in order.

    A missing value constrains nothing.
    """
    return models.CheckConstraint(
        condition=(Q(lower__isnull=True) | Q(time__isnull=True) | Q(lower__lte=F("time")))
        & (Q(upper__isnull=True) | Q(time__isnull=True) | Q(upper__gte=F("time")))
        & (Q(lower__isnull=True) | Q(upper__isnull=True) | Q(lower__lte=F("upper"))),
        name=name,
    )


class Timeline(models.Model):
    """One complete timeline of a case from one source."""

    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
    encounter = models.ForeignKey(Encounter, on_delete=models.CASCADE, related_name="timelines")
    inventory = models.ForeignKey(
        Inventory,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="timelines",
    )
    case_run = models.ForeignKey(
        CaseRun,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="timelines",
    )
    source = models.CharField(max_length=100)
    kind = models.CharField(max_length=20, choices=[(k.value, k.value) for k in TimelineKind])
    alternative = models.PositiveSmallIntegerField(default=1)
    #: What the model wrote before its rows; empty without a model.
    reasoning = models.TextField(blank=True, default="")
    #: The annotation protocol of an imported reference, as its import says; else empty.
    protocol = models.CharField(max_length=60, blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["case_run", "kind", "alternative"],
                condition=Q(case_run__isnull=False),
                name="timeline_once_per_case_run",
            ),
            models.UniqueConstraint(
                fields=["encounter", "source", "kind", "alternative"],
                condition=Q(case_run__isnull=True),
                name="timeline_once_per_source",
            ),
            models.CheckConstraint(
                condition=Q(alternative__gte=1), name="alternative_counts_from_one"
            ),
        ]
        indexes = [
            # To list sources, and to check whether a cohort has one, without reading every
            # timeline.
            models.Index(
                fields=["source", "kind", "alternative", "encounter"], name="timeline_by_source"
            ),
        ]


class TimeValues(models.Model):
    """A time with its bounds, its basis and its reason.

    Hours from admission; `time` null means N/A.
    """

    time = models.FloatField(null=True)
    lower = models.FloatField(null=True)
    upper = models.FloatField(null=True)
    #: Stated in the note or inferred; null if an imported file does not say.
    known = models.BooleanField(null=True, default=False)
    context = ArrayField(models.CharField(max_length=4), default=list, blank=True)
    decided_by = models.TextField(blank=True)
    reason = models.TextField(blank=True)
    #: row_index of the rows of this encounter that the time rests on.
    adopted_rows = ArrayField(models.IntegerField(), default=list, blank=True)
    #: row_index of rows of other things that the time leans on.
    near_rows = ArrayField(models.IntegerField(), default=list, blank=True)
    #: How `adopted_rows` were linked; empty without rows, or if an imported file does not say.
    link = models.CharField(
        max_length=10,
        blank=True,
        default="",
        choices=[(link.value, link.value) for link in RowLink],
    )
    #: The source's confidence, on its own scale (single-step baselines: 1-9); null if it gives
    #: none.
    confidence = models.FloatField(null=True)

    class Meta:
        abstract = True


class Entry(TimeValues):
    """When one occurrence happened, in hours from admission.

    `occurrence` is null only for sources without an inventory, which have `event` instead.
    """

    timeline = models.ForeignKey(Timeline, on_delete=models.CASCADE, related_name="entries")
    occurrence = models.ForeignKey(
        Occurrence, null=True, on_delete=models.CASCADE, related_name="entries"
    )
    event = models.TextField(blank=True)

    class Meta:
        verbose_name_plural = "entries"
        constraints = [
            models.UniqueConstraint(
                fields=["timeline", "occurrence"], name="one_entry_per_occurrence"
            ),
            models.CheckConstraint(
                condition=Q(time__isnull=True) | Q(lower__isnull=True) | Q(lower__lte=F("time")),
                name="lower_not_after_time",
            ),
            models.CheckConstraint(
                condition=Q(time__isnull=True) | Q(upper__isnull=True) | Q(upper__gte=F("time")),
                name="upper_not_before_time",
            ),
            models.CheckConstraint(
                condition=Q(lower__isnull=True) | Q(upper__isnull=True) | Q(lower__lte=F("upper")),
                name="bounds_are_ordered",
            ),
            models.CheckConstraint(
                condition=Q(context__len__lte=MAX_CONTEXT),
                name="at_most_five_context_uids",
            ),
            models.CheckConstraint(
                condition=Q(occurrence__isnull=False) | ~Q(event=""),
                name="entry_names_an_event",
            ),
        ]
