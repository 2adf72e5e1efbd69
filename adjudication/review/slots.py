"""Slots of a packet; each takes one decision and is leased to one person.

Leases use database time. A lease is checked when a person asks for an item, so no sweeper is
needed. A slot stores each reviewer's draft under their id: they see it on another device, and after
another person had the slot.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from statistics import median
from typing import Any

from django.db import transaction
from django.db.models import (
    BooleanField,
    Case,
    Exists,
    F,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    TextField,
    Value,
    When,
)
from django.db.models.expressions import Func
from django.db.models.functions import Cast, Concat

from adjudication.models import Assignment, ItemMark, Packet, PacketItem, Slot
from adjudication.states import InvalidTransition
from jobs.leases.clock import database_time

#: Longest text of a draft, all values together; the page refuses longer ones.
LONGEST_DRAFT = 20_000
#: A page has one item on screen and a few unsent answers, never many.
MOST_IN_HAND = 50
LONGEST_ACTIVE = 86_400.0


class DraftRefused(ValueError):
    """A draft that is too long to store."""

    log_safe = True


@dataclass(frozen=True, slots=True)
class SavedDraft:
    """The stored draft; `leased`: whether the person still has the slot."""

    leased: bool


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a reviewer is.

    `total` counts items that they decided or can decide; another reviewer has leased `elsewhere` of
    them. `seconds_left` is None until a decision has active time.
    """

    done: int
    total: int
    elsewhere: int
    skipped: int
    flagged: int
    seconds_each: float | None
    seconds_left: float | None

    @property
    def complete(self) -> bool:
        """Whether there were items, and all are decided."""
        return 0 < self.done >= self.total


@transaction.atomic
def next_item(*, assignment: Assignment, besides: Collection[str] = ()) -> Slot | None:
    """Lease this person's next slot; None if nothing is left for them.

    It is the one already leased, else the next free one in this person's order, skipped ones last.
    `besides`: public ids of items that the page already shows. Raises InvalidTransition if the
    packet is not open or the review is signed.
    """
    mine = _lock_assignment(assignment)
    candidates = _find_claimable_slots(mine).annotate(
        skipped=_build_skip_order(mine),
        leased=_build_lease_order(mine),
        place=_build_sort_key(mine.seed),
    )
    order = (F("skipped").asc(nulls_first=True), "-leased", "place", "number")
    ordered = candidates.exclude(item__public_id__in=besides).order_by(*order)
    # Another transaction may lock a row for a moment. Pass over it only among free slots, which are
    # interchangeable.
    slot = (
        _lock_first_slot(ordered.filter(assignment=mine, skipped__isnull=True))
        or _lock_first_slot(ordered, skip_locked=True)
        or _lock_first_slot(ordered)
    )
    return None if slot is None else _lease(slot, mine)


@transaction.atomic
def claim(*, assignment: Assignment, item: PacketItem) -> Slot | None:
    """Lease the slot of one item, or renew it; None if its quota is taken.

    Raises as `next_item`.
    """
    mine = _lock_assignment(assignment)
    slot = _lock_first_slot(
        _find_claimable_slots(mine)
        .filter(item=item)
        .annotate(leased=_build_lease_order(mine))
        .order_by("-leased", "number")
    )
    return None if slot is None else _lease(slot, mine)


def find_slot(*, assignment: Assignment, item: PacketItem) -> Slot | None:
    """Return the item's slot that this person has leased or decided, or None."""
    return Slot.objects.filter(assignment=assignment, item=item).select_related("decision").first()


def load_draft(*, assignment: Assignment, item: PacketItem) -> dict[str, Any]:
    """Return this person's draft of the item; {} if there is none."""
    for draft in Slot.objects.filter(item=item, draft__has_key=assignment.public_id).values_list(
        "draft", flat=True
    ):
        return dict(draft[assignment.public_id])
    return {}


@transaction.atomic
def save_draft(
    *, assignment: Assignment, item: PacketItem, draft: Mapping[str, Any], active_seconds: float
) -> SavedDraft:
    """Store a draft and its seconds, and renew the lease.

    If the lease ran out and the slot is free, it is leased again; else the draft is stored without
    a lease. Raises DraftRefused if it is too long.
    """
    if sum(len(str(value)) for value in draft.values()) > LONGEST_DRAFT:
        raise DraftRefused("a draft is too long")
    try:
        slot = claim(assignment=assignment, item=item)
    except InvalidTransition:
        slot = None
    home = (
        slot
        or Slot.objects.select_for_update()
        .filter(item=item, purpose=_purpose(assignment))
        .order_by("number")
        .first()
    )
    if home is None:
        return SavedDraft(False)
    drafts = {**home.draft, assignment.public_id: {**draft, "active_seconds": active_seconds}}
    changes: dict[str, Any] = {"draft": drafts} | (
        {"active_seconds": active_seconds} if slot else {}
    )
    Slot.objects.filter(pk=home.pk).update(**changes)
    return SavedDraft(slot is not None)


@transaction.atomic
def skip(*, assignment: Assignment, item: PacketItem) -> None:
    """Set the item aside until all others are done.

    Its slot becomes free at once; the draft stays. Raises as `next_item`.
    """
    mine = _lock_assignment(assignment)
    _mark(mine, item, skipped_at=database_time())
    Slot.objects.filter(assignment=mine, item=item, decision__isnull=True).update(
        assignment=None, lease_expires_at=None
    )


def flag(*, assignment: Assignment, item: PacketItem, flagged: bool = True) -> None:
    """Mark the item for a second look, or remove the mark."""
    _mark(assignment, item, flagged=flagged)


