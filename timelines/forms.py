"""The launch form: what an admin may choose for a run. Everything else is the protocol's default, recorded with the run."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db.models import Count

from accounts.models import Study
from ehr.models import Dataset, Encounter
from timelines.actions import STAGES_OF
from timelines.pipeline.config import PipelineConfig, Variant

BACKBONES = (("rules", "Rules (deterministic, on the CPU)"),)
_VARIANT_WORDS = {
    Variant.FULL: "full: text, then structured evidence, then joint revision",
    Variant.UNIMODAL: "unimodal: text only",
    Variant.NO_UID: "no identifiers: revision sees mentions alone",
    Variant.NO_QUERY: "no queries: the mention itself is searched",
    Variant.NO_ROWS: "no rows: revision sees summaries, no source rows",
    Variant.NO_RERANKER: "no reranker: the nearest series are kept",
}


class CohortField(forms.ModelChoiceField):
    """Cohorts with the number of their cases; the queryset counts them as `cases`."""

    def label_from_instance(self, obj: Any) -> str:
        return f"{obj.name} ({obj.cases} case{'' if obj.cases == 1 else 's'})"


class LaunchForm(forms.Form):
    """Cohort, backbone, variant, and how many alternatives."""

    dataset = CohortField(Dataset.objects.none(), label="Cohort", to_field_name="public_id", empty_label=None)
    backbone = forms.ChoiceField(choices=BACKBONES)
    variant = forms.ChoiceField(choices=[(v.value, _VARIANT_WORDS[v]) for v in STAGES_OF])
    alternatives = forms.IntegerField(
        min_value=1, max_value=3, initial=3, help_text="Complete alternative timelines after revision. Timeline 1 is primary."
    )
    cases = forms.CharField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 4, "autocomplete": "off"}),
        help_text="Case ids, one a line. Leave empty for the whole cohort.",
    )
    label = forms.CharField(required=False, max_length=200, help_text="A name for the run. Leave empty to use backbone and variant.")

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        field = self.fields["dataset"]
        assert isinstance(field, CohortField)
        field.queryset = Dataset.objects.filter(study=study).order_by("name").annotate(cases=Count("encounters"))

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        wanted = cleaned.get("cases", "").split()
        dataset = cleaned.get("dataset")
        if dataset is not None and wanted:
            known = set(Encounter.objects.filter(dataset=dataset, case_id__in=wanted).values_list("case_id", flat=True))
            unknown = [case for case in wanted if case not in known]
            if unknown:
                self.add_error("cases", f"Not in this cohort: {', '.join(unknown[:10])}. Check the ids, one a line.")
        cleaned["cases"] = wanted
        return cleaned

    def launch_arguments(self) -> dict[str, Any]:
        """Keyword arguments of `timelines.actions.start_run`, but for `by`."""
        data = self.cleaned_data
        return {
            "dataset": data["dataset"],
            "backbone": data["backbone"],
            "config": PipelineConfig(variant=Variant(data["variant"]), alternatives=data["alternatives"]),
            "cases": data["cases"] or None,
            "label": data["label"],
        }
