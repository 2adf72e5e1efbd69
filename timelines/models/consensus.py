"""Two authors' timelines of a case, reconciled into one."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from accounts.ids import PUBLIC_ID_LENGTH, new_public_id
from ehr.models import Encounter
from timelines.models.inventories import Occurrence
from timelines.models.timelines import Timeline, require_ordered_bounds


class Consensus(models.Model):
    """A reconciliation of two submitted timelines.

    It is open until everything is decided and it is submitted as `timeline`.
    """

    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
    encounter = models.ForeignKey(Encounter, on_delete=models.CASCADE, related_name="consensuses")
    first = models.ForeignKey(Timeline, on_delete=models.CASCADE, related_name="+")
    second = models.ForeignKey(Timeline, on_delete=models.CASCADE, related_name="+")
    started_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    started_at = models.DateTimeField(auto_now_add=True)
    timeline = models.OneToOneField(
        Timeline, null=True, blank=True, on_delete=models.CASCADE, related_name="consensus"
    )
    submitted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    submitted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["pk"]
        verbose_name_plural = "consensuses"
        constraints = [
            models.UniqueConstraint(fields=["first", "second"], name="consensus_once_per_pair"),
            models.CheckConstraint(condition=~Q(first=F("second")), name="consensus_of_two"),
            models.CheckConstraint(
                condition=Q(
                    timeline__isnull=True, submitted_by__isnull=True, submitted_at__isnull=True
                )
                | Q(timeline__isnull=False, submitted_by__isnull=False, submitted_at__isnull=False),
                name="consensus_submitted_whole",
            ),
        ]


class ConsensusDecision(models.Model):
    """What is taken for one occurrence, of both authors or of one.

    Append-only; the latest of an item counts. `AGREED` is stored at the start.
    """

    class Choice(models.TextChoices):
        AGREED = "agreed", "both agree"
        FIRST = "first", "as the first author"
        SECOND = "second", "as the second author"
        OWN = "own", "at another time"
        DROPPED = "dropped", "left out"

    consensus = models.ForeignKey(Consensus, on_delete=models.CASCADE, related_name="decisions")
    first = models.ForeignKey(Occurrence, null=True, on_delete=models.CASCADE, related_name="+")
    second = models.ForeignKey(Occurrence, null=True, on_delete=models.CASCADE, related_name="+")
    choice = models.CharField(max_length=8, choices=Choice.choices)
    time = models.FloatField(null=True)
    lower = models.FloatField(null=True)
    upper = models.FloatField(null=True)
    #: What was typed ("HD 4 08:00").
    entered = models.CharField(max_length=100, blank=True)
    reason = models.TextField(blank=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=(
                    Q(choice__in=["own", "dropped"])
                    & (Q(first__isnull=False) | Q(second__isnull=False))
                )
                | Q(choice="first", first__isnull=False)
                | Q(choice="second", second__isnull=False)
                | Q(choice="agreed", first__isnull=False, second__isnull=False),
                name="consensus_choice_of_its_item",
            ),
            models.CheckConstraint(
                condition=Q(choice="own")
                | Q(time__isnull=True, lower__isnull=True, upper__isnull=True, entered=""),
                name="consensus_time_of_its_choice",
            ),
            models.CheckConstraint(
                condition=Q(choice="agreed", reason="") | (~Q(choice="agreed") & ~Q(reason="")),
                name="consensus_decision_says_why",
            ),
            require_ordered_bounds("consensus_bounds_are_ordered"),
        ]
