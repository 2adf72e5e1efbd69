"""Runs, inventories, timelines and the chain of provenance. The database holds the protocol's invariants too."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q

from accounts.ids import PUBLIC_ID_LENGTH, new_public_id
from accounts.models import Study
from ehr.fields import NaiveDateTimeField
from ehr.models import Dataset, Encounter, EventSeries, Note
from jobs.models import ClaimableJob, PreparationJob
from timelines.case_state import CaseState
from timelines.domain import MAX_CONTEXT, Lane, Polarity, TimelineKind


class Run(models.Model):
    """A cohort run: one frozen configuration over the cases of one dataset."""

    public_id = models.CharField(max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False)
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="runs")
    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="runs")
    label = models.CharField(max_length=200, blank=True)
    #: What exports and pages call the timelines of this run, for example "rules" or "rules/unimodal".
    source = models.CharField(max_length=100)
    backbone = models.CharField(max_length=60)
    variant = models.CharField(max_length=30)
    config = models.JSONField()
    code_revision = models.CharField(max_length=64)
    prompt_hashes = models.JSONField(default=dict)
    package_versions = models.JSONField(default=dict)
    #: What did the work: {"backbone": "rules 1", "embedder": "…", "reranker": "…"}.
    tools = models.JSONField(default=dict)
    #: Its language models (`timelines.askers.Recorded`): {"reviser": {"entry": "glm", "name": "GLM-4.6@gpu1:8001", …}}; never a key.
    language_models = models.JSONField(default=dict)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    paused_at = models.DateTimeField(null=True, blank=True)
    cancelled_at = models.DateTimeField(null=True, blank=True)
    #: The run whose inventories and text-only estimates this one keeps, so that only the varied stages differ (ablations).
    #: It stays while others are based on it: its inventories restrict its deletion, and the foreign key does (migration 0004).
    based_on = models.ForeignKey("self", null=True, blank=True, on_delete=models.DO_NOTHING, related_name="derived")

    class Meta:
        ordering = ["-created_at"]
        # For the foreign key by which a study timeline's run is of its own dataset (migration 0011).
        constraints = [models.UniqueConstraint(fields=["id", "dataset"], name="run_with_dataset")]


class StudyTimeline(models.Model):
    """The run that pages, lists and exports show first for the cases of a dataset, and why. Changed only by choosing anew.

    Rows are append-only: `replaced_at` ends a choice, and the open one counts (docs/adr/0040). `chosen_by` null: the first
    finished run, chosen by `timelines.study_timeline_actions`.
    """

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="study_timelines")
    run = models.ForeignKey(Run, on_delete=models.RESTRICT, related_name="+")
    chosen_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    chosen_at = models.DateTimeField(auto_now_add=True)
    reason = models.CharField(max_length=500, blank=True)
    replaced_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-chosen_at", "-pk"]
        constraints = [
            models.UniqueConstraint(fields=["dataset"], condition=Q(replaced_at__isnull=True), name="one_study_timeline_per_dataset"),
            models.CheckConstraint(condition=Q(chosen_by__isnull=True) | ~Q(reason=""), name="person_gives_a_reason"),
        ]


class CaseRun(models.Model):
    """One case of a run. Within a run, primary keys follow the order of case ids (`timelines.preparing`)."""

    public_id = models.CharField(max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False)
    #: Without an index of its own: each index below begins with the run.
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="cases", db_index=False)
    encounter = models.ForeignKey(Encounter, on_delete=models.CASCADE, related_name="case_runs")
    inventory = models.ForeignKey(
        "Inventory",
        null=True,
        blank=True,
        on_delete=models.RESTRICT,
        related_name="case_runs",
    )
    #: How often a person asked for the case again: a language model then gets further attempts, with seeds of their own.
    rounds = models.PositiveSmallIntegerField(default=0)
    #: `case_state` of its stages. A trigger on the stages writes it (migration 0014); nothing else does.
    state = models.CharField(max_length=10, choices=[(s.value, s.label) for s in CaseState], default=CaseState.NONE.value, editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "encounter"], name="case_once_per_run")]
        indexes = [
            models.Index(fields=["run", "id"], name="case_run_in_order"),
            models.Index(fields=["run", "state", "id"], name="case_run_by_state"),
        ]


class Stage(models.TextChoices):
    TAG = "tag", "Tag occurrences"
    UIDS = "uids", "Assign identifiers"
    INFER = "infer", "Infer times from text"
    RETRIEVE = "retrieve", "Query, retrieve, rerank"
    EXPAND = "expand", "Expand to source rows"
    REVISE = "revise", "Revise jointly"
    PROVENANCE = "provenance", "Store provenance"


STAGE_ORDER: tuple[str, ...] = tuple(Stage.values)


class StageRun(ClaimableJob):
    """One stage of one case: the unit of parallel work."""

    case_run = models.ForeignKey(CaseRun, on_delete=models.CASCADE, related_name="stages")
    stage = models.CharField(max_length=20, choices=Stage.choices)

    class Meta(ClaimableJob.Meta):
        abstract = False
        constraints = [
            *ClaimableJob.Meta.constraints,
            models.UniqueConstraint(fields=["case_run", "stage"], name="stage_once_per_case_run"),
        ]


class RunPreparation(PreparationJob):
    """The job that adds a run's cases and their stages, batch by batch. A run without one was prepared before there were any.

    Without `wanted` it adds every case with a note, or every case of the base.
    """

    run = models.OneToOneField(Run, on_delete=models.CASCADE, related_name="preparation")

    class Meta(PreparationJob.Meta):
        abstract = False


class RunCount(models.Model):
    """A change in how many stages (or cases, where `stage` is empty) of a run are in a state. The sum of the rows is the count.

    Triggers on stages and cases add rows and now and then replace a run's rows by their sum (migration 0014), so that no worker
    waits for another's count.
    """

    #: The database deletes the rows with the run (migration 0014).
    run = models.ForeignKey(Run, on_delete=models.DO_NOTHING, db_constraint=False, related_name="counts")
    stage = models.CharField(max_length=20, blank=True)
    #: A `JobState`, or a `CaseState` where `stage` is empty.
    state = models.CharField(max_length=20)
    n = models.IntegerField()
    #: When it changed; for a stage that waits out a backoff, when that ends.
    moved_at = models.DateTimeField()


class StageBatch(models.Model):
    """The stored result of one finished batch (or of the whole stage), committed by itself so that a resume skips it."""

    stage_run = models.ForeignKey(StageRun, on_delete=models.CASCADE, related_name="batches")
    ordinal = models.PositiveIntegerField()
    payload = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["stage_run", "ordinal"], name="batch_once_per_stage_run")]


class Inventory(models.Model):
    """The occurrences of one note. Editable while a draft, immutable once sealed."""

    class Origin(models.TextChoices):
        RUN = "run", "Tagged by a run"
        REFERENCE = "reference", "Authored by a clinician"
        IMPORT = "import", "Imported"

    encounter = models.ForeignKey(Encounter, on_delete=models.CASCADE, related_name="inventories")
    note = models.ForeignKey(Note, on_delete=models.CASCADE, related_name="inventories")
    origin = models.CharField(max_length=20, choices=Origin.choices)
    run = models.ForeignKey(Run, null=True, blank=True, on_delete=models.CASCADE, related_name="inventories")
    created_at = models.DateTimeField(auto_now_add=True)
    sealed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "inventories"
        constraints = [
            models.CheckConstraint(
                condition=Q(origin="run", run__isnull=False) | (~Q(origin="run") & Q(run__isnull=True)),
                name="inventory_run_iff_origin_run",
            )
        ]


class Occurrence(models.Model):
    """One occurrence and its persistent identifier. Span offsets are code points of the note, end-exclusive."""

    inventory = models.ForeignKey(Inventory, on_delete=models.CASCADE, related_name="occurrences")
    ordinal = models.PositiveIntegerField()
    uid4 = models.CharField(max_length=4)
    mention = models.TextField()
    start = models.PositiveIntegerField(null=True)
    end = models.PositiveIntegerField(null=True)
    polarity = models.CharField(
        max_length=10,
        choices=[(p.value, p.value) for p in Polarity],
        default=Polarity.PRESENT.value,
    )
    lane = models.CharField(
        max_length=20,
        choices=[(x.value, x.value) for x in Lane],
        default=Lane.FINDING.value,
    )

    class Meta:
        ordering = ["ordinal"]
        constraints = [
            models.UniqueConstraint(fields=["inventory", "uid4"], name="uid_once_per_inventory"),
            models.UniqueConstraint(fields=["inventory", "ordinal"], name="ordinal_once_per_inventory"),
            models.CheckConstraint(condition=Q(uid4__regex=r"^[0-9a-f]{4}$"), name="uid_is_four_hex_digits"),
            models.CheckConstraint(
                condition=Q(start__isnull=True, end__isnull=True) | Q(start__lt=F("end")),
                name="span_is_ordered",
            ),
            models.CheckConstraint(condition=~Q(mention=""), name="mention_is_not_empty"),
        ]


class Timeline(models.Model):
    """One complete timeline of a case from one source."""

    public_id = models.CharField(max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False)
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
            models.CheckConstraint(condition=Q(alternative__gte=1), name="alternative_counts_from_one"),
        ]
        indexes = [
            # Which sources there are, and whether a cohort has one, without reading every timeline.
            models.Index(fields=["source", "kind", "alternative", "encounter"], name="timeline_by_source"),
        ]


class Entry(models.Model):
    """When one occurrence happened. Hours from admission; `time` null means N/A.

    `occurrence` is null only for sources without an inventory, whose `event` stands for itself.
    """

    timeline = models.ForeignKey(Timeline, on_delete=models.CASCADE, related_name="entries")
    occurrence = models.ForeignKey(Occurrence, null=True, on_delete=models.CASCADE, related_name="entries")
    event = models.TextField(blank=True)
    time = models.FloatField(null=True)
    lower = models.FloatField(null=True)
    upper = models.FloatField(null=True)
    #: Stated in the note or inferred; null where an imported file does not say.
    known = models.BooleanField(null=True, default=False)
    context = ArrayField(models.CharField(max_length=4), default=list, blank=True)
    decided_by = models.TextField(blank=True)
    reason = models.TextField(blank=True)
    #: row_index of the rows of this encounter that the time rests on.
    adopted_rows = ArrayField(models.IntegerField(), default=list, blank=True)
    #: How sure the source says it is, on the source's own scale (single-step baselines: 1-9); null where it says nothing.
    confidence = models.FloatField(null=True)

    class Meta:
        verbose_name_plural = "entries"
        constraints = [
            models.UniqueConstraint(fields=["timeline", "occurrence"], name="one_entry_per_occurrence"),
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


class Query(models.Model):
    """A retrieval query that one case run wrote for one occurrence."""

    case_run = models.ForeignKey(CaseRun, on_delete=models.CASCADE, related_name="queries")
    occurrence = models.ForeignKey(Occurrence, on_delete=models.CASCADE, related_name="queries")
    ordinal = models.PositiveSmallIntegerField()
    text = models.TextField()

    class Meta:
        verbose_name_plural = "queries"
        constraints = [
            models.UniqueConstraint(
                fields=["case_run", "occurrence", "ordinal"],
                name="query_once_per_ordinal",
            ),
            models.CheckConstraint(condition=Q(ordinal__lte=2), name="at_most_three_queries"),
        ]


class Candidate(models.Model):
    """A series that a query brought back, kept or not; `dense_rank` counts from 1."""

    query = models.ForeignKey(Query, on_delete=models.CASCADE, related_name="candidates")
    series = models.ForeignKey(EventSeries, on_delete=models.CASCADE, related_name="+")
    dense_rank = models.PositiveSmallIntegerField()
    dense_score = models.FloatField()
    rerank_score = models.FloatField(null=True)
    kept = models.BooleanField(default=False)
    fate = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["query", "series"], name="series_once_per_query"),
            models.UniqueConstraint(fields=["query", "dense_rank"], name="rank_once_per_query"),
        ]


class Evidence(models.Model):
    """A source row that reached an occurrence: its key (an SQL foreign key, see the migration) and a copy as it stood.

    `hours` is the row's time from admission.
    """

    candidate = models.ForeignKey(Candidate, on_delete=models.CASCADE, related_name="evidence")
    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="+", db_index=False)
    encounter = models.ForeignKey(Encounter, on_delete=models.CASCADE, related_name="+", db_index=False)
    row_index = models.IntegerField()
    time = NaiveDateTimeField()
    hours = models.FloatField()
    event = models.TextField()
    value = models.TextField(blank=True)
    numeric_value = models.FloatField(null=True)
    unit = models.TextField(blank=True)
    source = models.TextField(blank=True)
    time_kind = models.CharField(max_length=20)

    class Meta:
        verbose_name_plural = "evidence"
        constraints = [models.UniqueConstraint(fields=["candidate", "row_index"], name="row_once_per_candidate")]
        indexes = [models.Index(fields=["dataset", "encounter", "row_index"], name="evidence_by_row")]


class Authoring(models.Model):
    """A clinician's own timeline of one case: written as a draft, locked when submitted, opened again only with a reason.

    The draft's occurrences are those of an unsealed `inventory`, its times are `DraftEntry` rows. Nothing of a draft is a
    `Timeline`, so no page, export or evaluation can show it before it is submitted. Submitting seals the inventory and makes
    `timeline`; reopening leaves both as they are and starts a new draft inventory with the same UIDs.
    """

    class Protocol(models.TextChoices):
        UNAIDED = "unaided", "Unaided"
        ASSISTED = "assisted", "Assisted"

    class State(models.TextChoices):
        DRAFT = "draft", "Draft"
        SUBMITTED = "submitted", "Submitted"

    public_id = models.CharField(max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False)
    encounter = models.ForeignKey(Encounter, on_delete=models.CASCADE, related_name="authorings")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="authorings")
    protocol = models.CharField(max_length=10, choices=Protocol.choices)
    state = models.CharField(max_length=10, choices=State.choices, default=State.DRAFT)
    #: Grows by one with every stored edit; an edit made on an older revision is refused (conflict detection).
    revision = models.PositiveIntegerField(default=0)
    #: The inventory being written, or the sealed one of the last submission.
    inventory = models.OneToOneField(Inventory, on_delete=models.CASCADE, related_name="authoring")
    #: The last submitted timeline; null before the first submission.
    timeline = models.OneToOneField(Timeline, null=True, blank=True, on_delete=models.SET_NULL, related_name="authoring")
    #: Whether the author had opened a page that shows a timeline of this case before beginning (recorded, protocol "unaided").
    exposed = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    submitted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-updated_at"]
        constraints = [
            models.UniqueConstraint(fields=["encounter", "author"], name="one_authoring_per_case_and_author"),
            models.CheckConstraint(condition=Q(protocol__in=["unaided", "assisted"]), name="authoring_protocol_valid"),
            models.CheckConstraint(
                condition=Q(state="draft") | Q(state="submitted", timeline__isnull=False, submitted_at__isnull=False),
                name="authoring_submitted_has_timeline",
            ),
        ]


class DraftEntry(models.Model):
    """When an occurrence of a draft happened, as far as its author has said. Hours from admission.

    `placed` says that the author has decided: a placed entry without a time is N/A, one not placed is still to do.
    `entered` is what was typed ("HD 4 08:00"), kept beside the hours it was read as.
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
                condition=Q(time__isnull=True) | Q(lower__isnull=True) | Q(lower__lte=F("time")), name="draft_lower_not_after_time"
            ),
            models.CheckConstraint(
                condition=Q(time__isnull=True) | Q(upper__isnull=True) | Q(upper__gte=F("time")), name="draft_upper_not_before_time"
            ),
            models.CheckConstraint(
                condition=Q(lower__isnull=True) | Q(upper__isnull=True) | Q(lower__lte=F("upper")), name="draft_bounds_are_ordered"
            ),
            models.CheckConstraint(condition=Q(context__len__lte=MAX_CONTEXT), name="draft_at_most_five_context_uids"),
            models.CheckConstraint(condition=Q(placed=True) | Q(time__isnull=True), name="draft_time_is_placed"),
        ]


