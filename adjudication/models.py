"""Comparisons, games and findings; packets, slots and decisions of the blinded review. The database holds the protocol's rules too."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q

from accounts.ids import PUBLIC_ID_LENGTH, new_public_id
from accounts.models import Study
from adjudication.domain import FindingType, Grounding, Relation, Verdict
from adjudication.scoring.errors import Category
from ehr.models import Dataset, Encounter, EventSeries
from jobs.models import ClaimableJob, PreparationJob
from timelines.domain import Polarity
from timelines.models import Entry, Timeline

CHOICES_OF_TYPE = [(t.value, t.value) for t in FindingType]
CHOICES_OF_VERDICT = [(v.value, v.value) for v in Verdict]


class JudgeRun(models.Model):
    """One judge over the pairs of chosen sources of a cohort, with everything that its answers depend on frozen."""

    public_id = models.CharField(max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False)
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="judge_runs")
    datasets = models.ManyToManyField(Dataset, related_name="judge_runs")
    label = models.CharField(max_length=200, blank=True)
    #: What is compared, in order: [[source, kind, alternative], …].
    sources = models.JSONField()
    #: "rules" or "prompted"; `judge_name` and `judge_version` are what the judge says of itself.
    judge = models.CharField(max_length=30)
    judge_name = models.CharField(max_length=200)
    judge_version = models.CharField(max_length=64)
    #: `adjudication.judge_config.JudgeConfig` as plain values: seed, swap, uid_table, tolerance, series limit.
    config = models.JSONField(default=dict)
    #: As `timelines.Run.language_models`, for role "judge"; never a key.
    language_models = models.JSONField(default=dict)
    prompt_hashes = models.JSONField(default=dict)
    code_revision = models.CharField(max_length=64, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    paused_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at"]


class Comparison(models.Model):
    """Two timelines of one case. A judge sees them as A and B; which one is which is the game's alone."""

    public_id = models.CharField(max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False)
    encounter = models.ForeignKey(Encounter, on_delete=models.CASCADE, related_name="comparisons")
    first = models.ForeignKey(Timeline, on_delete=models.CASCADE, related_name="comparisons_as_first")
    second = models.ForeignKey(Timeline, on_delete=models.CASCADE, related_name="comparisons_as_second")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["first", "second"], name="comparison_once"),
            models.CheckConstraint(condition=~Q(first=F("second")), name="comparison_of_two"),
        ]


class Game(ClaimableJob):
    """One judging of one comparison. Done without an answer is `unjudged`, which is not the same as no findings."""

    class Outcome(models.TextChoices):
        JUDGED = "judged", "judged"
        UNJUDGED = "unjudged", "unjudged"

    public_id = models.CharField(max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False)
    run = models.ForeignKey(JudgeRun, on_delete=models.CASCADE, related_name="games")
    comparison = models.ForeignKey(Comparison, on_delete=models.CASCADE, related_name="games")
    #: The rerun in swapped positions.
    swapped = models.BooleanField(default=False)
    seed = models.BigIntegerField()
    #: Whether A was the comparison's first timeline; null until it was judged.
    a_is_first = models.BooleanField(null=True)
    outcome = models.CharField(max_length=10, choices=Outcome.choices, blank=True)
    unjudged_reasons = ArrayField(models.TextField(), default=list, blank=True)
    #: Of all that the judge was given, rendered: tells whether note, rows or timelines have changed since.
    input_sha256 = models.CharField(max_length=64, blank=True)
    #: Summaries that were supplied, and how many the limit left out.
    series_supplied = models.PositiveIntegerField(null=True)
    series_omitted = models.PositiveIntegerField(null=True)
    #: How often a person asked for it again: a language model then gets further attempts.
    rounds = models.PositiveSmallIntegerField(default=0)

    class Meta(ClaimableJob.Meta):
        abstract = False
        constraints = [
            *ClaimableJob.Meta.constraints,
            models.UniqueConstraint(fields=["run", "comparison", "swapped"], name="game_once_per_run"),
            models.CheckConstraint(condition=~Q(state="succeeded") | ~Q(outcome=""), name="done_game_has_outcome"),
            models.CheckConstraint(condition=Q(outcome="") | Q(a_is_first__isnull=False), name="judged_game_has_sides"),
            # A judged game is done; an unjudged one failed, and for that reason. It is stored just before the state, hence "running".
            models.CheckConstraint(
                condition=Q(outcome="")
                | Q(outcome="judged", state__in=["running", "succeeded"])
                | Q(outcome="unjudged", state__in=["running", "failed"]),
                name="outcome_belongs_to_its_end",
            ),
        ]
        indexes = [
            *ClaimableJob.Meta.indexes,
            # The page of a judge run: its games in order, those in one state, and how many are in each.
            models.Index(fields=["run", "id"], name="game_in_order"),
            models.Index(fields=["run", "state", "outcome", "id"], name="game_by_state"),
        ]


