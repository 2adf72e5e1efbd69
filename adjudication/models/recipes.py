"""Study recipes: versions of a text, launches, and steps of a launch."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models

from accounts.ids import PUBLIC_ID_LENGTH, new_public_id
from accounts.models import Study
from ehr.models import Dataset
from jobs.models import ClaimableJob


class Recipe(models.Model):
    """A study's recipe by name; its text is in its versions."""

    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="recipes")
    name = models.CharField(max_length=80)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["name"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["study", "name"], name="recipe_name_is_unique")
        ]


class RecipeVersion(models.Model):
    """One text of a recipe; it never changes."""

    recipe = models.ForeignKey(Recipe, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    text = models.TextField()
    sha256 = models.CharField(max_length=64)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["-number"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["recipe", "number"], name="recipe_version_number_is_unique"
            )
        ]


class RecipeLaunch(models.Model):
    """A version of a recipe that is carried out."""

    class State(models.TextChoices):
        RUNNING = "running", "Under way"
        DONE = "done", "Done"
        FAILED = "failed", "Failed in part"
        CANCELLED = "cancelled", "Cancelled"

    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
    version = models.ForeignKey(RecipeVersion, on_delete=models.RESTRICT, related_name="launches")
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="recipe_launches")
    state = models.CharField(max_length=10, choices=State.choices, default=State.RUNNING)
    code_revision = models.CharField(max_length=64, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-created_at", "-pk"]


class RecipeStep(models.Model):
    """One object that a launch makes, or finds already made."""

    class Kind(models.TextChoices):
        RUN = "run", "Run"
        EVALUATION = "evaluation", "Evaluation"
        JUDGE = "judge", "Judge run"
        PLANTED = "planted", "Planted differences"
        PACKET = "packet", "Packet"

    class State(models.TextChoices):
        WAITING = "waiting", "Waiting"
        RUNNING = "running", "Under way"
        DONE = "done", "Done"
        FAILED = "failed", "Failed"
        CANCELLED = "cancelled", "Cancelled"

    launch = models.ForeignKey(RecipeLaunch, on_delete=models.CASCADE, related_name="steps")
    #: The order in which the recipe names them.
    position = models.PositiveIntegerField()
    #: Unique in a launch: "rules/unimodal@demo".
    key = models.CharField(max_length=300)
    #: The part of the recipe that it belongs to.
    part = models.CharField(max_length=40)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    #: Keys of the steps that must have ended before.
    needs = ArrayField(models.CharField(max_length=300), default=list, blank=True)
    #: What it does, in plain values (`adjudication.recipes.planning`).
    arguments = models.JSONField(default=dict)
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    #: Public id of the run, evaluation, judge run, recall or packet.
    made = models.CharField(max_length=PUBLIC_ID_LENGTH, blank=True)
    #: It was there before.
    reused = models.BooleanField(default=False)
    #: Why it failed; never patient text.
    reason = models.TextField(blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["position"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["launch", "key"], name="recipe_step_key_is_unique")
        ]


class StudyReport(ClaimableJob):
    """The report of a launch, written by a job; the newest one is shown."""

    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
    launch = models.ForeignKey(RecipeLaunch, on_delete=models.CASCADE, related_name="reports")
    #: `adjudication.study_report.values.StudyReport` as plain values; null until it is written.
    content = models.JSONField(null=True, blank=True)
    pdf = models.BinaryField(null=True, blank=True)
    #: PDF, tables as CSV and LaTeX, figures as SVG, the recipe.
    archive = models.BinaryField(null=True, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta(ClaimableJob.Meta):
        abstract = False
        ordering: ClassVar = ["-created_at", "-pk"]
        # Few rows; the names of the usual indexes would be too long.
        indexes: ClassVar[list[models.Index]] = []


class PlantedRecall(ClaimableJob):
    """A job that measures a judge on planted differences."""

    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="planted_recalls")
    datasets = models.ManyToManyField(Dataset, related_name="+")
    cases = ArrayField(models.TextField(), default=list, blank=True)
    source = models.CharField(max_length=300)
    judge = models.CharField(max_length=30)
    judge_name = models.CharField(max_length=200)
    judge_version = models.CharField(max_length=64)
    language_models = models.JSONField(default=dict)
    config = models.JSONField(default=dict)
    each = models.PositiveIntegerField(default=3)
    #: `adjudication.planting.plain`: pooled counts, and games that were not judged.
    report = models.JSONField(null=True, blank=True)
    code_revision = models.CharField(max_length=64, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta(ClaimableJob.Meta):
        abstract = False
        ordering: ClassVar = ["-created_at", "-pk"]
        # Few rows; the names of the usual indexes would be too long.
        indexes: ClassVar[list[models.Index]] = []
