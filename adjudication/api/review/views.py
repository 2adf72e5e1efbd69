"""The blinded review for programs: the same functions as the pages, in the same order, for the
assigned person alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.scoping import studies_of
from adjudication.access.eligibility import assignments_of, may_see
from adjudication.access.exposure import record_revealed
from adjudication.api.access import ApiView, page_request, person_of, read
from adjudication.api.errors import LATE, Refusal, errors
from adjudication.api.review import serializers as bodies
from adjudication.api.review.bodies import (
    answers_body,
    item_body,
    progress_body,
    review_body,
    rows_body,
)
from adjudication.blinding.visibility import sides_swapped, unswapped
from adjudication.models import Assignment, Packet, PacketItem
from adjudication.review import decisions, slots
from adjudication.review.items import blinded_series_rows
from adjudication.review.opening import closed_words, own_assignment, own_item
from adjudication.review.practice import check_practised
from adjudication.review.trail import ROWS, record_answers, record_item
from adjudication.states import InvalidTransition

TAGS = ["review"]


class ReviewView(ApiView):
    """A view of one's own review; why nothing can be decided now is said in the reviewer's words."""

    def handle_exception(self, exc: Exception) -> Response:
        """Answer 409 with the page's message for a closed packet or a signed assignment."""
        if isinstance(exc, InvalidTransition):
            code = exc.state if exc.state in ("closed", "signed", "withdrawn") else "not_now"
            words = (
                closed_words(exc)
                if exc.state != "working"
                else "There is no signature to take back."
            )
            exc = Refusal(HTTPStatus.CONFLICT, code, words)
        return super().handle_exception(exc)


class Reviews(ReviewView):
    """The packets that you are assigned to."""

    @extend_schema(
        operation_id="review_list",
        tags=TAGS,
        responses={200: bodies.ReviewSerializer(many=True), **errors()},
    )
    def get(self, request: Request) -> Response:
        """Your packets, open ones first, without drafts."""
        person = person_of(request)
        studies = set(studies_of(person).values_list("pk", flat=True))
        mine = [
            a
            for a in assignments_of(person)
            if a.packet.state != Packet.State.DRAFT and a.packet.study_id in studies
        ]
        return Response(bodies.ReviewSerializer([review_body(a) for a in mine], many=True).data)


class Review(ReviewView):
    """One of them."""

    @extend_schema(
        operation_id="review", tags=TAGS, responses={200: bodies.ReviewSerializer, **errors()}
    )
    def get(self, request: Request, public_id: str) -> Response:
        """Where you stand in one packet."""
        return Response(bodies.ReviewSerializer(review_body(_mine(request, public_id))).data)


class NextItem(ReviewView):
    """The queue."""

    @extend_schema(
        operation_id="review_next",
        tags=TAGS,
        request=bodies.NextRequestSerializer,
        responses={200: bodies.NextSerializer, **errors(400, 403, 409)},
    )
    def post(self, request: Request, public_id: str) -> Response:
        """Lease the item to work on now: the one you hold, else the next free one in your order;
        skipped ones come last.
        """
        assignment = _practised_assignment(request, public_id)
        besides = read(bodies.NextRequestSerializer, request)["besides"]
        slot = slots.next_item(assignment=assignment, besides=besides)
        item = None if slot is None else item_body(assignment, slot.item)
        return Response(
            bodies.NextSerializer({"item": item, "progress": progress_body(assignment)}).data
        )


class Item(ReviewView):
    """An item of your own choice."""

    @extend_schema(
        operation_id="review_item",
        tags=TAGS,
        responses={200: bodies.ReviewItemSerializer, **errors(403, 409)},
    )
    def get(self, request: Request, public_id: str, item_id: str) -> Response:
        """The item: decided on already, or leased to you (again); 409 `taken` where others have all
        its places.
        """
        assignment, item = _item(request, public_id, item_id)
        slots.check_working(assignment)
        slot = slots.slot_of(assignment=assignment, item=item)
        decided = slot.decision if slot else None
        if decided is None and slots.claim(assignment=assignment, item=item) is None:
            raise Refusal(HTTPStatus.CONFLICT, "taken", "Somebody else has that item now.")
        return Response(bodies.ReviewItemSerializer(item_body(assignment, item, decided)).data)


