"""Practice, blinding check, signature and receipt in the API."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.http import Http404
from rest_framework.request import Request

from accounts.api_access.access import build_page_request, read_body, require_person
from accounts.api_access.errors import Refusal
from adjudication.api.review import bodies
from adjudication.api.review.views import (
    ReviewView,
    describe_progress,
    require_assignment,
    review_operation,
)
from adjudication.blinding.practice import PracticeCase, practice_cases
from adjudication.models import Assignment, Decision
from adjudication.review import decisions
from adjudication.review.history import GuessLine, load_guess_lines
from adjudication.review.opening import CHECK_LATER, find_signature, may_guess, store_guess
from adjudication.review.practice import answer_practice, find_answered, find_case
from adjudication.review.trail import record_answers


class Practice(ReviewView):
    @review_operation("review_practice_list", bodies.PracticeLine, many=True)
    def get(self, request: Request, public_id: str) -> list[dict[str, Any]]:
        """Return the practice cases, and which you have answered.

        Items come after all are.
        """
        done = find_answered(require_assignment(request, public_id))
        return [
            {"number": case.number, "answered": case.number in done} for case in practice_cases()
        ]


class PracticeOne(ReviewView):
    @review_operation("review_practice", bodies.PracticeCase)
    def get(self, request: Request, public_id: str, number: int) -> PracticeCase:
        """Return one practice case, like an item."""
        require_assignment(request, public_id)
        return find_case(number)

    @review_operation(
        "review_practice_answer",
        bodies.PracticeAnswer,
        refuses=(422,),
        takes=bodies.PracticeRequest,
    )
    def post(self, request: Request, public_id: str, number: int) -> dict[str, Any]:
        """Answer a practice case. Returns the right answer and why."""
        assignment, case = require_assignment(request, public_id), find_case(number)
        answer = read_body(bodies.PracticeRequest, request)["answer"]
        right = answer_practice(
            assignment=assignment, number=number, answer=answer, by=require_person(request)
        )
        return {"right": right, "answer": case.answer, "explanation": case.explanation}


class BlindingCheck(ReviewView):
    @review_operation("review_check", bodies.Guess, refuses=(409,), many=True)
    def get(self, request: Request, public_id: str) -> list[GuessLine]:
        """Return items of the blinding check.

        Available once all items are decided, while the packet is open.
        """
        assignment = _finished_assignment(request, public_id)
        record_answers(assignment=assignment)
        return load_guess_lines(assignment)

    @review_operation("review_guess", None, refuses=(409, 422), takes=bodies.GuessRequest)
    def post(self, request: Request, public_id: str) -> None:
        """Store a guess; a later one on the same item replaces it."""
        assignment = _finished_assignment(request, public_id)
        values = read_body(bodies.GuessRequest, request)
        if values["item"] not in {line.item for line in load_guess_lines(assignment)}:
            raise Http404
        store_guess(
            assignment=assignment,
            item_id=values["item"],
            guess=values["guess"],
            token=values["token"],
            by=require_person(request),
        )


class Sign(ReviewView):
    @review_operation("review_sign", bodies.Receipt, refuses=(409, 429), takes=bodies.SignRequest)
    def post(self, request: Request, public_id: str) -> Decision:
        """Sign your review with your password.

        409 `not_finished` if items are left, 403 `wrong_password`, 429 after too many attempts.
        """
        assignment = require_assignment(request, public_id)
        password = read_body(bodies.SignRequest, request)["password"]
        decisions.sign(
            assignment=assignment,
            password=password,
            by=require_person(request),
            request=build_page_request(request),
        )
        assignment.refresh_from_db()
        return find_signature(assignment)


class Unsign(ReviewView):
    @review_operation(
        "review_unsign", bodies.Review, refuses=(409, 422), takes=bodies.UnsignRequest
    )
    def post(self, request: Request, public_id: str) -> dict[str, Any]:
        """Withdraw your signature, with a reason; both stay in the chain."""
        assignment = require_assignment(request, public_id)
        reason = read_body(bodies.UnsignRequest, request)["reason"]
        decisions.unsign(assignment=assignment, reason=reason, by=require_person(request))
        return describe_progress(require_assignment(request, public_id))


class Receipt(ReviewView):
    @review_operation("review_receipt", bodies.Receipt)
    def get(self, request: Request, public_id: str) -> Decision:
        """Return the receipt of your signature; 404 if you have not signed."""
        return find_signature(require_assignment(request, public_id))


def _finished_assignment(request: Request, public_id: str) -> Assignment:
    """Return one's review with all items decided, in an open packet.

    Raises Refusal (409) otherwise.
    """
    assignment = require_assignment(request, public_id)
    if not may_guess(assignment):
        raise Refusal(HTTPStatus.CONFLICT, "not_now", CHECK_LATER)
    return assignment
