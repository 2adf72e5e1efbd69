"""Timelines that clinicians write: drafts, edits, suggestions."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q

from accounts.ids import PUBLIC_ID_LENGTH, new_public_id
from ehr.models import Encounter
from timelines.domain import MAX_CONTEXT
from timelines.models.inventories import Inventory, Occurrence
from timelines.models.timelines import Timeline


class Authoring(models.Model):
    """A clinician's own timeline of one case.

    It is written as a draft, locked when submitted, and reopened only with a reason. The draft's
    occurrences are those of an unsealed `inventory`, its times are `DraftEntry` rows. Nothing of a
    draft is a `Timeline`, so no page, export or evaluation can show it before it is submitted.
    Submitting seals the inventory and makes `timeline`; reopening does not change either and starts
    a new draft inventory with the same UIDs.
    """

    class Protocol(models.TextChoices):
        UNAIDED = "unaided", "Unaided"
        ASSISTED = "assisted", "Assisted"

    class State(models.TextChoices):
        DRAFT = "draft", "Draft"
        SUBMITTED = "submitted", "Submitted"

    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
    encounter = models.ForeignKey(Encounter, on_delete=models.CASCADE, related_name="authorings")
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="authorings"
    )
    protocol = models.CharField(max_length=10, choices=Protocol.choices)
    #: Source of the timeline that the draft was begun from; empty if it began empty. Such timelines
    #: have a source of their own, so that no figure mixes them with others.
    assisted_by = models.CharField(max_length=100, blank=True, default="")
    #: That timeline, while it exists.
    base = models.ForeignKey(
        Timeline, null=True, blank=True, on_delete=models.SET_NULL, related_name="assisted"
    )
    state = models.CharField(max_length=10, choices=State.choices, default=State.DRAFT)
    #: Grows by one with every stored edit; an edit made on an older revision is rejected (conflict
    #: detection).
    revision = models.PositiveIntegerField(default=0)
    #: The inventory being written, or the sealed one of the last submission.
    inventory = models.OneToOneField(Inventory, on_delete=models.CASCADE, related_name="authoring")
    #: The last submitted timeline; null before the first submission.
    timeline = models.OneToOneField(
        Timeline, null=True, blank=True, on_delete=models.SET_NULL, related_name="authoring"
    )
    #: Whether the author had opened a page that shows a timeline of this case before beginning
    #: (recorded, protocol "unaided").
    exposed = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    submitted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-updated_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["encounter", "author"], name="one_authoring_per_case_and_author"
            ),
            models.CheckConstraint(
                condition=Q(protocol__in=["unaided", "assisted"]), name="authoring_protocol_valid"
            ),
            models.CheckConstraint(
                condition=Q(state="draft")
                | Q(state="submitted", timeline__isnull=False, submitted_at__isnull=False),
                name="authoring_submitted_has_timeline",
            ),
            models.CheckConstraint(
                condition=Q(protocol="assisted") | Q(assisted_by="", base__isnull=True),
                name="authoring_unaided_has_no_base",
            ),
            models.CheckConstraint(
                condition=~Q(assisted_by="") | Q(base__isnull=True),
                name="authoring_base_is_named",
            ),
        ]

    @property
    def protocol_words(self) -> str:
        """The protocol, with the timeline that the draft was begun from."""
        said = self.get_protocol_display()
        return f"{said} by {self.assisted_by}" if self.assisted_by else said


class DraftEntry(models.Model):
    """The time of an occurrence in a draft. Hours from admission.

    `placed` says that the author has decided: a placed entry without a time is N/A, one not placed
    is still to do. `entered` is the typed text ("HD 4 08:00"), stored with the hours it was read
    as.
    """

    occurrence = models.OneToOneField(Occurrence, on_delete=models.CASCADE, related_name="draft")
    placed = models.BooleanField(default=False)
    time = models.FloatField(null=True)
    lower = models.FloatField(null=True)
    upper = models.FloatField(null=True)
    known = models.BooleanField(default=False)
    context = ArrayField(models.CharField(max_length=4), default=list, blank=True)
    rows = ArrayField(models.IntegerField(), default=list, blank=True)
    entered = models.CharField(max_length=100, blank=True)
    reason = models.TextField(blank=True)

    class Meta:
        verbose_name_plural = "draft entries"
        constraints = [
            models.CheckConstraint(
                condition=Q(time__isnull=True) | Q(lower__isnull=True) | Q(lower__lte=F("time")),
                name="draft_lower_not_after_time",
            ),
            models.CheckConstraint(
                condition=Q(time__isnull=True) | Q(upper__isnull=True) | Q(upper__gte=F("time")),
                name="draft_upper_not_before_time",
            ),
            models.CheckConstraint(
                condition=Q(lower__isnull=True) | Q(upper__isnull=True) | Q(lower__lte=F("upper")),
                name="draft_bounds_are_ordered",
            ),
            models.CheckConstraint(
                condition=Q(context__len__lte=MAX_CONTEXT), name="draft_at_most_five_context_uids"
            ),
            models.CheckConstraint(
                condition=Q(placed=True) | Q(time__isnull=True), name="draft_time_is_placed"
            ),
        ]


class AuthoringEdit(models.Model):
    """One stored edit, append-only.

    `before` and `after` contain the complete occurrences it touches, so that undo is exact.
    """

    authoring = models.ForeignKey(Authoring, on_delete=models.CASCADE, related_name="edits")
    #: Equals `Authoring.revision` once stored.
    number = models.PositiveIntegerField()
    kind = models.CharField(max_length=20)
    before = models.JSONField(default=list)
    after = models.JSONField(default=list)
    #: The edit that this one undoes or redoes.
    undoes = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.CASCADE, related_name="undone_by"
    )
    #: Why a submitted timeline was opened again.
    reason = models.TextField(blank=True)
    #: Token that the page made for this edit: sent again after a lost connection, it is stored
    #: once.
    token = models.CharField(max_length=64)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(
                fields=["authoring", "number"], name="edit_number_once_per_authoring"
            ),
            models.UniqueConstraint(
                fields=["authoring", "token"], name="edit_token_once_per_authoring"
            ),
        ]


class AnchorSuggestion(models.Model):
    """A row of the record that was suggested to an assisted author.

    It also records whether the author accepted or dismissed it.
    """

    authoring = models.ForeignKey(Authoring, on_delete=models.CASCADE, related_name="suggestions")
    uid4 = models.CharField(max_length=4)
    row_index = models.IntegerField()
    rank = models.PositiveSmallIntegerField()
    score = models.FloatField(null=True)
    #: The tools that suggested it ("rules 3 · MiniLM"), as recorded with the run or search.
    made_by = models.CharField(max_length=200)
    shown_at = models.DateTimeField(auto_now_add=True)
    accepted_at = models.DateTimeField(null=True, blank=True)
    dismissed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["uid4", "rank"]
        constraints = [
            models.UniqueConstraint(
                fields=["authoring", "uid4", "row_index"], name="suggestion_once_per_row"
            ),
            models.CheckConstraint(
                condition=Q(accepted_at__isnull=True) | Q(dismissed_at__isnull=True),
                name="suggestion_accepted_or_dismissed",
            ),
        ]
