"""The practice round: made-up cases on the reviewer's page.

After each one it shows the right answer and why.
"""

from __future__ import annotations

from django.http import HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from accounts.requests.json_bodies import json_body, read_text
from accounts.scoping import StudyRequest, study_role_required
from adjudication.blinding.page import answer_words, build_item_page
from adjudication.blinding.practice import practice_cases
from adjudication.review.opening import find_own_assignment, handle_refusals
from adjudication.review.practice import answer_practice, find_case, next_practice


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
    last = number == len(practice_cases())
    packet_url = reverse("adjudication:review_packet", args=[public_id])
    context = {
        "mode": "practice",
        "heading": "Practice",
        "item_id": case.item.item,
        "item_url": reverse("adjudication:review_practice_case", args=[public_id, number]),
        "page": build_item_page(case.item),
        "draft": {"answer": ""},
        "commit_words": "Answer",
        "done": number - 1,
        "total": len(practice_cases()),
        "left_words": "",
        "packet_url": packet_url,
        "back_url": packet_url,
        "practice_next": packet_url
        if last
        else reverse("adjudication:review_practice_case", args=[public_id, number + 1]),
        "practice_next_words": "Done" if last else "Next case",
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
    return JsonResponse(
        {"right": right, "answer": case.answer, "title": title, "explanation": case.explanation}
    )
