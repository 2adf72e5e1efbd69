"""`manage.py create_backup_key`: make a key pair for backups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.backups.encryption import create_key
from config.backups.errors import BackupError


class Command(BaseCommand):
    help = (
        "Write a new secret key of age to a file and print its public key, for backup --recipient."
        " Move the file off this machine: without it, nobody can read the backups."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Where to write the key."""
        parser.add_argument("--to", required=True, type=Path, metavar="FILE")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the key and print the public one. Raises CommandError."""
        try:
            self.stdout.write(create_key(options["to"]))
        except BackupError as error:
            raise CommandError(str(error)) from None
