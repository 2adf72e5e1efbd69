"""The abstract job: a database row that is its own queue entry.

See architecture, "Who may import whom".
"""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone

from accounts.ids import PUBLIC_ID_LENGTH, new_public_id
from accounts.models import Study

#: The form of what jobs ask for: their kinds, stages and settings. A release whose jobs an earlier
#: worker would do wrongly, or not know, raises it (docs/upgrades.md).
CONTENTS = 1


def current_contents() -> int:
    """Return the form of the jobs that this code makes."""
    return CONTENTS


class JobState(models.TextChoices):
    BLOCKED = "blocked", "Waits for an earlier step"
    QUEUED = "queued", "Queued"
    RUNNING = "running", "Running"
    SUCCEEDED = "succeeded", "Done"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"


class ClaimableJob(models.Model):
    """A unit of work that one worker at a time may hold.

    The row is the truth and the broker's message a hint. `fence` grows with every claim; each later
    write of that job checks it on database time, so a worker which lost its lease cannot write.
    """

    state = models.CharField(max_length=20, choices=JobState.choices, default=JobState.QUEUED)
    attempt = models.PositiveSmallIntegerField(default=0)
    max_attempts = models.PositiveSmallIntegerField(default=3)
    #: How often it waited for a service that was away; such a wait uses up no attempt.
    outages = models.PositiveSmallIntegerField(default=0)
    fence = models.BigIntegerField(default=0)
    #: A worker claims only jobs of a form that it knows; others wait for a newer worker. Code of
    #: before, which does not name the column, makes jobs of the first form. Not "positive": that
    #: check would read every row under a lock.
    contents = models.SmallIntegerField(default=current_contents, db_default=1)
    worker = models.CharField(max_length=200, blank=True)
    queued_at = models.DateTimeField(default=timezone.now)
    #: A retry waits until then (backoff); null means now.
    not_before = models.DateTimeField(null=True, blank=True)
    #: Time of the last hint to the broker; the sweeper repeats it later (`jobs.hints`).
    hinted_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    lease_expires_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    cancel_requested = models.BooleanField(default=False)
    #: Why attempts failed, newest last; words an admin can act on, never patient text.
    reasons = ArrayField(models.TextField(), default=list, blank=True)
    #: What it is doing now: {"done": 2, "total": 3, "words": "tagging chunk 2 of 3"}; never patient
    #: text.
    progress = models.JSONField(default=dict, blank=True)

    class Meta:
        abstract = True
        constraints = [
            models.CheckConstraint(
                condition=models.Q(state__in=JobState.values),
                name="%(app_label)s_%(class)s_state_valid",
            ),
            models.CheckConstraint(
                condition=~models.Q(state=JobState.RUNNING)
                | models.Q(lease_expires_at__isnull=False),
                name="%(app_label)s_%(class)s_running_has_lease",
            ),
            # Nobody would claim it, and it would wait for ever.
            models.CheckConstraint(
                condition=~models.Q(
                    state__in=[JobState.BLOCKED, JobState.QUEUED], cancel_requested=True
                ),
                name="%(app_label)s_%(class)s_cancelled_does_not_wait",
            ),
        ]
        indexes = [
            models.Index(
                fields=["state", "lease_expires_at"],
                name="%(app_label)s_%(class)s_claim",
            ),
            # The next rows to hint at (`jobs.hints`), without a look at ended or blocked ones.
            models.Index(
                fields=["hinted_at", "id"],
                condition=models.Q(state=JobState.QUEUED),
                name="%(app_label)s_%(class)s_hint",
            ),
        ]


class PreparationJob(ClaimableJob):
    """A job that adds the cases of a run, batch by batch by case id.

    See `jobs.preparing`.
    """

    #: Requested case ids; null means all.
    wanted = ArrayField(models.TextField(), null=True, blank=True)
    #: How many cases there were when the run was started, and how many of them are done.
    total = models.PositiveIntegerField()
    prepared = models.PositiveIntegerField(default=0)
    #: Case id of the last case that is done.
    cursor = models.TextField(blank=True)

    class Meta(ClaimableJob.Meta):
        abstract = True
        #: One row a run: the sweeper needs no index.
        indexes: ClassVar[list[models.Index]] = []


class Webhook(models.Model):
    """An address that learns when work of a study has ended.

    The secret signs what is sent, so it is stored as it is; pages show it once.
    """

    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="webhooks")
    url = models.CharField(max_length=500)
    secret = models.CharField(max_length=64)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["created_at"]
        constraints = [
            models.UniqueConstraint(fields=["study", "url"], name="webhook_once_per_address")
        ]

    def __str__(self) -> str:
        return self.public_id


class WebhookDelivery(ClaimableJob):
    """One message to a webhook: a kind of event and ids."""

    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    event = models.CharField(max_length=40)
    object_id = models.CharField(max_length=PUBLIC_ID_LENGTH)
    #: Names the occasion: work that is retried ends again.
    occasion = models.CharField(max_length=40)
    #: Status of the last answer; null if there was none.
    status = models.PositiveSmallIntegerField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta(ClaimableJob.Meta):
        abstract = False
        ordering = ["-created_at", "-pk"]
        constraints = [
            *ClaimableJob.Meta.constraints,
            models.UniqueConstraint(
                fields=["webhook", "event", "object_id", "occasion"], name="delivery_once"
            ),
        ]
