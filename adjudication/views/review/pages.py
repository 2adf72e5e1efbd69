"""The reviewer's pages: my review, one packet, one item, my answers.

Everything on them comes from `visibility`.
"""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET

from accounts.permissions import NotAllowed
from accounts.scoping import StudyRequest, study_role_required
from adjudication.access.eligibility import find_assignments, load_visibility
from adjudication.access.exposure import record_reveal
from adjudication.blinding.practice import practice_cases
from adjudication.models import Assignment, Decision, Packet
from adjudication.review import slots
from adjudication.review.history import CLINICIAN, load_own_answers
from adjudication.review.opening import (
    CANNOT_BE_SHOWN,
    closed_words,
    find_own_assignment,
    find_own_item,
    item_context,
    progress_words,
)
from adjudication.review.practice import check_practised
from adjudication.review.trail import record_answers
from adjudication.states import InvalidTransition
from timelines.runs.storage import NoteChanged

ELSEWHERE = "Other reviewers are working on the remaining items. Undecided items come back to you."


@require_GET
@study_role_required()
def review_queue(request: StudyRequest) -> HttpResponse:
    """List the packets that this person is assigned to, open ones first."""
    mine = [
        a
        for a in find_assignments(request.user, request.study)
        if a.packet.state != Packet.State.DRAFT
    ]
    return render(
        request,
        "adjudication/review/queue.html",
        {"lines": [(a, progress_words(slots.progress(assignment=a))) for a in mine]},
    )


@require_GET
@study_role_required()
def review_guidelines(request: StudyRequest) -> HttpResponse:
    """Explain the answers of each question, with examples."""
    return render(request, "adjudication/review/guidelines.html")


@require_GET
@study_role_required()
def review_packet(request: StudyRequest, public_id: str) -> HttpResponse:
    """Show one packet from practice to signature: what is done and what next."""
    assignment = find_own_assignment(request, public_id)
    progress = slots.progress(assignment=assignment)
    own = Decision.objects.filter(assignment=assignment)
    context = {
        "assignment": assignment,
        "packet": assignment.packet,
        "is_open": assignment.packet.state == Packet.State.OPEN,
        "progress": progress_words(progress),
        "complete": progress.complete,
        "practice": len(practice_cases()),
        "searches": list(assignment.searches.all()),
        "searched": not assignment.searches.filter(submission__isnull=True).exists(),
        "guessed": own.filter(kind=Decision.Kind.GUESS, detail__question=CLINICIAN).exists(),
        "signature": own.filter(kind=Decision.Kind.SIGN).order_by("-sequence").first()
        if assignment.signed_at
        else None,
        "revealed": load_visibility(request.user, assignment.packet).judge,
    }
    return render(request, "adjudication/review/packet.html", context)


@require_GET
@study_role_required()
def review_item(request: StudyRequest, public_id: str) -> HttpResponseBase:
    """Show the item in work, or the next one.

    Redirects to the packet's page if there is none, or if practice comes first.
    """
    assignment = find_own_assignment(request, public_id)
    try:
        check_practised(assignment)
        slot = slots.next_item(assignment=assignment)
        if slot is None:
            if slots.progress(assignment=assignment).elsewhere:
                messages.info(request, ELSEWHERE)
            return redirect("adjudication:review_packet", public_id)
        return _page(request, assignment, item_context(assignment, slot.item))
    except (NotAllowed, InvalidTransition, NoteChanged) as error:
        return _redirect_with_reason(request, public_id, error)


@require_GET
@study_role_required()
def review_chosen(request: StudyRequest, public_id: str, item_id: str) -> HttpResponseBase:
    """Show one item of the person's own choice.

    A decided one can be amended; another is leased if it is still available.
    """
    assignment = find_own_assignment(request, public_id)
    item = find_own_item(assignment, item_id)
    try:
        check_practised(assignment)
        slots.check_can_decide(assignment)
        slot = slots.find_slot(assignment=assignment, item=item)
        decided = slot.decision if slot else None
        if decided is None and slots.claim(assignment=assignment, item=item) is None:
            messages.info(request, "Another reviewer has this item now.")
            return redirect("adjudication:review_packet", public_id)
        return _page(request, assignment, item_context(assignment, item, decided))
    except (NotAllowed, InvalidTransition, NoteChanged) as error:
        return _redirect_with_reason(request, public_id, error)


@require_GET
@study_role_required()
def review_history(request: StudyRequest, public_id: str) -> HttpResponse:
    """List my answers, each with a link to change it while the packet is open.

    The judge's answers are beside them if the policy reveals them.
    """
    assignment = find_own_assignment(request, public_id)
    may = load_visibility(request.user, assignment.packet)
    lines = load_own_answers(assignment, may)
    judged = [line for line in lines if line.upheld is not None]
    if judged:
        record_reveal(user=request.user, packet=assignment.packet, page="own answers")
    record_answers(assignment=assignment)
    context = {
        "assignment": assignment,
        "packet": assignment.packet,
        "lines": lines,
        "may_change": assignment.packet.state == Packet.State.OPEN and assignment.signed_at is None,
        "revealed": may.judge,
        "upheld": sum(bool(line.upheld) for line in judged),
    }
    return render(request, "adjudication/review/history.html", context)


def _page(request: StudyRequest, assignment: Assignment, item: dict[str, Any]) -> HttpResponse:
    progress = progress_words(slots.progress(assignment=assignment))
    back = "adjudication:review_history" if item["decided"] else "adjudication:review_packet"
    context = {
        **item,
        "mode": "review",
        "heading": assignment.packet.label,
        "done": progress["done"],
        "total": progress["total"],
        "left_words": progress["left"],
        "packet_url": reverse("adjudication:review_packet", args=[assignment.public_id]),
        "next_url": reverse("adjudication:review_next", args=[assignment.public_id]),
        "undo_url": reverse("adjudication:review_undo", args=[assignment.public_id]),
        "back_url": reverse(back, args=[assignment.public_id]),
    }
    return render(request, "adjudication/review/item.html", context)


def _redirect_with_reason(
    request: StudyRequest, public_id: str, error: Exception
) -> HttpResponseBase:
    """Redirect to the packet's page, with the reason as a message."""
    words = (
        closed_words(error)
        if isinstance(error, InvalidTransition)
        else CANNOT_BE_SHOWN
        if isinstance(error, NoteChanged)
        else str(error)
    )
    messages.info(request, words)
    return redirect("adjudication:review_packet", public_id)