class JudgePreparation(PreparationJob):
    """The job that adds a judge run's games, batch by batch. A judge run without one was prepared before there were any."""

    run = models.OneToOneField(JudgeRun, on_delete=models.CASCADE, related_name="preparation")
    #: Primary key of the dataset that `cursor` is of. Datasets are dealt with in the order of their keys.
    dataset_at = models.BigIntegerField(default=0)

    class Meta(PreparationJob.Meta):
        abstract = False


class JudgeCount(models.Model):
    """A change in how many games of a judge run have a state and outcome. The sum of the rows is the count.

    Findings are counted too, as rows with an empty state. Triggers add the rows and now and then replace those of a run by their
    sum (migration 0010), so that no worker waits for another's count.
    """

    #: The database deletes the rows with the run (migration 0010).
    run = models.ForeignKey(JudgeRun, on_delete=models.DO_NOTHING, db_constraint=False, related_name="counts")
    state = models.CharField(max_length=20, blank=True)
    outcome = models.CharField(max_length=10, blank=True)
    n = models.IntegerField()
    #: When it changed; for a game that waits after an outage, when that wait ends.
    moved_at = models.DateTimeField()


class Finding(models.Model):
    """One validated finding of a game, as the judge told it in its own labels; `adjudication.domain.Finding` says what each field is."""

    public_id = models.CharField(max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False)
    game = models.ForeignKey(Game, on_delete=models.CASCADE, related_name="findings")
    ordinal = models.PositiveIntegerField()
    type = models.CharField(max_length=20, choices=CHOICES_OF_TYPE)
    verdict = models.CharField(max_length=10, choices=CHOICES_OF_VERDICT)
    polarity = models.CharField(max_length=10, choices=[(p.value, p.value) for p in Polarity])
    a_event = models.TextField(null=True)
    a_time = models.IntegerField(null=True)
    b_event = models.TextField(null=True)
    b_time = models.IntegerField(null=True)
    a_row = models.PositiveIntegerField(null=True)
    b_row = models.PositiveIntegerField(null=True)
    #: The entries behind the rows (the private map, resolved).
    a_entry = models.ForeignKey(Entry, null=True, on_delete=models.CASCADE, related_name="+")
    b_entry = models.ForeignKey(Entry, null=True, on_delete=models.CASCADE, related_name="+")
    note_evidence = models.TextField(null=True)
    #: Where the quote stands in the note, code points, end-exclusive.
    note_start = models.PositiveIntegerField(null=True)
    note_end = models.PositiveIntegerField(null=True)
    table_evidence = models.TextField(null=True)
    series = models.ForeignKey(EventSeries, null=True, on_delete=models.SET_NULL, related_name="+")
    grounding = models.CharField(max_length=10, choices=[(g.value, g.value) for g in Grounding])
    relation = models.CharField(max_length=20, choices=[(r.value, r.value) for r in Relation], null=True)
    reason = models.TextField(blank=True)
    #: A TIMING finding within tolerance: kept and charged, with ratings without such ones beside.
    flagged = models.BooleanField(default=False)
    #: The charge after unblinding (`scoring.errors.charge`): which error, and whether the comparison's first timeline made it.
    category = models.CharField(max_length=20, choices=[(c.value, c.value) for c in Category], blank=True)
    charged_first = models.BooleanField(null=True)
    #: What it is about, whoever judged it and whatever the labels were (`adjudication.storage.subject_of`): finds it in another judging.
    subject_sha256 = models.CharField(max_length=64, db_index=True)

    class Meta:
        ordering = ["game_id", "ordinal"]
        constraints = [
            models.UniqueConstraint(fields=["game", "ordinal"], name="finding_ordinal_once"),
            models.CheckConstraint(condition=~Q(type="SHARED_UNSUPPORTED") | Q(verdict="NEITHER"), name="shared_unsupported_is_neither"),
            models.CheckConstraint(
                condition=~Q(type__in=["A_ONLY", "B_ONLY"]) | ~Q(verdict__in=["BOTH", "NEITHER"]), name="one_sided_not_both_or_neither"
            ),
            models.CheckConstraint(
                condition=Q(type="A_ONLY", a_event__isnull=False, b_event__isnull=True)
                | Q(type="B_ONLY", a_event__isnull=True, b_event__isnull=False)
                | (Q(type="DUPLICATE") & (Q(a_event__isnull=True, b_event__isnull=False) | Q(a_event__isnull=False, b_event__isnull=True)))
                | Q(type__in=["VALUE", "TIMING", "SHARED_UNSUPPORTED"], a_event__isnull=False, b_event__isnull=False),
                name="finding_sides_fit_type",
            ),
            models.CheckConstraint(
                condition=Q(type__in=["A_ONLY", "B_ONLY"], relation__isnull=False)
                | (~Q(type__in=["A_ONLY", "B_ONLY"]) & Q(relation__isnull=True)),
                name="relation_iff_one_sided",
            ),
            models.CheckConstraint(
                condition=(Q(verdict__in=["A", "B"]) & ~Q(category="") & Q(charged_first__isnull=False))
                | (~Q(verdict__in=["A", "B"]) & Q(category="", charged_first__isnull=True)),
                name="decisive_iff_charged",
            ),
            models.CheckConstraint(
                condition=Q(note_start__isnull=True, note_end__isnull=True) | Q(note_start__lt=F("note_end")), name="quote_span_is_ordered"
            ),
        ]
        indexes = [models.Index(fields=["type", "verdict"], name="finding_by_type")]


