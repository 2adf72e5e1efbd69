"""The blinded review in the API, for the assigned person only.

It uses the same functions as the pages, in the same order.
"""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api_access.access import ApiView, build_page_request, read_body, require_person
from accounts.api_access.errors import Refusal
from accounts.api_access.operations import operation
from accounts.scoping import find_studies
from adjudication.access.eligibility import find_assignments, load_visibility
from adjudication.access.exposure import record_reveal
from adjudication.api.review import bodies
from adjudication.blinding.rows import ShownRow
from adjudication.blinding.visibility import RecordRow
from adjudication.models import Assignment, Packet, PacketItem
from adjudication.refusals import LATE
from adjudication.review import decisions, slots
from adjudication.review.history import AnswerLine, load_own_answers
from adjudication.review.items import blind_timelines, load_blinded_rows
from adjudication.review.opening import (
    OpenItem,
    TypedAnswer,
    closed_words,
    find_own_assignment,
    find_own_item,
    open_item,
)
from adjudication.review.practice import check_practised
from adjudication.review.trail import ROWS, TIMELINES, record_answers, record_item
from adjudication.states import InvalidTransition

review_operation = partial(operation, "review")


class ReviewView(ApiView):
    """A view of one's own review.

    Refusals say in the reviewer's words why nothing can be decided.
    """

    def handle_exception(self, exc: Exception) -> Response:
        """Respond 409 with the page's message for a closed or signed review."""
        if isinstance(exc, InvalidTransition):
            code = exc.state if exc.state in ("closed", "signed", "withdrawn") else "not_now"
            exc = Refusal(HTTPStatus.CONFLICT, code, closed_words(exc))
        return super().handle_exception(exc)


class Reviews(ReviewView):
    @review_operation("review_list", bodies.Review, many=True)
    def get(self, request: Request) -> list[dict[str, Any]]:
        """Return your packets, open ones first, without drafts."""
        person = require_person(request)
        studies = set(find_studies(person).values_list("pk", flat=True))
        mine = [
            a
            for a in find_assignments(person)
            if a.packet.state != Packet.State.DRAFT and a.packet.study_id in studies
        ]
        return [describe_progress(a) for a in mine]


class Review(ReviewView):
    @review_operation("review", bodies.Review)
    def get(self, request: Request, public_id: str) -> dict[str, Any]:
        """Return your state and progress in one packet."""
        return describe_progress(require_assignment(request, public_id))


class NextItem(ReviewView):
    @review_operation("review_next", bodies.Next, refuses=(409,), takes=bodies.NextRequest)
    def post(self, request: Request, public_id: str) -> dict[str, Any]:
        """Lease your next item.

        It is the one you have already leased, else the next free one in your order; skipped ones
        come last.
        """
        assignment = _find_practised_assignment(request, public_id)
        besides = read_body(bodies.NextRequest, request)["besides"]
        slot = slots.next_item(assignment=assignment, besides=besides)
        return _describe_next_item(assignment, None if slot is None else slot.item)


class Item(ReviewView):
    @review_operation("review_item", bodies.ReviewItem, refuses=(409,))
    def get(self, request: Request, public_id: str, item_id: str) -> OpenItem:
        """Return one item: decided by you, or leased to you.

        409 `taken` if others have all its slots.
        """
        assignment, item = _find_item(request, public_id, item_id)
        slots.check_can_decide(assignment)
        slot = slots.find_slot(assignment=assignment, item=item)
        decided = slot.decision if slot else None
        if decided is None and slots.claim(assignment=assignment, item=item) is None:
            raise Refusal(HTTPStatus.CONFLICT, "taken", "Another reviewer has this item now.")
        return open_item(assignment, item, decided)


class ItemSeries(ReviewView):
    @review_operation("review_series", bodies.Rows)
    def get(
        self, request: Request, public_id: str, item_id: str, number: int
    ) -> dict[str, tuple[RecordRow, ...]]:
        """Return all rows of one series of the record."""
        assignment, item = _find_item(request, public_id, item_id)
        rows = load_blinded_rows(item=item, number=number)
        record_item(assignment=assignment, item=item, action=ROWS, series=number)
        return {"rows": rows}


class ItemTimelines(ReviewView):
    @review_operation("review_timelines", bodies.ReviewTimelines, refuses=(409,))
    def post(
        self, request: Request, public_id: str, item_id: str
    ) -> dict[str, tuple[ShownRow, ...]]:
        """Return both whole timelines; the audit trail records it."""
        assignment, item = _find_item(request, public_id, item_id)
        a, b = blind_timelines(assignment=assignment, item=item)
        record_item(assignment=assignment, item=item, action=TIMELINES)
        return {"a": a, "b": b}


class Draft(ReviewView):
    @review_operation("review_draft", bodies.Held, refuses=(422,), takes=bodies.DraftRequest)
    def put(self, request: Request, public_id: str, item_id: str) -> dict[str, bool]:
        """Store what you have chosen and typed, and renew the lease."""
        return {"assigned": _read_draft(request, public_id, item_id).save_draft()}


