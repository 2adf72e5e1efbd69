"""The page on which a reviewer searches two timelines for differences.

It needs no script: each step is a form.
"""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from accounts.permissions import NotAllowed
from accounts.scoping import StudyRequest, study_role_required
from adjudication.blinding.page import format_entered_hours, render_marked_note
from adjudication.models import PairSearch
from adjudication.review.decisions import DecisionRefused
from adjudication.review.opening import CANNOT_BE_SHOWN, closed_words, find_own_assignment
from adjudication.review.practice import FIRST_PRACTICE
from adjudication.review.search_rows import SearchSides, load_sides
from adjudication.review.search_steps import KINDS, make_listed, show_listed
from adjudication.review.searches import (
    Listed,
    add_difference,
    find_own_search,
    read_listed,
    remove_difference,
    submit_search,
)
from adjudication.review.trail import record_search
from adjudication.states import InvalidTransition
from timelines.runs.storage import NoteChanged


@require_http_methods(["GET", "POST"])
@study_role_required()
def review_search(request: StudyRequest, public_id: str, search_id: str) -> HttpResponseBase:
    """Show both timelines and the differences listed so far; store a step."""
    assignment = find_own_assignment(request, public_id)
    search = find_own_search(assignment, search_id)
    if not assignment.practised:
        messages.info(request, FIRST_PRACTICE)
        return redirect("adjudication:review_packet", public_id)
    try:
        sides = load_sides(assignment, search)
        if request.method == "POST":
            return _step(request, public_id, search, sides)
    except NoteChanged:
        messages.error(request, CANNOT_BE_SHOWN)
        return redirect("adjudication:review_packet", public_id)
    record_search(assignment=assignment, search=search)
    link = search.submission
    listed = read_listed(link.detail["differences"] if link else search.draft)
    shown = [show_listed(one, sides) for one in listed]
    context = {
        "assignment": assignment,
        "packet": assignment.packet,
        "search": search,
        "note": render_marked_note(sides.note, ()),
        "sides": {"A": sides.left, "B": sides.right},
        "listed": [(one, format_entered_hours(one.time)) for one in shown],
        "kinds": [(name, words) for name, _, words in KINDS],
    }
    return render(request, "adjudication/review/search.html", context)


def _step(
    request: StudyRequest, public_id: str, search: PairSearch, sides: SearchSides
) -> HttpResponseBase:
    do = request.POST.get("do")
    try:
        if do == "submit":
            submit_search(search=search, by=request.user)
            messages.success(request, "Your search is submitted. Thank you.")
            return redirect("adjudication:review_packet", public_id)
        if do == "remove":
            number = _number(request, "number") or 0
            remove_difference(search=search, number=number, by=request.user)
        else:
            add_difference(search=search, listed=_read(request, sides), by=request.user)
    except (DecisionRefused, NotAllowed) as refused:
        messages.error(request, str(refused))
    except InvalidTransition as refused:
        messages.error(request, closed_words(refused))
    return redirect("adjudication:review_search", public_id, search.public_id)


def _read(request: StudyRequest, sides: SearchSides) -> Listed:
    """Read the form. Raises DecisionRefused."""
    return make_listed(
        sides,
        request.POST.get("kind", ""),
        _number(request, "a"),
        _number(request, "b"),
        _hours(request),
        request.POST.get("words", ""),
    )


def _number(request: StudyRequest, name: str) -> int | None:
    text = request.POST.get(name, "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 7):
        raise DecisionRefused("Enter the number of a row.")
    return int(text)


def _hours(request: StudyRequest) -> float | None:
    text = request.POST.get("time", "").strip().replace("−", "-").removesuffix("h").strip()
    try:
        return float(text) if text else None
    except ValueError:
        raise DecisionRefused("Enter your own time as hours from admission: −72 or 6.5.") from None