class Packet(models.Model):
    """A drawn sample of findings for blinded review. A draft until it is opened; from then on its items never change."""

    class State(models.TextChoices):
        DRAFT = "draft", "Draft"
        OPEN = "open", "Open"
        CLOSED = "closed", "Closed"

    class Reveal(models.TextChoices):
        NEVER = "never", "Never"
        AFTER_CLOSE = "after_close", "After the packet closes"

    public_id = models.CharField(max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False)
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="packets")
    label = models.CharField(max_length=200)
    judge_run = models.ForeignKey(JudgeRun, on_delete=models.RESTRICT, related_name="packets")
    state = models.CharField(max_length=10, choices=State.choices, default=State.DRAFT)
    reveal = models.CharField(max_length=15, choices=Reveal.choices, default=Reveal.AFTER_CLOSE)
    seed = models.BigIntegerField()
    #: How it was drawn (`adjudication.drawing.Design` as plain values), and what came of it: eligible, excluded, shortages.
    design = models.JSONField(default=dict)
    drawn = models.JSONField(default=dict)
    #: The earlier packet of which this one holds only what has changed since.
    follows = models.ForeignKey("self", null=True, blank=True, on_delete=models.RESTRICT, related_name="followed_by")
    lease_minutes = models.PositiveIntegerField(default=30)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    opened_at = models.DateTimeField(null=True, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)
    #: Where its chain of decisions ends: links that were cut off there are missed, also where no signature covers them.
    chain_length = models.PositiveIntegerField(default=0)
    chain_head = models.CharField(max_length=64, blank=True, default="")

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.CheckConstraint(condition=Q(state__in=["draft", "open", "closed"]), name="packet_state_valid"),
            models.CheckConstraint(condition=Q(state="draft") | Q(opened_at__isnull=False), name="opened_packet_has_time"),
            models.CheckConstraint(condition=Q(lease_minutes__gte=1), name="packet_lease_is_positive"),
        ]


