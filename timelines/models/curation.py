"""What people answer to a timeline: corrections, comments, flags.

All rows are append-only (`timelines/migrations/sql/curation.sql`). A further row undoes, settles,
resolves or withdraws.
"""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from accounts.ids import PUBLIC_ID_LENGTH, new_public_id
from ehr.models import Encounter
from timelines.models.inventories import Occurrence
from timelines.models.timelines import Timeline, require_ordered_bounds


class _Answer(models.Model):
    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        abstract = True
        ordering = ["pk"]


class Correction(_Answer):
    """One person's answer to the time of one occurrence in a base timeline.

    It never changes the base. `timelines.curation.standing` says which corrections count.
    """

    class Kind(models.TextChoices):
        TIME = "time", "at another time"
        NOT_PLACED = "not_placed", "not placed"
        NOT_HAPPENED = "not_happened", "did not happen"
        #: Only an adjudicator's: the time of the base stays.
        BASE = "base", "as reconstructed"
        #: Undoes an earlier row.
        UNDO = "undo", "undone"

    base = models.ForeignKey(Timeline, on_delete=models.CASCADE, related_name="corrections")
    occurrence = models.ForeignKey(Occurrence, on_delete=models.CASCADE, related_name="corrections")
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="corrections"
    )
    kind = models.CharField(max_length=12, choices=Kind.choices)
    #: An adjudicator's decision between the corrections before it.
    settles = models.BooleanField(default=False)
    #: The correction that the adjudicator chose; null for `BASE`.
    chosen = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.CASCADE, related_name="chosen_by"
    )
    time = models.FloatField(null=True)
    lower = models.FloatField(null=True)
    upper = models.FloatField(null=True)
    #: Whether the note states the time.
    known = models.BooleanField(default=False)
    #: row_index of the rows of this encounter that the time rests on.
    rows = ArrayField(models.IntegerField(), default=list, blank=True)
    #: What was typed ("HD 4 08:00").
    entered = models.CharField(max_length=100, blank=True)
    reason = models.TextField(blank=True)
    undoes = models.OneToOneField(
        "self", null=True, blank=True, on_delete=models.CASCADE, related_name="undone_by"
    )

    class Meta(_Answer.Meta):
        constraints = [
            models.CheckConstraint(
                condition=Q(kind="undo", undoes__isnull=False, settles=False)
                | (~Q(kind="undo") & Q(undoes__isnull=True)),
                name="correction_undo_names_one",
            ),
            models.CheckConstraint(
                condition=Q(kind="time", time__isnull=False)
                | (~Q(kind="time") & Q(time__isnull=True)),
                name="correction_time_of_its_kind",
            ),
            models.CheckConstraint(
                condition=Q(kind__in=["time", "not_placed"])
                | Q(lower__isnull=True, upper__isnull=True, rows=[], entered=""),
                name="correction_values_of_its_kind",
            ),
            models.CheckConstraint(
                condition=~Q(kind="base") | Q(settles=True), name="correction_base_settles"
            ),
            models.CheckConstraint(
                condition=Q(settles=True, kind="base", chosen__isnull=True)
                | (Q(settles=True, chosen__isnull=False) & ~Q(kind="base"))
                | Q(settles=False, chosen__isnull=True),
                name="correction_settlement_chooses",
            ),
            require_ordered_bounds("correction_bounds_are_ordered"),
        ]
        indexes = [models.Index(fields=["base", "occurrence"], name="correction_by_occurrence")]


class CuratedTimeline(models.Model):
    """A timeline made of a base and the corrections that counted then.

    It is stored when a correction changes it; the one before is superseded (docs/adr/0050).
    """

    timeline = models.OneToOneField(
        Timeline, on_delete=models.CASCADE, primary_key=True, related_name="curated"
    )
    base = models.ForeignKey(Timeline, on_delete=models.CASCADE, related_name="curations")


class Comment(_Answer):
    """A comment on a case or an occurrence, or a reply to one.

    A further row of another kind resolves or reopens a thread, or withdraws a comment.
    """

    class Kind(models.TextChoices):
        COMMENT = "comment", "commented"
        RESOLVE = "resolve", "resolved"
        REOPEN = "reopen", "reopened"
        WITHDRAW = "withdraw", "withdrew"

    encounter = models.ForeignKey(Encounter, on_delete=models.CASCADE, related_name="comments")
    occurrence = models.ForeignKey(
        Occurrence, null=True, blank=True, on_delete=models.CASCADE, related_name="comments"
    )
    #: The first comment of the thread, or the comment that is withdrawn.
    parent = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.CASCADE, related_name="replies"
    )
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="comments"
    )
    kind = models.CharField(max_length=10, choices=Kind.choices, default=Kind.COMMENT)
    body = models.TextField(blank=True)

    class Meta(_Answer.Meta):
        constraints = [
            models.CheckConstraint(
                condition=(Q(kind="comment") & ~Q(body=""))
                | (~Q(kind="comment") & Q(body="", parent__isnull=False)),
                name="comment_body_of_its_kind",
            ),
            models.UniqueConstraint(
                fields=["parent"], condition=Q(kind="withdraw"), name="comment_withdrawn_once"
            ),
        ]


class Mention(models.Model):
    """A person named with @ in a comment."""

    comment = models.ForeignKey(Comment, on_delete=models.CASCADE, related_name="mentions")
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="mentions"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["comment", "person"], name="mention_once_per_comment")
        ]


class Flag(_Answer):
    """A person's sign that an occurrence needs a look, with a reason.

    A further row withdraws it.
    """

    class Reason(models.TextChoices):
        WRONG_TIME = "wrong_time", "Wrong time"
        WRONG_ROW = "wrong_row", "Wrong row of the record"
        NO_EVENT = "no_event", "Not an event"
        DUPLICATE = "duplicate", "Duplicate"
        WRONG_WORDS = "wrong_words", "Wrong words marked"
        UNCLEAR = "unclear", "Unclear"
        OTHER = "other", "Something else"

    occurrence = models.ForeignKey(Occurrence, on_delete=models.CASCADE, related_name="flags")
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="flags"
    )
    reason = models.CharField(max_length=12, choices=Reason.choices, blank=True)
    words = models.TextField(blank=True)
    withdraws = models.OneToOneField(
        "self", null=True, blank=True, on_delete=models.CASCADE, related_name="withdrawn_by"
    )

    class Meta(_Answer.Meta):
        constraints = [
            models.CheckConstraint(
                condition=Q(withdraws__isnull=False, reason="", words="")
                | (Q(withdraws__isnull=True) & ~Q(reason="")),
                name="flag_has_a_reason",
            ),
        ]
