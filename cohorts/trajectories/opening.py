"""Open the figures of a trajectory for a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from accounts.scoping import StudyRequest
from cohorts.exposing import expose
from cohorts.models import ConceptVersion
from cohorts.trajectories.choices import Choice
from cohorts.trajectories.figures import Figures, describe_changes, make_figures
from cohorts.trajectories.loading import AROUND, Loaded, find_series, load, load_changes, load_curve
from ehr.models import Dataset
from timelines.access.closed import closed_encounters


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

    Without `shown`, and for a table of sums, those that are drawn. Raises AskFirst.
    """
    loaded = load(dataset, choice, versions, closed_encounters(request.user))
    series = find_series(dataset, choice.series)
    changes = load_changes(dataset, loaded.aligned, series, AROUND)
    names = {key: version.concept.name for key, version in versions.items()}
    curve = load_curve(dataset, loaded.aligned, series, choice)
    figures = make_figures(loaded, choice, names, curve, changes)
    expose(request, _find_shown(loaded, figures, shown))
    return Opened(figures, series, describe_changes(changes), len(loaded.aligned.without))


def _find_shown(loaded: Loaded, figures: Figures, shown: str) -> Sequence[str]:
    """Return the public ids of the stays that a table names, else of those that are drawn.

    A table may name stays without an hour 0, which are not drawn.
    """
    table = figures.tables.get(shown)
    if table is None or "case" not in table.heads:
        return figures.exposed
    at = table.heads.index("case")
    named = {row[at] for row in table.rows}
    return [one.public_id for one in loaded.encounters.values() if one.case_id in named]
