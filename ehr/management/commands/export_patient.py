"""`manage.py export_patient`: everything about one patient, as a ZIP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.models import Study, User
from accounts.permissions import NotAllowed
from accounts.wording import format_count
from ehr.patients.export import export_patient
from ehr.patients.finding import UnknownPatient


class Command(BaseCommand):
    help = (
        "Write everything about one patient of a study to a new ZIP: notes, rows, timelines,"
        " decisions and audit events. Answers in packets that are not closed are left out."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Which patient, for whom, and where to."""
        parser.add_argument("--study", required=True, help="the study's name")
        parser.add_argument("--key", required=True, help="the patient key (subject_key)")
        parser.add_argument("--to", required=True, type=Path, metavar="FILE.zip")
        parser.add_argument(
            "--by",
            metavar="USERNAME",
            help="the study admin who gets the file; stays that are closed to them are left out",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the file and print its counts. Raises CommandError."""
        study = Study.objects.filter(name=options["study"]).first()
        by = User.objects.filter(username=options["by"]).first() if options["by"] else None
        if study is None or (options["by"] and by is None):
            raise CommandError(
                f"There is no {'study' if study is None else 'person'} of that name."
            )
        try:
            made = export_patient(study=study, key=options["key"], to=options["to"], by=by)
        except (NotAllowed, UnknownPatient) as error:
            raise CommandError(str(error)) from None
        except OSError as error:
            raise CommandError(f"{options['to']}: {error.strerror}. Choose a new file.") from None
        self.stdout.write(
            f"{format_count(made.stays, 'stay')}, {format_count(sum(made.tables.values()), 'row')};"
            f" left out: {format_count(made.closed, 'closed stay')},"
            f" {format_count(made.withheld, 'row')} of packets that are not closed"
        )
        self.stdout.write(f"SHA-256 {made.sha256}")
