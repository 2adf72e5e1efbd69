"""What the packet page shows: items by pairing and stratum, who reviews and how far they are, and what stands in the way."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count

from adjudication import chain_storage
from adjudication.drawing import QUOTAS, Shortage
from adjudication.eligibility import reasons_against
from adjudication.models import Assignment, Decision, Packet, Slot
from adjudication.slots import Progress, progress


@dataclass(frozen=True, slots=True)
class PairingLine:
    """Items of one pairing by stratum, in the protocol's order; `reviewers` an item."""

    pairing: str
    counts: tuple[int, ...]
    total: int
    reviewers: int


@dataclass(frozen=True, slots=True)
class PersonLine:
    """Somebody of the packet. `late` are answers that came too late to stand; `reasons` why they may not review it."""

    assignment: Assignment
    progress: Progress
    late: int
    reasons: tuple[str, ...]

    @property
    def percent(self) -> int:
        return round(100 * self.progress.done / self.progress.total) if self.progress.total else 0


def strata() -> tuple[str, ...]:
    """The strata in the protocol's order."""
    return tuple(str(s) for s in QUOTAS)


def pairing_lines(packet: Packet) -> list[PairingLine]:
    """A line a pairing."""
    rows = packet.items.values("pairing", "stratum", "quota").annotate(n=Count("pk")).order_by("pairing")
    lines = []
    for pairing in dict.fromkeys(r["pairing"] for r in rows):
        mine = [r for r in rows if r["pairing"] == pairing]
        counts = tuple(sum(r["n"] for r in mine if r["stratum"] == s) for s in strata())
        lines.append(PairingLine(pairing, counts, sum(counts), max(r["quota"] for r in mine)))
    return lines


def shortages(packet: Packet) -> list[Shortage]:
    """What was wanted and not there when the packet was drawn."""
    return [Shortage(**told) for told in packet.drawn.get("shortages", [])]


def people(packet: Packet) -> list[PersonLine]:
    """Everybody of the packet in order of assignment, with how far they are."""
    late = dict(
        Decision.objects.filter(packet=packet, kind=Decision.Kind.LATE).order_by().values_list("assignment").annotate(n=Count("pk"))
    )
    found = packet.assignments.select_related("person", "packet__study").order_by("pk")
    return [PersonLine(a, progress(assignment=a), late.get(a.pk, 0), _reasons(a)) for a in found]


def _reasons(assignment: Assignment) -> tuple[str, ...]:
    if assignment.packet.state == Packet.State.CLOSED or assignment.withdrawn_at is not None:
        return ()
    return tuple(reasons_against(assignment.person, assignment.packet))


def disagreements(packet: Packet) -> tuple[int, int]:
    """(items that wait for a third person or were decided by one, how many of them are decided)."""
    third = Slot.objects.filter(item__packet=packet, purpose=Slot.Purpose.ADJUDICATION)
    return third.count(), third.filter(decision__isnull=False).count()


def chain_faults(packet: Packet) -> list[chain_storage.Fault]:
    """What is wrong with the packet's chain of decisions; [] where every link holds."""
    return chain_storage.faults_of(packet)
