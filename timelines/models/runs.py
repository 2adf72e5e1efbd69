"""Runs over a dataset: their cases, stages and progress."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from accounts.ids import PUBLIC_ID_LENGTH, new_public_id
from accounts.models import Study
from ehr.models import Dataset, Encounter
from jobs.models import ClaimableJob, PreparationJob
from timelines.case_state import CaseState


class Run(models.Model):
    """A cohort run: one frozen configuration over the cases of one dataset."""

    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="runs")
    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="runs")
    label = models.CharField(max_length=200, blank=True)
    #: The name of this run's timelines in exports and on pages, for example "rules" or
    #: "rules/unimodal".
    source = models.CharField(max_length=100)
    backbone = models.CharField(max_length=60)
    variant = models.CharField(max_length=30)
    config = models.JSONField()
    code_revision = models.CharField(max_length=64)
    prompt_hashes = models.JSONField(default=dict)
    package_versions = models.JSONField(default=dict)
    #: The tools of the run: {"backbone": "rules 1", "embedder": "…", "reranker": "…"}.
    tools = models.JSONField(default=dict)
    #: Its language models (`timelines.runs.language_models.Recorded`): {"reviser": {"entry": "glm",
    #: "name": "GLM-4.6@gpu1:8001", …}}; never a key.
    language_models = models.JSONField(default=dict)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    paused_at = models.DateTimeField(null=True, blank=True)
    cancelled_at = models.DateTimeField(null=True, blank=True)
    #: The run whose inventories and text-only estimates this one reuses, so that only the varied
    #: stages differ (ablations). It cannot be deleted while others are based on it: its
    #: inventories and the foreign key, at the end of the transaction, restrict that. RESTRICT here
    #: would leave the deletion of a dataset without an order.
    based_on = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.DO_NOTHING, related_name="derived"
    )

    class Meta:
        ordering = ["-created_at"]
        # For the foreign key that makes a study timeline's run belong to its dataset
        # (`timelines/migrations/sql/runs.sql`).
        constraints = [models.UniqueConstraint(fields=["id", "dataset"], name="run_with_dataset")]


class StudyTimeline(models.Model):
    """The run that is shown first for the cases of a dataset, and why.

    Pages, lists and exports use it. Rows are append-only: `replaced_at` ends a choice, and the open
    one counts (docs/adr/0040). `chosen_by` null: the first finished run, chosen by
    `timelines.runs.study_timeline.actions`.
    """

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="study_timelines")
    run = models.ForeignKey(Run, on_delete=models.RESTRICT, related_name="+")
    chosen_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    chosen_at = models.DateTimeField(auto_now_add=True)
    reason = models.CharField(max_length=500, blank=True)
    replaced_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-chosen_at", "-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["dataset"],
                condition=Q(replaced_at__isnull=True),
                name="one_study_timeline_per_dataset",
            ),
            models.CheckConstraint(
                condition=Q(chosen_by__isnull=True) | ~Q(reason=""), name="person_gives_a_reason"
            ),
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


class CaseRun(models.Model):
    """One case of a run.

    Within a run, primary keys follow the order of case ids (`timelines.runs.preparing`).
    """

    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
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
    #: How often a person retried the case: a language model then gets further attempts, with seeds
    #: of their own.
    rounds = models.PositiveSmallIntegerField(default=0)
    #: `case_state` of its stages. A trigger on the stages writes it; nothing else does.
    state = models.CharField(
        max_length=10,
        choices=[(s.value, s.label) for s in CaseState],
        default=CaseState.NONE.value,
        editable=False,
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "encounter"], name="case_once_per_run")
        ]
        indexes = [
            models.Index(fields=["run", "id"], name="case_run_in_order"),
            models.Index(fields=["run", "state", "id"], name="case_run_by_state"),
        ]


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
    """The job that adds a run's cases and their stages, batch by batch.

    Runs without one are older than these jobs. Without `wanted` it adds every case with a note, or
    every case of the base.
    """

    run = models.OneToOneField(Run, on_delete=models.CASCADE, related_name="preparation")

    class Meta(PreparationJob.Meta):
        abstract = False


class RunCount(models.Model):
    """A change in the number of a run's stages or cases in a state.

    It counts cases if `stage` is empty. The sum of the rows is the count. Triggers on stages and
    cases (`timelines/migrations/sql/counts.sql`) add rows and from time to time replace a run's
    rows by their sum, so that no worker waits for another's count.
    """

    #: The database deletes the rows with the run.
    run = models.ForeignKey(
        Run, on_delete=models.DO_NOTHING, db_constraint=False, related_name="counts"
    )
    stage = models.CharField(max_length=20, blank=True)
    #: A `JobState`, or a `CaseState` if `stage` is empty.
    state = models.CharField(max_length=20)
    n = models.IntegerField()
    #: When it changed; for a stage that waits for a backoff, when the backoff ends.
    moved_at = models.DateTimeField()


class StageBatch(models.Model):
    """The stored result of one finished batch, or of the whole stage.

    It is committed in its own transaction so that a resumed stage skips it.
    """

    stage_run = models.ForeignKey(StageRun, on_delete=models.CASCADE, related_name="batches")
    ordinal = models.PositiveIntegerField()
    payload = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["stage_run", "ordinal"], name="batch_once_per_stage_run"
            )
        ]
