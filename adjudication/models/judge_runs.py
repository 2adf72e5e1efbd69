"""Judge runs: comparisons of two timelines and the games that judge them."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q

from accounts.ids import PUBLIC_ID_LENGTH, new_public_id
from accounts.models import Study
from ehr.models import Dataset, Encounter
from jobs.models import ClaimableJob, PreparationJob
from timelines.models import Timeline


class JudgeRun(models.Model):
    """One judge over the pairs of chosen sources of a cohort.

    Everything that its answers depend on is frozen.
    """

    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="judge_runs")
    datasets = models.ManyToManyField(Dataset, related_name="judge_runs")
    label = models.CharField(max_length=200, blank=True)
    #: What is compared, in order: [[source, kind, alternative], …].
    sources = models.JSONField()
    #: "rules" or "prompted"; the judge gives its own `judge_name` and `judge_version`.
    judge = models.CharField(max_length=30)
    judge_name = models.CharField(max_length=200)
    judge_version = models.CharField(max_length=64)
    #: `adjudication.judging.config.JudgeConfig` as plain values: seed, swap, uid_table, tolerance,
    #: series limit, times of the record, repair.
    config = models.JSONField(default=dict)
    #: As `timelines.Run.language_models`, for role "judge"; never a key.
    language_models = models.JSONField(default=dict)
    prompt_hashes = models.JSONField(default=dict)
    code_revision = models.CharField(max_length=64, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    paused_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at"]


class Comparison(models.Model):
    """Two timelines of one case. The game says which one a judge sees as A."""

    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
    encounter = models.ForeignKey(Encounter, on_delete=models.CASCADE, related_name="comparisons")
    first = models.ForeignKey(
        Timeline, on_delete=models.CASCADE, related_name="comparisons_as_first"
    )
    second = models.ForeignKey(
        Timeline, on_delete=models.CASCADE, related_name="comparisons_as_second"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["first", "second"], name="comparison_once"),
            models.CheckConstraint(condition=~Q(first=F("second")), name="comparison_of_two"),
        ]


class Game(ClaimableJob):
    """One judging of one comparison.

    Done without an answer is `unjudged`, which differs from no findings.
    """

    class Outcome(models.TextChoices):
        JUDGED = "judged", "judged"
        UNJUDGED = "unjudged", "unjudged"

    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
    run = models.ForeignKey(JudgeRun, on_delete=models.CASCADE, related_name="games")
    comparison = models.ForeignKey(Comparison, on_delete=models.CASCADE, related_name="games")
    #: The game in swapped positions.
    swapped = models.BooleanField(default=False)
    seed = models.BigIntegerField()
    #: Whether A was the comparison's first timeline; null until judged.
    a_is_first = models.BooleanField(null=True)
    outcome = models.CharField(max_length=10, choices=Outcome.choices, blank=True)
    unjudged_reasons = ArrayField(models.TextField(), default=list, blank=True)
    #: Findings of a judged game that stayed invalid and were dropped, and the faults of each. If
    #: there are any, the game is judged in part.
    dropped_findings = models.PositiveIntegerField(default=0)
    dropped_reasons = ArrayField(models.TextField(), default=list, blank=True)
    #: Of the judge's whole rendered input: shows whether note, rows or timelines have changed
    #: since.
    input_sha256 = models.CharField(max_length=64, blank=True)
    #: Summaries supplied, and the number that the limit or the model's context left out.
    series_supplied = models.PositiveIntegerField(null=True)
    series_omitted = models.PositiveIntegerField(null=True)
    #: How often a person requested it again: a language model then gets further attempts.
    rounds = models.PositiveSmallIntegerField(default=0)

    class Meta(ClaimableJob.Meta):
        abstract = False
        constraints = [
            *ClaimableJob.Meta.constraints,
            models.UniqueConstraint(
                fields=["run", "comparison", "swapped"], name="game_once_per_run"
            ),
            models.CheckConstraint(
                condition=~Q(state="succeeded") | ~Q(outcome=""), name="done_game_has_outcome"
            ),
            models.CheckConstraint(
                condition=Q(outcome="") | Q(a_is_first__isnull=False), name="judged_game_has_sides"
            ),
            # A judged game is done; an unjudged one failed, and for that reason. It is stored just
            # before the state, hence "running".
            models.CheckConstraint(
                condition=Q(outcome="")
                | Q(outcome="judged", state__in=["running", "succeeded"])
                | Q(outcome="unjudged", state__in=["running", "failed"]),
                name="outcome_belongs_to_its_end",
            ),
            models.CheckConstraint(
                condition=Q(dropped_findings=0) | Q(outcome="judged"),
                name="only_judged_game_drops_findings",
            ),
        ]
        indexes = [
            *ClaimableJob.Meta.indexes,
            # The page of a judge run: its games in order, those in one state, and how many are in
            # each.
            models.Index(fields=["run", "id"], name="game_in_order"),
            models.Index(fields=["run", "state", "outcome", "id"], name="game_by_state"),
            # Games judged in part, which are few.
            models.Index(
                fields=["run"], condition=Q(dropped_findings__gt=0), name="game_judged_in_part"
            ),
        ]


class JudgePreparation(PreparationJob):
    """The job that adds a judge run's games, batch by batch.

    Judge runs older than preparations have none.
    """

    run = models.OneToOneField(JudgeRun, on_delete=models.CASCADE, related_name="preparation")
    #: Primary key of `cursor`'s dataset. Datasets are processed in the order of their keys.
    dataset_at = models.BigIntegerField(default=0)

    class Meta(PreparationJob.Meta):
        abstract = False


class RunFigures(ClaimableJob):
    """One computation of a judge run's figures, and what came of it.

    They are the run's report, or with `against` how its findings overlap with those of that run.
    The newest that has succeeded replaces those before.
    """

    run = models.ForeignKey(JudgeRun, on_delete=models.CASCADE, related_name="figures")
    against = models.ForeignKey(
        JudgeRun, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    #: What they are computed from (`adjudication.ratings.basis`). Null until the job runs.
    basis = models.JSONField(null=True, blank=True)
    #: `adjudication.reports.league.plain`. Null until the job is done.
    figures = models.JSONField(null=True, blank=True)
    computed_at = models.DateTimeField(null=True, blank=True)

    class Meta(ClaimableJob.Meta):
        abstract = False
        constraints = [
            *ClaimableJob.Meta.constraints,
            models.UniqueConstraint(
                fields=["run", "against"],
                condition=Q(state__in=["queued", "running"]),
                nulls_distinct=False,
                name="figures_under_way_once",
            ),
            models.CheckConstraint(
                condition=~Q(state="succeeded") | Q(figures__isnull=False, basis__isnull=False),
                name="done_figures_are_there",
            ),
        ]


class JudgeCount(models.Model):
    """A change of a judge run's number of games with a state and outcome.

    The sum of the rows is the count. Findings are counted too, as rows with an empty state.
    Triggers (`adjudication/migrations/sql/counts.sql`) add the rows and now and then replace those
    of a run by their sum, so that no worker waits for another's count.
    """

    #: The database deletes the rows with the run.
    run = models.ForeignKey(
        JudgeRun, on_delete=models.DO_NOTHING, db_constraint=False, related_name="counts"
    )
    state = models.CharField(max_length=20, blank=True)
    outcome = models.CharField(max_length=10, blank=True)
    n = models.IntegerField()
    #: The time of the change; for a game that waits after an outage, the end of that wait.
    moved_at = models.DateTimeField()
