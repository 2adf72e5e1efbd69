"""The beginning and the end of a blinded review for programs: practice, the blinding check, the
signature and its receipt.
"""

from __future__ import annotations

from http import HTTPStatus

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from adjudication.api.access import page_request, person_of, read
from adjudication.api.errors import Refusal, errors
from adjudication.api.review import serializers as bodies
from adjudication.api.review.bodies import guesses_body, practice_body, review_body
from adjudication.api.review.views import TAGS, ReviewView
from adjudication.blinding.practice import PracticeCase, practice_cases
from adjudication.blinding.visibility import sides_swapped, unswapped
from adjudication.models import Assignment, Decision, Packet, PracticeAnswer
from adjudication.review import decisions, slots
from adjudication.review.history import CLINICIAN
from adjudication.review.opening import own_assignment, own_item
from adjudication.review.practice import answer_practice
from adjudication.review.trail import record_answers


class Practice(ReviewView):
    """The practice round."""

    @extend_schema(
        operation_id="review_practice_list",
        tags=TAGS,
        responses={200: bodies.PracticeLineSerializer(many=True), **errors()},
    )
    def get(self, request: Request, public_id: str) -> Response:
        """Its cases, and which you have answered. Items come once all are."""
        done = set(
            PracticeAnswer.objects.filter(assignment=_mine(request, public_id)).values_list(
                "number", flat=True
            )
        )
        lines = [
            {"number": case.number, "answered": case.number in done} for case in practice_cases()
        ]
        return Response(bodies.PracticeLineSerializer(lines, many=True).data)


class PracticeOne(ReviewView):
    """A made-up case."""

    @extend_schema(
        operation_id="review_practice",
        tags=TAGS,
        responses={200: bodies.PracticeCaseSerializer, **errors()},
    )
    def get(self, request: Request, public_id: str, number: int) -> Response:
        """One case, like an item."""
        _mine(request, public_id)
        return Response(bodies.PracticeCaseSerializer(practice_body(_case(number))).data)

    @extend_schema(
        operation_id="review_practice_answer",
        tags=TAGS,
        request=bodies.PracticeRequestSerializer,
        responses={200: bodies.PracticeAnswerSerializer, **errors(400, 422)},
    )
    def post(self, request: Request, public_id: str, number: int) -> Response:
        """Answer it; says which answer is right, and why."""
        assignment, case = _mine(request, public_id), _case(number)
        answer = read(bodies.PracticeRequestSerializer, request)["answer"]
        right = answer_practice(
            assignment=assignment, number=number, answer=answer, by=person_of(request)
        )
        values = {"right": right, "answer": case.answer, "explanation": case.explanation}
        return Response(bodies.PracticeAnswerSerializer(values).data)


class BlindingCheck(ReviewView):
    """Which side do you think a clinician wrote?"""

    @extend_schema(
        operation_id="review_check",
        tags=TAGS,
        responses={200: bodies.GuessSerializer(many=True), **errors(409)},
    )
    def get(self, request: Request, public_id: str) -> Response:
        """The items that are asked about, once all are decided and while the packet is open."""
        assignment = _finished_assignment(request, public_id)
        record_answers(assignment=assignment)
        return Response(bodies.GuessSerializer(guesses_body(assignment), many=True).data)

    @extend_schema(
        operation_id="review_guess",
        tags=TAGS,
        request=bodies.GuessRequestSerializer,
        responses={204: None, **errors(400, 403, 409, 422)},
    )
    def post(self, request: Request, public_id: str) -> Response:
        """Keep a guess; a later one on the same item replaces it."""
        assignment = _finished_assignment(request, public_id)
        values = read(bodies.GuessRequestSerializer, request)
        if values["item"] not in {line["item"] for line in guesses_body(assignment)}:
            raise Http404
        item = own_item(assignment, values["item"])
        swapped = sides_swapped(assignment.seed, item.public_id)
        decisions.guess(
            assignment=assignment,
            question=CLINICIAN,
            guessed=unswapped(values["guess"], swapped),
            token=values["token"],
            by=person_of(request),
            item=item,
            shown_swapped=swapped,
        )
        return Response(status=HTTPStatus.NO_CONTENT)


class Sign(ReviewView):
    """The signature."""

    @extend_schema(
        operation_id="review_sign",
        tags=TAGS,
        request=bodies.SignRequestSerializer,
        responses={200: bodies.ReceiptSerializer, **errors(400, 403, 409, 429)},
    )
    def post(self, request: Request, public_id: str) -> Response:
        """Sign your review with your password. 409 `not_finished` while items are left, 403
        `wrong_password`, 429 after too many.
        """
        assignment = _mine(request, public_id)
        password = read(bodies.SignRequestSerializer, request)["password"]
        decisions.sign(
            assignment=assignment,
            password=password,
            by=person_of(request),
            request=page_request(request),
        )
        assignment.refresh_from_db()
        return _receipt(assignment)


class Unsign(ReviewView):
    """Taking the signature back."""

    @extend_schema(
        operation_id="review_unsign",
        tags=TAGS,
        request=bodies.UnsignRequestSerializer,
        responses={200: bodies.ReviewSerializer, **errors(400, 409, 422)},
    )
    def post(self, request: Request, public_id: str) -> Response:
        """With a reason; both stay in the chain."""
        assignment = _mine(request, public_id)
        reason = read(bodies.UnsignRequestSerializer, request)["reason"]
        decisions.unsign(assignment=assignment, reason=reason, by=person_of(request))
        return Response(bodies.ReviewSerializer(review_body(_mine(request, public_id))).data)


class Receipt(ReviewView):
    """The receipt."""

    @extend_schema(
        operation_id="review_receipt",
        tags=TAGS,
        responses={200: bodies.ReceiptSerializer, **errors()},
    )
    def get(self, request: Request, public_id: str) -> Response:
        """The receipt of your current signature; 404 if you have not signed."""
        return _receipt(_mine(request, public_id))


def _mine(request: Request, public_id: str) -> Assignment:
    return own_assignment(page_request(request), public_id)


def _case(number: int) -> PracticeCase:
    found = next((case for case in practice_cases() if case.number == number), None)
    if found is None:
        raise Http404
    return found


def _finished_assignment(request: Request, public_id: str) -> Assignment:
    """One's review with all items decided, in an open packet."""
    assignment = _mine(request, public_id)
    progress = slots.progress(assignment=assignment)
    if (
        assignment.packet.state != Packet.State.OPEN
        or not progress.done
        or progress.done < progress.total
    ):
        raise Refusal(
            HTTPStatus.CONFLICT,
            "not_now",
            "This check comes after the last item, while the packet is open.",
        )
    return assignment


def _receipt(assignment: Assignment) -> Response:
    link = (
        Decision.objects.filter(assignment=assignment, kind=Decision.Kind.SIGN)
        .order_by("-sequence")
        .first()
    )
    if link is None or assignment.signed_at is None:
        raise Http404
    values = {
        "packet": assignment.packet.public_id,
        "review": assignment.public_id,
        "signed_by": assignment.person.get_username(),
        "signed_at": link.at,
        "decided": link.detail.get("decided"),
        "sequence": link.sequence,
        "head": link.detail.get("head"),
        "hash": link.hash,
    }
    return Response(bodies.ReceiptSerializer(values).data)
