"""Steps that the review page sends, as POST with JSON.

Each has its own token and is sent again until it is answered.
"""

from __future__ import annotations

import math
from typing import Any

from django.http import HttpResponseBase, JsonResponse
from django.template.loader import render_to_string
from django.views.decorators.http import require_POST

from accounts.requests.json_bodies import BadBody, json_body, read_text
from accounts.scoping import StudyRequest, study_role_required
from adjudication.blinding.page import build_record_lines
from adjudication.models import Assignment, PacketItem
from adjudication.review import decisions, slots
from adjudication.review.items import blind_timelines, load_blinded_rows, load_clock
from adjudication.review.notes import write_note
from adjudication.review.opening import (
    TypedAnswer,
    find_own_assignment,
    find_own_item,
    handle_refusals,
    item_html,
    progress_json,
)
from adjudication.review.practice import check_practised
from adjudication.review.trail import ROWS, TIMELINES, record_item


@require_POST
@study_role_required()
@handle_refusals
def review_next(request: StudyRequest, public_id: str) -> HttpResponseBase:
    """Lease the item after those that the page has.

    Responds with its `html` and the progress; with the progress only if none is left.
    """
    assignment = find_own_assignment(request, public_id)
    check_practised(assignment)
    slot = slots.next_item(assignment=assignment, besides=_read_item_ids(json_body(request)))
    html = {} if slot is None else {"html": item_html(assignment, slot.item)}
    return JsonResponse({**html, "progress": progress_json(assignment)})


@require_POST
@study_role_required()
@handle_refusals
def review_decide(request: StudyRequest, public_id: str, item_id: str) -> HttpResponseBase:
    """Store an answer, or with `expects` replace that decision.

    `late`: stored, but it does not count.
    """
    assignment = find_own_assignment(request, public_id, withdrawn=True)
    item = find_own_item(assignment, item_id)
    check_practised(assignment)
    body = json_body(request)
    typed = _read_answer(body, assignment, item)
    values = {**typed.arguments(), "by": request.user, "token": read_text(body, "token")}
    expects = read_text(body, "expects")
    made = decisions.amend(expects=expects, **values) if expects else decisions.decide(**values)
    return JsonResponse({"late": made.late, "progress": progress_json(assignment)})


@require_POST
@study_role_required()
@handle_refusals
def review_draft(request: StudyRequest, public_id: str, item_id: str) -> HttpResponseBase:
    """Store the draft. `assigned`: whether the person still has the item."""
    assignment = find_own_assignment(request, public_id)
    item = find_own_item(assignment, item_id)
    check_practised(assignment)
    typed = _read_answer(json_body(request), assignment, item)
    return JsonResponse({"assigned": typed.save_draft()})


@require_POST
@study_role_required()
@handle_refusals
def review_skip(request: StudyRequest, public_id: str, item_id: str) -> HttpResponseBase:
    """Set the item aside with what was typed; it comes again after all others."""
    assignment = find_own_assignment(request, public_id)
    item = find_own_item(assignment, item_id)
    check_practised(assignment)
    _read_answer(json_body(request), assignment, item).save_draft()
    slots.skip(assignment=assignment, item=item)
    return JsonResponse({"progress": progress_json(assignment)})


@require_POST
@study_role_required()
@handle_refusals
def review_flag(request: StudyRequest, public_id: str, item_id: str) -> HttpResponseBase:
    """Mark the item for a second look, or remove the mark."""
    assignment = find_own_assignment(request, public_id)
    item = find_own_item(assignment, item_id)
    flagged = json_body(request).get("flagged")
    if not isinstance(flagged, bool):
        raise BadBody("flagged must be true or false.")
    slots.flag(assignment=assignment, item=item, flagged=flagged)
    return JsonResponse({"progress": progress_json(assignment)})


@require_POST
@study_role_required()
@handle_refusals
def review_note(request: StudyRequest, public_id: str, item_id: str) -> HttpResponseBase:
    """Store a note to the study admin about the item."""
    assignment = find_own_assignment(request, public_id)
    item = find_own_item(assignment, item_id)
    check_practised(assignment)
    body = json_body(request)
    write_note(
        assignment=assignment,
        item=item,
        text=read_text(body, "text"),
        token=read_text(body, "token"),
        by=request.user,
    )
    return JsonResponse({"progress": progress_json(assignment)})


@require_POST
@study_role_required()
@handle_refusals
def review_undo(request: StudyRequest, public_id: str) -> HttpResponseBase:
    """Withdraw the last answer.

    Responds with `html` of its item and the earlier choice; with the progress only if there is
    none.
    """
    assignment = find_own_assignment(request, public_id)
    check_practised(assignment)
    undone = decisions.undo(
        assignment=assignment, token=read_text(json_body(request), "token"), by=request.user
    )
    item = undone.undone.item if undone else None
    html = {} if item is None else {"html": item_html(assignment, item)}
    return JsonResponse({**html, "progress": progress_json(assignment)})


@require_POST
@study_role_required()
@handle_refusals
def review_series(
    request: StudyRequest, public_id: str, item_id: str, number: int
) -> HttpResponseBase:
    """Return all rows of one series of the record for an item."""
    assignment = find_own_assignment(request, public_id)
    item = find_own_item(assignment, item_id)
    check_practised(assignment)
    clock = load_clock(item.finding.game.comparison.encounter)
    rows = build_record_lines(load_blinded_rows(item=item, number=number), clock)
    record_item(assignment=assignment, item=item, action=ROWS, series=number)
    return JsonResponse(
        {
            "html": render_to_string(
                "adjudication/review/_rows.html", {"rows": rows, "more": len(rows)}
            )
        }
    )


@require_POST
@study_role_required()
@handle_refusals
def review_timelines(request: StudyRequest, public_id: str, item_id: str) -> HttpResponseBase:
    """Return both whole timelines of an item; the trail records the request."""
    assignment = find_own_assignment(request, public_id)
    item = find_own_item(assignment, item_id)
    check_practised(assignment)
    a, b = blind_timelines(assignment=assignment, item=item)
    record_item(assignment=assignment, item=item, action=TIMELINES)
    html = render_to_string("adjudication/review/_timelines.html", {"sides": {"A": a, "B": b}})
    return JsonResponse({"html": html})


def _read_item_ids(body: dict[str, Any]) -> list[str]:
    """Return public ids of the items that the page already has.

    Raises BadBody.
    """
    found = body.get("besides", [])
    if (
        isinstance(found, list)
        and len(found) <= slots.MOST_IN_HAND
        and all(isinstance(one, str) and "\x00" not in one for one in found)
    ):
        return found
    raise BadBody("besides must be a short list of items.")


def _read_answer(body: dict[str, Any], assignment: Assignment, item: PacketItem) -> TypedAnswer:
    """Read the page's values; A and B become the judge's. Raises BadBody."""
    flagged = body.get("flagged", False)
    if not isinstance(flagged, bool):
        raise BadBody("flagged must be true or false.")
    return TypedAnswer.from_shown(
        assignment,
        item,
        answer=read_text(body, "answer"),
        own_time=_number(body, "own_time"),
        comment=read_text(body, "comment"),
        flagged=flagged,
        active_seconds=min(max(_number(body, "active_seconds") or 0.0, 0.0), slots.LONGEST_ACTIVE),
    )


def _number(body: dict[str, Any], name: str) -> float | None:
    found = body.get(name)
    if found is None:
        return None
    try:
        if not isinstance(found, bool) and isinstance(found, int | float) and math.isfinite(found):
            return float(found)
    except OverflowError:
        pass  # a whole number beyond any float is refused like the others
    raise BadBody(f"{name} must be a number.")
