"""The window of the demo."""

from __future__ import annotations

from accounts.models import Study, User
from cohorts.models import Window, WindowResult
from cohorts.values import Source
from cohorts.windows.actions import create_window
from cohorts.windows.results import launch_result
from ehr.models import Dataset

NAME = "Reversal agent within 6 h of arrival"
CONCEPTS = ("reversal agent given", "intracranial haemorrhage")
YAML = f"""
name: {NAME}
anchor: admission
where:
  - event: {CONCEPTS[1]}
  - event: {CONCEPTS[0]}
    within: 0 h to 6 h after anchor
"""


def make_demo_window(study: Study, by: User | None) -> Window:
    """Store the window, once. Raises WindowError without the concepts and their versions."""
    found = Window.objects.filter(study=study, name=NAME).first()
    return found or create_window(study=study, yaml=YAML, by=by)


def launch_demo_window(window: Window, dataset: Dataset, by: User | None) -> WindowResult:
    """Queue the evaluation of note alone beside the record."""
    version = window.versions.first()
    assert version is not None
    return launch_result(
        version=version, dataset=dataset, first=Source.NOTE, second=Source.RECORD, by=by
    )
