"""`manage.py exchange`: ask a run's language models by files.

It exports requests, checks answers and imports them (docs/reference/exchange.md).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.models import User
from accounts.wording import format_count
from llm_runtime.exchange.checking import check_answers
from llm_runtime.exchange.quiet import quiet_output
from llm_runtime.exchange.runs import (
    ExchangeRun,
    export_requests,
    find_run,
    import_answers,
    waiting_words,
)


class Command(BaseCommand):
    help = (
        "Export the requests that a run or judge run waits for, check their answers, or import"
        " them. Exits with 1 if an answer was rejected."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the direction, the run, and the folder."""
        parser.add_argument("direction", choices=["export", "check", "import"])
        parser.add_argument(
            "--run", default="", help="public id of the run; check: of every run without it"
        )
        folder = parser.add_mutually_exclusive_group(required=True)
        folder.add_argument(
            "--out",
            type=Path,
            help="export: the folder to write to; existing requests do not change",
        )
        folder.add_argument(
            "--in", type=Path, dest="folder", help="check, import: the folder to read answers from"
        )
        parser.add_argument("--by", default="", help="user name to record as the person who did it")
        parser.add_argument(
            "--inline",
            action="store_true",
            help="after an import, do the available work in this process",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Export, check or import, and report the counts."""
        direction = options["direction"]
        folder = options["out"] if direction == "export" else options["folder"]
        if folder is None:
            raise CommandError(
                "export writes to --out FOLDER, check and import read from --in FOLDER"
            )
        run = find_run(options["run"]) if options["run"] else None
        if run is None and (options["run"] or direction != "check"):
            raise CommandError(f"there is no run {options['run']}")
        by = User.objects.filter(username=options["by"]).first() if options["by"] else None
        if options["by"] and by is None:
            raise CommandError(f"there is no account {options['by']}")
        try:
            with quiet_output():
                if run is None or direction == "check":
                    self._check(run, folder)
                elif direction == "export":
                    self._export(run, folder, by)
                else:
                    self._import(run, folder, by, inline=options["inline"])
        except OSError as error:
            raise CommandError(str(error)) from error

    def _export(self, run: ExchangeRun, folder: Path, by: User | None) -> None:
        count = export_requests(run, folder, by)
        if count:
            self.stdout.write(f"{format_count(count, 'request')} in {folder}")
        else:
            self._report(run)

    def _check(self, run: ExchangeRun | None, folder: Path) -> None:
        report = check_answers(folder, run)
        for words in [*report.rejected, *report.unchecked]:
            self.stderr.write(words)
        counts = [(report.valid, "valid"), (len(report.rejected), "rejected")]
        others = [
            (len(report.unchecked), "not checked"),
            (report.known, "imported before"),
            (report.left, "of other runs"),
        ]
        words = ", ".join(
            f"{n} {name}" for n, name in [*counts, *(one for one in others if one[0])]
        )
        unanswered = format_count(report.unanswered, "request has", "requests have")
        self.stdout.write(f"answers: {words}; {unanswered} no answer")
        if report.rejected:
            raise CommandError("correct the rejected answers and check again; nothing was imported")

    def _import(self, run: ExchangeRun, folder: Path, by: User | None, *, inline: bool) -> None:
        report = import_answers(run, folder, by)
        for words in report.refused:
            self.stderr.write(words)
        left = f", {report.left} of other runs left to them" if report.left else ""
        self.stdout.write(
            f"{len(report.answered) - report.known} answers imported, {report.known} were there"
            f" already{left}"
        )
        if inline:
            run.work_inline(self.stdout.write)
        self._report(run)
        if report.refused:
            raise CommandError(
                f"{len(report.refused)} answers were rejected; the others are stored"
            )

    def _report(self, run: ExchangeRun) -> None:
        """Say whether the run is finished, waits for answers, or goes on."""
        if not run.is_active():
            self.stdout.write(f"run {run.public_id} is finished: {run.describe()}")
        elif not waiting_words(run):
            self.stdout.write(f"run {run.public_id} continues: {run.describe()}")
