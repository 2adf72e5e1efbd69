"""The form that starts an export: which timelines, in which format."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django import forms
from django.db.models import Count

from accounts.models import Study
from ehr.models import Dataset
from timelines.access.closed import open_runs
from timelines.exports.formats import EXPORT_FORMATS
from timelines.models import Run
from timelines.runs.page.form import CohortField


class RunField(forms.ModelChoiceField):
    """A choice of runs, with cohort and day."""

    def label_from_instance(self, obj: Any) -> str:
        name = obj.label or obj.source
        return f"{obj.dataset.name}: {name}, {obj.created_at:%Y-%m-%d %H:%M} UTC"


class ExportForm(forms.Form):
    """Cohort, run and format."""

    dataset = CohortField(Dataset.objects.none(), to_field_name="public_id", label="Cohort")
    run = RunField(
        Run.objects.none(),
        to_field_name="public_id",
        required=False,
        empty_label="Study timeline and references",
    )
    all_sources = forms.BooleanField(
        required=False,
        label="All sources and variants",
        help_text=(
            "Adds the latest run of each other source and variant. A cohort without a study timeline"
            " is always exported so."
        ),
    )
    format = forms.ChoiceField(
        choices=[(n, f"{f.label}: {f.about}") for n, f in EXPORT_FORMATS.items()]
    )
    with_note_text = forms.BooleanField(
        required=False,
        label="With words of the note",
        help_text="brat, i2b2, Label Studio and doccano always have the note.",
    )

    def __init__(
        self, *args: Any, study: Study, closed: Collection[int] = (), **kwargs: Any
    ) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        cohorts, runs = self.fields["dataset"], self.fields["run"]
        assert isinstance(cohorts, CohortField)
        assert isinstance(runs, RunField)
        found = Dataset.objects.filter(study=study).order_by("name")
        cohorts.queryset = found.annotate(cases=Count("encounters"))
        runs.queryset = open_runs(
            Run.objects.filter(study=study).select_related("dataset").order_by("-created_at"),
            closed,
        )
        self.has_cohorts = found.exists()
        if len(found) == 1:
            cohorts.initial = found[0].public_id

    def clean(self) -> dict[str, Any]:
        """Check that the run is over the cohort."""
        data: dict[str, Any] = super().clean() or {}
        run, dataset = data.get("run"), data.get("dataset")
        if run is not None and dataset is not None and run.dataset_id != dataset.pk:
            self.add_error(
                "run", f"This run is over {run.dataset.name}. Choose that cohort or another run."
            )
        if run is not None and data.get("all_sources"):
            self.add_error("all_sources", "Choose one run, or all sources and variants.")
        return data
