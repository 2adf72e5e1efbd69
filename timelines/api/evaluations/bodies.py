"""Evaluations in the API: what is compared, and the figures."""

from __future__ import annotations

from rest_framework.serializers import (
    CharField,
    ChoiceField,
    DateTimeField,
    DictField,
    FloatField,
    IntegerField,
    ListField,
)

from accounts.api_access.bodies import NamedChoice, Page
from accounts.api_access.operations import Body
from accounts.api_access.tables import Table
from jobs.models import JobState
from timelines.api.choices import BASES
from timelines.evaluations.forms import DEFAULTS, METHODS, MOST_RESAMPLES


class Evaluation(Body):
    """A comparison of timelines with a reference."""

    id = CharField(source="public_id")
    study = CharField(source="study.public_id")
    label = CharField(allow_blank=True)  # type: ignore[assignment]  # the framework's fields have a label of their own
    datasets = NamedChoice(many=True, source="datasets.all")
    reference = CharField()
    further_references = ListField(child=CharField())
    sources = ListField(child=CharField(), help_text="Empty: all.")
    state = ChoiceField(JobState.choices)
    progress = DictField(help_text="`done` and `total` cases, `words`; empty before it runs.")
    reasons = ListField(child=CharField(), help_text="Why attempts failed.")
    created_at = DateTimeField()
    created_by = CharField(allow_null=True, source="created_by.get_username", default=None)


class EvaluationPage(Page):
    """Evaluations."""

    results = Evaluation(many=True)


class EvaluationDetail(Evaluation):
    """An evaluation with its figures, as tables on one basis."""

    settings = DictField(source="config")
    code_revision = CharField(allow_blank=True)
    basis = ChoiceField(BASES, allow_null=True, help_text="How occurrences are paired.")
    bases = ListField(child=CharField())
    result = CharField(allow_blank=True, help_text="The result in a sentence.")
    tables = Table(many=True, help_text="None until it is done.")


class EvaluationChoices(Body):
    """Values that an evaluation can be started with."""

    study = CharField()
    datasets = NamedChoice(many=True)
    references = ListField(child=CharField())
    sources = ListField(child=CharField())
    bases = ListField(child=CharField())


class EvaluationStart(Body):
    """What is compared, and how.

    Only `datasets` and `reference` have no default.
    """

    study = CharField(default="", allow_blank=True, max_length=20)
    datasets = ListField(child=CharField(max_length=20), min_length=1)
    reference = CharField(max_length=100)
    further_references = ListField(child=CharField(max_length=100), default=list)
    sources = ListField(child=CharField(max_length=100), default=list)
    bases = ListField(child=ChoiceField(BASES), default=[b.value for b in DEFAULTS.bases])
    method = ChoiceField([(name, name) for name, _ in METHODS], default=DEFAULTS.method)
    threshold = FloatField(default=DEFAULTS.threshold, min_value=0.01, max_value=0.5)
    iou = FloatField(default=DEFAULTS.iou, min_value=0.01, max_value=1)
    resamples = IntegerField(default=DEFAULTS.resamples, min_value=1, max_value=MOST_RESAMPLES)
    rho_sweep = ListField(child=FloatField(min_value=0, max_value=0.5), default=list, max_length=50)
    label = CharField(default="", allow_blank=True, max_length=180)  # type: ignore[assignment]  # as above
