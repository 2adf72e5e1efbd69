"""Searches for differences in the API, for the assigned person only."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from rest_framework.request import Request

from accounts.api_access.access import read_body, require_person
from accounts.permissions import NotAllowed
from adjudication.api.review import bodies
from adjudication.api.review.views import (
    ReviewView,
    require_assignment,
    review_operation,
)
from adjudication.models import Assignment, PairSearch
from adjudication.review.practice import FIRST_PRACTICE
from adjudication.review.search_rows import load_sides
from adjudication.review.search_steps import make_listed, show_listed
from adjudication.review.searches import (
    add_difference,
    find_own_search,
    read_listed,
    remove_difference,
    submit_search,
)
from adjudication.review.trail import record_search


class Searches(ReviewView):
    @review_operation("review_search_list", bodies.ReviewSearch, many=True)
    def get(self, request: Request, public_id: str) -> list[PairSearch]:
        """Return your searches; items open after all are submitted."""
        mine = require_assignment(request, public_id).searches
        return list(mine.select_related("submission").order_by("pk"))


class SearchOne(ReviewView):
    @review_operation("review_search", bodies.ReviewSearchDetail)
    def get(self, request: Request, public_id: str, search_id: str) -> dict[str, Any]:
        """Return both timelines, the note, and what you have listed so far."""
        assignment, search = _find(request, public_id, search_id)
        return _describe(assignment, search)


class Differences(ReviewView):
    @review_operation(
        "review_search_add",
        bodies.ReviewSearchDetail,
        refuses=(409, 422),
        takes=bodies.NewDifference,
        status=HTTPStatus.CREATED,
    )
    def post(self, request: Request, public_id: str, search_id: str) -> dict[str, Any]:
        """List a difference."""
        assignment, search = _find(request, public_id, search_id)
        listed = make_listed(
            load_sides(assignment, search), **read_body(bodies.NewDifference, request)
        )
        add_difference(search=search, listed=listed, by=require_person(request))
        return _describe(*_find(request, public_id, search_id))


class DifferenceOne(ReviewView):
    @review_operation("review_search_remove", None, refuses=(409, 422))
    def delete(self, request: Request, public_id: str, search_id: str, number: int) -> None:
        """Remove a listed difference; `number` counts from 1."""
        _, search = _find(request, public_id, search_id)
        remove_difference(search=search, number=number, by=require_person(request))


class Submit(ReviewView):
    @review_operation("review_search_submit", bodies.ReviewSearchDetail, refuses=(409, 422))
    def post(self, request: Request, public_id: str, search_id: str) -> dict[str, Any]:
        """Submit the search. It is a link of the chain and cannot change."""
        _, search = _find(request, public_id, search_id)
        submit_search(search=search, by=require_person(request))
        return _describe(*_find(request, public_id, search_id))


def _find(request: Request, public_id: str, search_id: str) -> tuple[Assignment, PairSearch]:
    """Return a search of the person. Raises Http404, NotAllowed."""
    assignment = require_assignment(request, public_id)
    search = find_own_search(assignment, search_id)
    if not assignment.practised:
        raise NotAllowed(FIRST_PRACTICE)
    return assignment, search


def _describe(assignment: Assignment, search: PairSearch) -> dict[str, Any]:
    """Return what the person may see; the audit trail records it."""
    sides = load_sides(assignment, search)
    record_search(assignment=assignment, search=search)
    link = search.submission
    listed = read_listed(link.detail["differences"] if link else search.draft)
    return {
        "search": search,
        "note": sides.note,
        "a": sides.left,
        "b": sides.right,
        "listed": [show_listed(one, sides) for one in listed],
    }