class AuthoringEdit(models.Model):
    """One stored edit, append-only. `before` and `after` hold the touched occurrences whole, so that undo is exact."""

    authoring = models.ForeignKey(Authoring, on_delete=models.CASCADE, related_name="edits")
    #: Equals `Authoring.revision` once stored.
    number = models.PositiveIntegerField()
    kind = models.CharField(max_length=20)
    before = models.JSONField(default=list)
    after = models.JSONField(default=list)
    #: The edit that this one takes back (undo) or brings back (redo).
    undoes = models.ForeignKey("self", null=True, blank=True, on_delete=models.CASCADE, related_name="undone_by")
    #: Why a submitted timeline was opened again.
    reason = models.TextField(blank=True)
    #: Token that the page made for this edit: sent again after a lost connection, it is stored once.
    token = models.CharField(max_length=64)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["authoring", "number"], name="edit_number_once_per_authoring"),
            models.UniqueConstraint(fields=["authoring", "token"], name="edit_token_once_per_authoring"),
        ]


class AnchorSuggestion(models.Model):
    """A row of the record that an assisted author was shown beside an occurrence, and what became of it."""

    authoring = models.ForeignKey(Authoring, on_delete=models.CASCADE, related_name="suggestions")
    uid4 = models.CharField(max_length=4)
    row_index = models.IntegerField()
    rank = models.PositiveSmallIntegerField()
    score = models.FloatField(null=True)
    #: What made it ("rules 3 · MiniLM"), as recorded with the run or search it came from.
    made_by = models.CharField(max_length=200)
    shown_at = models.DateTimeField(auto_now_add=True)
    accepted_at = models.DateTimeField(null=True, blank=True)
    dismissed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["uid4", "rank"]
        constraints = [
            models.UniqueConstraint(fields=["authoring", "uid4", "row_index"], name="suggestion_once_per_row"),
            models.CheckConstraint(
                condition=Q(accepted_at__isnull=True) | Q(dismissed_at__isnull=True), name="suggestion_accepted_or_dismissed"
            ),
        ]


