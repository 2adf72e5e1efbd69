"""`manage.py delete_patient`: delete everything about one patient."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.models import Study
from ehr.deletion import DeletionRefused
from ehr.ingest.lock import ImportBusy
from ehr.patients.deletion import delete_patient
from ehr.patients.finding import UnknownPatient


class Command(BaseCommand):
    help = (
        "Delete all stays of one patient of a study, with everything made of them, and write a"
        " receipt: what is gone, its digests, and where traces stay. Refuses if findings of the"
        " stays are in a review packet, or if people wrote timelines of them."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Which patient, what may go, and where the receipt goes."""
        parser.add_argument("--study", required=True, help="the study's name")
        parser.add_argument("--key", required=True, help="the patient key (subject_key)")
        parser.add_argument("--receipt", required=True, type=Path, metavar="FILE.json")
        parser.add_argument(
            "--delete-authored",
            action="store_true",
            help="also delete the timelines that people wrote",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Delete, write the receipt and print it. Raises CommandError."""
        study = Study.objects.filter(name=options["study"]).first()
        if study is None:
            raise CommandError("There is no study of that name.")
        path = options["receipt"]
        try:
            # Opened first: a deletion must not end without a receipt.
            file = path.open("x", encoding="utf-8")
        except OSError as error:
            raise CommandError(f"{path}: {error.strerror}. Choose a new file.") from None
        with file:
            try:
                file.write(self._delete(study, options))
            except BaseException as error:
                path.unlink()
                if isinstance(error, DeletionRefused | ImportBusy | UnknownPatient):
                    raise CommandError(f"Not deleted: {error}") from None
                raise

    def _delete(self, study: Study, options: dict[str, Any]) -> str:
        receipt = delete_patient(
            study=study,
            key=options["key"],
            by=None,
            delete_authored=options["delete_authored"],
        )
        for table, count in receipt.deleted.items():
            self.stdout.write(
                f"{table}: {count:,} deleted, {receipt.remaining.get(table, 0):,} left"
            )
        for trace in receipt.traces:
            self.stdout.write(f"{trace.count:,} {trace.words}")
        self.stdout.write(f"receipt SHA-256 {receipt.sha256}")
        return receipt.as_json()
