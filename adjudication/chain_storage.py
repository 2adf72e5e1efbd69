"""The chain of a packet in the database: links are appended one at a time, and the whole is checked against what stands beside it.

What stands beside it: the findings and items that decisions are about, the slots that show them, and the heads that the audit trail
noted when a review was signed and when the packet was closed; so a chain that was cut off at its end is found too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db import connection

from accounts.ids import new_public_id
from accounts.models import AuditEvent
from adjudication.chain import BEGINNING, Break, Link, breaks, digest, link_hash
from adjudication.models import Assignment, Decision, Finding, Packet, PacketItem, Slot

#: Everything of a finding that a decision is about; changed afterwards, it is found.
_FINDING = (
    "public_id", "type", "verdict", "polarity", "a_event", "a_time", "b_event", "b_time", "a_row", "b_row", "note_evidence",
    "note_start", "note_end", "table_evidence", "grounding", "relation", "reason", "flagged", "category", "charged_first", "subject_sha256",
)  # fmt: skip
#: Audit events that note the packet's items, and a head of its chain.
OPENED, SIGNED, CLOSED = "packet.open", "review.sign", "packet.close"
_JOINED = ("packet", "assignment__person", "item__finding", "amends")


@dataclass(frozen=True, slots=True)
class Fault:
    """Where a packet does not hold: its public id, the sequence of the link (0: beside the chain), and why."""

    packet: str
    sequence: int
    reason: str


def locked_packet(packet_id: int) -> Packet:
    """The packet's row, locked until the transaction ends: everything that appends to its chain takes turns here."""
    return Packet.objects.select_for_update(of=("self",), no_key=True).get(pk=packet_id)


def append(packet: Packet, *, assignment: Assignment, kind: str, token: str, item: PacketItem | None = None, **values: Any) -> Decision:
    """Append one link, at the database's time. The caller holds the packet by `locked_packet`. `values`: further fields of Decision.

    Of an item, its versions and the digest of its finding are put into `detail`; of the person, one of the seed of their sides and order.
    """
    last = Decision.objects.filter(packet=packet).order_by("-sequence").first()
    detail = {**values.pop("detail", {}), **_about(item), "order_sha256": _order_digest(assignment)}
    link = Decision(
        public_id=new_public_id(), packet=packet, sequence=last.sequence + 1 if last else 1, assignment=assignment, item=item, kind=kind,
        token=token, at=_now(), previous_hash=last.hash if last else BEGINNING, detail=detail, **values,
    )  # fmt: skip
    link.hash = link_hash(payload_of(link), link.previous_hash)
    link.save(force_insert=True)
    Packet.objects.filter(pk=packet.pk).update(chain_length=link.sequence, chain_head=link.hash)
    return link


def payload_of(link: Decision) -> dict[str, Any]:
    """What a link says, as plain values; other rows by their public ids. This is what an export holds to recompute the hash."""
    return {
        "public_id": link.public_id,
        "packet": link.packet.public_id,
        "sequence": link.sequence,
        "assignment": link.assignment.public_id,
        "person": link.assignment.person.public_id,
        "role": link.assignment.role,
        "item": link.item.public_id if link.item else None,
        "kind": str(link.kind),
        "answer": str(link.answer),
        "own_time": link.own_time,
        "comment": link.comment,
        "flagged": link.flagged,
        "active_seconds": link.active_seconds,
        "shown_swapped": link.shown_swapped,
        "amends": link.amends.public_id if link.amends else None,
        "detail": link.detail,
        "token": link.token,
        "at": link.at.astimezone(UTC).isoformat(timespec="microseconds"),
    }


def head_of(packet: Packet) -> tuple[int, str]:
    """(sequence, hash) of the last link; (0, "") for an empty chain."""
    last = Decision.objects.filter(packet=packet).order_by("-sequence").values_list("sequence", "hash").first()
    return last or (0, BEGINNING)


def faults_of(packet: Packet) -> list[Fault]:
    """Everything that does not hold: links, findings behind them, what signatures cover, and which decision each slot shows."""
    links = list(Decision.objects.filter(packet=packet).select_related(*_JOINED).order_by("sequence", "pk"))
    found = breaks(Link(d.sequence, payload_of(d), d.previous_hash, d.hash) for d in links)
    found += [b for d in links for b in _finding_breaks(d)]
    found += [Break(d.sequence, "the seed of its person's order is not what it was") for d in links if _seed_moved(d)]
    found += _signature_breaks(links)
    found += _slot_breaks(packet, links)
    found += _noted_breaks(packet, links)
    found += _end_breaks(packet, links)
    return [Fault(packet.public_id, b.sequence, b.reason) for b in sorted(found, key=lambda b: b.sequence)]


def items_digest(packet: Packet) -> str:
    """SHA-256 of the packet's items as they were drawn: noted when it is opened."""
    fields = ("public_id", "finding__public_id", "ordinal", "stratum", "pairing", "quota", "versions")
    return digest({"items": [list(row) for row in packet.items.order_by("ordinal").values_list(*fields)]})


def terms_digest(packet: Packet) -> str:
    """SHA-256 of what was agreed before the first answer: how the packet was drawn, and when its judges' answers are shown."""
    return digest({"seed": packet.seed, "reveal": packet.reveal, "design": packet.design})


