"""`manage.py check_backup`: check a backup without restoring it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.wording import format_count
from config.backups.checking import check_parts, check_whole
from config.backups.encryption import read_identities
from config.backups.errors import BackupError, explain_file_errors


class Command(BaseCommand):
    help = (
        "Check the signature and the digests of a backup. With --identity (or if it is not"
        " encrypted), read all of it too. Needs no database. Exits with 1 on any fault."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Which backup, and its key."""
        parser.add_argument("--from", required=True, type=Path, dest="backup", metavar="BACKUP")
        parser.add_argument(
            "--identity", type=Path, metavar="FILE", help="the file of the secret key of age"
        )
        parser.add_argument(
            "--without-key", action="store_true", help="do not check who signed the manifest"
        )
        parser.add_argument("--tools", type=Path, metavar="FOLDER", help="the folder of pg_restore")

    def handle(self, *args: Any, **options: Any) -> None:
        """Check, and print what the backup contains. Raises CommandError."""
        folder, identity = options["backup"], options["identity"]
        try:
            with explain_file_errors():
                manifest = check_parts(folder, without_key=options["without_key"])
                if readable := bool(identity or not manifest.recipients):
                    identities = read_identities(identity) if identity else ()
                    check_whole(folder, manifest, identities, options["tools"])
        except BackupError as error:
            raise CommandError(str(error)) from None
        contents = manifest.contents
        self.stdout.write(
            f"{manifest.name} is {'whole' if readable else 'unchanged; without --identity it was not read'}:"
            f" {format_count(sum(contents.rows.values()), 'row')} in"
            f" {format_count(len(contents.rows), 'table')}, {format_count(manifest.files, 'file')},"
            f" audit head {contents.audit_head or 'none'}"
        )
        self.stdout.write(f"keys that it does not contain: {', '.join(manifest.keys)}")
