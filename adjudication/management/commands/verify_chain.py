"""`manage.py verify_chain`: verify packets' chains and the audit trail.

It recomputes their hashes and reports every fault.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.audit.chain import MOST, Head, chain_faults, current_head
from accounts.wording import format_count
from adjudication.anchors.files import Line, read_lines
from adjudication.anchors.keys import AnchorError, describe_key, find_key
from adjudication.anchors.stamps import load_roots
from adjudication.anchors.verification import find_anchor_faults
from adjudication.models import Decision, Packet
from adjudication.packets.chain.storage import find_head
from adjudication.packets.chain.verification import (
    audit_heads,
    find_faults,
    find_missing_packets,
    packets_to_verify,
)


class Command(BaseCommand):
    help = (
        "Recompute the chain of the audit trail and those of the packets, and compare findings,"
        " sides, items, slots and signatures with them, and the chains with the anchors that"
        " anchor_chain wrote. Prints the head of the audit trail: store it elsewhere, and pass it to"
        " --audit-head later. Exits with 1 on any fault."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the options."""
        parser.add_argument(
            "--packet",
            nargs="+",
            default=[],
            metavar="ID",
            help="public ids of packets (default: all)",
        )
        parser.add_argument(
            "--receipt",
            nargs="+",
            default=[],
            metavar="HASH",
            help="hashes of signed receipts that must be in a chain",
        )
        parser.add_argument(
            "--audit-head",
            nargs="+",
            default=[],
            metavar="HEAD",
            help="heads of the audit trail, as printed earlier",
        )

        parser.add_argument(
            "--anchor-file",
            type=Path,
            default=None,
            metavar="FILE",
            help="a copy of the file of anchors (default: ANCHOR_FILE)",
        )
        parser.add_argument(
            "--anchor-key",
            nargs="+",
            default=[],
            metavar="KEY",
            help="public keys that signed anchors, besides that of ANCHOR_KEY_FILE",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Print a line for the trail, each packet and each fault.

        Raises CommandError if anything is wrong.
        """
        packets = self._find_packets(options["packet"])
        count = self._audit_faults(packets, options["audit_head"])
        count += sum(self._faults(packet) for packet in packets)
        count += 0 if options["packet"] else self._report_missing()
        count += self._anchor_faults(options["anchor_file"], options["anchor_key"])
        count += sum(self._receipt_missing(receipt) for receipt in options["receipt"])
        if count:
            raise CommandError(f"{format_count(count, 'fault')}")

    def _find_packets(self, ids: list[str]) -> list[Packet]:
        """Return the packets to verify. Raises CommandError for an unknown one."""
        if not ids:
            return packets_to_verify()
        packets = list(Packet.objects.filter(public_id__in=ids).order_by("pk"))
        if missing := set(ids) - {packet.public_id for packet in packets}:
            raise CommandError(f"there is no packet {', '.join(sorted(missing))}")
        return packets

    def _audit_faults(self, packets: list[Packet], given: list[str]) -> int:
        """Verify the audit trail and return its number of faults.

        It must contain the heads given and those that signatures cover. Raises CommandError for a
        malformed head.
        """
        try:
            noted = [Head.parse(text) for text in given]
        except ValueError:
            raise CommandError(
                "--audit-head: use the form that this command prints, for example 12:ab…"
            ) from None
        faults = chain_faults(
            [*noted, *(head for packet in packets for head in audit_heads(packet))]
        )
        head = current_head()
        self.stdout.write(
            f"audit trail: {head.sequence} links, head {head}, {'BROKEN' if faults else 'whole'}"
        )
        for fault in faults:
            self.stdout.write(
                f"audit trail: {f'link {fault.sequence}: ' if fault.sequence else ''}{fault.reason}"
            )
        return len(faults)

    def _faults(self, packet: Packet) -> int:
        faults = find_faults(packet)
        sequence, head = find_head(packet)
        self.stdout.write(
            f"{packet.public_id}: {sequence} links, head {head or 'none'},"
            f" {'BROKEN' if faults else 'whole'}"
        )
        for fault in faults:
            place = f"link {fault.sequence}" if fault.sequence else "beside the chain"
            self.stdout.write(f"{packet.public_id}: {place}: {fault.reason}")
        return len(faults)

    def _report_missing(self) -> int:
        """Print the missing packets and return their number.

        They were drawn or opened, and are gone with all their decisions.
        """
        missing = find_missing_packets()
        for packet in sorted(missing):
            self.stdout.write(f"{packet}: the packet is in the audit trail but not in the database")
        return len(missing)

    def _anchor_faults(self, copy: Path | None, given: list[str]) -> int:
        """Verify the file of anchors and return its number of faults.

        Raises CommandError for a file, key or certificate that cannot be read.
        """
        try:
            lines = read_lines(copy or settings.ANCHOR_FILE)
            roots = load_roots(settings.ANCHOR_TSA_CERTIFICATES_FILE)
            own = find_key(settings.ANCHOR_KEY_FILE)
            keys = {*given, *([describe_key(own)] if own else [])}
        except AnchorError as error:
            raise CommandError(str(error)) from None
        if not lines:
            # A key without a file: lines were written, and the file is gone.
            self.stdout.write(f"anchors: none{', but there is a key' if keys or copy else ''}")
            return int(bool(keys or copy))
        faults = find_anchor_faults(lines, keys, roots)
        self.stdout.write(f"anchors: {_describe_lines(lines)}, {'BROKEN' if faults else 'whole'}")
        for fault in faults[:MOST]:
            self.stdout.write(f"anchor {fault.line}: {fault.reason}")
        return len(faults)

    def _receipt_missing(self, receipt: str) -> bool:
        signed = (
            Decision.objects.filter(hash=receipt, kind=Decision.Kind.SIGN)
            .select_related("packet")
            .first()
        )
        self.stdout.write(
            f"receipt {receipt}: "
            + (f"link {signed.sequence} of {signed.packet.public_id}" if signed else "NOT FOUND")
        )
        return signed is None


def _describe_lines(lines: list[Line]) -> str:
    """Return the number of lines and of time stamps, and the last time."""
    anchors = [line.anchor for line in lines if line.anchor]
    stamped = sum(bool(anchor.stamp) for anchor in anchors)
    last = f", last at {anchors[-1].at}" if anchors else ""
    return f"{format_count(len(lines), 'line')}, {stamped} with time stamps{last}"
