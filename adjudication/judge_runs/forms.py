"""The form that starts a judge run. Defaults are the protocol's."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from django import forms
from django.db.models import Count

from accounts.models import Study
from adjudication.judge_runs.data import find_sources
from adjudication.judge_runs.tools import PROMPTED, RULES
from adjudication.judging.config import SEED, JudgeConfig
from adjudication.judging.validation import FIXED_TOLERANCE, TOLERANCE
from ehr.models import Dataset, Encounter
from ehr.presentation.rendering import JUDGE_SERIES
from timelines.access.authoring import is_superseded
from timelines.evaluation.naming import split_source
from timelines.evaluation.values import SourceKey
from timelines.evaluations.forms import CohortsField
from timelines.runs import tools

JUDGES = (
    (
        RULES,
        (
            "Rules: decides from note and rows on this machine, and abstains if the evidence is"
            " not clear"
        ),
    ),
    (
        PROMPTED,
        "Language model: one call per game, its answer validated with note, rows and timelines",
    ),
)
TOLERANCES = (
    ("scaled", "3 h, or a tenth of the distance from admission if that is more"),
    ("fixed", "3 h everywhere"),
)
SERIES_MOST = 10_000
RECORD_TIMES = (
    ("hours", "Hours from admission"),
    ("iso", "Calendar moments, as published"),
)
REPAIRS = (
    ("findings", "Ask again for the invalid findings; valid ones stay"),
    ("answer", "Reject the whole answer, as published"),
)


class JudgeForm(forms.Form):
    """Cohorts, sources, judge and settings."""

    datasets = CohortsField(
        Dataset.objects.none(),
        to_field_name="public_id",
        widget=forms.CheckboxSelectMultiple,
        label="Cohorts",
    )
    sources = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple,
        label="Timelines to compare",
        help_text=(
            "Each pair of timelines is compared once per case that has both. The judge never sees"
            " their sources."
        ),
    )
    judge = forms.ChoiceField(choices=JUDGES, widget=forms.RadioSelect, initial=RULES)
    model = forms.ChoiceField(
        required=False,
        label="Language model",
        help_text="For the language model judge. The Models page shows which can be reached.",
    )
    swap = forms.BooleanField(
        required=False,
        label="Judge every game a second time with A and B exchanged",
        help_text="Shows how much the answers depend on position. Doubles the work.",
    )
    uid_table = forms.BooleanField(
        required=False,
        label="Show identifiers and spans to the judge",
        help_text="Pairs occurrences by identifier first. Every compared timeline must have them.",
    )
    tolerance = forms.ChoiceField(
        choices=TOLERANCES, initial="scaled", label="Times count as equal within"
    )
    record_times = forms.ChoiceField(
        choices=RECORD_TIMES,
        initial="hours",
        required=False,
        label="Times in the record",
        help_text="For the language model judge, as are the next two.",
    )
    repair = forms.ChoiceField(
        choices=REPAIRS,
        initial="findings",
        required=False,
        label="If some findings of an answer are invalid",
    )
    series_limit = forms.IntegerField(
        min_value=1,
        max_value=SERIES_MOST,
        initial=JUDGE_SERIES,
        required=False,
        label="Series of the record, at most",
        help_text="Fewer are shown if they do not fit the model's context.",
    )
    seed = forms.IntegerField(
        min_value=0,
        max_value=2**62,
        initial=SEED,
        help_text="Decides which timeline is A. The same seed gives the same sides.",
    )
    cases = forms.CharField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "autocomplete": "off"}),
        help_text="Case ids, one per line. Leave empty for whole cohorts.",
    )
    label = forms.CharField(required=False, max_length=180, help_text="A name for the run.")

    def __init__(
        self, *args: Any, study: Study, closed: Collection[int] = (), **kwargs: Any
    ) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        cohorts = self.fields["datasets"]
        assert isinstance(cohorts, CohortsField)
        found = (
            Dataset.objects.filter(study=study).order_by("name").annotate(cases=Count("encounters"))
        )
        cohorts.queryset = found
        if len(found) == 1:
            cohorts.initial = [found[0].public_id]
        self._keys = {
            k.written: k for k in find_sources(list(found), closed) if not is_superseded(k.source)
        }
        self._offer("sources", [(name, key.label) for name, key in self._keys.items()])
        self.fields["sources"].initial = suggest_sources(list(self._keys.values()))
        self._offer(
            "model",
            [
                ("", "default of the settings (MODEL_ROLES)"),
                *((n, n) for n in sorted(tools.roles().endpoints)),
            ],
        )
        self.can_judge = len(self._keys) > 1

    def clean_sources(self) -> list[SourceKey]:
        chosen = [self._keys[name] for name in self.cleaned_data["sources"]]
        if len(chosen) < 2:
            raise forms.ValidationError(
                "Choose at least two: a judge compares one timeline with another."
            )
        return chosen

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        wanted = cleaned.get("cases", "").split()
        known = set(
            Encounter.objects.filter(
                dataset__in=cleaned.get("datasets", []), case_id__in=wanted
            ).values_list("case_id", flat=True)
        )
        if unknown := [case for case in wanted if case not in known]:
            self.add_error(
                "cases",
                f"Not in these cohorts: {', '.join(unknown[:10])}. Enter one id per line.",
            )
        if cleaned.get("model") and cleaned.get("judge") == RULES:
            self.add_error(
                "model",
                "The rules judge uses no language model. Choose the other judge, or no model.",
            )
        cleaned["cases"] = wanted
        return cleaned

    def arguments(self) -> dict[str, Any]:
        """Return keyword arguments for `start_judging`, but `study` and `by`.

        See `adjudication.judge_runs.actions.start_judging`.
        """
        data = self.cleaned_data
        tolerance = FIXED_TOLERANCE if data["tolerance"] == "fixed" else TOLERANCE
        return {
            "datasets": list(data["datasets"]),
            "sources": data["sources"],
            "judge": data["judge"],
            "model": data["model"],
            "config": JudgeConfig(
                seed=data["seed"],
                swap=data["swap"],
                uid_table=data["uid_table"],
                tolerance=tolerance,
                record_times=data["record_times"] or "hours",
                repair=data["repair"] != "answer",
                series_limit=data["series_limit"] or JUDGE_SERIES,
            ),
            "cases": data["cases"],
            "label": data["label"],
        }

    def _offer(self, name: str, choices: Sequence[tuple[str, str]]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = choices


def suggest_sources(keys: Sequence[SourceKey]) -> list[str]:
    """Return the sources selected by default: whole systems, alternative 1.

    Variants only if there is nothing else: the number of games, and of the calls they cost, grows
    by the square of the sources.
    """
    first = [k for k in keys if k.alternative == 1]
    whole = [k for k in first if not split_source(k.source)[1]]
    return [k.written for k in (whole if len(whole) > 1 else first)]
