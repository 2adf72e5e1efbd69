"""The page on which a reviewer searches two timelines for differences.

It needs no script: each step is a form.
"""

from __future__ import annotations

from dataclasses import dataclass

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
from adjudication.review.search_rows import ListedRow, SearchSides, load_sides
from adjudication.review.searches import (
    Listed,
    add_difference,
    find_own_search,
    read_listed,
    remove_difference,
    submit_search,
)
from adjudication.review.trail import record_search
from adjudication.searching.matching import Kind
from adjudication.states import InvalidTransition
from timelines.runs.storage import NoteChanged

#: Kinds by their names on the page, which are not those of findings, and in words.
KINDS = (
    ("only", Kind.ONE_SIDED, "only one timeline has this event"),
    ("times", Kind.TIMING, "the times differ"),
    ("details", Kind.VALUE, "values or details differ"),
    ("twice", Kind.DUPLICATE, "one timeline has this event twice"),
    ("neither", Kind.SHARED_UNSUPPORTED, "both have it, and note and record do not support it"),
)
_BY_NAME = {name: str(kind) for name, kind, _ in KINDS}
_WORDS = {kind: words for _, kind, words in KINDS}


@dataclass(frozen=True, slots=True)
class ShownDifference:
    """A listed difference in the labels of the page."""

    kind: str
    a: ListedRow | None
    b: ListedRow | None
    time: str
    words: str


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
    context = {
        "assignment": assignment,
        "packet": assignment.packet,
        "search": search,
        "note": render_marked_note(sides.note, ()),
        "sides": {"A": sides.left, "B": sides.right},
        "listed": [_show(one, sides) for one in listed],
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
    """Read the form; its A and B become the judge's. Raises DecisionRefused."""
    left = _entry(sides.left, "A", _number(request, "a"))
    right = _entry(sides.right, "B", _number(request, "b"))
    a, b = (right, left) if sides.swapped else (left, right)
    return Listed(
        _BY_NAME.get(request.POST.get("kind", ""), ""),
        a,
        b,
        _hours(request),
        request.POST.get("words", "").strip(),
    )


def _entry(rows: tuple[ListedRow, ...], label: str, number: int | None) -> int | None:
    if number is None:
        return None
    if not 1 <= number <= len(rows):
        raise DecisionRefused(f"Timeline {label} has no row {number}.")
    return rows[number - 1].entry


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


def _show(listed: Listed, sides: SearchSides) -> ShownDifference:
    rows = {row.entry: row for row in (*sides.left, *sides.right)}
    a, b = (None if entry is None else rows.get(entry) for entry in (listed.a, listed.b))
    if sides.swapped:
        a, b = b, a
    return ShownDifference(
        _WORDS[Kind(listed.kind)], a, b, format_entered_hours(listed.time), listed.words
    )
