"""The launch form: an admin's choices for a run.

Everything else is the protocol's default, recorded with the run.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django import forms
from django.db.models import Count

from accounts.models import Study
from accounts.wording import format_count
from ehr.models import Dataset, Encounter
from llm_runtime.roles import LANGUAGE_MODEL
from timelines.models import Run
from timelines.pipeline.config import PipelineConfig, Variant
from timelines.runs import tools
from timelines.runs.bases import available_bases, based_config

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


class LaunchForm(forms.Form):
    """The choices for one or more runs.

    Cohort, backbone, variants, the base run, and the number of alternatives.
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
    alternatives = forms.IntegerField(
        min_value=1,
        max_value=3,
        initial=3,
        help_text="Complete alternative timelines after revision. Timeline 1 is primary.",
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
        if len(cleaned.get("variant", [])) > 1 and not cleaned.get("based_on"):
            self.add_error(
                "based_on",
                "Choose the run that they are based on, or a single variant. Launch the full"
                " variant first.",
            )
        return cleaned

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
        base, settings = (
            self.cleaned_data["based_on"],
            {"variant": variant, "alternatives": self.cleaned_data["alternatives"]},
        )
        return based_config(base, **settings) if base else PipelineConfig.from_dict(settings)