class Skip(ReviewView):
    @review_operation("review_skip", bodies.Progress, refuses=(409, 422), takes=bodies.DraftRequest)
    def post(self, request: Request, public_id: str, item_id: str) -> slots.Progress:
        """Set the item aside with what was typed; it comes again after all others."""
        typed = _read_draft(request, public_id, item_id)
        typed.save_draft()
        slots.skip(assignment=typed.assignment, item=typed.item)
        return slots.progress(assignment=typed.assignment)


class Flag(ReviewView):
    @review_operation("review_flag", bodies.Progress, takes=bodies.FlagRequest)
    def put(self, request: Request, public_id: str, item_id: str) -> slots.Progress:
        """Mark the item for a second look, or remove the mark."""
        assignment, item = _find_item(request, public_id, item_id)
        slots.flag(
            assignment=assignment,
            item=item,
            flagged=read_body(bodies.FlagRequest, request)["flagged"],
        )
        return slots.progress(assignment=assignment)


class Decide(ReviewView):
    @review_operation(
        "review_decide", bodies.Decided, refuses=(409, 422), takes=bodies.DecideRequest
    )
    def post(self, request: Request, public_id: str, item_id: str) -> dict[str, Any]:
        """Store your answer.

        409 `late`: stored, but it does not count. 409 `conflict`: you have decided already, see
        `standing`. The same token again gets the same response and stores nothing.
        """
        assignment, item = _find_item(request, public_id, item_id, withdrawn=True)
        values = dict(read_body(bodies.DecideRequest, request))
        token = values.pop("token")
        typed = TypedAnswer.from_shown(assignment, item, **values)
        made = decisions.decide(token=token, by=require_person(request), **typed.arguments())
        return _describe_decision(assignment, made)


class Amend(ReviewView):
    @review_operation("review_amend", bodies.Decided, refuses=(409, 422), takes=bodies.AmendRequest)
    def post(self, request: Request, public_id: str, item_id: str) -> dict[str, Any]:
        """Replace your current decision; the earlier one stays in the chain.

        409 `conflict` if another decision is current.
        """
        assignment, item = _find_item(request, public_id, item_id)
        values = dict(read_body(bodies.AmendRequest, request))
        named = {name: values.pop(name) for name in ("token", "expects")}
        typed = TypedAnswer.from_shown(assignment, item, **values)
        made = decisions.amend(by=require_person(request), **named, **typed.arguments())
        return _describe_decision(assignment, made)


class Undo(ReviewView):
    @review_operation("review_undo", bodies.Next, refuses=(409,), takes=bodies.TokenRequest)
    def post(self, request: Request, public_id: str) -> dict[str, Any]:
        """Withdraw your last answer and get its item again.

        The item has your earlier choice; null if you have no answer.
        """
        assignment = _find_practised_assignment(request, public_id)
        token = read_body(bodies.TokenRequest, request)["token"]
        undone = decisions.undo(assignment=assignment, token=token, by=require_person(request))
        return _describe_next_item(assignment, undone.undone.item if undone else None)


class Answers(ReviewView):
    @review_operation("review_answers", bodies.Answer, many=True)
    def get(self, request: Request, public_id: str) -> list[AnswerLine]:
        """Return your current answers, in the order of your first ones."""
        assignment = require_assignment(request, public_id)
        may = load_visibility(require_person(request), assignment.packet)
        found = load_own_answers(assignment, may)
        if may.judge and found:
            record_reveal(
                user=require_person(request), packet=assignment.packet, page="own answers"
            )
        record_answers(assignment=assignment)
        return found


def require_assignment(request: Request, public_id: str, *, withdrawn: bool = False) -> Assignment:
    """Return the person's own review. Raises Http404."""
    return find_own_assignment(build_page_request(request), public_id, withdrawn=withdrawn)


def describe_progress(assignment: Assignment) -> dict[str, Any]:
    """Return the person's state and progress in the packet."""
    return {"assignment": assignment, "progress": slots.progress(assignment=assignment)}


def _describe_next_item(assignment: Assignment, item: PacketItem | None) -> dict[str, Any]:
    shown = None if item is None else open_item(assignment, item)
    return {"item": shown, "progress": slots.progress(assignment=assignment)}


def _find_practised_assignment(request: Request, public_id: str) -> Assignment:
    assignment = require_assignment(request, public_id)
    check_practised(assignment)
    return assignment


def _find_item(
    request: Request, public_id: str, item_id: str, *, withdrawn: bool = False
) -> tuple[Assignment, PacketItem]:
    assignment = require_assignment(request, public_id, withdrawn=withdrawn)
    item = find_own_item(assignment, item_id)
    check_practised(assignment)
    return assignment, item


def _read_draft(request: Request, public_id: str, item_id: str) -> TypedAnswer:
    assignment, item = _find_item(request, public_id, item_id)
    return TypedAnswer.from_shown(assignment, item, **read_body(bodies.DraftRequest, request))


def _describe_decision(assignment: Assignment, made: decisions.StoredDecision) -> dict[str, Any]:
    if made.late:
        raise Refusal(HTTPStatus.CONFLICT, "late", LATE)
    progress = slots.progress(assignment=assignment)
    return {"decision": made.decision.public_id, "progress": progress}
