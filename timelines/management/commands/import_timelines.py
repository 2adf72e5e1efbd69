"""`manage.py import_timelines`: import foreign timelines as a source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from timelines.cases.datasets import find_dataset
from timelines.domain import TimelineKind
from timelines.formats.readers import READERS
from timelines.formats.values import Unreadable
from timelines.transfer.storing import SourceRefused, Wanted, import_foreign


class Command(BaseCommand):
    help = (
        "Import foreign timelines (docs/reference/foreign-timelines.md). Importing the same files"
        " again changes nothing."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the files, and their source and kind."""
        parser.add_argument(
            "--dataset",
            required=True,
            help="name or public id of the dataset whose cases the timelines are of",
        )
        parser.add_argument(
            "--study",
            default="",
            help="name of its study, if two studies have a dataset of that name",
        )
        parser.add_argument("--format", required=True, choices=tuple(READERS))
        parser.add_argument(
            "--path", required=True, type=Path, help="the file, or a folder with the files"
        )
        parser.add_argument(
            "--source", required=True, metavar="NAME", help="the source name for these timelines"
        )
        parser.add_argument(
            "--kind",
            choices=tuple(TimelineKind),
            help="default: that of the file, or else text_only",
        )
        parser.add_argument(
            "--alternative", type=int, metavar="N", help="default: that of the file, or else 1"
        )
        parser.add_argument(
            "--only",
            default="",
            metavar="SOURCE",
            help="only this source, if an export has several",
        )
        parser.add_argument(
            "--protocol",
            default="",
            metavar="NAME",
            help="the annotation protocol of imported references, for strata of reports",
        )
        parser.add_argument(
            "--replace",
            action="store_true",
            help="replace stored timelines of the source that differ from the files",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Import and report what was done.

        Raises CommandError if something was not imported; the rest is stored then.
        """
        if options["alternative"] is not None and not 1 <= options["alternative"] < 2**15:
            raise CommandError("alternatives count from 1")
        kind = TimelineKind(options["kind"]) if options["kind"] else None
        wanted = Wanted(
            options["source"],
            kind,
            options["alternative"],
            options["only"],
            options["replace"],
            options["protocol"].strip(),
        )
        try:
            dataset = find_dataset(options["dataset"], options["study"])
            report = import_foreign(
                dataset=dataset, path=options["path"], format=options["format"], wanted=wanted
            )
        except (LookupError, SourceRefused) as error:
            raise CommandError(str(error)) from error
        except Unreadable as error:
            raise CommandError(f"{options['path']}: {error.reason}") from error
        for line in report.lines():
            self.stdout.write(line)
        if report.faults:
            raise CommandError(
                "Some timelines were not imported. Correct the faults above and run the command"
                " again."
            )
        if not report.cases:
            raise CommandError(
                "Nothing to import: no timeline in the files is of the wanted source, kind and"
                " alternative."
            )
