"""Concepts: reviewed sets of mentions and series that mean one clinical thing."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from accounts.ids import PUBLIC_ID_LENGTH, new_public_id
from accounts.models import Study
from jobs.models import ClaimableJob
from timelines.domain import Lane, Polarity
from timelines.models import Occurrence


class Concept(models.Model):
    """One clinical thing, for example "reversal agent given"."""

    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="concepts")
    name = models.CharField(max_length=100)
    description = models.TextField(blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    #: When it was put away: lists leave it out, windows that use it keep it.
    archived_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["name"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["study", "name"], name="concept_name_once_per_study"),
            models.CheckConstraint(condition=~Q(name=""), name="concept_has_a_name"),
        ]

    def __str__(self) -> str:
        return self.name


class ConceptRule(models.Model):
    """What proposes members of a concept, also when data arrive later.

    Proposed members wait for a person. A rule never changes; it can end.
    """

    class Kind(models.TextChoices):
        WORDS = "words", "Words of the mention"
        DRUG_CLASS = "drug_class", "Drugs of a class"
        SERIES = "series", "Name of a series"

    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
    concept = models.ForeignKey(Concept, on_delete=models.CASCADE, related_name="rules")
    kind = models.CharField(max_length=12, choices=Kind.choices)
    #: Words as in a search, the name of a class, or a pattern of series names with `*`.
    value = models.CharField(max_length=200)
    #: Polarities and lanes of mentions that it proposes; empty for any.
    polarities = ArrayField(
        models.CharField(max_length=10, choices=[(p.value, p.value) for p in Polarity]),
        default=list,
        blank=True,
    )
    lanes = ArrayField(
        models.CharField(max_length=20, choices=[(x.value, x.value) for x in Lane]),
        default=list,
        blank=True,
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.CheckConstraint(condition=~Q(value=""), name="rule_has_a_value")
        ]


class ConceptMember(models.Model):
    """A mention or a series that is proposed for a concept, accepted or rejected.

    A mention is all occurrences of the study with the same words and the same polarity.
    """

    class Kind(models.TextChoices):
        MENTION = "mention", "Mention"
        SERIES = "series", "Series"

    class State(models.TextChoices):
        PROPOSED = "proposed", "Waits for review"
        ACCEPTED = "accepted", "Accepted"
        REJECTED = "rejected", "Rejected"

    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
    concept = models.ForeignKey(Concept, on_delete=models.CASCADE, related_name="members")
    kind = models.CharField(max_length=8, choices=Kind.choices)
    #: `mention_key` of the occurrences (`timelines/migrations/sql/search.sql`), or the series' event.
    key = models.TextField()
    #: Of the occurrences; empty for a series.
    polarity = models.CharField(max_length=10, blank=True)
    #: The mention in lower case, or the series' event.
    words = models.TextField()
    state = models.CharField(max_length=8, choices=State.choices, default=State.PROPOSED)
    #: How it was found, in words: "words: andexanet", "meaning, 0.83".
    found_by = models.CharField(max_length=300)
    proposed_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["words", "polarity"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["concept", "kind", "key", "polarity"], name="member_once_per_concept"
            ),
            models.CheckConstraint(
                condition=Q(kind="series", polarity="") | (Q(kind="mention") & ~Q(polarity="")),
                name="mention_has_a_polarity",
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["concept", "state"], name="member_by_state")]


class ConceptDecision(models.Model):
    """A person's answer to a proposed member; append-only, the latest counts."""

    member = models.ForeignKey(ConceptMember, on_delete=models.CASCADE, related_name="decisions")
    accepted = models.BooleanField()
    reason = models.TextField(blank=True)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["pk"]


class ConceptVersion(models.Model):
    """The accepted members of a concept at one moment; it never changes."""

    concept = models.ForeignKey(Concept, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    #: [{"kind", "key", "polarity", "words"}, …] in the order of kind, key and polarity.
    members = models.JSONField()
    sha256 = models.CharField(max_length=64)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["concept", "-number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["concept", "number"], name="version_once_per_concept")
        ]


class ConceptProposing(ClaimableJob):
    """The job that lets the rules of a study's concepts propose members."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+")

    class Meta(ClaimableJob.Meta):
        abstract = False
        indexes: ClassVar[list[models.Index]] = []


class ConceptSample(models.Model):
    """Random sentences that a person answers without knowing the members.

    Samples of one draw have the same sentences, each for another reviewer.
    """

    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
    version = models.ForeignKey(ConceptVersion, on_delete=models.CASCADE, related_name="samples")
    reviewer = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="concept_samples"
    )
    draw = models.CharField(max_length=PUBLIC_ID_LENGTH, default=new_public_id, editable=False)
    seed = models.BigIntegerField()
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-pk"]


class ConceptSampleItem(models.Model):
    """One sentence of a sample and the reviewer's answer."""

    class Answer(models.TextChoices):
        YES = "yes", "Yes, it says that"
        NO = "no", "No"
        UNCLEAR = "unclear", "Cannot be decided"

    sample = models.ForeignKey(ConceptSample, on_delete=models.CASCADE, related_name="items")
    ordinal = models.PositiveIntegerField()
    occurrence = models.ForeignKey(Occurrence, on_delete=models.CASCADE, related_name="+")
    #: Whether the version contains it; the reviewer does not see it.
    is_member = models.BooleanField()
    answer = models.CharField(max_length=8, choices=Answer.choices, blank=True)
    answered_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["ordinal"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["sample", "ordinal"], name="item_once_per_sample")
        ]
