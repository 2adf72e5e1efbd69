"""`manage.py backup`: back up the database and the files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.backups.errors import BackupError
from config.backups.making import make_backup
from config.backups.retention import Keep

PERIODS = ("daily", "weekly", "monthly")


class Command(BaseCommand):
    help = (
        "Back up the database and the files below OCCURRENT_VAR/files to a new folder below --to,"
        " while Occurrent runs. Keys are not in it: store them elsewhere (docs/backups.md)."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Where to, for whom, and how many to keep."""
        parser.add_argument("--to", required=True, type=Path, metavar="FOLDER")
        parser.add_argument(
            "--recipient",
            action="append",
            default=[],
            metavar="AGE1…",
            help="encrypt to this public key of age; may be repeated",
        )
        for period in PERIODS:
            parser.add_argument(
                f"--keep-{period}",
                type=int,
                default=0,
                metavar="N",
                help=f"keep the newest backup of each of the last N {period} periods with one;"
                " without any --keep option, all backups stay",
            )
        parser.add_argument(
            "--tools", type=Path, metavar="FOLDER", help="the folder of pg_dump and pg_restore"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Make the backup and print its name. Raises CommandError."""
        keep = {period: options[f"keep_{period}"] for period in PERIODS}
        if any(count < 0 for count in keep.values()):
            raise CommandError("--keep-…: give 0 or more.")
        try:
            manifest = make_backup(
                folder=options["to"].absolute(),
                recipients=options["recipient"],
                keep=Keep(**keep),
                tools=options["tools"],
                by=None,
            )
        except BackupError as error:
            raise CommandError(f"Not backed up: {error}") from None
        self.stdout.write(f"{options['to'] / manifest.name}: {manifest.bytes:,} bytes")
        self.stdout.write(f"keys that it does not contain: {', '.join(manifest.keys)}")
        if not options["recipient"]:
            self.stderr.write(
                "It is not encrypted: everybody who can read the folder can read patients' notes."
                " Add --recipient (docs/backups.md)."
            )
