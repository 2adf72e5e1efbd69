"""The chain of a packet in the database, appended one link at a time.

`adjudication.packets.chain.verification` checks the whole.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.db import connection

from accounts.ids import new_public_id
from adjudication.chain import BEGINNING, link_hash
from adjudication.models import Assignment, Decision, Packet, PacketItem
from adjudication.packets.digests import finding_digest, order_digest

#: Audit events of a packet: its contents, its people and heads of its chain
#: (`adjudication.packets.chain.verification`).
DRAWN, DELETED, OPENED, CLOSED = "packet.draw", "packet.delete", "packet.open", "packet.close"
ASSIGNED, WITHDRAWN, SIGNED, UNSIGNED = (
    "packet.assign",
    "packet.withdraw",
    "review.sign",
    "review.unsign",
)


def lock_packet(packet_id: int) -> Packet:
    """Lock the packet's row, so that appends to its chain take turns.

    The lock lasts until the transaction ends.
    """
    return Packet.objects.select_for_update(of=("self",), no_key=True).get(pk=packet_id)


def append(
    packet: Packet,
    *,
    assignment: Assignment,
    kind: str,
    token: str,
    item: PacketItem | None = None,
    **values: Any,
) -> Decision:
    """Append one link, at the database's time.

    The caller has locked the packet by `lock_packet`. `values`: further fields of Decision.
    `detail` gets an item's versions and the digest of its finding, and a digest of the seed of the
    person's sides and order.
    """
    last = Decision.objects.filter(packet=packet).order_by("-sequence").first()
    detail = {
        **values.pop("detail", {}),
        **_describe_item(item),
        "order_sha256": order_digest(assignment),
    }
    link = Decision(
        public_id=new_public_id(), packet=packet, sequence=last.sequence + 1 if last else 1, assignment=assignment, item=item, kind=kind,
        token=token, at=_now(), previous_hash=last.hash if last else BEGINNING, detail=detail, **values,
    )  # fmt: skip
    link.hash = link_hash(build_payload(link), link.previous_hash)
    link.save(force_insert=True)
    Packet.objects.filter(pk=packet.pk).update(chain_length=link.sequence, chain_head=link.hash)
    return link


def build_payload(link: Decision) -> dict[str, Any]:
    """Return a link as plain values, other rows by their public ids.

    An export has these values, so that a reader can recompute the hash.
    """
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


def find_head(packet: Packet) -> tuple[int, str]:
    """Return (sequence, hash) of the last link; (0, "") for an empty chain."""
    last = (
        Decision.objects.filter(packet=packet)
        .order_by("-sequence")
        .values_list("sequence", "hash")
        .first()
    )
    return last or (0, BEGINNING)


def find_current_decisions(links: list[Decision]) -> dict[tuple[int, int], Decision]:
    """Map (assignment, item) to the current decision by the chain alone.

    It is the last answer or amendment that is not withdrawn.
    """
    found: dict[tuple[int, int], Decision] = {}
    for d in links:
        if d.item_id is None:
            continue
        if d.kind in (Decision.Kind.ANSWER, Decision.Kind.AMENDMENT):
            found[d.assignment_id, d.item_id] = d
        elif d.kind == Decision.Kind.WITHDRAWAL:
            found.pop((d.assignment_id, d.item_id), None)
    return found


def _describe_item(item: PacketItem | None) -> dict[str, Any]:
    return (
        {}
        if item is None
        else {"versions": item.versions, "finding_sha256": finding_digest(item.finding)}
    )


def _now() -> datetime:
    """Return the database's time now, so that links are in order of time.

    It is not the time of the transaction's start.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        (at,) = cursor.fetchone()
    return at.astimezone(UTC)
