"""The figures of a report or check, and the occurrences behind one of them."""

from __future__ import annotations

from collections.abc import Collection

from accounts.scoping import StudyRequest
from cohorts.asof.counting import Cell, find_asked_timelines, list_cell
from cohorts.asof.figures import Group, read_groups
from cohorts.asof.forms import name_version
from cohorts.asof.jobs import question_of
from cohorts.asof.lines import PlacedLine, describe_placed
from cohorts.asof.states import State
from cohorts.exposing import expose
from cohorts.models import AsOfReport, ConceptVersion, LeakageCheck

Job = AsOfReport | LeakageCheck


def load_versions(job: Job) -> dict[str, ConceptVersion]:
    """Return the concepts that a report counts, by the keys of its groups."""
    if isinstance(job, LeakageCheck):
        return {}
    return {str(version.pk): version for version in job.concepts.select_related("concept")}


def load_groups(job: Job) -> list[Group]:
    """Return the groups of figures.

    There are none before it is done, and for a check of features.
    """
    if "groups" not in (job.report or {}):
        return []
    names = {key: name_version(version) for key, version in load_versions(job).items()}
    return read_groups(job.report or {}, names)


def count_cell(group: Group, states: Collection[State]) -> int:
    """Return how many occurrences a number counts."""
    return sum(count.occurrences for count in group.counts if count.state in states)


def open_cell(
    request: StudyRequest,
    job: Job,
    group: Group,
    states: tuple[State, ...],
    *,
    limit: int,
    offset: int,
) -> list[PlacedLine]:
    """Return some of the occurrences behind a number, and record their cases.

    An occurrence that no longer exists is left out. Raises AskFirst.
    """
    question = question_of(job)
    cell = Cell(
        states,
        lane=group.key if group.kind == "lane" else "",
        concept=group.key if group.kind == "concept" else "",
    )
    found = list_cell(
        question,
        find_asked_timelines(question),
        list(load_versions(job).values()),
        cell,
        limit=limit,
        offset=offset,
    )
    places = [(one.entry, one.hour) for one in found]
    described = describe_placed(places)
    lines = [described[place] for place in places if place in described]
    expose(request, [line.encounter.public_id for line in lines])
    return lines
