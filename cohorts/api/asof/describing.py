"""Reports and checks as bodies, and the occurrences behind their numbers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from django.http import Http404
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from accounts.api_access.paging import load_page, read_choice
from accounts.scoping import StudyRequest
from cohorts.asof.cells import count_cell, load_groups, load_versions, open_cell
from cohorts.asof.figures import Group, sum_lanes
from cohorts.asof.lines import Line, PlacedLine
from cohorts.asof.states import TOO_EARLY, State
from cohorts.models import AsOfReport, ConceptVersion, LeakageCheck

#: The parameters that choose a number of a report.
CELL = (
    OpenApiParameter("of", str, enum=["lane", "concept"], description="Without it all kinds."),
    OpenApiParameter("key", str, description="`key` of a group."),
    OpenApiParameter(
        "known",
        str,
        enum=[state.value for state in State],
        description="Without it what a reader of the finished note knows too early.",
    ),
)
_SHOWN = (
    *("public_id", "state", "progress", "reasons", "created_at", "created_by", "study"),
    *("dataset", "label", "source", "hours", "after"),
)


def describe_job(job: AsOfReport | LeakageCheck) -> dict[str, Any]:
    """Return a report, or the rule of a check, with its figures."""
    shown = {name: getattr(job, name) for name in _SHOWN}
    report = job.report or {}
    versions = load_versions(job)
    return {
        **shown,
        "stays": report.get("stays"),
        "without": report.get("without"),
        "groups": [
            {
                "of": group.kind,
                "key": _public_key(group, versions),
                "words": group.words,
                "counts": group.counts,
                "too_early": group.too_early,
            }
            for group in load_groups(job)
        ],
    }


def load_cell(
    request: Request, page: StudyRequest, job: AsOfReport | LeakageCheck
) -> dict[str, Any]:
    """Return a page of occurrences behind a number; record their cases.

    Raises Http404 for a number that the report lacks, ValidationError.
    """
    groups, versions = load_groups(job), load_versions(job)
    if not groups:
        raise Http404
    wanted = read_choice(request, "of", ["lane", "concept"]) or "all"
    key = request.query_params.get("key", "")
    group = next(
        (
            one
            for one in [*groups, sum_lanes(groups)]
            if (one.kind, _public_key(one, versions)) == (wanted, key)
        ),
        None,
    )
    if group is None:
        raise Http404
    known = read_choice(request, "known", [state.value for state in State])
    states = (State(known),) if known else TOO_EARLY
    total = count_cell(group, states)
    return load_page(request, range(total), partial(_list_cell, page, job, group, states))


def describe_place(placed: PlacedLine) -> dict[str, Any]:
    """Return an occurrence of one of several stays."""
    return {
        **{name: getattr(placed.line, name) for name in Line.__slots__},
        "case": placed.encounter.public_id,
        "case_id": placed.encounter.case_id,
        "hour": placed.hour,
        "sentence": placed.sentence.text if placed.sentence else None,
    }


def _list_cell(
    page: StudyRequest,
    job: AsOfReport | LeakageCheck,
    group: Group,
    states: tuple[State, ...],
    numbers: list[int],
) -> list[dict[str, Any]]:
    if not numbers:
        return []
    lines = open_cell(page, job, group, states, limit=len(numbers), offset=numbers[0])
    return [describe_place(line) for line in lines]


def _public_key(group: Group, versions: Mapping[str, ConceptVersion]) -> str:
    """Return the key of a group; that of a concept is its public id."""
    if group.kind != "concept":
        return group.key
    version = versions.get(group.key)
    return version.concept.public_id if version else ""
