"""Compare the anchor file with itself and with the chains in the database."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from cryptography.x509 import Certificate

from adjudication.anchors.files import Line
from adjudication.anchors.heads import find_packet_hashes, find_trail_hashes
from adjudication.anchors.lines import Anchor, Head, line_digest
from adjudication.anchors.stamps import StampFailed, verify_stamp


@dataclass(frozen=True, slots=True)
class AnchorFault:
    """A fault of one line of the file, in words without any content."""

    line: int
    reason: str


def find_anchor_faults(
    lines: Sequence[Line], keys: Collection[str], roots: Sequence[Certificate]
) -> list[AnchorFault]:
    """Return every fault, in order of the lines.

    `keys` are the public keys that may have signed, `roots` the authorities whose time stamps count.
    """
    found = [*_file_faults(lines, keys, roots), *_database_faults(lines)]
    return sorted(found, key=lambda fault: fault.line)


def _file_faults(
    lines: Sequence[Line], keys: Collection[str], roots: Sequence[Certificate]
) -> Iterator[AnchorFault]:
    previous = ""
    for line in lines:
        if line.anchor is None:
            yield AnchorFault(line.number, line.fault)
        else:
            for reason in _reasons(line.anchor, line.number, previous, keys, roots):
                yield AnchorFault(line.number, reason)
        previous = line_digest(line.content)


def _reasons(
    anchor: Anchor,
    number: int,
    previous: str,
    keys: Collection[str],
    roots: Sequence[Certificate],
) -> Iterator[str]:
    if anchor.sequence != number:
        yield f"its number is {anchor.sequence}"
    if anchor.previous != previous:
        yield "it does not follow the line before it"
    if anchor.key not in keys:
        yield f"it is signed with another key, {anchor.key}"
    elif not anchor.is_signed():
        yield "its signature does not match its content"
    if anchor.stamp and roots:
        try:
            verify_stamp(anchor.stamp, anchor.stamped_bytes(), roots)
        except StampFailed as error:
            yield str(error)


def _database_faults(lines: Sequence[Line]) -> Iterator[AnchorFault]:
    """Find heads that the database's chains no longer have at their place."""
    expected = list(_expected_heads([line.anchor for line in lines if line.anchor]))
    trail = find_trail_hashes({head[0] for _, packet, head in expected if not packet})
    places: dict[str, set[int]] = defaultdict(set)
    for _, packet, head in expected:
        if packet:
            places[packet].add(head[0])
    packets = find_packet_hashes(places)
    for anchor, packet, (sequence, hash_) in expected:
        stored = packets.get((packet, sequence)) if packet else trail.get(sequence)
        if stored != hash_:
            chain = f"packet {packet}" if packet else "the audit trail"
            what = "is missing" if stored is None else "has another hash"
            yield AnchorFault(
                anchor.sequence,
                f"link {sequence} of {chain} {what}, which was anchored at {anchor.at}",
            )


def _expected_heads(anchors: Sequence[Anchor]) -> Iterator[tuple[Anchor, str, Head]]:
    """Yield each head that must be there, with its anchor and packet.

    The packet is "" for the audit trail. A line that notes a restored backup excuses links that
    earlier lines name and it lacks.
    """
    after: Anchor | None = None
    limits: list[Anchor] = []
    for anchor in reversed(anchors):
        if after is not None and after.restored:
            limits.append(after)
        after = anchor
        if all(anchor.trail[0] <= limit.trail[0] for limit in limits):
            yield anchor, "", anchor.trail
        for packet, head in anchor.packets.items():
            if all(head[0] <= limit.packets.get(packet, (0, ""))[0] for limit in limits):
                yield anchor, packet, head
