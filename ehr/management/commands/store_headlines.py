"""`manage.py store_headlines`: say again what each stay is in one line.

An import does it. Use the command after the rules of the line have changed.
"""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from accounts.wording import format_count
from ehr.ingest.progress import ProgressBar
from ehr.models import Encounter
from ehr.record.headlines import store_headlines


class Command(BaseCommand):
    help = "Store the line that says what a stay is (age, sex, problem, length, outcome) again."

    def add_arguments(self, parser: CommandParser) -> None:
        """Which studies and datasets; without them, all."""
        parser.add_argument("--study", help="only this study, by name")
        parser.add_argument("--dataset", help="only this dataset, by name")

    def handle(self, *args: Any, **options: Any) -> None:
        """Store the lines and print how many changed."""
        found = Encounter.objects.order_by("pk")
        if options["study"]:
            found = found.filter(dataset__study__name=options["study"])
        if options["dataset"]:
            found = found.filter(dataset__name=options["dataset"])
        keys = list(found.values_list("pk", flat=True))
        with ProgressBar(self.stderr) as bar:
            changed = store_headlines(
                keys, progress=lambda done: bar.update(done, len(keys), "cases")
            )
        self.stdout.write(f"{format_count(changed, 'case')} changed.")
