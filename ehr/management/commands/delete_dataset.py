"""`manage.py delete_dataset`: delete a dataset with its cases.

Everything that was made from the cases is deleted too.
"""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from ehr.actions import delete_dataset
from ehr.deletion import DeletionRefused
from ehr.ingest.lock import ImportBusy
from ehr.ingest.progress import ProgressBar
from ehr.models import Dataset


class Command(BaseCommand):
    help = (
        "Delete a dataset. Refuses if findings of it are in a review packet, or if people wrote"
        " timelines of it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Which dataset, and whether authored timelines may go."""
        parser.add_argument("--study", required=True, help="the study's name")
        parser.add_argument("--name", required=True, help="the dataset's name in the study")
        parser.add_argument(
            "--delete-authored",
            action="store_true",
            help="also delete the timelines that people wrote",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Delete the dataset.

        Raises CommandError if there is no such dataset or something must stay.
        """
        dataset = Dataset.objects.filter(study__name=options["study"], name=options["name"]).first()
        if dataset is None:
            raise CommandError("The study has no dataset of that name.")
        try:
            with ProgressBar(self.stderr) as bar:
                delete_dataset(
                    dataset=dataset,
                    by=None,
                    delete_authored=options["delete_authored"],
                    progress=bar.update,
                )
        except (DeletionRefused, ImportBusy) as error:
            raise CommandError(f"Not deleted: {error}") from None
        self.stdout.write("Deleted.")