class PacketItem(models.Model):
    """One finding to decide on. `ordinal` is the packet's own order; each reviewer gets an order of their own from a stored seed."""

    public_id = models.CharField(max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False)
    packet = models.ForeignKey(Packet, on_delete=models.CASCADE, related_name="items")
    finding = models.ForeignKey(Finding, on_delete=models.RESTRICT, related_name="items")
    ordinal = models.PositiveIntegerField()
    #: "TIMING decisive", "TIMING UNCLEAR", "one-sided", "DUPLICATE", "VALUE".
    stratum = models.CharField(max_length=30)
    #: The two sources, "a | b" in the judge run's order. Never leaves the unblinded side.
    pairing = models.CharField(max_length=300)
    #: How many reviewers decide on it.
    quota = models.PositiveSmallIntegerField(default=1)
    #: Judge, prompt and data the finding came from, as they stood: decisions keep them.
    versions = models.JSONField(default=dict)

    class Meta:
        ordering = ["packet_id", "ordinal"]
        constraints = [
            models.UniqueConstraint(fields=["packet", "finding"], name="finding_once_per_packet"),
            models.UniqueConstraint(fields=["packet", "ordinal"], name="item_ordinal_once"),
            models.CheckConstraint(condition=Q(quota__gte=1), name="item_quota_is_positive"),
        ]


class Assignment(models.Model):
    """A person in a packet: a reviewer, or the third person who decides where reviewers disagree."""

    class Role(models.TextChoices):
        REVIEWER = "reviewer", "Reviewer"
        ADJUDICATOR = "adjudicator", "Adjudicator"

    public_id = models.CharField(max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False)
    packet = models.ForeignKey(Packet, on_delete=models.CASCADE, related_name="assignments")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="review_assignments")
    role = models.CharField(max_length=15, choices=Role.choices, default=Role.REVIEWER)
    #: Draws this person's order of items and which candidate stands on which side.
    seed = models.BigIntegerField()
    #: Pairings that this person decides on; empty takes all.
    pairings = ArrayField(models.CharField(max_length=300), default=list, blank=True)
    practised_at = models.DateTimeField(null=True, blank=True)
    #: Set while signed; unsigning clears it and both stand in the chain.
    signed_at = models.DateTimeField(null=True, blank=True)
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["packet", "person"], name="person_once_per_packet")]


class Slot(models.Model):
    """A place for one decision on one item. There are as many as the quota, so no item can get more decisions than that."""

    class Purpose(models.TextChoices):
        REVIEW = "review", "Review"
        ADJUDICATION = "adjudication", "Adjudication"

    item = models.ForeignKey(PacketItem, on_delete=models.CASCADE, related_name="slots")
    purpose = models.CharField(max_length=15, choices=Purpose.choices, default=Purpose.REVIEW)
    number = models.PositiveSmallIntegerField()
    #: Who holds it, by lease or by decision.
    assignment = models.ForeignKey(Assignment, null=True, blank=True, on_delete=models.SET_NULL, related_name="slots")
    lease_expires_at = models.DateTimeField(null=True, blank=True)
    #: The decision that stands; null while none does.
    decision = models.OneToOneField("Decision", null=True, blank=True, on_delete=models.SET_NULL, related_name="stands_in")
    #: What the reviewer has chosen and typed so far, kept for another device.
    draft = models.JSONField(default=dict, blank=True)
    #: Seconds the item was before the reviewer's eyes, in hand.
    active_seconds = models.FloatField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["item", "purpose", "number"], name="slot_number_once"),
            models.UniqueConstraint(fields=["item", "assignment"], name="one_slot_per_person_and_item"),
            models.CheckConstraint(condition=Q(decision__isnull=True) | Q(assignment__isnull=False), name="decided_slot_has_person"),
            models.CheckConstraint(
                condition=Q(lease_expires_at__isnull=True) | Q(assignment__isnull=False, decision__isnull=True),
                name="leased_slot_has_person",
            ),
        ]


