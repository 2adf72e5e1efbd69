"""Findings, changes of findings and compared timelines in the API.

They are unblinded; guards and exposure work as on the pages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.http import Http404
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request

from accounts.api_access.access import ApiView, build_page_request, require_person, require_studies
from accounts.api_access.paging import AFTER, LIMIT, read_limit
from adjudication.access.closed import (
    check_judge_run_is_open,
    find_closed_objects,
)
from adjudication.access.exposure import record_exposure
from adjudication.access.games import find_finding
from adjudication.api.access import find_judge_run, find_open_judge_run
from adjudication.api.judging import bodies
from adjudication.api.judging.views import build_choice_parameter, judging_operation
from adjudication.api.paging import load_change_page, load_finding_page
from adjudication.domain import Grounding
from adjudication.findings.changes import Change, ChangeFilter, Changes
from adjudication.findings.compare import build_compare_rows, label_choices
from adjudication.findings.evidence import FindingDetail, finding_detail
from adjudication.findings.listing import (
    RERUNS,
    SIZES,
    TYPES,
    VERDICTS,
    FindingFilter,
    finding_line,
)
from adjudication.findings.pages import IN_GAMES, FindingPages
from adjudication.findings.pair_choice import choose_pair, choose_run, find_pair_runs
from adjudication.scoring.errors import Category
from ehr.record.clock import clock_of
from timelines.access.authoring import hidden_timelines
from timelines.cases.choices import load_choices
from timelines.cases.opening import open_case
from timelines.runs.stay_text import read_texts

FILTERS = [
    build_choice_parameter("type", TYPES, "Kind of difference."),
    build_choice_parameter("verdict", VERDICTS, "The judge's verdict; `decisive`: for one side."),
    build_choice_parameter("grounding", Grounding, "The evidence for it."),
    build_choice_parameter("category", Category, "Which error is charged."),
    build_choice_parameter("size", SIZES, "Difference between both times."),
    build_choice_parameter("rerun", RERUNS, "Which positions; first ones by default."),
    OpenApiParameter(
        "source", int, description="Number of a source of the run, from 0: findings of its games."
    ),
    OpenApiParameter(
        "charged",
        int,
        description="Number of a source of the run, from 0: findings that it is charged with.",
    ),
    OpenApiParameter("flagged", str, enum=["1"], description="Only those within tolerance."),
    OpenApiParameter("case", str, description="Public id of a case."),
]
_FILTERED = ("type", "verdict", "grounding", "category", "size", "rerun", "source", "charged")


class Findings(ApiView):
    @judging_operation(
        "finding_list",
        bodies.FindingPage,
        parameters=[*FILTERS, LIMIT, AFTER],
    )
    def get(self, request: Request, run_id: str) -> dict[str, Any]:
        """Return findings of one judge run, game by game.

        Those of cases that are closed to you are left out.
        """
        run, closed = find_open_judge_run(request, run_id)
        asked = {name: str(value) for name, value in request.query_params.items()}
        wanted = FindingFilter.from_query(asked, len(run.sources))
        _check_known(asked, {name: getattr(wanted, name) for name in _FILTERED})
        pages = FindingPages(run, replace(wanted, sort=IN_GAMES), closed)
        found, after = load_finding_page(pages, asked.get("after", ""), read_limit(request))
        lines = [finding_line(f) for f in found]
        record_exposure(
            user=require_person(request),
            encounters={line.game.comparison.encounter for line in lines},
            page="findings",
        )
        return {"next": after, "results": lines}


class FindingOne(ApiView):
    @judging_operation("finding", bodies.FindingDetail, refuses=(409,))
    def get(self, request: Request, finding_id: str) -> FindingDetail:
        """Return one finding with all its evidence.

        It has the quote in the note, the cited series, and both timelines around it.
        """
        require_studies(request)
        found = find_finding(build_page_request(request), finding_id)
        encounter = found.game.comparison.encounter
        detail = finding_detail(found, encounter)
        record_exposure(user=require_person(request), encounters=[encounter], page="finding")
        return detail


class JudgeRunChanges(ApiView):
    @judging_operation(
        "judge_run_changes",
        bodies.Changes,
        parameters=[
            build_choice_parameter(
                "change", Change, "Only these changes. Default: every change but `same`."
            ),
            build_choice_parameter("type", TYPES, "Kind of difference."),
            LIMIT,
            AFTER,
        ],
    )
    def get(self, request: Request, run_id: str, later_id: str) -> dict[str, Any]:
        """Compare the findings of two runs, subject by subject, if both judged."""
        earlier, later = find_judge_run(request, run_id), find_judge_run(request, later_id)
        if earlier.pk == later.pk or earlier.study_id != later.study_id:
            raise Http404
        wanted = ChangeFilter.from_query(asked := request.query_params.dict())
        _check_known(asked, {"change": wanted.change, "type": wanted.type})
        closed = find_closed_objects(require_person(request))
        for run in (earlier, later):
            check_judge_run_is_open(run, closed)
        changes = Changes(earlier, later, closed, wanted)
        after = asked.get("after", "")
        lines, following = load_change_page(changes, (earlier, later), after, read_limit(request))
        seen = {line.either.game.comparison.encounter for line in lines}
        record_exposure(user=require_person(request), encounters=seen, page="judge changes")
        return {
            "comparisons": None if after else changes.comparisons(),
            "counts": None if after else changes.counts(),
            "next": following,
            "results": lines,
        }


class CaseComparison(ApiView):
    @judging_operation(
        "case_comparison",
        bodies.Comparison,
        refuses=(409,),
        parameters=[
            OpenApiParameter(
                "a", str, description="Public id of a timeline of the case; by default its first."
            ),
            OpenApiParameter(
                "b",
                str,
                description="Public id of the second timeline. Default: the reference, else another one.",
            ),
            OpenApiParameter(
                "run",
                str,
                description=(
                    "Public id of a judge run, or `none`; by default the newest that judged them."
                ),
            ),
        ],
    )
    def get(self, request: Request, case_id: str) -> dict[str, Any]:
        """Return both timelines of one case as one list of rows.

        Rows have a judge run's findings. 404 if the case has fewer than two timelines.
        """
        require_studies(request)
        page = build_page_request(request)
        encounter = open_case(page, case_id)
        choices = load_choices(encounter, hidden=hidden_timelines(page.user, encounter))
        labels = label_choices(choices)
        if len(labels) < 2:
            raise Http404
        a, b = choose_pair(page, choices, labels)
        runs = find_pair_runs(page, encounter, a, b)
        run = choose_run(page, runs)
        text = read_texts(encounter, (a.inventory_id, b.inventory_id))
        record_exposure(user=page.user, encounters=[encounter], page="comparison")
        names = {choice.public_id: label for choice, label in labels}
        return {
            "case": encounter.public_id,
            "timelines": [{"id": key, "label": label} for key, label in names.items()],
            "a": {"id": a.public_id, "label": names[a.public_id]},
            "b": {"id": b.public_id, "label": names[b.public_id]},
            "runs": [r.public_id for r in runs],
            "run": run.public_id if run else None,
            "rows": build_compare_rows(a, b, run, clock_of(encounter), text),
        }


def _check_known(asked: Mapping[str, str], understood: Mapping[str, str]) -> None:
    """Raise ValidationError for an unknown filter: it would show everything."""
    if unknown := {
        name: ["Unknown value."]
        for name, value in understood.items()
        if asked.get(name, "") != value
    }:
        raise serializers.ValidationError(unknown)