def progress(*, assignment: Assignment) -> Progress:
    """Return this person's progress, with the time left at their own pace.

    The pace is the median of their active times, so that pauses do not count.
    """
    done = list(
        Slot.objects.filter(assignment=assignment, decision__isnull=False).values_list(
            "decision__active_seconds", flat=True
        )
    )
    is_open = assignment.packet.state == Packet.State.OPEN
    left = _items(_find_open_slots(assignment)) if is_open else 0
    timed = [seconds for seconds in done if seconds is not None]
    each = median(timed) if timed else None
    marks = ItemMark.objects.filter(assignment=assignment)
    undecided = marks.filter(skipped_at__isnull=False).exclude(
        item__slots__in=Slot.objects.filter(assignment=assignment, decision__isnull=False)
    )
    return Progress(
        done=len(done),
        total=len(done) + left,
        elsewhere=left - _items(_find_claimable_slots(assignment)) if is_open else 0,
        skipped=undecided.count(),
        flagged=marks.filter(flagged=True).count(),
        seconds_each=each,
        seconds_left=None if each is None else each * left,
    )


def _lock_assignment(assignment: Assignment) -> Assignment:
    """Lock the assignment, so that one person's devices take turns.

    Raises InvalidTransition if they cannot work on it.
    """
    found = (
        Assignment.objects.select_for_update(of=("self",), no_key=True)
        .select_related("packet")
        .get(pk=assignment.pk)
    )
    check_can_decide(found)
    return found


def check_can_decide(assignment: Assignment) -> None:
    """Raise InvalidTransition unless the person can decide on items.

    The packet must be open, and the person in it and not signed.
    """
    check_open(assignment)
    if assignment.signed_at is not None:
        raise InvalidTransition("a review", "signed", "go on")


def check_open(assignment: Assignment) -> None:
    """Raise InvalidTransition unless the packet is open and they are in it."""
    if assignment.packet.state != Packet.State.OPEN:
        raise InvalidTransition("a packet", assignment.packet.state, "be reviewed")
    if assignment.withdrawn_at is not None:
        raise InvalidTransition("a review", "withdrawn", "go on")


def _purpose(assignment: Assignment) -> str:
    return (
        Slot.Purpose.ADJUDICATION
        if assignment.role == Assignment.Role.ADJUDICATOR
        else Slot.Purpose.REVIEW
    )


def _find_claimable_slots(assignment: Assignment) -> QuerySet[Slot]:
    """Return open slots that this person has or could get.

    Free slots were never leased, were returned, or have an expired lease.
    """
    free = (
        Q(assignment__isnull=True)
        | Q(lease_expires_at__lte=database_time())
        | Q(lease_expires_at__isnull=True)
    )
    return (
        _find_open_slots(assignment).filter(free | Q(assignment=assignment)).select_related("item")
    )


def _find_open_slots(assignment: Assignment) -> QuerySet[Slot]:
    """Return undecided slots of this person's items, leased or not.

    Leaves out items of which they have another slot.
    """
    other = Slot.objects.filter(item=OuterRef("item"), assignment=assignment).exclude(
        pk=OuterRef("pk")
    )
    found = Slot.objects.filter(
        item__packet=assignment.packet, purpose=_purpose(assignment), decision__isnull=True
    )
    if assignment.pairings:
        found = found.filter(item__pairing__in=assignment.pairings)
    return found.filter(~Exists(other))


def _items(found: QuerySet[Slot]) -> int:
    return found.values("item").distinct().count()


def _lock_first_slot(found: QuerySet[Slot], *, skip_locked: bool = False) -> Slot | None:
    """Return the first slot, locked until the transaction ends.

    Waits for a row that another transaction has locked, or passes over it with `skip_locked`.
    """
    return found.select_for_update(of=("self",), skip_locked=skip_locked).first()


def _build_lease_order(assignment: Assignment) -> Case:
    return Case(
        When(assignment=assignment, then=Value(True)),
        default=Value(False),
        output_field=BooleanField(),
    )


def _build_skip_order(assignment: Assignment) -> Subquery:
    """Return when the item was set aside: skipped first, shown first."""
    return Subquery(
        ItemMark.objects.filter(assignment=assignment, item=OuterRef("item")).values("skipped_at")
    )


def _build_sort_key(seed: int) -> Func:
    """Return the reviewer's own sort key of an item.

    It is the SHA-256 of their seed and the item's id, and reveals nothing about the packet's order.
    """
    words = Concat(
        Value(f"{seed}:order:"), Cast(F("item__public_id"), TextField()), output_field=TextField()
    )
    return Func(
        words,
        template="encode(sha256(convert_to(%(expressions)s, 'UTF8')), 'hex')",
        output_field=TextField(),
    )


def _lease(slot: Slot, assignment: Assignment) -> Slot:
    """Lease the slot or renew it.

    Active seconds resume from the person's draft.
    """
    seconds = dict(slot.draft.get(assignment.public_id, {})).get("active_seconds", 0.0)
    Slot.objects.filter(pk=slot.pk).update(
        assignment=assignment,
        lease_expires_at=database_time(timedelta(minutes=assignment.packet.lease_minutes)),
        active_seconds=seconds,
    )
    return Slot.objects.select_related("item__packet", "decision").get(pk=slot.pk)


def _mark(assignment: Assignment, item: PacketItem, **values: Any) -> None:
    ItemMark.objects.update_or_create(assignment=assignment, item=item, defaults=values)
