"""The form that starts an evaluation.

It asks what is compared, with which reference, and how. Defaults are the protocol's.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django import forms
from django.db.models import Count

from accounts.models import Study
from ehr.models import Dataset
from timelines.access.authoring import is_superseded
from timelines.access.references import ANY_CONSENSUS
from timelines.evaluation.values import Basis, EvaluationSettings
from timelines.evaluations.data import known_sources
from timelines.runs.page.form import CohortField

DEFAULTS = EvaluationSettings()
METHODS = (
    ("greedy", "greedy: the globally closest pair first"),
    ("assignment", "assignment: the least total distance"),
)
BASES = (
    (Basis.SPAN.value, "spans: by overlap in the note"),
    (Basis.EMBEDDING.value, "embeddings: by cosine distance of the mentions"),
    (Basis.LEVENSHTEIN.value, "spelling: by normalised Levenshtein distance of the mentions"),
)
MOST_RESAMPLES = 5000
REFERENCE_WORDS = {ANY_CONSENSUS: "consensus: of each case, by any two authors"}


class CohortsField(forms.ModelMultipleChoiceField):
    """Cohorts with the number of their cases, as in the launch form."""

    label_from_instance = CohortField.label_from_instance


class EvaluationForm(forms.Form):
    """Cohorts, reference, sources, and how occurrences are paired."""

    datasets = CohortsField(
        Dataset.objects.none(),
        to_field_name="public_id",
        widget=forms.CheckboxSelectMultiple,
        label="Cohorts",
    )
    reference = forms.ChoiceField(
        help_text=(
            "Whose timelines count as true: those imported with the cohort, an author's, or each"
            " case's consensus of two authors."
        )
    )
    further_references = forms.MultipleChoiceField(
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label="Further references",
        help_text=(
            "Compared with every timeline as well, over the cases that have all references: how far"
            " the figures differ shows how much the annotators do. Each timeline is also compared"
            " with the closest reference of each case."
        ),
    )
    sources = forms.MultipleChoiceField(
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="Leave empty to compare all sources.",
    )
    bases = forms.MultipleChoiceField(
        choices=BASES,
        initial=[b.value for b in DEFAULTS.bases],
        widget=forms.CheckboxSelectMultiple,
        label="Pair occurrences by",
    )
    method = forms.ChoiceField(
        choices=METHODS, initial=DEFAULTS.method, label="Matching of mentions"
    )
    threshold = forms.FloatField(
        min_value=0.01,
        max_value=0.5,
        initial=DEFAULTS.threshold,
        help_text="A pair of mentions counts below this distance.",
    )
    iou = forms.FloatField(
        min_value=0.01,
        max_value=1,
        initial=DEFAULTS.iou,
        required=False,
        label="Overlap of spans",
        help_text=(
            "Spans are paired if they share at least this part of their union. Default"
            f" {DEFAULTS.iou:g}."
        ),
    )
    resamples = forms.IntegerField(
        min_value=1,
        max_value=MOST_RESAMPLES,
        initial=DEFAULTS.resamples,
        help_text="Case-level bootstrap resamples of the intervals.",
    )
    rho_sweep = forms.CharField(
        required=False,
        label="Sweep the reranker threshold ρ",
        help_text=(
            "Values from 0 to 0.5 separated by commas, for example 0, 0.05, 0.1. Empty: no sweep."
            " Revision is repeated for each value."
        ),
    )
    label = forms.CharField(required=False, max_length=180, help_text="A name for the evaluation.")

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
        references, others = known_sources(list(found), closed)
        current = [s for s in references if not is_superseded(s)]
        self._offer("reference", current)
        self._offer("further_references", current)
        if len(current) < 2:
            del self.fields["further_references"]
        self._offer("sources", [s for s in others if not is_superseded(s)])
        self.can_compare = bool(references and others)
        if len(found) == 1:
            cohorts.initial = [found[0].public_id]

    def clean_rho_sweep(self) -> tuple[float, ...]:
        """The numbers, in order, each once."""
        try:
            values = sorted(
                {
                    round(float(part), 4)
                    for part in self.cleaned_data["rho_sweep"].split(",")
                    if part.strip()
                }
            )
        except ValueError:
            raise forms.ValidationError(
                "Enter numbers separated by commas, for example 0, 0.05, 0.1."
            ) from None
        if any(not 0 <= v <= 0.5 for v in values):
            raise forms.ValidationError("Enter values of ρ between 0 and 0.5.")
        return tuple(values)

    def arguments(self) -> dict[str, Any]:
        """Return the keyword arguments of `start_evaluation`.

        All of `timelines.evaluations.actions.start_evaluation` except `study` and `by`.
        """
        data = self.cleaned_data
        settings = EvaluationSettings(
            bases=tuple(Basis(b) for b in data["bases"]),
            method=data["method"],
            threshold=data["threshold"],
            iou=data["iou"] or DEFAULTS.iou,
            resamples=data["resamples"],
            rho_sweep=data["rho_sweep"],
        )
        return {
            "datasets": list(data["datasets"]),
            "reference": data["reference"],
            "further_references": data.get("further_references", ()),
            "sources": data["sources"],
            "settings": settings,
            "label": data["label"],
        }

    def _offer(self, name: str, values: list[str]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(v, REFERENCE_WORDS.get(v, v)) for v in values]
