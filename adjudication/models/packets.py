"""Packets: drawn samples of findings, and the people assigned to them."""

from __future__ import annotations

from datetime import date
from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.ids import PUBLIC_ID_LENGTH, new_public_id
from accounts.models import Study
from adjudication.due import Due, describe_due
from adjudication.models.findings import Finding
from adjudication.models.judge_runs import JudgeRun
from jobs.models import ClaimableJob


class Packet(models.Model):
    """A drawn sample of findings for blinded review.

    A draft until it is opened; from then on its items never change.
    """

    class State(models.TextChoices):
        DRAFT = "draft", "Draft"
        OPEN = "open", "Open"
        CLOSED = "closed", "Closed"

    class Reveal(models.TextChoices):
        NEVER = "never", "Never"
        AFTER_CLOSE = "after_close", "After the packet closes"

    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="packets")
    label = models.CharField(max_length=200)
    judge_run = models.ForeignKey(JudgeRun, on_delete=models.RESTRICT, related_name="packets")
    state = models.CharField(max_length=10, choices=State.choices, default=State.DRAFT)
    reveal = models.CharField(max_length=15, choices=Reveal.choices, default=Reveal.AFTER_CLOSE)
    seed = models.BigIntegerField()
    #: How it was drawn (`adjudication.sampling.drawing.Design` as plain values), and the result:
    #: eligible, excluded, shortages.
    design = models.JSONField(default=dict)
    drawn = models.JSONField(default=dict)
    #: The latest guess test (`adjudication.review.guess_test`): {"at": …, "pairings": [guess, …]};
    #: {} before the first.
    guess_test = models.JSONField(default=dict)
    #: The earlier packet; this one has only the findings that changed since.
    follows = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.RESTRICT, related_name="followed_by"
    )
    lease_minutes = models.PositiveIntegerField(default=30)
    #: The day by which the review should be done; None if nobody set one.
    due_on = models.DateField(null=True, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    opened_at = models.DateTimeField(null=True, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)
    #: The end of its chain of decisions: reveals links cut off there, even if no signature covers
    #: them.
    chain_length = models.PositiveIntegerField(default=0)
    chain_head = models.CharField(max_length=64, blank=True, default="")

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["draft", "open", "closed"]), name="packet_state_valid"
            ),
            models.CheckConstraint(
                condition=Q(state="draft") | Q(opened_at__isnull=False),
                name="opened_packet_has_time",
            ),
            models.CheckConstraint(
                condition=Q(lease_minutes__gte=1), name="packet_lease_is_positive"
            ),
        ]

    @property
    def due(self) -> Due | None:
        """The due date in words, while the packet is not closed."""
        if self.state == self.State.CLOSED:
            return None
        return describe_due(self.due_on, timezone.localdate())


class GuessTest(ClaimableJob):
    """A job that runs the guess test of a draft, which stores the result."""

    packet = models.ForeignKey(Packet, on_delete=models.CASCADE, related_name="guess_tests")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )

    class Meta(ClaimableJob.Meta):
        abstract = False
        ordering: ClassVar = ["-pk"]
        # Few rows; the names of the usual indexes would be too long.
        indexes: ClassVar[list[models.Index]] = []


class PacketItem(models.Model):
    """One finding to decide on.

    `ordinal` is the packet's own order; each reviewer gets an order of their own from a stored
    seed.
    """

    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
    packet = models.ForeignKey(Packet, on_delete=models.CASCADE, related_name="items")
    finding = models.ForeignKey(Finding, on_delete=models.RESTRICT, related_name="items")
    ordinal = models.PositiveIntegerField()
    #: "TIMING decisive", "TIMING UNCLEAR", "one-sided", "DUPLICATE", "VALUE".
    stratum = models.CharField(max_length=30)
    #: The two sources, "a | b" in the judge run's order. Never shown to reviewers.
    pairing = models.CharField(max_length=300)
    #: Number of reviewers who decide on it.
    quota = models.PositiveSmallIntegerField(default=1)
    #: Versions of judge, prompt and data at the time of the finding; decisions store them.
    versions = models.JSONField(default=dict)

    class Meta:
        ordering = ["packet_id", "ordinal"]
        constraints = [
            models.UniqueConstraint(fields=["packet", "finding"], name="finding_once_per_packet"),
            models.UniqueConstraint(fields=["packet", "ordinal"], name="item_ordinal_once"),
            models.CheckConstraint(condition=Q(quota__gte=1), name="item_quota_is_positive"),
        ]


class Assignment(models.Model):
    """A reviewer of a packet, or the third person who settles disagreements."""

    class Role(models.TextChoices):
        REVIEWER = "reviewer", "Reviewer"
        ADJUDICATOR = "adjudicator", "Adjudicator"

    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
    packet = models.ForeignKey(Packet, on_delete=models.CASCADE, related_name="assignments")
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="review_assignments"
    )
    role = models.CharField(max_length=15, choices=Role.choices, default=Role.REVIEWER)
    #: Draws this person's order of items and the side of each candidate.
    seed = models.BigIntegerField()
    #: Pairings that this person decides on; empty means all.
    pairings = ArrayField(models.CharField(max_length=300), default=list, blank=True)
    #: A day of this person's own by which their review should be done; None for the packet's.
    due_on = models.DateField(null=True, blank=True)
    practised_at = models.DateTimeField(null=True, blank=True)
    #: Set while signed; cleared by unsigning; the chain has both.
    signed_at = models.DateTimeField(null=True, blank=True)
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["packet", "person"], name="person_once_per_packet")
        ]

    @property
    def practised(self) -> bool:
        return self.practised_at is not None

    @property
    def deadline(self) -> date | None:
        """The person's own due date, else the packet's; None for neither."""
        return self.due_on or self.packet.due_on

    @property
    def due(self) -> Due | None:
        """The deadline in words, while the packet is not closed."""
        if self.packet.state == Packet.State.CLOSED:
            return None
        return describe_due(self.deadline, timezone.localdate())
