"""`manage.py verify_chain`: recompute the chains of decisions and say where one does not hold."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from adjudication.chain_storage import faults_of, head_of, opened_packets
from adjudication.models import Decision, Packet


class Command(BaseCommand):
    help = (
        "Recompute every link of the packets' chains of decisions, and compare findings, items, slots, signatures and the audit trail "
        "with them. Exits with 1 where something does not hold."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Which packets, and receipts to look up."""
        parser.add_argument("--packet", nargs="+", default=[], metavar="ID", help="public ids of packets (default: all)")
        parser.add_argument("--receipt", nargs="+", default=[], metavar="HASH", help="hashes of signed receipts that must be in a chain")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print a line a packet and a line a fault. Raises CommandError where something does not hold."""
        packets = Packet.objects.exclude(state=Packet.State.DRAFT).order_by("pk")
        if wanted := options["packet"]:
            packets = Packet.objects.filter(public_id__in=wanted).order_by("pk")
            if missing := set(wanted) - set(packets.values_list("public_id", flat=True)):
                raise CommandError(f"there is no packet {', '.join(sorted(missing))}")
        count = sum(self._verified(packet) for packet in packets)
        count += 0 if wanted else self._gone()
        for receipt in options["receipt"]:
            signed = Decision.objects.filter(hash=receipt, kind=Decision.Kind.SIGN, packet__in=packets).first()
            self.stdout.write(f"receipt {receipt}: " + (f"link {signed.sequence} of {signed.packet.public_id}" if signed else "NOT FOUND"))
            count += signed is None
        if count:
            raise CommandError(f"{count} fault{'' if count == 1 else 's'}")

    def _gone(self) -> int:
        """Packets that the audit trail saw opened and that are no longer there, with all their decisions."""
        missing = opened_packets() - set(Packet.objects.values_list("public_id", flat=True))
        for packet in sorted(missing):
            self.stdout.write(f"{packet}: the audit trail saw it opened, and it is not there")
        return len(missing)

    def _verified(self, packet: Packet) -> int:
        faults = faults_of(packet)
        sequence, head = head_of(packet)
        self.stdout.write(f"{packet.public_id}: {sequence} links, head {head or 'none'}, " + ("BROKEN" if faults else "holds"))
        for fault in faults:
            place = f"link {fault.sequence}" if fault.sequence else "beside the chain"
            self.stdout.write(f"{packet.public_id}: {place}: {fault.reason}")
        return len(faults)
