"""The practice round: made-up cases on the reviewer's page.

After each one it shows the right answer and why.
"""

from __future__ import annotations

from django.http import HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from accounts.requests.json_bodies import BadBody, json_body, read_text
from accounts.scoping import StudyRequest, study_role_required
from adjudication.blinding.page import answer_words, build_item_page
from adjudication.blinding.practice import practice_cases
from adjudication.models import Assignment
from adjudication.review.opening import find_own_assignment, handle_refusals
from adjudication.review.practice import (
    answer_practice,
    find_answered,
    find_case,
    flag_practice,
    load_practice_state,
    next_practice,
    skip_practice,
    undo_practice,
)


@require_GET
@study_role_required()
def review_practice(request: StudyRequest, public_id: str) -> HttpResponseBase:
    """Redirect to the first unanswered case, or again to the first."""
    assignment = find_own_assignment(request, public_id)
    return redirect("adjudication:review_practice_case", public_id, next_practice(assignment) or 1)


@require_GET
@study_role_required()
def review_practice_case(request: StudyRequest, public_id: str, number: int) -> HttpResponse:
    """Show one case of the round."""
    assignment = find_own_assignment(request, public_id)
    case = find_case(number)
    state = load_practice_state(assignment, number)
    done = find_answered(assignment)
    packet_url = reverse("adjudication:review_packet", args=[public_id])
    context = {
        "mode": "practice",
        "heading": "Practice",
        "item_id": case.item.item,
        "item_url": reverse("adjudication:review_practice_case", args=[public_id, number]),
        "page": build_item_page(case.item),
        "draft": {"answer": "" if state.answered else state.answer},
        "flagged": state.flagged,
        "undo_url": reverse("adjudication:review_practice_undo", args=[public_id]),
        "commit_words": "Answer",
        "done": len(done),
        "total": len(practice_cases()),
        "left_words": "",
        "packet_url": packet_url,
        "back_url": packet_url,
    }
    return render(request, "adjudication/review/item.html", {**context, "assignment": assignment})


@require_POST
@study_role_required()
@handle_refusals
def review_practice_decide(request: StudyRequest, public_id: str, number: int) -> HttpResponseBase:
    """Store the answer; return the right one and why."""
    assignment = find_own_assignment(request, public_id)
    case = find_case(number)
    right = answer_practice(
        assignment=assignment,
        number=number,
        answer=read_text(json_body(request), "answer"),
        by=request.user,
    )
    title = (
        "Right." if right else f"The correct answer is “{answer_words(case.item, case.answer)}”."
    )
    following = next_practice(assignment)
    return JsonResponse(
        {
            "right": right,
            "answer": case.answer,
            "title": title,
            "explanation": case.explanation,
            "next": _address(assignment, following),
            "next_words": "Done" if following is None else "Next case",
        }
    )


@require_POST
@study_role_required()
@handle_refusals
def review_practice_undo(request: StudyRequest, public_id: str) -> HttpResponseBase:
    """Undo the last answer; return the address of its case, "" for none."""
    assignment = find_own_assignment(request, public_id)
    json_body(request)
    number = undo_practice(assignment=assignment, by=request.user)
    return JsonResponse({"next": "" if number is None else _address(assignment, number)})


@require_POST
@study_role_required()
@handle_refusals
def review_practice_skip(request: StudyRequest, public_id: str, number: int) -> HttpResponseBase:
    """Set the case aside; return the address of the next one."""
    assignment = find_own_assignment(request, public_id)
    json_body(request)
    following = skip_practice(assignment=assignment, number=number, by=request.user)
    return JsonResponse({"next": _address(assignment, following)})


@require_POST
@study_role_required()
@handle_refusals
def review_practice_flag(request: StudyRequest, public_id: str, number: int) -> HttpResponseBase:
    """Mark the case, or remove the mark."""
    assignment = find_own_assignment(request, public_id)
    flagged = json_body(request).get("flagged")
    if not isinstance(flagged, bool):
        raise BadBody("flagged must be true or false.")
    flag_practice(assignment=assignment, number=number, flagged=flagged, by=request.user)
    return JsonResponse({})


def _address(assignment: Assignment, number: int | None) -> str:
    """Return the address of a case, of the packet's page for None."""
    if number is None:
        return reverse("adjudication:review_packet", args=[assignment.public_id])
    return reverse("adjudication:review_practice_case", args=[assignment.public_id, number])
