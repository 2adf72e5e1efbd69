"""The heads of the chains in the database, and the hashes at given places."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from accounts.audit.chain import current_head
from accounts.models import AuditLink
from adjudication.anchors.lines import Head
from adjudication.models import Decision

#: Places that one query asks for.
AT_ONCE = 10_000


def find_heads() -> tuple[Head, dict[str, Head]]:
    """Return the head of the audit trail, and of each packet with decisions."""
    trail = current_head()
    last = (
        Decision.objects.order_by("packet_id", "-sequence")
        .distinct("packet_id")
        .values_list("packet__public_id", "sequence", "hash")
    )
    return (trail.sequence, trail.hash), {
        packet: (sequence, hash_) for packet, sequence, hash_ in last
    }


def find_trail_hashes(places: Collection[int]) -> dict[int, str]:
    """Return the hashes of the audit trail at these places."""
    wanted = sorted(places)
    found: dict[int, str] = {0: ""}
    for start in range(0, len(wanted), AT_ONCE):
        part = AuditLink.objects.filter(sequence__in=wanted[start : start + AT_ONCE])
        found |= dict(part.values_list("sequence", "hash"))
    return found


def find_packet_hashes(places: Mapping[str, Collection[int]]) -> dict[tuple[str, int], str]:
    """Return the hashes of packets' chains at these places."""
    found: dict[tuple[str, int], str] = {}
    for packet, sequences in places.items():
        links = Decision.objects.filter(packet__public_id=packet, sequence__in=sequences)
        found |= {(packet, at): hash_ for at, hash_ in links.values_list("sequence", "hash")}
    return found