class ItemSeries(ReviewView):
    """The record beside an item."""

    @extend_schema(
        operation_id="review_series",
        tags=TAGS,
        responses={200: bodies.RowsSerializer, **errors(403)},
    )
    def get(self, request: Request, public_id: str, item_id: str, number: int) -> Response:
        """All rows of one series of the record."""
        assignment, item = _item(request, public_id, item_id)
        rows = rows_body(blinded_series_rows(item=item, number=number))
        record_item(assignment=assignment, item=item, action=ROWS, series=number)
        return Response(bodies.RowsSerializer({"rows": rows}).data)


class Draft(ReviewView):
    """What you have chosen and typed so far."""

    @extend_schema(
        operation_id="review_draft",
        tags=TAGS,
        request=bodies.DraftRequestSerializer,
        responses={200: bodies.HeldSerializer, **errors(400, 403, 422)},
    )
    def put(self, request: Request, public_id: str, item_id: str) -> Response:
        """Keep it, and renew the lease."""
        assignment, item = _item(request, public_id, item_id)
        return Response(
            bodies.HeldSerializer(
                {"held": _keep(assignment, item, read(bodies.DraftRequestSerializer, request))}
            ).data
        )


class Skip(ReviewView):
    """Setting an item aside."""

    @extend_schema(
        operation_id="review_skip",
        tags=TAGS,
        request=bodies.DraftRequestSerializer,
        responses={200: bodies.ProgressSerializer, **errors(400, 403, 409, 422)},
    )
    def post(self, request: Request, public_id: str, item_id: str) -> Response:
        """Set the item aside with what was typed; it comes again after all others."""
        assignment, item = _item(request, public_id, item_id)
        _keep(assignment, item, read(bodies.DraftRequestSerializer, request))
        slots.skip(assignment=assignment, item=item)
        return _progress(assignment)


class Flag(ReviewView):
    """A mark for a second look."""

    @extend_schema(
        operation_id="review_flag",
        tags=TAGS,
        request=bodies.FlagRequestSerializer,
        responses={200: bodies.ProgressSerializer, **errors(400, 403)},
    )
    def put(self, request: Request, public_id: str, item_id: str) -> Response:
        """Set the mark, or take it away."""
        assignment, item = _item(request, public_id, item_id)
        slots.flag(
            assignment=assignment,
            item=item,
            flagged=read(bodies.FlagRequestSerializer, request)["flagged"],
        )
        return _progress(assignment)


class Decide(ReviewView):
    """Answering."""

    @extend_schema(
        operation_id="review_decide",
        tags=TAGS,
        request=bodies.DecideRequestSerializer,
        responses={200: bodies.DecidedSerializer, **errors(400, 403, 409, 422)},
    )
    def post(self, request: Request, public_id: str, item_id: str) -> Response:
        """Store your answer. 409 `late`: stored, but it does not count; 409 `conflict`: you have
        decided already, see `standing`.

        The same token again gives the same answer and stores nothing.
        """
        assignment, item = _item(request, public_id, item_id, withdrawn=True)
        values = read(bodies.DecideRequestSerializer, request)
        return _decision_response(
            assignment, decisions.decide(**_values(request, assignment, item, values))
        )


class Amend(ReviewView):
    """Answering otherwise."""

    @extend_schema(
        operation_id="review_amend",
        tags=TAGS,
        request=bodies.AmendRequestSerializer,
        responses={200: bodies.DecidedSerializer, **errors(400, 403, 409, 422)},
    )
    def post(self, request: Request, public_id: str, item_id: str) -> Response:
        """Replace your current decision; the earlier one stays in the chain. 409 `conflict` if the
        current decision is another one.
        """
        assignment, item = _item(request, public_id, item_id)
        values = read(bodies.AmendRequestSerializer, request)
        return _decision_response(
            assignment,
            decisions.amend(
                expects=values["expects"], **_values(request, assignment, item, values)
            ),
        )


