"""One result of a window in the API.

Counts, members with evidence, answers, a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from typing import Any

from django.http import Http404
from django.http.response import StreamingHttpResponse
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from accounts.api_access.access import ApiView, read_body, require_person
from accounts.api_access.paging import LIMIT, OFFSET, load_page
from cohorts.api.access import build_study_request, find_in_studies
from cohorts.api.windows import bodies
from cohorts.api.windows.views import list_results, window_operation
from cohorts.exposing import expose
from cohorts.models import WindowMember, WindowResult
from cohorts.windows.counting import (
    changed_since,
    choose_members,
    count_given_up,
    count_table,
    count_yes,
    find_before,
    open_members,
)
from cohorts.windows.evidence import Evidence
from cohorts.windows.files import send_members
from cohorts.windows.lines import MemberLine, make_lines
from cohorts.windows.results import decide_member, update_result
from cohorts.windows.summaries import find_changes
from jobs.actions import cancel, retry
from jobs.models import JobState
from timelines.access.closed import closed_encounters
from timelines.cases.opening import open_case

STEPS: Mapping[str, Any] = {"cancel": cancel, "retry": retry}
SHOW = OpenApiParameter(
    "show",
    str,
    description="`show` of a cell; `changed`: the two sources differ; `since`: differs from the"
    " result before. Without it all.",
)
_SHOWN = (
    *("public_id", "version", "dataset", "first", "second", "state", "progress", "reasons"),
    *("code_revision", "created_at", "created_by"),
)


class WindowResultOne(ApiView):
    @window_operation("window_result", bodies.WindowResultDetail)
    def get(self, request: Request, result_id: str) -> dict[str, Any]:
        """Return a result with its counts. Closed cases are in none."""
        return _describe(request, find_result(request, result_id))


class WindowResultMembers(ApiView):
    @window_operation(
        "window_member_list", bodies.WindowMemberPage, parameters=[SHOW, LIMIT, OFFSET]
    )
    def get(self, request: Request, result_id: str) -> dict[str, Any]:
        """Return members with the sentence and the row of what decides.

        Each case counts as seen by you.
        """
        result = find_result(request, result_id)
        before = find_before(result)
        members = open_members(result, closed_encounters(require_person(request)))
        chosen = choose_members(members, request.query_params.get("show", ""), before)
        return load_page(request, chosen, partial(_list, request, result, before))


class WindowMemberOne(ApiView):
    @window_operation(
        "window_member_answer", bodies.WindowMember, refuses=(422,), takes=bodies.MemberAnswerStart
    )
    def post(self, request: Request, result_id: str, number: int) -> dict[str, Any]:
        """Confirm or override an answer, or withdraw yours and others'."""
        result = find_result(request, result_id)
        members = WindowMember.objects.select_related("encounter", "result__version__window__study")
        member = get_object_or_404(members, result=result, pk=number)
        open_case(build_study_request(request, _study(result)), member.encounter.public_id)
        values = read_body(bodies.MemberAnswerStart, request)
        decide_member(
            member=member,
            status=values["member"],
            reason=values["reason"],
            by=require_person(request),
        )
        (line,) = _list(request, result, find_before(result), [member])
        return line


class WindowResultUpdate(ApiView):
    @window_operation(
        "window_result_update",
        bodies.WindowResult,
        refuses=(422,),
        status=HTTPStatus.CREATED,
        starts=True,
    )
    def post(self, request: Request, result_id: str) -> WindowResult:
        """Evaluate again with current criteria, concepts and corrections."""
        return update_result(result=find_result(request, result_id), by=require_person(request))


class WindowResultAction(ApiView):
    @window_operation(
        "window_result_action",
        bodies.WindowResultDetail,
        refuses=(409,),
        parameters=[OpenApiParameter("action", str, OpenApiParameter.PATH, enum=list(STEPS))],
    )
    def post(self, request: Request, result_id: str, action: str) -> dict[str, Any]:
        """Cancel, or retry what failed or was cancelled."""
        result = find_result(request, result_id)
        if (act := STEPS.get(action)) is None:
            raise Http404
        act(job=result, by=require_person(request), study=_study(result))
        return _describe(request, find_result(request, result_id))


class WindowResultCsv(ApiView):
    @window_operation("window_result_csv", {(200, "text/csv"): OpenApiTypes.STR}, parameters=[SHOW])
    def get(self, request: Request, result_id: str) -> StreamingHttpResponse:
        """Return the members as CSV. Each case counts as seen by you."""
        result = find_result(request, result_id)
        page = build_study_request(request, _study(result))
        return send_members(page, result, request.query_params.get("show", ""))


def find_result(request: Request, result_id: str) -> WindowResult:
    """Return a result of the person's studies. Raises NotAllowed, Http404."""
    return find_in_studies(request, list_results(), result_id, "version__window__study")


def _study(result: WindowResult) -> Any:
    return result.version.window.study


def _describe(request: Request, result: WindowResult) -> dict[str, Any]:
    shown = {name: getattr(result, name) for name in _SHOWN}
    if result.state != JobState.SUCCEEDED:
        empty: dict[str, Any] = {
            "yes": None,
            "cells": [],
            "given_up": 0,
            "before": None,
            "since": 0,
        }
        return {**shown, **empty, "changes": []}
    closed = closed_encounters(require_person(request))
    members, before = open_members(result, closed), find_before(result)
    first, second = count_yes(members)
    cells = [cell for line in count_table(members)[1] for cell in line.cells]
    return {
        **shown,
        "yes": {"first": first, "second": second},
        "cells": [
            {"first": a, "second": b, "count": cell.count, "show": cell.key}
            for cell in cells
            for a, _, b in [cell.key.partition(".")]
        ],
        "given_up": count_given_up(result, closed),
        "before": before.public_id if before else None,
        "since": changed_since(members, before).count() if before else 0,
        "changes": find_changes(result, closed),
    }


def _list(
    request: Request,
    result: WindowResult,
    before: WindowResult | None,
    members: list[WindowMember],
) -> list[dict[str, Any]]:
    """Return members with their evidence, and record their cases."""
    lines = make_lines(result, before, members)
    page = build_study_request(request, _study(result))
    expose(page, [line.encounter.public_id for line in lines])
    return [_describe_line(line) for line in lines]


def _describe_line(line: MemberLine) -> dict[str, Any]:
    member = line.member
    return {
        "number": member.pk,
        "case": line.encounter.public_id,
        "case_id": line.encounter.case_id,
        "title": line.title,
        "first": _describe_side(member.first, member.first_share, line.first.evidence),
        "second": _describe_side(member.second, member.second_share, line.second.evidence),
        "changed": line.changed,
        "was": line.was,
        "answer": line.answer,
    }


def _describe_side(
    status: str, share: float | None, evidence: tuple[Evidence, ...]
) -> dict[str, Any]:
    return {
        "member": status,
        "share": share,
        "evidence": [
            {
                **{name: getattr(one, name) for name in Evidence.__slots__},
                "sentence": one.sentence.text if one.sentence else None,
            }
            for one in evidence
        ],
    }
