"""Common parts of the review's views: own assignment and items, refusals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from django.http import Http404, HttpResponseBase
from django.template.loader import render_to_string
from django.urls import reverse

from accounts.models import User
from accounts.permissions import NotAllowed
from accounts.requests.json_bodies import BadBody, refusal
from accounts.scoping import ANY_ROLE, StudyRequest, filter_by_role
from adjudication.blinding.page import build_item_page, format_entered_hours, time_left_words
from adjudication.blinding.visibility import BlindedItem, are_sides_swapped, swap_answer
from adjudication.models import Assignment, Decision, ItemMark, Packet, PacketItem, Slot
from adjudication.review import decisions, slots
from adjudication.review.decisions import Conflict, DecisionRefused
from adjudication.review.history import CLINICIAN
from adjudication.review.items import blind_item
from adjudication.review.slots import DraftRefused, Progress
from adjudication.review.trail import record_item
from adjudication.states import InvalidTransition
from timelines.runs.storage import NoteChanged

P = ParamSpec("P")
CANNOT_BE_SHOWN = (
    "This item cannot be shown: the note of its case was changed after the import. Report this to"
    " your study admin."
)

CHECK_LATER = "This check is available after the last item, while the packet is open."


@dataclass(frozen=True, slots=True)
class OpenItem:
    """An item as its reviewer sees it, with what they chose and typed.

    `draft` is in the labels that they see.
    """

    item: BlindedItem
    draft: dict[str, Any]
    flagged: bool
    decision: Decision | None


@dataclass(frozen=True, slots=True)
class TypedAnswer:
    """A reviewer's values for an item, the answer in the judge's labels."""

    assignment: Assignment
    item: PacketItem
    answer: str
    shown_swapped: bool
    own_time: float | None
    comment: str
    active_seconds: float
    flagged: bool = False

    @classmethod
    def from_shown(
        cls, assignment: Assignment, item: PacketItem, *, answer: str, **values: Any
    ) -> TypedAnswer:
        """Build it from an answer in the labels that the reviewer sees."""
        swapped = are_sides_swapped(assignment.seed, item.public_id)
        return cls(assignment, item, swap_answer(answer, swapped), swapped, **values)

    def save_draft(self) -> bool:
        """Store the draft; return whether the person still has the item."""
        draft = {"answer": self.answer, "own_time": self.own_time, "comment": self.comment}
        return slots.save_draft(
            assignment=self.assignment,
            item=self.item,
            draft=draft,
            active_seconds=self.active_seconds,
        ).leased

    def arguments(self) -> dict[str, Any]:
        """Return arguments of `decide` and `amend`."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def find_own_assignment(
    request: StudyRequest, public_id: str, *, withdrawn: bool = False
) -> Assignment:
    """Return the person's own assignment, of a packet past drafting.

    It is in one of their studies. `withdrawn`: also one they were removed from, so that a late
    answer gets a clear response. Raises Http404 for any other.
    """
    found = Assignment.objects.select_related("packet__study", "person").exclude(
        packet__state=Packet.State.DRAFT
    )
    if not withdrawn:
        found = found.filter(withdrawn_at__isnull=True)
    mine = (
        filter_by_role(found, request.user, "packet__study", roles=ANY_ROLE)
        .filter(public_id=public_id, person=request.user)
        .first()
    )
    if mine is None:
        raise Http404
    return mine


def find_own_item(assignment: Assignment, public_id: str) -> PacketItem:
    """Return an item of the packet that is among this person's, or Http404."""
    found = PacketItem.objects.select_related("packet").filter(
        packet=assignment.packet, public_id=public_id
    )
    if assignment.pairings:
        found = found.filter(pairing__in=assignment.pairings)
    if assignment.role == Assignment.Role.ADJUDICATOR:
        found = found.filter(slots__purpose=Slot.Purpose.ADJUDICATION)
    item = found.first()
    if item is None:
        raise Http404
    return item


def find_signature(assignment: Assignment) -> Decision:
    """Return the chain link of the current signature, or raise Http404."""
    links = Decision.objects.filter(assignment=assignment, kind=Decision.Kind.SIGN)
    link = links.select_related("assignment__packet", "assignment__person").order_by("-sequence")
    if (found := link.first()) is None or assignment.signed_at is None:
        raise Http404
    return found


def may_guess(assignment: Assignment) -> bool:
    """Whether all items are decided and the packet is still open."""
    progress = slots.progress(assignment=assignment)
    return assignment.packet.state == Packet.State.OPEN and progress.complete


