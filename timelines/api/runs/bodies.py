"""Runs and their cases in the API."""

from __future__ import annotations

from rest_framework.serializers import (
    BooleanField,
    CharField,
    ChoiceField,
    DateTimeField,
    DictField,
    IntegerField,
    JSONField,
    ListField,
)

from accounts.api_access.bodies import NamedChoice, NextPage, Page
from accounts.api_access.operations import Body, make_choices
from jobs.models import JobState
from timelines.api.choices import CASE_STATES
from timelines.models import Stage
from timelines.pipeline.config import Preset, Variant
from timelines.runs.actions import LONGEST_LABEL
from timelines.runs.page.form import BACKBONES

BACKBONE_CHOICES = [(name, name) for name, _ in BACKBONES]


class RunStages(Body):
    """One stage over all cases of the run."""

    stage = ChoiceField(Stage.choices)
    done = IntegerField()
    running = IntegerField()
    failed = IntegerField()
    total = IntegerField()


class Run(Body):
    """One frozen configuration over the cases of a dataset."""

    id = CharField(source="run.public_id")
    study = CharField(source="run.study.public_id")
    dataset = CharField(source="run.dataset.public_id")
    label = CharField(source="run.label", allow_blank=True)  # type: ignore[assignment]  # the framework's fields have a label of their own
    source = CharField(source="run.source")  # type: ignore[assignment]  # and a source
    backbone = CharField(source="run.backbone")
    variant = CharField(source="run.variant")
    state = ChoiceField(CASE_STATES)
    state_words = CharField()
    active = BooleanField(source="totals.active", help_text="It may still change by itself.")
    paused = BooleanField()
    cases = DictField(child=IntegerField(), help_text="State of a case → number of cases.")
    percent = IntegerField(source="totals.percent", help_text="Of stages that are done.")
    study_timeline = BooleanField(help_text="Pages show it first for the cases of its dataset.")
    created_at = DateTimeField(source="run.created_at")
    created_by = CharField(allow_null=True, source="run.created_by.get_username", default=None)


class RunPage(Page):
    """Runs."""

    results = Run(many=True)


class RunDetail(Run):
    """A run with its progress, and everything that its results depend on."""

    stages = RunStages(many=True)
    time_left = CharField(allow_blank=True, help_text="In words, at the run's own pace.")
    warning = CharField(allow_blank=True, help_text="A message if no worker takes its stages.")
    preset = CharField(help_text="The preset, with the settings that depart from it.")
    config = DictField(source="run.config")
    tools = DictField(source="run.tools")
    language_models = DictField(
        source="run.language_models", help_text="The model of each role, without keys."
    )
    prompt_hashes = DictField(child=CharField(), source="run.prompt_hashes")
    package_versions = DictField(child=CharField(), source="run.package_versions")
    code_revision = CharField(allow_blank=True, source="run.code_revision")
    based_on = CharField(allow_null=True, help_text="The run whose occurrences it reuses.")


class RunSetting(Body):
    """A setting of the pipeline."""

    name = CharField()
    words = CharField()


class RunBase(Body):
    """An ended full run whose occurrences another run may reuse."""

    id = CharField(source="public_id")
    dataset = CharField(source="dataset.public_id")
    name = CharField()


class RunChoices(Body):
    """Values that a run can be started with."""

    study = CharField()
    datasets = NamedChoice(many=True)
    backbones = ListField(child=CharField())
    variants = ListField(child=CharField())
    presets = ListField(child=CharField())
    models = ListField(child=CharField())
    bases = RunBase(many=True)
    settings = RunSetting(many=True)


class RunStart(Body):
    """The cohort and the settings of a new run. Only `dataset` has no default."""

    dataset = CharField(max_length=20)
    backbone = ChoiceField(BACKBONE_CHOICES, default="rules")
    variant = ChoiceField(make_choices(Variant), default=Variant.FULL.value)
    preset = ChoiceField(make_choices(Preset), default=Preset.DEFAULT.value)
    model = CharField(default="", allow_blank=True, max_length=200)
    based_on = CharField(
        default="", allow_blank=True, max_length=20, help_text="Public id of an ended full run."
    )
    settings = DictField(
        child=JSONField(allow_null=True),
        default=dict,
        help_text="Name → value, for settings that depart from the preset.",
    )
    cases = ListField(
        child=CharField(max_length=200), default=list, max_length=100_000, help_text="Case ids."
    )
    label = CharField(default="", allow_blank=True, max_length=LONGEST_LABEL)  # type: ignore[assignment]  # as above


class RunEdit(Body):
    """What can be changed of a run."""

    label = CharField(allow_blank=True, max_length=LONGEST_LABEL)  # type: ignore[assignment]  # as above


class RunChoice(Body):
    """Why the run becomes the study timeline of its cohort."""

    reason = CharField(max_length=500)


class CaseStage(Body):
    """One stage of one case."""

    stage = ChoiceField(Stage.choices)
    state = ChoiceField(JobState.choices)
    words = CharField(allow_blank=True, help_text="What it does or produced.")
    percent = IntegerField(allow_null=True)
    took = CharField(allow_blank=True)
    attempt = IntegerField()


class CaseTrouble(Body):
    """Why attempts of a stage failed; `failed` is false while it is retried."""

    stage = CharField(source="label")
    failed = BooleanField()
    attempts = IntegerField()
    reasons = ListField(child=CharField())


class RunCase(Body):
    """One case of a run."""

    id = CharField(source="line.case_run_id")
    case = CharField(source="line.public_id")
    case_id = CharField(source="line.case_id")
    state = ChoiceField(CASE_STATES, source="line.state")
    stages = CaseStage(many=True, source="line.cells")
    troubles = CaseTrouble(many=True)


class RunCasePage(NextPage):
    """Cases of a run in order of case id."""

    results = RunCase(many=True)