def standing(links: list[Decision]) -> dict[tuple[int, int], Decision]:
    """(assignment, item) → the decision that stands by the chain alone: the last answer or amendment that nothing withdrew."""
    found: dict[tuple[int, int], Decision] = {}
    for d in links:
        if d.item_id is None:
            continue
        if d.kind in (Decision.Kind.ANSWER, Decision.Kind.AMENDMENT):
            found[d.assignment_id, d.item_id] = d
        elif d.kind == Decision.Kind.WITHDRAWAL:
            found.pop((d.assignment_id, d.item_id), None)
    return found


def _about(item: PacketItem | None) -> dict[str, Any]:
    return {} if item is None else {"versions": item.versions, "finding_sha256": digest(_finding_values(item.finding))}


def _finding_values(finding: Finding) -> dict[str, Any]:
    return {name: getattr(finding, name) for name in _FINDING}


def _finding_breaks(link: Decision) -> Iterator[Break]:
    if link.item is None:
        return
    if link.detail.get("finding_sha256") != digest(_finding_values(link.item.finding)):
        yield Break(link.sequence, "the finding it is about is not what it was")
    if link.detail.get("versions") != link.item.versions:
        yield Break(link.sequence, "the versions of its item are not what they were")


def _seed_moved(link: Decision) -> bool:
    return link.detail.get("order_sha256") != _order_digest(link.assignment)


def _order_digest(assignment: Assignment) -> str:
    return digest({"seed": assignment.seed})


def _signature_breaks(links: list[Decision]) -> list[Break]:
    """A signature names the head that it covers: the link before it. Its mark on the assignment agrees with the chain."""
    found = []
    signed: dict[int, bool] = {}
    before: Mapping[str, Any] = {"head": BEGINNING, "head_sequence": 0}
    for d in links:
        if d.kind == Decision.Kind.SIGN:
            signed[d.assignment_id] = True
            if {key: d.detail.get(key) for key in before} != before:
                found.append(Break(d.sequence, "it signs another chain than the one before it"))
        elif d.kind == Decision.Kind.UNSIGN:
            signed[d.assignment_id] = False
        before = {"head": d.hash, "head_sequence": d.sequence}
    for d in {d.assignment_id: d for d in links}.values():
        marked = d.assignment.signed_at is not None
        if d.assignment.withdrawn_at is None and marked != signed.get(d.assignment_id, False):
            found.append(Break(d.sequence, "its person's signature is marked otherwise than the chain has it"))
    return found


def _slot_breaks(packet: Packet, links: list[Decision]) -> list[Break]:
    shown = {s.decision_id: s for s in Slot.objects.filter(item__packet=packet, decision__isnull=False)}
    expected = {d.pk: d for d in standing(links).values()}
    found = [Break(d.sequence, "it stands, and no slot shows it") for pk, d in expected.items() if pk not in shown]
    by_pk = {d.pk: d for d in links}
    for pk in shown.keys() - expected.keys():
        other = by_pk.get(pk or 0)
        found.append(Break(other.sequence if other else 0, "a slot shows it, and it does not stand"))
    return found


def _noted_breaks(packet: Packet, links: list[Decision]) -> Iterator[Break]:
    """Items and heads as the audit trail has them."""
    hashes = {d.sequence: d.hash for d in links} | {0: BEGINNING}
    for action, detail in noted_of(packet):
        if action == OPENED and detail.get("items_sha256") != items_digest(packet):
            yield Break(0, "its items are not those it was opened with")
        if action == OPENED and detail.get("terms_sha256") != terms_digest(packet):
            yield Break(0, "its seed, design or reveal policy is not what it was opened with")
        if action in (SIGNED, CLOSED) and hashes.get(detail.get("sequence", 0)) != detail.get("head"):
            yield Break(detail.get("sequence", 0), "the audit trail notes another head there")


def _end_breaks(packet: Packet, links: list[Decision]) -> Iterator[Break]:
    """The packet's row notes where its chain ends."""
    noted = Packet.objects.filter(pk=packet.pk).values_list("chain_length", "chain_head").get()
    ends = (links[-1].sequence, links[-1].hash) if links else (0, BEGINNING)
    if ends != noted:
        yield Break(ends[0], f"it ends here, and its packet notes {noted[0]} link{'' if noted[0] == 1 else 's'} and their head")


def noted_of(packet: Packet) -> list[tuple[str, dict[str, Any]]]:
    """(action, detail) of what the audit trail noted about the packet's chain, oldest first."""
    events = AuditEvent.objects.filter(object_type="adjudication.packet", object_id=packet.public_id, action__in=[OPENED, SIGNED, CLOSED])
    return list(events.order_by("pk").values_list("action", "detail"))


def opened_packets() -> set[str]:
    """Public ids of all packets that the audit trail saw opened: such a packet is never deleted."""
    return set(AuditEvent.objects.filter(object_type="adjudication.packet", action=OPENED).values_list("object_id", flat=True))


def _now() -> datetime:
    """The database's clock now, not at the start of the transaction: links are in order of time."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        (at,) = cursor.fetchone()
    return at.astimezone(UTC)
