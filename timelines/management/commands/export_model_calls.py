"""`manage.py export_model_calls`: export a run's model calls.

The file has the questions to language models, the answers and the costs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.audit.trail import record
from accounts.wording import format_count
from timelines.formats.files import replace_file
from timelines.models import Run
from timelines.runs.calls import run_spent
from timelines.transfer.model_calls import write_call_lines, write_call_table

FORMATS = {"jsonl": write_call_lines, "csv": write_call_table}


class Command(BaseCommand):
    help = (
        "Export the model calls of a run: jsonl with complete requests and replies (patient text),"
        " or csv with only figures."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the run, the file and its format."""
        parser.add_argument("--run", required=True, help="the run's public id")
        parser.add_argument("--format", choices=sorted(FORMATS), default="jsonl")
        parser.add_argument("--out", type=Path, required=True, help="the file to write")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the file and report the costs."""
        run = Run.objects.select_related("study").filter(public_id=options["run"]).first()
        if run is None:
            raise CommandError(f"there is no run {options['run']}")
        try:
            with (
                replace_file(options["out"]) as part,
                part.open("w", encoding="utf-8", newline="") as file,
            ):
                count = FORMATS[options["format"]](run, file)
        except OSError as error:
            raise CommandError(f"cannot write {options['out']}: {error.strerror}") from error
        detail = {"format": options["format"], "calls": count}
        record(
            actor=None,
            study=run.study,
            action="run.export_calls",
            object_type="timelines.run",
            object_id=run.public_id,
            detail=detail,
        )
        spent = run_spent(run).total
        refused = f", {spent.refused_words}" if spent.refused else ""
        read, cached, written = (
            "–" if n is None else n
            for n in (spent.tokens_in, spent.tokens_cached, spent.tokens_out)
        )
        self.stdout.write(
            f"{format_count(count, 'call')}: {spent.calls} paid, {spent.reused} found in the ledger{refused};"
            f" tokens {read} in ({cached} cached), {written} out; {spent.seconds:.1f} s"
        )
