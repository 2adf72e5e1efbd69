"""Data of the packet page: items, reviewers, progress and open problems."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Q, QuerySet
from django.shortcuts import get_object_or_404

from accounts.audit.trail import record
from accounts.models import User
from accounts.permissions import STUDY_ADMINS, NotAllowed
from accounts.scoping import filter_by_role
from adjudication.access.eligibility import find_ineligibility_reasons, load_visibility
from adjudication.models import Assignment, Decision, Packet, Slot
from adjudication.packets.actions import find_obstacles
from adjudication.packets.chain import verification as chain_verification
from adjudication.review.slots import Progress, progress
from adjudication.sampling.drawing import QUOTAS, Shortage


@dataclass(frozen=True, slots=True)
class PairingLine:
    """Items of one pairing by stratum, in the protocol's order.

    `reviewers` is the number of reviewers per item.
    """

    pairing: str
    counts: tuple[int, ...]
    total: int
    reviewers: int

    @property
    def strata(self) -> dict[str, int]:
        return dict(zip(list_strata(), self.counts, strict=True))


@dataclass(frozen=True, slots=True)
class PersonLine:
    """A person of the packet.

    `late` counts answers that came too late. `reasons` say why they may not review it. `state` is
    in words.
    """

    assignment: Assignment
    progress: Progress
    late: int
    reasons: tuple[str, ...]
    state: str = ""


@dataclass(frozen=True, slots=True)
class PacketStatus:
    """A packet with its items, people and open problems.

    `disagreements` are the items that need or had a third person, `settled` those of them decided.
    """

    packet: Packet
    pairings: list[PairingLine]
    shortages: list[Shortage]
    assignments: list[PersonLine]
    obstacles: list[str]
    disagreements: int
    settled: int
    chain_faults: list[str]


@dataclass(frozen=True, slots=True)
class UnfinishedWork:
    """What closing an open packet would leave undone.

    These are answers still to come, people who have not signed, and unsettled disagreements.
    """

    answers: int
    unsigned: int
    disagreements: int


def find_packet(packets: QuerySet[Packet], person: User, public_id: str) -> Packet:
    """Return one of the packets if it is not closed to this admin.

    The trail records it. Raises Http404, and NotAllowed for a person who reviews it.
    """
    found = packets.select_related("study", "judge_run", "follows", "created_by")
    packet = get_object_or_404(
        filter_by_role(found, person, roles=STUDY_ADMINS), public_id=public_id
    )
    if not load_visibility(person, packet).report:
        raise NotAllowed(
            "You review this packet or another one with a case of it, so it is closed to you. Your"
            " items are under Review."
        )
    record(
        actor=person,
        study=packet.study,
        action="packet.view",
        object_type="adjudication.packet",
        object_id=packet.public_id,
    )
    return packet


def load_status(packet: Packet) -> PacketStatus:
    """Return the packet's current items, people and problems."""
    third, settled = disagreements(packet)
    return PacketStatus(
        packet,
        pairing_lines(packet),
        shortages(packet),
        load_people(packet),
        find_obstacles(packet) if packet.state == Packet.State.DRAFT else [],
        third,
        settled,
        [f"link {f.sequence}: {f.reason}" for f in chain_verification.find_faults(packet)],
    )


def annotate_counts(found: QuerySet[Packet]) -> QuerySet[Packet]:
    """Annotate packets with their number of items, people and slots.

    `slots` and `decided` count the slots of the review.
    """
    review = Q(items__slots__purpose=Slot.Purpose.REVIEW)
    return found.select_related("study", "judge_run", "follows").annotate(
        item_count=Count("items", distinct=True),
        people=Count(
            "assignments", filter=Q(assignments__withdrawn_at__isnull=True), distinct=True
        ),
        slots=Count("items__slots", filter=review, distinct=True),
        decided=Count(
            "items__slots", filter=review & Q(items__slots__decision__isnull=False), distinct=True
        ),
    )


def list_strata() -> tuple[str, ...]:
    """Return the strata in the protocol's order."""
    return tuple(str(s) for s in QUOTAS)


def pairing_lines(packet: Packet) -> list[PairingLine]:
    """Return a line for each drawn pairing, also for one without items."""
    rows = list(packet.items.values("pairing", "stratum", "quota").annotate(n=Count("pk")))
    lines = []
    for pairing in sorted({*packet.design.get("pairings", ()), *(r["pairing"] for r in rows)}):
        mine = [r for r in rows if r["pairing"] == pairing]
        counts = tuple(sum(r["n"] for r in mine if r["stratum"] == s) for s in list_strata())
        reviewers = max((r["quota"] for r in mine), default=0)
        lines.append(PairingLine(pairing, counts, sum(counts), reviewers))
    return lines


def shortages(packet: Packet) -> list[Shortage]:
    """Return the findings that were requested but missing at the drawing."""
    return [Shortage(**line) for line in packet.drawn.get("shortages", [])]


def load_people(packet: Packet) -> list[PersonLine]:
    """Return all people of the packet in order of assignment, with progress."""
    late = dict(
        Decision.objects.filter(packet=packet, kind=Decision.Kind.LATE)
        .order_by()
        .values_list("assignment")
        .annotate(n=Count("pk"))
    )
    found = packet.assignments.select_related("person", "packet__study").order_by("pk")
    lines = []
    for a in found:
        made = progress(assignment=a)
        lines.append(PersonLine(a, made, late.get(a.pk, 0), _reasons(a), _state_words(a, made)))
    return lines


def count_unfinished(packet: Packet) -> UnfinishedWork:
    """Count the open work in the packet, for the person about to close it."""
    review = Slot.objects.filter(item__packet=packet, purpose=Slot.Purpose.REVIEW)
    third, settled = disagreements(packet)
    unsigned = packet.assignments.filter(withdrawn_at__isnull=True, signed_at__isnull=True)
    return UnfinishedWork(
        review.filter(decision__isnull=True).count(), unsigned.count(), third - settled
    )


def _state_words(assignment: Assignment, made: Progress) -> str:
    if assignment.withdrawn_at is not None:
        return "taken out"
    if assignment.signed_at is not None:
        return f"signed {assignment.signed_at:%Y-%m-%d %H:%M} UTC"
    if assignment.packet.state == Packet.State.CLOSED:
        return "not signed"
    if assignment.packet.state == Packet.State.DRAFT:
        return "waiting for the packet to open"
    if not assignment.practised:
        return "practice not done"
    if made.done < made.total:
        return "at work"
    return "not signed yet" if made.total else "waiting for disagreements"


def _reasons(assignment: Assignment) -> tuple[str, ...]:
    if assignment.packet.state == Packet.State.CLOSED or assignment.withdrawn_at is not None:
        return ()
    return tuple(find_ineligibility_reasons(assignment.person, assignment.packet))


def disagreements(packet: Packet) -> tuple[int, int]:
    """Return (items that need or had a third person, those of them decided)."""
    third = Slot.objects.filter(item__packet=packet, purpose=Slot.Purpose.ADJUDICATION)
    return third.count(), third.filter(decision__isnull=False).count()
