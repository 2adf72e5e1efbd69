"""The launch form: an admin's choices for a run.

Every setting of the pipeline can be set; what is left empty is the preset's. All are recorded with
the run.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from enum import StrEnum
from typing import Any

from django import forms
from django.db.models import Count

from accounts.models import Study
from accounts.wording import format_count
from ehr.models import Dataset, Encounter
from llm_runtime.roles import LANGUAGE_MODEL
from timelines.models import Run
from timelines.pipeline.config import ConfigError, PipelineConfig, Preset, Variant, preset_config
from timelines.pipeline.setting_words import SETTING_WORDS
from timelines.runs import tools
from timelines.runs.bases import available_bases, based_config, late_settings

BACKBONES = (
    ("rules", "Rules (deterministic, on the CPU)"),
    ("prompted", "Prompted (language models at every stage)"),
    ("llm_timeline", "Baseline llm_timeline: one call of a language model (unimodal only)"),
    ("tkw2", "Baseline TKW2: text knows what, tables know when (full or unimodal)"),
)
_VARIANT_WORDS = {
    Variant.FULL: "full: text, then structured evidence, then joint revision",
    Variant.UNIMODAL: "unimodal: text only",
    Variant.NO_UID: "no identifiers: revision sees mentions alone",
    Variant.NO_QUERY: "no queries: the mention itself is searched",
    Variant.NO_ROWS: "no rows: revision sees summaries, no source rows",
    Variant.NO_RERANKER: "no reranker: the nearest series are used",
}

_PRESET_WORDS = {
    Preset.DEFAULT: "default: every row that fits a budget of tokens, cited by its number",
    Preset.PUBLISHED: "published: as in the paper",
}
#: Before the name of a setting in the form.
ADVANCED = "set_"
#: A setting without a value: no budget, or no threshold but the reranker's.
NONE = "none"


class CohortField(forms.ModelChoiceField):
    """A choice of cohorts, with the number of their cases.

    The queryset counts them as `cases`.
    """

    def label_from_instance(self, obj: Any) -> str:
        return f"{obj.name} ({format_count(obj.cases, 'case')})"


class BaseField(forms.ModelChoiceField):
    """Ended full runs by cohort and date; the queryset counts their cases."""

    def label_from_instance(self, obj: Any) -> str:
        available = (
            ""
            if obj.done_cases == obj.all_cases
            else f", {obj.done_cases} of {obj.all_cases} cases"
        )
        return (
            f"{obj.dataset.name}: {obj.label or obj.source}, {obj.created_at:%Y-%m-%d %H:%M} UTC"
            f"{available} ({obj.public_id})"
        )


class NumberOrNoneField(forms.CharField):
    """A positive number, or the word "none"; empty means the preset's value."""

    def __init__(self, kind: type[int] | type[float], **options: Any) -> None:
        super().__init__(**options)
        self.kind = kind

    def clean(self, value: Any) -> Any:
        text = super().clean(value).casefold()
        if text in ("", NONE):
            return text
        try:
            number = self.kind(text)
        except ValueError:
            number = self.kind(-1)
        if not 0 <= number < math.inf:
            what = "a whole number" if self.kind is int else "a number from 0"
            raise forms.ValidationError(f"Enter {what}, or none.")
        return number


def _setting_field(name: str, words: str) -> forms.Field:
    """Return the field of one setting; empty means the preset's value."""
    default = getattr(PipelineConfig(), name)
    published = getattr(preset_config(Preset.PUBLISHED), name)
    usual = (
        f"Default {_say(default)}."
        if default == published
        else (f"Default {_say(default)}; published {_say(published)}.")
    )
    options: dict[str, Any] = {
        "required": False,
        "label": name.replace("_", " ").capitalize().replace("Tkw2", "TKW2"),
        "help_text": f"{words} {usual}",
    }
    if isinstance(default, bool):
        return forms.ChoiceField(
            choices=[("", "as the preset"), ("yes", "yes"), ("no", "no")], **options
        )
    if isinstance(default, StrEnum):
        choices = [(v.value, v.value) for v in type(default)]
        return forms.ChoiceField(choices=[("", "as the preset"), *choices], **options)
    if isinstance(default, str):
        return forms.CharField(max_length=400, **options)
    if None in (default, published):
        return NumberOrNoneField(type(published if default is None else default), **options)
    if isinstance(default, float):
        return forms.FloatField(min_value=0, **options)
    return forms.IntegerField(min_value=0 if name == "seed" else 1, **options)


def _say(value: object) -> str:
    """Return a setting's value as the form says it."""
    if value is None:
        return NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