class ItemMark(models.Model):
    """What a reviewer set aside: skipped items come last, flagged ones are listed."""

    assignment = models.ForeignKey(Assignment, on_delete=models.CASCADE, related_name="marks")
    item = models.ForeignKey(PacketItem, on_delete=models.CASCADE, related_name="marks")
    skipped_at = models.DateTimeField(null=True, blank=True)
    flagged = models.BooleanField(default=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["assignment", "item"], name="mark_once")]


class Decision(models.Model):
    """One link of a packet's chain: a decision, what amends or withdraws it, a signature. Append-only; the database refuses changes.

    `hash` covers every other field and the hash before (`adjudication.chain`). Answers are stored in the judge's labels of the finding
    (A and B of the game), whatever side the reviewer saw them on; `shown_swapped` says which.
    """

    class Kind(models.TextChoices):
        ANSWER = "answer", "Answer"
        AMENDMENT = "amendment", "Amendment"
        WITHDRAWAL = "withdrawal", "Withdrawal"
        LATE = "late", "Late answer"
        SIGN = "sign", "Signature"
        UNSIGN = "unsign", "Signature withdrawn"
        GUESS = "guess", "Blinding check"

    class Answer(models.TextChoices):
        A = "A", "A"
        B = "B", "B"
        BOTH = "BOTH", "Both"
        NEITHER = "NEITHER", "Neither"
        UNCLEAR = "UNCLEAR", "Unclear"
        NOT_A_FINDING = "NOT_A_FINDING", "Should not have been raised"

    public_id = models.CharField(max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False)
    packet = models.ForeignKey(Packet, on_delete=models.CASCADE, related_name="decisions")
    #: 1, 2, 3, … within the packet, without a gap.
    sequence = models.PositiveIntegerField()
    assignment = models.ForeignKey(Assignment, on_delete=models.CASCADE, related_name="decisions")
    item = models.ForeignKey(PacketItem, null=True, blank=True, on_delete=models.CASCADE, related_name="decisions")
    kind = models.CharField(max_length=12, choices=Kind.choices)
    answer = models.CharField(max_length=15, choices=Answer.choices, blank=True)
    #: The time the reviewer would give, hours from admission.
    own_time = models.FloatField(null=True, blank=True)
    comment = models.TextField(blank=True)
    flagged = models.BooleanField(default=False)
    #: Seconds in hand.
    active_seconds = models.FloatField(null=True, blank=True)
    shown_swapped = models.BooleanField(null=True)
    amends = models.ForeignKey("self", null=True, blank=True, on_delete=models.CASCADE, related_name="amended_by")
    #: Versions of the item, guesses, the head that a signature covers.
    detail = models.JSONField(default=dict, blank=True)
    #: Made by the page for this decision: sent again after a lost connection, it is stored once.
    token = models.CharField(max_length=64)
    at = models.DateTimeField()
    previous_hash = models.CharField(max_length=64, blank=True)
    hash = models.CharField(max_length=64)

    class Meta:
        ordering = ["packet_id", "sequence"]
        constraints = [
            models.UniqueConstraint(fields=["packet", "sequence"], name="decision_sequence_once"),
            models.UniqueConstraint(fields=["assignment", "token"], name="decision_token_once"),
            models.UniqueConstraint(fields=["assignment", "item"], condition=Q(kind="answer"), name="one_answer_per_person_and_item"),
            models.CheckConstraint(
                condition=Q(kind__in=["sign", "unsign", "guess"]) | Q(item__isnull=False), name="decision_is_about_an_item"
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
    """What somebody answered in the practice round; it counts for nothing but having practised."""

    assignment = models.ForeignKey(Assignment, on_delete=models.CASCADE, related_name="practice")
    number = models.PositiveSmallIntegerField()
    answer = models.CharField(max_length=15, choices=Decision.Answer.choices)
    at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["assignment", "number"], name="practice_once_per_number")]
