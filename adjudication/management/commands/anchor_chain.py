"""`manage.py anchor_chain`: sign the heads of the chains into a file."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from adjudication.anchors.actions import anchor_chains
from adjudication.anchors.keys import AnchorError


class Command(BaseCommand):
    help = (
        "Append the heads of the audit trail and of the packets' chains to ANCHOR_FILE, signed with"
        " the key in ANCHOR_KEY_FILE (made on first use). verify_chain compares the database with"
        " the file. Prints the public key: store it elsewhere."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the options."""
        parser.add_argument(
            "--restored",
            default="",
            metavar="REASON",
            help=(
                "the database was restored from a backup: links that the file names and the backup"
                " lacks are no faults"
            ),
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Append a line and print it in short. Raises CommandError."""
        try:
            anchor = anchor_chains(restored=options["restored"])
        except AnchorError as error:
            raise CommandError(str(error)) from None
        if anchor is None:
            self.stdout.write(f"no chain changed since the last line of {settings.ANCHOR_FILE}")
            return
        sequence, head = anchor.trail
        self.stdout.write(
            f"anchor {anchor.sequence}: audit trail {sequence}:{head or 'none'},"
            f" packets with new links: {len(anchor.packets)},"
            f" {'with' if anchor.stamp else 'without'} time stamp"
        )
        self.stdout.write(f"public key: {anchor.key}")