class LaunchForm(forms.Form):
    """The choices for one or more runs.

    Cohort, backbone, variants, the base run, the preset and single settings.
    """

    dataset = CohortField(
        Dataset.objects.none(), label="Cohort", to_field_name="public_id", empty_label=None
    )
    backbone = forms.ChoiceField(choices=BACKBONES)
    model = forms.ChoiceField(
        required=False,
        label="Language model",
        help_text=(
            "For the prompted backbone and the baselines. The Models page shows which can be"
            " reached; a role's own model is chosen with manage.py reconstruct --model ROLE=NAME."
        ),
    )
    variant = forms.MultipleChoiceField(
        choices=[(v.value, _VARIANT_WORDS[v]) for v in Variant],
        initial=[Variant.FULL.value],
        widget=forms.CheckboxSelectMultiple,
        label="Variants",
    )
    based_on = BaseField(
        Run.objects.none(),
        required=False,
        to_field_name="public_id",
        empty_label="none: read every note again",
        help_text=(
            "Reuse the occurrences and times from the note of a full run that has ended, so that"
            " variants differ in the varied stage alone. Cases that failed there are left out."
        ),
    )
    preset = forms.ChoiceField(
        choices=[(p.value, _PRESET_WORDS[p]) for p in Preset],
        initial=Preset.DEFAULT.value,
        help_text="Settings in the section “Advanced” replace those of the preset.",
    )
    cases = forms.CharField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 4, "autocomplete": "off"}),
        help_text="Case ids, one per line. Leave empty for the whole cohort.",
    )
    label = forms.CharField(
        required=False,
        max_length=180,
        help_text="A name for the run. Leave empty to use backbone and variant.",
    )

    def __init__(
        self, *args: Any, study: Study, closed: Collection[int] = (), **kwargs: Any
    ) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        model = self.fields["model"]
        assert isinstance(model, forms.ChoiceField)
        model.choices = [
            ("", "default of the settings (MODEL_ROLES)"),
            *((name, name) for name in sorted(tools.roles().endpoints)),
        ]
        bases = self.fields["based_on"]
        assert isinstance(bases, BaseField)
        # Whether a run is finished depends on all its cases, so runs with a closed case are not
        # offered.
        bases.queryset = (
            available_bases()
            .filter(study=study)
            .exclude(cases__encounter__in=list(closed))
            .select_related("dataset")
        )
        for name, words in SETTING_WORDS.items():
            self.fields[f"{ADVANCED}{name}"] = _setting_field(name, words)
        field = self.fields["dataset"]
        assert isinstance(field, CohortField)
        field.queryset = (
            Dataset.objects.filter(study=study).order_by("name").annotate(cases=Count("encounters"))
        )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        wanted = cleaned.get("cases", "").split()
        dataset = cleaned.get("dataset")
        if dataset is not None and wanted:
            known = set(
                Encounter.objects.filter(dataset=dataset, case_id__in=wanted).values_list(
                    "case_id", flat=True
                )
            )
            unknown = [case for case in wanted if case not in known]
            if unknown:
                self.add_error(
                    "cases",
                    f"Not in this cohort: {', '.join(unknown[:10])}. Enter one id per line.",
                )
        cleaned["cases"] = wanted
        self._check_settings(cleaned)
        if len(cleaned.get("variant", [])) > 1 and not cleaned.get("based_on"):
            self.add_error(
                "based_on",
                "Choose the run that they are based on, or a single variant. Launch the full"
                " variant first.",
            )
        return cleaned

    def _check_settings(self, cleaned: dict[str, Any]) -> None:
        """Add an error for settings that exclude each other."""
        if self.errors:
            return
        try:
            preset_config(Preset(cleaned["preset"]), **self._advanced())
        except ConfigError as error:
            self.add_error(None, f"These settings do not fit together: {error}.")

    def launch_arguments(self) -> list[dict[str, Any]]:
        """Return the keyword arguments of `start_run` for each run to start.

        All of `timelines.runs.actions.start_run` except `by`.
        """
        data = self.cleaned_data
        return [
            {
                "dataset": data["dataset"],
                "backbone": data["backbone"],
                "config": self._config(variant),
                "cases": data["cases"] or None,
                "label": (
                    data["label"]
                    and (
                        data["label"]
                        if len(data["variant"]) == 1
                        else f"{data['label']} ({variant})"
                    )
                ),
                "based_on": data["based_on"],
                "models": {LANGUAGE_MODEL: data["model"]} if data["model"] else None,
            }
            for variant in data["variant"]
        ]

    def _config(self, variant: str) -> PipelineConfig:
        data = self.cleaned_data
        preset = Preset(data["preset"])
        settings = {"variant": variant, **self._advanced()}
        if data["based_on"]:
            return based_config(data["based_on"], **late_settings(preset) | settings)
        return preset_config(preset, **settings)

    def _advanced(self) -> dict[str, Any]:
        """Return the settings that were filled in."""
        found = {name: self.cleaned_data.get(f"{ADVANCED}{name}") for name in SETTING_WORDS}
        filled = {name: value for name, value in found.items() if value not in (None, "")}
        words = {"yes": True, "no": False, NONE: None}
        return {name: words.get(value, value) for name, value in filled.items()}

    @property
    def main_fields(self) -> list[forms.BoundField]:
        """The fields that every launch needs."""
        return [field for field in self if not field.name.startswith(ADVANCED)]

    @property
    def advanced_errors(self) -> bool:
        """Whether one of the settings has an error."""
        return any(field.errors for field in self.advanced_fields)

    @property
    def advanced_fields(self) -> list[forms.BoundField]:
        """One field for each setting of the pipeline."""
        return [field for field in self if field.name.startswith(ADVANCED)]
