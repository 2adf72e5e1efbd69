"""Recipes, launches and reports in the API, for study admins."""

from __future__ import annotations

from rest_framework.serializers import (
    BooleanField,
    CharField,
    ChoiceField,
    DateTimeField,
    DictField,
    FloatField,
    IntegerField,
    ListField,
)

from accounts.api_access.bodies import Page
from accounts.api_access.operations import Body
from accounts.api_access.tables import Table
from adjudication import models
from jobs.models import JobState

#: Characters of a recipe's text.
LONGEST_TEXT = 200_000


class Recipe(Body):
    """A recipe by name; saving a text of this name makes a new version."""

    id = CharField(source="public_id")
    study = CharField(source="study.public_id")
    name = CharField()
    version = IntegerField(source="newest", help_text="Number of the newest version.")
    created_at = DateTimeField()


class RecipePage(Page):
    """Recipes by name."""

    results = Recipe(many=True)


class RecipeVersion(Body):
    """One text of a recipe, which never changes."""

    recipe = CharField(source="recipe.public_id")
    name = CharField(source="recipe.name")
    version = IntegerField(source="number")
    text = CharField(help_text="YAML.")
    sha256 = CharField()
    created_at = DateTimeField()


class SaveRecipe(Body):
    """The text of a recipe, as YAML. Its `name` says which recipe it is."""

    study = CharField(
        default="", allow_blank=True, max_length=20, help_text="Needed by admins of several."
    )
    text = CharField(max_length=LONGEST_TEXT, trim_whitespace=False)


class LaunchRecipe(Body):
    """The version to launch; null for the newest."""

    version = IntegerField(default=None, allow_null=True, min_value=1)


class Launch(Body):
    """A version of a recipe that is carried out."""

    id = CharField(source="launch.public_id")
    study = CharField(source="launch.study.public_id")
    recipe = CharField(source="launch.version.recipe.public_id")
    name = CharField(source="launch.version.recipe.name")
    version = IntegerField(source="launch.version.number")
    state = ChoiceField(models.RecipeLaunch.State.choices, source="launch.state")
    created_at = DateTimeField(source="launch.created_at")
    ended_at = DateTimeField(allow_null=True, source="launch.ended_at")


class LaunchPage(Page):
    """Launches, newest first."""

    results = Launch(many=True)


class Step(Body):
    """One object that a launch makes, or finds already made."""

    key = CharField(source="step.key")
    part = CharField(source="step.part", help_text="The part of the recipe.")
    kind = ChoiceField(models.RecipeStep.Kind.choices, source="step.kind")
    state = ChoiceField(models.RecipeStep.State.choices, source="step.state")
    needs = ListField(child=CharField(), source="step.needs", help_text="Keys of earlier steps.")
    made = CharField(source="step.made", help_text="Public id of what it made; empty before.")
    reused = BooleanField(source="step.reused", help_text="It was there before.")
    reason = CharField(source="step.reason", help_text="Why it failed, or what is missing.")
    progress = CharField(help_text="Such as “12 of 40 stages”; empty if it is not known.")
    started_at = DateTimeField(allow_null=True, source="step.started_at")
    ended_at = DateTimeField(allow_null=True, source="step.ended_at")


class LaunchDetail(Launch):
    """A launch with its steps, the cost so far and the time left."""

    ended = IntegerField(source="lines.ended", help_text="Steps that have ended.")
    time_left = CharField(source="lines.time_left", help_text="An estimate in words, or empty.")
    calls = IntegerField(source="lines.spent.calls", help_text="Calls to language models.")
    tokens_in = IntegerField(allow_null=True, source="lines.spent.tokens_in")
    tokens_out = IntegerField(allow_null=True, source="lines.spent.tokens_out")
    model_seconds = FloatField(source="lines.spent.seconds")
    steps = Step(many=True, source="lines.steps")


class StudyReport(Body):
    """The newest report of a launch: how it goes, and what was written last."""

    launch = CharField()
    state = ChoiceField(
        JobState.choices, allow_null=True, help_text="Of the job asked for last; null: none was."
    )
    reasons = ListField(child=CharField(), help_text="Why the job failed.")
    written_at = DateTimeField(allow_null=True, help_text="Null before the first report.")
    report = DictField(
        allow_null=True, help_text="Sentences, sections with tables and figures, and settings."
    )


class PlantedRecall(Body):
    """A judge's recall and precision on planted differences."""

    id = CharField()
    study = CharField()
    copied = CharField(help_text="The source whose timelines were copied and changed.")
    judge = CharField(help_text="Name of the judge.")
    state = ChoiceField(JobState.choices)
    cases = IntegerField(allow_null=True)
    unjudged = IntegerField(allow_null=True)
    tables = Table(many=True)
