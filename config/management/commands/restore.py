"""`manage.py restore`: restore a backup and verify it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.wording import format_count
from config.backups.encryption import read_identities
from config.backups.errors import BackupError, explain_file_errors
from config.backups.restoring import restore_backup


class Command(BaseCommand):
    help = (
        "Restore a backup into this installation, compare every count and chain with it, and queue"
        " interrupted jobs again. Stop the web processes and workers first."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Which backup, its key, and what may be lost."""
        parser.add_argument("--from", required=True, type=Path, dest="backup", metavar="BACKUP")
        parser.add_argument(
            "--identity", type=Path, metavar="FILE", help="the file of the secret key of age"
        )
        parser.add_argument(
            "--replace-everything",
            action="store_true",
            help="delete the database and the files that are here",
        )
        parser.add_argument(
            "--without-key",
            action="store_true",
            help="the SECRET_KEY that signed the backup is lost: everybody signs in again",
        )
        parser.add_argument(
            "--tools", type=Path, metavar="FOLDER", help="the folder of pg_dump and pg_restore"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Restore, and print what was done. Raises CommandError."""
        try:
            with explain_file_errors():
                restored = restore_backup(
                    folder=options["backup"],
                    identities=read_identities(options["identity"]) if options["identity"] else (),
                    replace=options["replace_everything"],
                    without_key=options["without_key"],
                    tools=options["tools"],
                    say=self.stdout.write,
                    by=None,
                )
        except BackupError as error:
            raise CommandError(f"Not restored: {error}") from None
        rows = sum(restored.manifest.contents.rows.values())
        self.stdout.write(
            f"restored {restored.manifest.name}: {format_count(rows, 'row')},"
            f" {format_count(restored.manifest.files, 'file')}; all counts and heads agree."
            f" {format_count(restored.jobs, 'interrupted job')} queued again"
        )
        if restored.faults:
            raise CommandError(
                "Restored as it was backed up, which had faults already:"
                f" {'; '.join(restored.faults)}. Use an older backup, or find out what changed."
            )
