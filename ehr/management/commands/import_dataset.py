"""`manage.py import_dataset`: import records and notes into a dataset."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.actions import create_study
from accounts.management.commands.create_demo_accounts import DEMO_STUDY
from accounts.models import Study
from ehr.actions import import_dataset
from ehr.formats.base import FormatError
from ehr.formats.mapping import ImportMapping, parse_mapping, parse_rules
from ehr.ingest.cases import Replacing
from ehr.ingest.lock import ImportBusy
from ehr.ingest.omop_schema import copied_schema
from ehr.ingest.progress import ProgressBar
from ehr.ingest.sources import FORMATS
from ehr.models import Dataset
from ehr.tasks import request_embedding


class Command(BaseCommand):
    help = (
        "Import a dataset. Repeat the command to continue an interrupted import; imported cases do"
        " not change."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """What to import, and as what."""
        parser.add_argument("--format", required=True, choices=FORMATS)
        parser.add_argument("--path", type=Path, help="the folder or file to import")
        parser.add_argument(
            "--schema",
            help="with --format omop, instead of --path: this schema of a PostgreSQL database",
        )
        parser.add_argument(
            "--database",
            metavar="URL",
            help="the database of --schema (default: the setting OMOP_DATABASE_URL)",
        )
        parser.add_argument(
            "--pattern",
            default="",
            help="with --format text: the pattern of the files' names, such as {case}__{time}",
        )
        parser.add_argument(
            "--columns",
            nargs="+",
            default=[],
            metavar="OURS=THEIRS",
            help="with --format csv: names of columns in the files, such as t=charttime",
        )
        parser.add_argument(
            "--codes",
            type=Path,
            metavar="FILE",
            help="with --format meds: a file with lines CODE = category:name:act | time kind",
        )
        parser.add_argument("--name", required=True, help="the dataset's name in the study")
        parser.add_argument(
            "--study",
            default=DEMO_STUDY,
            help=f"the study's name (default: {DEMO_STUDY}); created if it is new",
        )
        parser.add_argument(
            "--cases", nargs="+", metavar="CASE_ID", help="only these cases (admissions)"
        )
        parser.add_argument(
            "--replace",
            action="store_true",
            help="delete a case whose files changed, with its timelines, and import it again",
        )
        parser.add_argument(
            "--delete-authored",
            action="store_true",
            help="with --replace: also delete the timelines that people wrote of a changed case",
        )
        parser.add_argument(
            "--embed",
            action="store_true",
            help="ask the workers to embed the series now; a run does so anyway",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Import and print a summary.

        Raises CommandError if something was rejected or the path is not in the format.
        """
        study = Study.objects.filter(name=options["study"]).first() or create_study(
            name=options["study"], by=None
        )
        with ProgressBar(self.stderr) as bar, ExitStack() as stack:
            try:
                report = import_dataset(
                    path=stack.enter_context(_open_input(**options)),
                    format=options["format"],
                    name=options["name"],
                    study=study,
                    by=None,
                    cases=options["cases"],
                    mapping=_read_mapping(**options),
                    replacing=Replacing(
                        changed=options["replace"], authored=options["delete_authored"]
                    ),
                    progress=bar.update,
                )
            except (FormatError, ImportBusy) as error:
                raise CommandError(str(error)) from None
        for line in report.lines():
            self.stdout.write(line)
        if options["embed"]:
            request_embedding(Dataset.objects.get(study=study, name=options["name"]))
        if not report.clean:
            raise CommandError(
                "Some data was rejected, the rest was imported. Correct the files named above and"
                " run the command again."
            )


def _read_mapping(
    *, format: str, pattern: str, columns: list[str], codes: Path | None, **_: object
) -> ImportMapping:
    """Return the mapping of the options. Raises FormatError, CommandError."""
    pairs = [tuple(column.split("=", 1)) for column in columns]
    if any(len(pair) < 2 for pair in pairs):
        raise CommandError("Write --columns as OURS=THEIRS, such as t=charttime.")
    try:
        text = codes.read_text(encoding="utf-8") if codes else ""
    except (OSError, UnicodeDecodeError):
        raise CommandError(f"{codes} cannot be read as UTF-8 text.") from None
    rules = [asdict(rule) for rule in parse_rules(text)]
    values = {"pattern": pattern, "columns": pairs, "codes": rules}
    return parse_mapping(format, values)


def _open_input(
    *,
    path: Path | None,
    format: str,
    schema: str | None,
    database: str | None,
    cases: list[str] | None,
    **_: object,
) -> AbstractContextManager[Path]:
    """Return the folder or file to read, or a copy of a schema.

    Raises CommandError.
    """
    if (path is None) == (schema is None) or (database and schema is None):
        raise CommandError("Give --path, or --schema with --database or OMOP_DATABASE_URL.")
    if path is not None:
        return nullcontext(path)
    if format != "omop":
        raise CommandError("Only --format omop reads a schema.")
    url = database or settings.OMOP_DATABASE_URL
    if not url:
        raise CommandError(
            "Set OMOP_DATABASE_URL or give --database, such as postgresql://host/cdm."
        )
    assert schema is not None
    return copied_schema(url, schema, cases)
