"""Reviewers' decisions; each step appends a link to the packet's chain.

No step overwrites another. Answers are given in the judge's labels of the finding
(`visibility.unswapped` converts the page's A and B). The page makes a token for each step. If a
step is sent again after a lost connection, it returns the same answer and stores nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.http import HttpRequest

from accounts.audit.chain import current_head
from accounts.audit.trail import record
from accounts.ids import new_public_id
from accounts.models import User
from accounts.permissions import NotAllowed, user_can_manage_study
from accounts.provider.confirmation import require_identity
from accounts.sign_in.password_check import Purpose
from accounts.wording import format_count
from adjudication.models import Assignment, Decision, ItemMark, Packet, PacketItem, Slot
from adjudication.packets.chain import storage as chain_storage
from adjudication.review import slots
from adjudication.states import next_assignment_state

TOKEN = re.compile(r"[0-9A-Za-z_-]{1,64}")
LONGEST_COMMENT = 10_000
LONGEST_REASON = 1_000
#: Limits of a person's own time, in hours from admission: a lifetime before, ten years after.
EARLIEST, LATEST = -1_100_000.0, 90_000.0
#: Possible guesses in the blinding check: a side in the judge's labels, or no idea.
GUESSES = ("A", "B", "NO_IDEA")


class DecisionRefused(ValueError):
    """A value that cannot be stored; the message names it, no patient text."""

    log_safe = True


class Conflict(RuntimeError):
    """The item has changed since the page loaded, perhaps on another device.

    `standing` is the current decision, if any.
    """

    log_safe = True

    def __init__(self, words: str, standing: Decision | None) -> None:
        super().__init__(words)
        self.standing = standing


class NotFinished(RuntimeError):
    """The review cannot be signed yet.

    `left` items are still to decide; another reviewer is working on `elsewhere` of them.
    """

    log_safe = True

    def __init__(self, left: int, elsewhere: int = 0) -> None:
        words = f"{format_count(left, 'item')} still to decide."
        if elsewhere:
            words += (
                f" Another reviewer is working on {elsewhere} of them. Undecided items come"
                " back to you."
            )
        super().__init__(words)
        self.left = left
        self.elsewhere = elsewhere


@dataclass(frozen=True, slots=True)
class StoredDecision:
    """The stored link.

    `late`: it does not count, because enough others had answered the item or the packet was closed.
    """

    decision: Decision
    late: bool


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """The withdrawal and the withdrawn decision.

    The person has the item's lease again.
    """

    withdrawal: Decision
    undone: Decision


@transaction.atomic
def decide(
    *,
    assignment: Assignment,
    item: PacketItem,
    answer: str,
    shown_swapped: bool,
    token: str,
    by: User,
    own_time: float | None = None,
    comment: str = "",
    flagged: bool = False,
    active_seconds: float | None = None,
) -> StoredDecision:
    """Store an answer, as late if the person can get no slot of the item.

    A late answer does not count. Raises NotAllowed, DecisionRefused, Conflict if the person has
    already decided on the item, InvalidTransition if they signed.
    """
    values = _values(answer, own_time, comment, flagged, active_seconds)
    packet, mine = _lock_assignment(assignment, by)
    if (known := _find_stored(mine, token, item)) is not None:
        return StoredDecision(known, known.kind == Decision.Kind.LATE)
    _check_item(mine, item)
    if packet.state == Packet.State.DRAFT:
        slots.check_can_decide(mine)
    existing = slots.find_slot(assignment=mine, item=item)
    if existing is not None and existing.decision is not None:
        raise Conflict("You have decided on this item already.", existing.decision)
    over = packet.state == Packet.State.CLOSED or mine.withdrawn_at is not None
    slot = None if over else slots.claim(assignment=mine, item=item)
    if slot is None:
        late = chain_storage.append(
            packet,
            assignment=mine,
            kind=Decision.Kind.LATE,
            token=token,
            item=item,
            shown_swapped=shown_swapped,
            **values,
        )
        return StoredDecision(late, True)
    made = _store_answer(packet, mine, item, token, shown_swapped=shown_swapped, **values)
    _set_current(slot, made, values["active_seconds"])
    _settle_disagreement(item)
    return StoredDecision(made, False)


@transaction.atomic
def amend(
    *,
    assignment: Assignment,
    item: PacketItem,
    expects: str,
    answer: str,
    shown_swapped: bool,
    token: str,
    by: User,
    own_time: float | None = None,
    comment: str = "",
    flagged: bool = False,
    active_seconds: float | None = None,
) -> StoredDecision:
    """Replace the current decision; the earlier one stays in the chain.

    `expects` is the public id of the current decision. Raises NotAllowed, DecisionRefused,
    InvalidTransition, and Conflict if another decision is current.
    """
    values = _values(answer, own_time, comment, flagged, active_seconds)
    packet, mine = _lock_assignment(assignment, by)
    if (known := _find_stored(mine, token, item)) is not None:
        return StoredDecision(known, known.kind == Decision.Kind.LATE)
    slots.check_can_decide(mine)
    _check_item(mine, item)
    slot = (
        Slot.objects.select_for_update(of=("self",))
        .select_related("decision")
        .filter(assignment=mine, item=item)
        .first()
    )
    current = slot.decision if slot else None
    if slot is None or current is None or current.public_id != expects:
        raise Conflict("Your decision on this item has changed since.", current)
    made = chain_storage.append(
        packet,
        assignment=mine,
        kind=Decision.Kind.AMENDMENT,
        token=token,
        item=item,
        amends=current,
        shown_swapped=shown_swapped,
        **values,
    )
    _set_current(slot, made, values["active_seconds"])
    _settle_disagreement(item)
    return StoredDecision(made, False)


@transaction.atomic
def undo(*, assignment: Assignment, token: str, by: User) -> Withdrawal | None:
    """Withdraw this person's last decision and lease its item to them again.

    Their choice becomes the draft. Returns None if there is no decision. Raises NotAllowed,
    DecisionRefused, InvalidTransition, and Conflict if the token belongs to another step.
    """
    _check_token(token)
    packet, mine = _lock_assignment(assignment, by)
    if (
        known := Decision.objects.filter(assignment=mine, token=token)
        .select_related("amends__item")
        .first()
    ) is not None:
        if known.kind != Decision.Kind.WITHDRAWAL or known.amends is None:
            raise Conflict("The token belongs to another step.", known)
        return Withdrawal(known, known.amends)
    slots.check_can_decide(mine)
    decided = Slot.objects.select_for_update(of=("self",)).filter(
        assignment=mine, decision__isnull=False
    )
    slot = (
        decided.select_related("decision", "item__finding").order_by("-decision__sequence").first()
    )
    if slot is None or slot.decision is None:
        return None
    last = slot.decision
    withdrawal = chain_storage.append(
        packet,
        assignment=mine,
        kind=Decision.Kind.WITHDRAWAL,
        token=token,
        item=slot.item,
        amends=last,
    )
    draft = {
        "answer": last.answer,
        "own_time": last.own_time,
        "comment": last.comment,
        "active_seconds": last.active_seconds or 0.0,
    }
    Slot.objects.filter(pk=slot.pk).update(
        decision=None, draft={**slot.draft, mine.public_id: draft}
    )
    slots.claim(assignment=mine, item=slot.item)
    _settle_disagreement(slot.item)
    return Withdrawal(withdrawal, last)


def sign(
    *, assignment: Assignment, password: str, by: User, request: HttpRequest | None = None
) -> Decision:
    """Sign one's review, with the password or after a new sign-in.

    The new sign-in is one at the provider. The link covers the chain's head; its own hash is the receipt. With `request`, wrong passwords
    count against the sign-in throttle. Raises NotAllowed, WrongPassword, ConfirmationNeeded,
    InvalidTransition, NotFinished, and DecisionRefused with a search that is not submitted.
    """
    _check_own(assignment, by)
    require_identity(
        by, password, request=request, purpose=Purpose.SIGNATURE, what=assignment.public_id
    )
    return _sign(assignment, by)


@transaction.atomic
def unsign(*, assignment: Assignment, reason: str, by: User) -> Decision:
    """Void a signature, as its person or as a study admin.

    Stored in the chain and in the audit trail. Raises NotAllowed, DecisionRefused without a reason,
    InvalidTransition.
    """
    packet = chain_storage.lock_packet(assignment.packet_id)
    mine = _row(assignment)
    if by.pk != mine.person_id and not user_can_manage_study(by, packet.study):
        raise NotAllowed("Only the reviewer or a study admin can void a signature.")
    if not reason.strip() or len(reason) > LONGEST_REASON or "\x00" in reason:
        raise DecisionRefused(f"Enter a reason of at most {LONGEST_REASON} characters.")
    next_assignment_state(_state(mine), "unsign")
    slots.check_open(mine)
    link = chain_storage.append(
        packet,
        assignment=mine,
        kind=Decision.Kind.UNSIGN,
        token=new_public_id(),
        comment=reason.strip(),
        detail={"by": by.public_id},
    )
    Assignment.objects.filter(pk=mine.pk).update(signed_at=None)
    _audit(mine, chain_storage.UNSIGNED, by, sequence=link.sequence)
    return link


@transaction.atomic
def guess(
    *,
    assignment: Assignment,
    question: str,
    guessed: str,
    token: str,
    by: User,
    item: PacketItem | None = None,
    shown_swapped: bool | None = None,
) -> Decision:
    """Store an answer of the blinding check, about one item or the packet.

    `guessed` is one of GUESSES, in the judge's labels; `question` identifies the question. Analysis
    uses the latest guess on a question and item; all are stored. Raises NotAllowed,
    DecisionRefused, InvalidTransition.
    """
    _check_token(token)
    if guessed not in GUESSES or not TOKEN.fullmatch(question):
        raise DecisionRefused("A guess must be one of the two sides or “no idea”.")
    packet, mine = _lock_assignment(assignment, by)
    if (known := Decision.objects.filter(assignment=mine, token=token).first()) is not None:
        return known
    slots.check_open(mine)
    if item is not None:
        _check_item(mine, item)
    detail = {"question": question, "guess": guessed}
    return chain_storage.append(
        packet,
        assignment=mine,
        kind=Decision.Kind.GUESS,
        token=token,
        item=item,
        shown_swapped=shown_swapped,
        detail=detail,
    )


@transaction.atomic
def _sign(assignment: Assignment, by: User) -> Decision:
    packet, mine = _lock_assignment(assignment, by)
    next_assignment_state(_state(mine), "sign")
    slots.check_can_decide(mine)
    if mine.searches.filter(submission__isnull=True).exists():
        raise DecisionRefused("Submit your searches for differences before you sign.")
    progress = slots.progress(assignment=mine)
    if progress.total > progress.done:
        raise NotFinished(progress.total - progress.done, progress.elsewhere)
    sequence, head = chain_storage.find_head(packet)
    detail: Mapping[str, Any] = {
        "head": head,
        "head_sequence": sequence,
        "decided": progress.done,
        **current_head().as_detail(),
    }
    link = chain_storage.append(
        packet, assignment=mine, kind=Decision.Kind.SIGN, token=new_public_id(), detail=detail
    )
    Assignment.objects.filter(pk=mine.pk).update(signed_at=link.at)
    _audit(mine, chain_storage.SIGNED, by, sequence=link.sequence, head=link.hash)
    return link


def _lock_assignment(assignment: Assignment, by: User) -> tuple[Packet, Assignment]:
    """Lock the packet, then the assignment, the order used everywhere here.

    Raises NotAllowed for another person's assignment.
    """
    _check_own(assignment, by)
    packet = chain_storage.lock_packet(assignment.packet_id)
    return packet, _row(assignment)


def _row(assignment: Assignment) -> Assignment:
    return (
        Assignment.objects.select_for_update(of=("self",), no_key=True)
        .select_related("packet__study", "person")
        .get(pk=assignment.pk)
    )


def _check_own(assignment: Assignment, by: User) -> None:
    if by.pk != assignment.person_id or not by.is_active:
        raise NotAllowed("Only the reviewer can open this review.")


def _check_item(assignment: Assignment, item: PacketItem) -> None:
    if item.packet_id != assignment.packet_id or (
        assignment.pairings and item.pairing not in assignment.pairings
    ):
        raise NotAllowed("The item is not assigned to you.")


def _check_token(token: str) -> None:
    if not TOKEN.fullmatch(token):
        raise DecisionRefused("A token must have 1 to 64 letters, digits, hyphens or underscores.")


def _find_stored(assignment: Assignment, token: str, item: PacketItem) -> Decision | None:
    """Return the decision stored under this token, or None.

    Raises Conflict if it was another step or another item.
    """
    _check_token(token)
    found = Decision.objects.filter(assignment=assignment, token=token).first()
    answers = (Decision.Kind.ANSWER, Decision.Kind.AMENDMENT, Decision.Kind.LATE)
    if found is not None and (found.item_id != item.pk or found.kind not in answers):
        raise Conflict("The token belongs to another step.", found)
    return found


def _values(
    answer: str, own_time: float | None, comment: str, flagged: bool, active_seconds: float | None
) -> dict[str, Any]:
    """Return the checked fields of a decision; raise DecisionRefused."""
    if answer not in Decision.Answer.values:
        raise DecisionRefused("Unknown answer.")
    if own_time is not None and not (math.isfinite(own_time) and EARLIEST <= own_time <= LATEST):
        raise DecisionRefused("Your own time must be a plausible number of hours from admission.")
    if len(comment) > LONGEST_COMMENT or "\x00" in comment:
        raise DecisionRefused(f"A comment can have at most {LONGEST_COMMENT} characters.")
    if active_seconds is not None and not (math.isfinite(active_seconds) and active_seconds >= 0):
        raise DecisionRefused("The seconds must not be negative.")
    # As the database stores them: a whole number would be hashed differently than it is read back.
    own_time, active_seconds = (
        None if number is None else float(number) for number in (own_time, active_seconds)
    )
    return {
        "answer": answer,
        "own_time": own_time,
        "comment": comment,
        "flagged": flagged,
        "active_seconds": active_seconds,
    }


def _store_answer(
    packet: Packet, assignment: Assignment, item: PacketItem, token: str, **values: Any
) -> Decision:
    """Store an answer, as an amendment if the person withdrew an earlier one.

    Each person therefore has one answer per item.
    """
    before = Decision.objects.filter(
        assignment=assignment, item=item, kind__in=[Decision.Kind.ANSWER, Decision.Kind.AMENDMENT]
    )
    amends = before.order_by("-sequence").first()
    kind = Decision.Kind.ANSWER if amends is None else Decision.Kind.AMENDMENT
    return chain_storage.append(
        packet, assignment=assignment, kind=kind, token=token, item=item, amends=amends, **values
    )


def _set_current(slot: Slot, decision: Decision, active_seconds: float | None) -> None:
    """Show the decision in its slot.

    The person's draft is removed, because the decision contains it; the item is no longer set
    aside.
    """
    person = decision.assignment.public_id
    drafts = {key: draft for key, draft in slot.draft.items() if key != person}
    seconds = slot.active_seconds if active_seconds is None else active_seconds
    Slot.objects.filter(pk=slot.pk).update(
        decision=decision, lease_expires_at=None, draft=drafts, active_seconds=seconds
    )
    marked = ItemMark.objects.filter(assignment=decision.assignment, item=slot.item).update(
        skipped_at=None, flagged=decision.flagged
    )
    if decision.flagged and not marked:
        slots.flag(assignment=decision.assignment, item=slot.item)


def _settle_disagreement(item: PacketItem) -> None:
    """Add a slot for a third person if reviewers disagree; else remove it.

    A slot is added if all reviewers, at least two, have decided and differ. If they agree later, a
    third person's lease, draft or decision stays.
    """
    answers = Slot.objects.filter(item=item, purpose=Slot.Purpose.REVIEW).values_list(
        "decision__answer", flat=True
    )
    given = [a for a in answers if a is not None]
    third = Slot.objects.filter(item=item, purpose=Slot.Purpose.ADJUDICATION)
    if len(given) == len(answers) and len(set(given)) > 1:
        Slot.objects.get_or_create(item=item, purpose=Slot.Purpose.ADJUDICATION, number=1)
    else:
        third.filter(decision__isnull=True, assignment__isnull=True, draft={}).delete()


def _state(assignment: Assignment) -> str:
    if assignment.withdrawn_at is not None:
        return "withdrawn"
    return "signed" if assignment.signed_at is not None else "working"


def _audit(assignment: Assignment, action: str, by: User, **detail: str | int | bool) -> None:
    packet = assignment.packet
    record(
        actor=by,
        study=packet.study,
        action=action,
        object_type="adjudication.packet",
        object_id=packet.public_id,
        detail=detail,
    )
