"""Every call of a language model, as it was made and answered.

The table is append-only: the database refuses changes. A call belongs to its owner (`owner_type`,
`owner_id`: opaque to this app); it goes when its owner goes, and not before.
"""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from accounts.ids import PUBLIC_ID_LENGTH, new_public_id


class Outcome(models.TextChoices):
    """What became of a call. Only an accepted one carries into a timeline."""

    ACCEPTED = "accepted", "accepted"
    REJECTED = "rejected", "refused by the check"
    CUT = "cut", "cut off at its token limit"
    TOO_LONG = "too_long", "prompt too long"
    SCHEMA_REFUSED = "schema_refused", "schema refused by the server"
    REFUSED = "refused", "request refused by the server"
    UNAVAILABLE = "unavailable", "no reply"
    PENDING = "pending", "waits for an answer from outside"
    ANSWERED = "answered", "answered from outside, not checked yet"
    FAILED = "failed", "failed"


#: Post of the exchange (`llm_runtime.exchange`): a request that went out and the answer that came
#: back. The call that they make up is a row of its own, stored when the answer is checked; these
#: two are counted nowhere.
POST = (Outcome.PENDING, Outcome.ANSWERED)


class ModelRequestText(models.Model):
    """A rendered request, stored once for any number of calls.

    `body` is ASCII JSON, so that any character survives.
    """

    sha256 = models.CharField(max_length=64, primary_key=True)
    body = models.TextField()


class ModelCall(models.Model):
    """One attempt.

    `response` is ASCII JSON of the reply (text, finish_reason, reasoning, raw); null without a
    reply.
    """

    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
    owner_type = models.CharField(max_length=60)
    owner_id = models.CharField(max_length=40)
    role = models.CharField(max_length=30)
    model = models.CharField(max_length=200)
    #: Host and port of the server; empty for a model of this process.
    endpoint = models.CharField(max_length=200, blank=True)
    prompt = models.CharField(max_length=100)
    prompt_sha256 = models.CharField(max_length=64)
    request = models.ForeignKey(
        ModelRequestText, on_delete=models.PROTECT, related_name="calls", db_column="request_sha256"
    )
    #: Which part of the owner's work it was for, in words without patient text.
    part = models.CharField(max_length=300)
    #: What the answer decides: UIDs, or "start:end" of the note for a tagger.
    covers = ArrayField(models.CharField(max_length=40), default=list, blank=True)
    parameters = models.JSONField(default=dict)
    seed = models.BigIntegerField(null=True)
    attempt = models.PositiveSmallIntegerField()
    #: The answer was found in the ledger and not asked for again: nothing was paid, `seconds` is 0.
    reused = models.BooleanField(default=False)
    tokens_in = models.PositiveIntegerField(null=True)
    tokens_cached = models.PositiveIntegerField(null=True)
    tokens_out = models.PositiveIntegerField(null=True)
    seconds = models.FloatField()
    finish_reason = models.CharField(max_length=40, blank=True)
    response = models.TextField(null=True)
    outcome = models.CharField(max_length=20, choices=Outcome.choices)
    #: Why the answer was refused, or what became of the request; empty when it was accepted. Never
    #: patient text.
    reasons = ArrayField(models.TextField(), default=list, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        indexes = [
            models.Index(fields=["owner_type", "owner_id"], name="model_call_by_owner"),
            models.Index(fields=["model", "-created_at"], name="model_call_latest"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(outcome__in=Outcome.values), name="model_call_outcome_valid"
            ),
            models.CheckConstraint(
                condition=~Q(outcome="accepted") | Q(response__isnull=False, reasons__len=0),
                name="model_call_accepted_has_reply",
            ),
            models.CheckConstraint(
                condition=Q(attempt__gte=1), name="model_call_attempts_count_from_one"
            ),
        ]


class ServedTokens(models.Model):
    """What a server said once, in tokens.

    The length of a prompt (`of` is the digest of its messages) or its context (`server_facts`).

    It belongs to no owner: without the prompt the digest reveals nothing.
    """

    model = models.CharField(max_length=200)
    of = models.CharField(max_length=64)
    tokens = models.PositiveIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["model", "of"], name="served_tokens_once")]
