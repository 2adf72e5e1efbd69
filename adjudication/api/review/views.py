"""The blinded review in the API, for the assigned person only.

It uses the same functions as the pages, in the same order.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from accounts.scoping import find_studies
from adjudication.access.eligibility import find_assignments, load_visibility
from adjudication.access.exposure import record_reveal
from adjudication.api.access import ApiView, build_page_request, read_body, require_person
from adjudication.api.errors import LATE, Refusal
from adjudication.api.operations import operation
from adjudication.api.review import bodies
from adjudication.blinding.visibility import RecordRow, are_sides_swapped, swap_answer
from adjudication.models import Assignment, Decision, ItemMark, Packet, PacketItem
from adjudication.review import decisions, slots
from adjudication.review.history import AnswerLine, load_own_answers
from adjudication.review.items import blind_item, load_blinded_rows
from adjudication.review.opening import (
    closed_words,
    decision_draft,
    find_own_assignment,
    find_own_item,
)
from adjudication.review.practice import check_practised
from adjudication.review.trail import ROWS, record_answers, record_item
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
            words = (
                closed_words(exc)
                if exc.state != "working"
                else "There is no signature to withdraw."
            )
            exc = Refusal(HTTPStatus.CONFLICT, code, words)
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
    @review_operation("review_next", bodies.Next, refuses=(403, 409), takes=bodies.NextRequest)
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
    @review_operation("review_item", bodies.ReviewItem, refuses=(403, 409))
    def get(self, request: Request, public_id: str, item_id: str) -> dict[str, Any]:
        """Return one item: decided by you, or leased to you.

        409 `taken` if others have all its slots.
        """
        assignment, item = _find_item(request, public_id, item_id)
        slots.check_can_decide(assignment)
        slot = slots.find_slot(assignment=assignment, item=item)
        decided = slot.decision if slot else None
        if decided is None and slots.claim(assignment=assignment, item=item) is None:
            raise Refusal(HTTPStatus.CONFLICT, "taken", "Another reviewer has this item now.")
        return _describe_item(assignment, item, decided)


class ItemSeries(ReviewView):
    @review_operation("review_series", bodies.Rows, refuses=(403,))
    def get(
        self, request: Request, public_id: str, item_id: str, number: int
    ) -> dict[str, tuple[RecordRow, ...]]:
        """Return all rows of one series of the record."""
        assignment, item = _find_item(request, public_id, item_id)
        rows = load_blinded_rows(item=item, number=number)
        record_item(assignment=assignment, item=item, action=ROWS, series=number)
        return {"rows": rows}


class Draft(ReviewView):
    @review_operation("review_draft", bodies.Held, refuses=(403, 422), takes=bodies.DraftRequest)
    def put(self, request: Request, public_id: str, item_id: str) -> dict[str, bool]:
        """Store what you have chosen and typed, and renew the lease."""
        assignment, item = _find_item(request, public_id, item_id)
        return {"held": _save_draft(assignment, item, read_body(bodies.DraftRequest, request))}


class Skip(ReviewView):
    @review_operation(
        "review_skip", bodies.Progress, refuses=(403, 409, 422), takes=bodies.DraftRequest
    )
    def post(self, request: Request, public_id: str, item_id: str) -> slots.Progress:
        """Set the item aside with what was typed; it comes again after all others."""
        assignment, item = _find_item(request, public_id, item_id)
        _save_draft(assignment, item, read_body(bodies.DraftRequest, request))
        slots.skip(assignment=assignment, item=item)
        return slots.progress(assignment=assignment)


class Flag(ReviewView):
    @review_operation("review_flag", bodies.Progress, refuses=(403,), takes=bodies.FlagRequest)
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
        "review_decide", bodies.Decided, refuses=(403, 409, 422), takes=bodies.DecideRequest
    )
    def post(self, request: Request, public_id: str, item_id: str) -> dict[str, Any]:
        """Store your answer.

        409 `late`: stored, but it does not count. 409 `conflict`: you have decided already, see
        `standing`. The same token again gets the same response and stores nothing.
        """
        assignment, item = _find_item(request, public_id, item_id, withdrawn=True)
        values = read_body(bodies.DecideRequest, request)
        return _describe_decision(
            assignment, decisions.decide(**_convert_answer(request, assignment, item, values))
        )


class Amend(ReviewView):
    @review_operation(
        "review_amend", bodies.Decided, refuses=(403, 409, 422), takes=bodies.AmendRequest
    )
    def post(self, request: Request, public_id: str, item_id: str) -> dict[str, Any]:
        """Replace your current decision; the earlier one stays in the chain.

        409 `conflict` if another decision is current.
        """
        assignment, item = _find_item(request, public_id, item_id)
        values = read_body(bodies.AmendRequest, request)
        return _describe_decision(
            assignment,
            decisions.amend(
                expects=values["expects"], **_convert_answer(request, assignment, item, values)
            ),
        )


class Undo(ReviewView):
    @review_operation("review_undo", bodies.Next, refuses=(403, 409), takes=bodies.TokenRequest)
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
    shown = None if item is None else _describe_item(assignment, item)
    return {"item": shown, "progress": slots.progress(assignment=assignment)}


def _describe_item(
    assignment: Assignment, item: PacketItem, decided: Decision | None = None
) -> dict[str, Any]:
    """Return the blinded item with one's own draft or decision.

    The trail records it. Raises NoteChanged.
    """
    draft = (
        decision_draft(decided) if decided else slots.load_draft(assignment=assignment, item=item)
    )
    swapped = are_sides_swapped(assignment.seed, item.public_id)
    marks = ItemMark.objects.filter(assignment=assignment, item=item, flagged=True)
    flagged, shown = marks.exists(), blind_item(assignment=assignment, item=item)
    record_item(assignment=assignment, item=item)
    return {
        "item": shown,
        # Stored in the judge's labels.
        "draft": {
            "answer": swap_answer(str(draft.get("answer") or ""), swapped),
            "own_time": draft.get("own_time"),
            "comment": str(draft.get("comment") or ""),
            "active_seconds": float(draft.get("active_seconds") or 0.0),
        },
        "flagged": flagged,
        "decision": decided,
    }


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


def _convert_answer(
    request: Request, assignment: Assignment, item: PacketItem, values: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the stored form of an answer; A and B become the judge's."""
    swapped = are_sides_swapped(assignment.seed, item.public_id)
    fields = {
        name: values[name] for name in ("token", "own_time", "comment", "flagged", "active_seconds")
    }
    answer = swap_answer(values["answer"], swapped)
    return {
        "assignment": assignment,
        "item": item,
        "by": require_person(request),
        "answer": answer,
        "shown_swapped": swapped,
        **fields,
    }


def _describe_decision(assignment: Assignment, made: decisions.StoredDecision) -> dict[str, Any]:
    if made.late:
        raise Refusal(HTTPStatus.CONFLICT, "late", LATE)
    progress = slots.progress(assignment=assignment)
    return {"decision": made.decision.public_id, "progress": progress}


def _save_draft(assignment: Assignment, item: PacketItem, values: Mapping[str, Any]) -> bool:
    answer = swap_answer(values["answer"], are_sides_swapped(assignment.seed, item.public_id))
    draft = {"answer": answer, "own_time": values["own_time"], "comment": values["comment"]}
    return slots.save_draft(
        assignment=assignment, item=item, draft=draft, active_seconds=values["active_seconds"]
    ).leased