def store_guess(*, assignment: Assignment, item_id: str, guess: str, token: str, by: User) -> None:
    """Store which side the person takes for a clinician's, as they see it."""
    item = find_own_item(assignment, item_id)
    swapped = are_sides_swapped(assignment.seed, item.public_id)
    decisions.guess(
        assignment=assignment,
        question=CLINICIAN,
        guessed=swap_answer(guess, swapped),
        token=token,
        by=by,
        item=item,
        shown_swapped=swapped,
    )


def handle_refusals(
    view: Callable[Concatenate[StudyRequest, P], HttpResponseBase],
) -> Callable[Concatenate[StudyRequest, P], HttpResponseBase]:
    """Return refusals as JSON, with a status for each kind.

    400, 413, 415: body; 403: not theirs; 409: decided elsewhere, or the note changed; 422: value;
    423: not open.
    """

    @wraps(view)
    def answered(request: StudyRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        try:
            return view(request, *args, **kwargs)
        except BadBody as error:
            return refusal(error.message, error.status)
        except (DecisionRefused, DraftRefused) as error:
            return refusal(str(error), 422)
        except Conflict as error:
            return refusal(f"{error} Your first answer was not changed.", 409)
        except NotAllowed as error:
            return refusal(str(error), 403)
        except InvalidTransition as error:
            return refusal(closed_words(error), 423)
        except NoteChanged:
            return refusal(CANNOT_BE_SHOWN, 409)

    return answered


def closed_words(error: InvalidTransition) -> str:
    """Say, for the reviewer, why nothing more can be decided."""
    return {
        "closed": "The packet was closed. Your earlier decisions are stored.",
        "signed": "You have signed this packet. Withdraw the signature with a reason to continue.",
        "withdrawn": "You are no longer assigned to this packet. Your earlier decisions are stored.",
        "working": "There is no signature to withdraw.",
    }.get(error.state, "The packet is not open yet.")


def progress_json(assignment: Assignment) -> dict[str, Any]:
    """Return the person's progress as the page shows it."""
    return progress_words(slots.progress(assignment=assignment))


def progress_words(found: Progress) -> dict[str, Any]:
    """Return a known progress as the page shows it."""
    left = time_left_words(found.seconds_each, found.total - found.done)
    return {
        "done": found.done,
        "total": found.total,
        "left": left,
        "skipped": found.skipped,
        "flagged": found.flagged,
    }


def open_item(
    assignment: Assignment, item: PacketItem, decided: Decision | None = None
) -> OpenItem:
    """Return the item with the person's draft or decision.

    The trail records it. Raises NoteChanged.
    """
    draft = (
        decision_draft(decided) if decided else slots.load_draft(assignment=assignment, item=item)
    )
    marks = ItemMark.objects.filter(assignment=assignment, item=item, flagged=True)
    flagged, shown = marks.exists(), blind_item(assignment=assignment, item=item)
    record_item(assignment=assignment, item=item)
    return OpenItem(shown, convert_draft(assignment, item, draft), flagged, decided)


def item_context(
    assignment: Assignment, item: PacketItem, decided: Decision | None = None
) -> dict[str, Any]:
    """Return the context of `_item.html`. Raises NoteChanged."""
    found = open_item(assignment, item, decided)
    own_time = found.draft["own_time"]
    entered = format_entered_hours(own_time) if isinstance(own_time, int | float) else ""
    return {
        "item_id": item.public_id,
        "item_url": reverse(
            "adjudication:review_chosen", args=[assignment.public_id, item.public_id]
        ),
        "page": build_item_page(found.item),
        "draft": {**found.draft, "own_time_entered": entered},
        "flagged": found.flagged,
        "decided": decided,
        "commit_words": "Change answer" if decided else "",
    }


def item_html(assignment: Assignment, item: PacketItem) -> str:
    """Return the item as one piece of HTML. Raises NoteChanged."""
    return render_to_string("adjudication/review/_item.html", item_context(assignment, item))


def decision_draft(decision: Decision) -> dict[str, Any]:
    """Return a stored decision as a draft, in the judge's labels."""
    return {
        "answer": decision.answer,
        "own_time": decision.own_time,
        "comment": decision.comment,
        "active_seconds": decision.active_seconds or 0.0,
    }


def convert_draft(
    assignment: Assignment, item: PacketItem, draft: Mapping[str, Any]
) -> dict[str, Any]:
    """Convert a draft from the judge's labels to those that this person sees."""
    swapped = are_sides_swapped(assignment.seed, item.public_id)
    return {
        "answer": swap_answer(str(draft.get("answer") or ""), swapped),
        "own_time": draft.get("own_time"),
        "comment": str(draft.get("comment") or ""),
        "active_seconds": float(draft.get("active_seconds") or 0.0),
    }
