"""Open the figures of a trajectory for a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from accounts.scoping import StudyRequest
from cohorts.exposing import expose
from cohorts.models import ConceptVersion
from cohorts.trajectories.choices import Choice
from cohorts.trajectories.figures import Figures, describe_changes, make_figures
from cohorts.trajectories.loading import AROUND, find_series, load, load_changes, load_curve
from ehr.models import Dataset
from timelines.access.closed import closed_encounters

#: Tables that name every stay, not only those that are drawn.
OF_ALL_STAYS = frozenset({"changes", "courses"})


@dataclass(frozen=True)
class Opened:
    """The figures over the stays that are open to the person.

    `series`: names that the patterns found; `changes`: the values around hour 0 in a sentence;
    `without`: stays without an hour 0.
    """

    figures: Figures
    series: Sequence[str]
    changes: str
    without: int


def open_figures(
    request: StudyRequest,
    dataset: Dataset,
    choice: Choice,
    versions: Mapping[str, ConceptVersion],
    shown: str = "",
) -> Opened:
    """Return the figures, and record the cases of the table `shown`.

    Without `shown`, those that are drawn. Raises AskFirst.
    """
    loaded = load(dataset, choice, versions, closed_encounters(request.user))
    series = find_series(dataset, choice.series)
    changes = load_changes(dataset, loaded.aligned, series, AROUND)
    names = {key: version.concept.name for key, version in versions.items()}
    curve = load_curve(dataset, loaded.aligned, series, choice)
    figures = make_figures(loaded, choice, names, curve, changes)
    every = [encounter.public_id for encounter in loaded.encounters.values()]
    expose(request, every if shown in OF_ALL_STAYS else figures.exposed)
    return Opened(figures, series, describe_changes(changes), len(loaded.aligned.without))
