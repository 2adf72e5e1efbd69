"""The forms that start an as-of report and a leakage check."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from django import forms

from accounts.models import Study
from cohorts.asof.features import FeatureFileError, read_features
from cohorts.asof.states import Basis, Doubt, Policy
from cohorts.facts.versions import find_concepts, find_newest
from cohorts.models import ConceptVersion
from cohorts.values import Source
from ehr.models import Dataset, Encounter
from timelines.exports.formats import EXPORT_FORMATS
from timelines.exports.views import VIEW_FORMATS

_SOURCES = [(s.value, s.words) for s in Source if s is not Source.ROWS]


class ConceptField(forms.ModelChoiceField):
    """A choice of concepts, each in its newest version."""

    def label_from_instance(self, obj: Any) -> str:
        return name_version(obj)


class ConceptsField(forms.ModelMultipleChoiceField):
    """A choice of several concepts."""

    def label_from_instance(self, obj: Any) -> str:
        return name_version(obj)


def name_version(version: ConceptVersion) -> str:
    """Return a concept's name with the number of its version."""
    return f"{version.concept.name}, version {version.number}"


class AsOfForm(forms.Form):
    """Dataset, source, and the hour."""

    dataset = forms.ModelChoiceField(Dataset.objects.none(), to_field_name="public_id")
    source = forms.ChoiceField(choices=_SOURCES, initial=Source.RECORD.value, label="Times")
    hours = forms.FloatField(
        label="Hours",
        help_text="From admission, or from the first occurrence of the concept below.",
    )
    after = ConceptField(
        ConceptVersion.objects.none(), required=False, label="After", empty_label="Admission"
    )
    label = forms.CharField(required=False, max_length=200, label="Name")

    def __init__(self, *args: Any, study: Study, closed: Iterable[int] = (), **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        datasets, after = self.fields["dataset"], self.fields["after"]
        assert isinstance(datasets, forms.ModelChoiceField)
        assert isinstance(after, forms.ModelChoiceField)
        found = Dataset.objects.filter(study=study).exclude(pk__in=list(closed)).order_by("name")
        datasets.queryset = found
        if len(found) == 1:
            datasets.initial = found[0].public_id
        newest = find_newest(find_concepts(study)).values("pk")
        self.versions = ConceptVersion.objects.filter(pk__in=newest).select_related("concept")
        after.queryset = self.versions

    def clean_hours(self) -> float | None:
        """Refuse hours that no stay has."""
        hours: float | None = self.cleaned_data["hours"]
        if hours is not None and (not math.isfinite(hours) or abs(hours) > 1e6):
            raise forms.ValidationError("Enter hours such as 6 or 6.5.")
        return hours


class ReportForm(AsOfForm):
    """What an as-of report counts."""

    beside = forms.ChoiceField(
        choices=[("", "nothing"), *_SOURCES],
        required=False,
        label="Beside them",
        help_text="A second report by these times, to put both side by side.",
    )
    concepts = ConceptsField(
        ConceptVersion.objects.none(),
        required=False,
        label="Concepts to count",
        widget=forms.CheckboxSelectMultiple,
    )
    field_order = ("dataset", "source", "beside", "hours", "after", "concepts", "label")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        concepts = self.fields["concepts"]
        assert isinstance(concepts, forms.ModelMultipleChoiceField)
        concepts.queryset = self.versions
        if not self.versions:
            del self.fields["concepts"]

    def clean(self) -> dict[str, Any]:
        """Refuse the same times twice."""
        data: dict[str, Any] = super().clean() or {}
        if data.get("beside") and data.get("beside") == data.get("source"):
            self.add_error("beside", "Choose other times than the first, or nothing.")
        return data


class CheckForm(AsOfForm):
    """A file of features, or a rule."""

    #: Pasted, or read by the page's script: requests with files are accepted by imports alone.
    features = forms.CharField(
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 8, "spellcheck": "false", "class": "mono"}),
        label="Features, as CSV",
        help_text=(
            "Columns case, name, and hours (from admission) or time. Files above 2 MB:"
            " manage.py check_leakage."
        ),
    )
    field_order = ("dataset", "source", "features", "hours", "after", "label")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["hours"].required = False
        self.fields[
            "hours"
        ].help_text = (
            "Without features: a model predicts so many hours after admission or the concept below."
        )

    def clean(self) -> dict[str, Any]:
        """Read the features; check that there are features or a rule."""
        data: dict[str, Any] = super().clean() or {}
        text, dataset = data.get("features", "").strip(), data.get("dataset")
        data["features"] = []
        if "hours" in self.errors:
            return data
        if bool(text) == (data.get("hours") is not None):
            self.add_error(None, "Bring features, or enter hours, not both.")
        elif text and dataset:
            cases = Encounter.objects.filter(dataset=dataset).order_by()
            admitted = dict(cases.values_list("case_id", "admitted_at"))
            try:
                data["features"] = read_features(text.encode(), admitted)
            except FeatureFileError as error:
                for fault in error.faults:
                    self.add_error("features", fault)
        return data


class ExportForm(forms.Form):
    """By which policy an export contains what was known, and in which format."""

    format = forms.ChoiceField(choices=[(n, EXPORT_FORMATS[n].label) for n in VIEW_FORMATS])
    basis = forms.ChoiceField(
        choices=[(b.value, b.words.capitalize()) for b in Basis],
        initial=Basis.DOCUMENTED.value,
        label="An occurrence is included if",
    )
    doubt = forms.ChoiceField(
        choices=[(d.value, d.words.capitalize()) for d in Doubt],
        initial=Doubt.DROP.value,
        label="If its bounds contain the hour, it is",
    )
    later_notes = forms.BooleanField(
        required=False,
        label="Also from notes written after the hour",
        help_text="Without this, a discharge summary contributes nothing before it is written.",
    )
    with_note_text = forms.BooleanField(required=False, label="With words of the note")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})

    def policy(self) -> Policy:
        """Return the chosen policy of a valid form."""
        data = self.cleaned_data
        return Policy(Basis(data["basis"]), Doubt(data["doubt"]), not data["later_notes"])
