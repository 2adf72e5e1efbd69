"""`manage.py exchange`: ask a run's language models by files.

It exports requests and imports their answers (docs/reference/exchange.md).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.models import User
from accounts.wording import format_count
from timelines.models import Run
from timelines.runs.exchange import export_requests, import_answers
from timelines.runs.following import work_inline


class Command(BaseCommand):
    help = (
        "Export the requests that a run waits for, or import their answers. Exits with 1 if an"
        " answer was rejected."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the direction, the run, and the folder."""
        parser.add_argument("direction", choices=["export", "import"])
        parser.add_argument("--run", required=True, help="public id of the run")
        folder = parser.add_mutually_exclusive_group(required=True)
        folder.add_argument(
            "--out",
            type=Path,
            help="export: the folder to write to; existing requests do not change",
        )
        folder.add_argument(
            "--in", type=Path, dest="folder", help="import: the folder to read answers from"
        )
        parser.add_argument("--by", default="", help="user name to record as the person who did it")

        parser.add_argument(
            "--inline",
            action="store_true",
            help="after an import, do the available work in this process",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Export or import, and report the counts."""
        run = Run.objects.select_related("study").filter(public_id=options["run"]).first()
        if run is None:
            raise CommandError(f"there is no run {options['run']}")
        by = User.objects.filter(username=options["by"]).first() if options["by"] else None
        if options["by"] and by is None:
            raise CommandError(f"there is no account {options['by']}")
        exporting = options["direction"] == "export"
        folder = options["out"] if exporting else options["folder"]
        if folder is None:
            raise CommandError("export writes to --out FOLDER, import reads from --in FOLDER")
        try:
            if exporting:
                self._export(run, folder, by)
            else:
                self._import(run, folder, by, inline=options["inline"])
        except OSError as error:
            raise CommandError(str(error)) from error

    def _export(self, run: Run, folder: Path, by: User | None) -> None:
        count = export_requests(run, folder, by)
        self.stdout.write(
            f"{format_count(count, 'request')} in {folder}"
            if count
            else f"run {run.public_id} needs no answer"
        )

    def _import(self, run: Run, folder: Path, by: User | None, *, inline: bool) -> None:
        brought = import_answers(run, folder, by)
        for words in brought.refused:
            self.stderr.write(words)
        left = f", {brought.left} of other runs left to them" if brought.left else ""
        self.stdout.write(
            f"{len(brought.answered) - brought.known} answers imported, {brought.known} were there"
            f" already{left}"
        )
        if inline:
            work_inline(run, self.stdout.write)
        if brought.refused:
            raise CommandError(
                f"{len(brought.refused)} answers were rejected; the others are stored"
            )