class Evaluation(ClaimableJob):
    """One evaluation of timelines against a reference, with everything that its pages and files show. Immutable once done."""

    public_id = models.CharField(max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False)
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="evaluations")
    datasets = models.ManyToManyField(Dataset, related_name="evaluations")
    label = models.CharField(max_length=200, blank=True)
    #: Source of the reference timelines ("reference", or an author's).
    reference = models.CharField(max_length=100)
    #: Sources that are compared; empty takes every source there is.
    sources = ArrayField(models.CharField(max_length=100), default=list, blank=True)
    #: `timelines.evaluation.values.EvaluationSettings` as plain values.
    config = models.JSONField(default=dict)
    #: `timelines.evaluation.values.Report` as plain values; null until the job is done.
    report = models.JSONField(null=True, blank=True)
    code_revision = models.CharField(max_length=64, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta(ClaimableJob.Meta):
        abstract = False
        ordering = ["-created_at"]


class EvaluationCase(models.Model):
    """What an evaluation found in one case: figures and matched pairs of every source (`values.CaseResult`, plain values)."""

    evaluation = models.ForeignKey(Evaluation, on_delete=models.CASCADE, related_name="cases")
    encounter = models.ForeignKey(Encounter, on_delete=models.CASCADE, related_name="+")
    result = models.JSONField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["evaluation", "encounter"], name="case_once_per_evaluation")]
