"""Rows of the record for the editor page, JSON in and out.

The picker's search, and in the assisted protocol the suggestions.
"""

from __future__ import annotations

import math
from typing import Any

from django.http import HttpResponseBase, JsonResponse
from django.views.decorators.http import require_GET, require_POST

from accounts.permissions import CASE_READERS, NotAllowed
from accounts.requests.json_bodies import json_body, read_text, refusal
from accounts.scoping import StudyRequest, study_role_required
from ehr.record.clock import clock_of
from timelines.authoring import suggestions as offered
from timelines.authoring.answers import answer_refusals
from timelines.authoring.opening import audit_view, own_authoring
from timelines.authoring.rows import load_rows, row_json, search_rows
from timelines.drafts.values import MOST_ROWS, EditRefused
from timelines.models import AnchorSuggestion, Authoring


@require_POST
@study_role_required(*CASE_READERS)
@answer_refusals
def rows(request: StudyRequest, public_id: str) -> HttpResponseBase:
    """Return rows with all words of `text`, or those of `indices`.

    They are ordered by distance from `near` (hours). The searched text is only in the body.
    """
    authoring = own_authoring(request, public_id)
    encounter = authoring.encounter
    clock = clock_of(encounter)
    body = json_body(request)
    if "indices" in body:
        found, more = load_rows(encounter, _indices(body["indices"])), False
    else:
        found, more = search_rows(encounter, read_text(body, "text"), _near(body.get("near")))
    audit_view(request, authoring, "authoring.rows")
    return JsonResponse({"rows": [row_json(row, clock) for row in found], "more": more})


@require_GET
@study_role_required(*CASE_READERS)
@answer_refusals
def suggestions(request: StudyRequest, public_id: str, uid: str) -> HttpResponseBase:
    """Rows that may date the occurrence; 403 for an unaided timeline."""
    authoring = own_authoring(request, public_id)
    try:
        shown = offered.suggestions(authoring=authoring, uid=uid, by=request.user)
    except NotAllowed as refused:
        return refusal(str(refused), 403)
    audit_view(request, authoring, "authoring.rows", uid4=uid)
    return JsonResponse({"rows": _suggestions_json(authoring, shown)})


@require_POST
@study_role_required(*CASE_READERS)
@answer_refusals
def suggestion(request: StudyRequest, public_id: str, uid: str, row: int) -> HttpResponseBase:
    """Record whether a suggestion is accepted: `{"accept": true}` or false."""
    authoring = own_authoring(request, public_id)
    accept = json_body(request).get("accept")
    if not isinstance(accept, bool):
        raise EditRefused("accept", "Must be true or false.")
    try:
        decided = offered.decide(
            authoring=authoring, uid=uid, row=row, accept=accept, by=request.user
        )
    except NotAllowed as refused:
        return refusal(str(refused), 403)
    return JsonResponse({"row_index": decided.row_index, "state": offered.find_state(decided)})


def _suggestions_json(authoring: Authoring, shown: list[AnchorSuggestion]) -> list[dict[str, Any]]:
    clock = clock_of(authoring.encounter)
    found = {
        row.row_index: row for row in load_rows(authoring.encounter, [s.row_index for s in shown])
    }
    return [
        {
            **row_json(found[s.row_index], clock),
            "rank": s.rank,
            "score": s.score,
            "made_by": s.made_by,
            "state": offered.find_state(s),
        }
        for s in shown
        if s.row_index in found
    ]


def _indices(value: object) -> list[int]:
    if (
        not isinstance(value, list)
        or len(value) > MOST_ROWS
        or not all(type(i) is int and 0 <= i < 2**31 for i in value)
    ):
        raise EditRefused("indices", f"At most {MOST_ROWS} row numbers.")
    return value


def _near(value: object) -> float | None:
    if value is None:
        return None
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not abs(value) < 1e9
        or not math.isfinite(value)
    ):
        raise EditRefused("near", "Must be hours from admission.")
    return float(value)
