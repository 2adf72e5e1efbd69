"""The blinded review: slots, decisions and their chain, practice."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from accounts.ids import PUBLIC_ID_LENGTH, new_public_id
from adjudication.models.packets import Assignment, Packet, PacketItem


class Slot(models.Model):
    """A place for one decision on one item.

    There are as many as the quota, so no item can get more decisions than that.
    """

    class Purpose(models.TextChoices):
        REVIEW = "review", "Review"
        ADJUDICATION = "adjudication", "Adjudication"

    item = models.ForeignKey(PacketItem, on_delete=models.CASCADE, related_name="slots")
    purpose = models.CharField(max_length=15, choices=Purpose.choices, default=Purpose.REVIEW)
    number = models.PositiveSmallIntegerField()
    #: The person who leased it or decided in it.
    assignment = models.ForeignKey(
        Assignment, null=True, blank=True, on_delete=models.SET_NULL, related_name="slots"
    )
    lease_expires_at = models.DateTimeField(null=True, blank=True)
    #: The current decision; null if there is none.
    decision = models.OneToOneField(
        "Decision", null=True, blank=True, on_delete=models.SET_NULL, related_name="stands_in"
    )
    #: What the reviewer has chosen and typed so far, stored for another device.
    draft = models.JSONField(default=dict, blank=True)
    #: Seconds for which the reviewer had the item open and active.
    active_seconds = models.FloatField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["item", "purpose", "number"], name="slot_number_once"),
            models.UniqueConstraint(
                fields=["item", "assignment"], name="one_slot_per_person_and_item"
            ),
            models.CheckConstraint(
                condition=Q(decision__isnull=True) | Q(assignment__isnull=False),
                name="decided_slot_has_person",
            ),
            models.CheckConstraint(
                condition=Q(lease_expires_at__isnull=True)
                | Q(assignment__isnull=False, decision__isnull=True),
                name="leased_slot_has_person",
            ),
        ]


class ItemMark(models.Model):
    """A reviewer's marks: skipped items come last, flagged ones are listed."""

    assignment = models.ForeignKey(Assignment, on_delete=models.CASCADE, related_name="marks")
    item = models.ForeignKey(PacketItem, on_delete=models.CASCADE, related_name="marks")
    skipped_at = models.DateTimeField(null=True, blank=True)
    flagged = models.BooleanField(default=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["assignment", "item"], name="mark_once")]


class Decision(models.Model):
    """One link of a packet's chain; append-only, the database refuses changes.

    It is a decision, its amendment or withdrawal, a signature or a guess. `hash` covers every other
    field and the hash before (`adjudication.chain`). Answers are stored in the judge's labels of
    the finding (A and B of the game), not by the side on the reviewer's screen; `shown_swapped`
    says which side that was.
    """

    class Kind(models.TextChoices):
        ANSWER = "answer", "Answer"
        AMENDMENT = "amendment", "Amendment"
        WITHDRAWAL = "withdrawal", "Withdrawal"
        LATE = "late", "Late answer"
        SIGN = "sign", "Signature"
        UNSIGN = "unsign", "Signature withdrawn"
        GUESS = "guess", "Blinding check"
        SEARCH = "search", "Search for differences"

    class Answer(models.TextChoices):
        A = "A", "A"
        B = "B", "B"
        BOTH = "BOTH", "Both"
        NEITHER = "NEITHER", "Neither"
        UNCLEAR = "UNCLEAR", "Unclear"
        NOT_A_FINDING = "NOT_A_FINDING", "Should not have been raised"

    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
    packet = models.ForeignKey(Packet, on_delete=models.CASCADE, related_name="decisions")
    #: 1, 2, 3, … within the packet, without a gap.
    sequence = models.PositiveIntegerField()
    assignment = models.ForeignKey(Assignment, on_delete=models.CASCADE, related_name="decisions")
    item = models.ForeignKey(
        PacketItem, null=True, blank=True, on_delete=models.CASCADE, related_name="decisions"
    )
    kind = models.CharField(max_length=12, choices=Kind.choices)
    answer = models.CharField(max_length=15, choices=Answer.choices, blank=True)
    #: The time the reviewer would give, hours from admission.
    own_time = models.FloatField(null=True, blank=True)
    comment = models.TextField(blank=True)
    flagged = models.BooleanField(default=False)
    #: Active seconds.
    active_seconds = models.FloatField(null=True, blank=True)
    shown_swapped = models.BooleanField(null=True)
    amends = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.CASCADE, related_name="amended_by"
    )
    #: Versions of the item, guesses, the head that a signature covers.
    detail = models.JSONField(default=dict, blank=True)
    #: Made by the page for this decision, so that a repeated request is stored once.
    token = models.CharField(max_length=64)
    at = models.DateTimeField()
    previous_hash = models.CharField(max_length=64, blank=True)
    hash = models.CharField(max_length=64)

    class Meta:
        ordering = ["packet_id", "sequence"]
        constraints = [
            models.UniqueConstraint(fields=["packet", "sequence"], name="decision_sequence_once"),
            models.UniqueConstraint(fields=["assignment", "token"], name="decision_token_once"),
            models.UniqueConstraint(
                fields=["assignment", "item"],
                condition=Q(kind="answer"),
                name="one_answer_per_person_and_item",
            ),
            models.CheckConstraint(
                condition=Q(kind__in=["sign", "unsign", "guess", "search"]) | Q(item__isnull=False),
                name="decision_is_about_an_item",
            ),
            models.CheckConstraint(
                condition=(Q(kind__in=["answer", "amendment", "late"]) & ~Q(answer=""))
                | (~Q(kind__in=["answer", "amendment", "late"]) & Q(answer="")),
                name="answer_where_one_is_due",
            ),
            models.CheckConstraint(
                condition=Q(kind__in=["amendment", "withdrawal"], amends__isnull=False)
                | (~Q(kind__in=["amendment", "withdrawal"]) & Q(amends__isnull=True)),
                name="amendment_names_what_it_amends",
            ),
        ]


class PracticeAnswer(models.Model):
    """A case of one person's practice round; it counts only as practice.

    `answer` is empty before the first one. An undone answer stays as the page's choice.
    """

    assignment = models.ForeignKey(Assignment, on_delete=models.CASCADE, related_name="practice")
    number = models.PositiveSmallIntegerField()
    answer = models.CharField(max_length=15, choices=Decision.Answer.choices, blank=True)
    undone = models.BooleanField(default=False)
    skipped_at = models.DateTimeField(null=True, blank=True)
    flagged = models.BooleanField(default=False)
    at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["assignment", "number"], name="practice_once_per_number"
            )
        ]
