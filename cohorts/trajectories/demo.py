"""The saved view of the demo."""

from __future__ import annotations

from accounts.models import Study
from cohorts.models import Trajectory
from cohorts.trajectories.actions import save_view
from cohorts.trajectories.choices import Choice, newest_versions
from ehr.models import Dataset

NAME = "Antibiotics from arrival"
TARGET = "antibiotic given"


def make_demo_trajectory(study: Study) -> Trajectory | None:
    """Save a view from arrival to the first antibiotic, once.

    None if the study lacks the concept or a dataset.
    """
    found = Trajectory.objects.filter(study=study, name=NAME).first()
    versions = newest_versions(study)
    key = next((key for key, v in versions.items() if v.concept.name == TARGET), "")
    dataset = Dataset.objects.filter(study=study).order_by("pk").first()
    if found is not None or not key or dataset is None:
        return found
    choice = Choice(
        dataset=dataset.public_id, concepts=tuple(versions), target=key, series="lab:lactate:*"
    )
    return save_view(dataset=dataset, name=NAME, choice=choice, versions=versions, by=None)