class Undo(ReviewView):
    """Taking back."""

    @extend_schema(
        operation_id="review_undo",
        tags=TAGS,
        request=bodies.TokenRequestSerializer,
        responses={200: bodies.NextSerializer, **errors(400, 403, 409)},
    )
    def post(self, request: Request, public_id: str) -> Response:
        """Withdraw your last answer: its item is yours again, with your earlier choice. Null if you
        have no answer.
        """
        assignment = _practised_assignment(request, public_id)
        token = read(bodies.TokenRequestSerializer, request)["token"]
        undone = decisions.undo(assignment=assignment, token=token, by=person_of(request))
        item = undone.undone.item if undone else None
        shown = None if item is None else item_body(assignment, item)
        return Response(
            bodies.NextSerializer({"item": shown, "progress": progress_body(assignment)}).data
        )


class Answers(ReviewView):
    """Your answers."""

    @extend_schema(
        operation_id="review_answers",
        tags=TAGS,
        responses={200: bodies.AnswerSerializer(many=True), **errors()},
    )
    def get(self, request: Request, public_id: str) -> Response:
        """Your answers that stand, in the order they were first given."""
        assignment = _mine(request, public_id)
        may = may_see(person_of(request), assignment.packet)
        found = answers_body(assignment, may)
        if may.judge and found:
            record_revealed(user=person_of(request), packet=assignment.packet, page="own answers")
        record_answers(assignment=assignment)
        return Response(bodies.AnswerSerializer(found, many=True).data)


def _mine(request: Request, public_id: str, *, withdrawn: bool = False) -> Assignment:
    return own_assignment(page_request(request), public_id, withdrawn=withdrawn)


def _practised_assignment(request: Request, public_id: str) -> Assignment:
    assignment = _mine(request, public_id)
    check_practised(assignment)
    return assignment


def _item(
    request: Request, public_id: str, item_id: str, *, withdrawn: bool = False
) -> tuple[Assignment, PacketItem]:
    assignment = _mine(request, public_id, withdrawn=withdrawn)
    item = own_item(assignment, item_id)
    check_practised(assignment)
    return assignment, item


def _values(
    request: Request, assignment: Assignment, item: PacketItem, values: Mapping[str, Any]
) -> dict[str, Any]:
    """What an answer is stored with; A and B become the judge's."""
    swapped = sides_swapped(assignment.seed, item.public_id)
    fields = {
        name: values[name] for name in ("token", "own_time", "comment", "flagged", "active_seconds")
    }
    answer = unswapped(values["answer"], swapped)
    return {
        "assignment": assignment,
        "item": item,
        "by": person_of(request),
        "answer": answer,
        "shown_swapped": swapped,
        **fields,
    }


def _decision_response(assignment: Assignment, made: decisions.Decided) -> Response:
    if made.late:
        raise Refusal(HTTPStatus.CONFLICT, "late", LATE)
    return Response(
        bodies.DecidedSerializer(
            {"decision": made.decision.public_id, "progress": progress_body(assignment)}
        ).data
    )


def _keep(assignment: Assignment, item: PacketItem, values: Mapping[str, Any]) -> bool:
    answer = unswapped(values["answer"], sides_swapped(assignment.seed, item.public_id))
    draft = {"answer": answer, "own_time": values["own_time"], "comment": values["comment"]}
    return slots.keep_draft(
        assignment=assignment, item=item, draft=draft, active_seconds=values["active_seconds"]
    ).leased


def _progress(assignment: Assignment) -> Response:
    return Response(bodies.ProgressSerializer(progress_body(assignment)).data)
