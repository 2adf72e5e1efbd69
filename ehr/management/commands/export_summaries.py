"""`manage.py export_summaries`: write the row map of each case.

The file is `summary_mapping.json` (protocol, "Structured record").
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.management.commands.create_demo_accounts import DEMO_STUDY
from accounts.wording import format_count
from ehr.actions import export_summaries
from ehr.models import Dataset


class Command(BaseCommand):
    help = (
        "Write each case's series, their summaries and the rows behind them to"
        " OUT/<case>/summary_mapping.json."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Which dataset, and where to."""
        parser.add_argument("--dataset", required=True, help="the dataset's name")
        parser.add_argument(
            "--study", default=DEMO_STUDY, help=f"the study's name (default: {DEMO_STUDY})"
        )
        parser.add_argument("--out", required=True, type=Path, help="the folder to write to")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the files. Raises CommandError if the dataset does not exist."""
        dataset = Dataset.objects.filter(
            study__name=options["study"], name=options["dataset"]
        ).first()
        if dataset is None:
            raise CommandError(f"The study {options['study']} has no dataset {options['dataset']}.")
        count = 0
        for name, mapping in export_summaries(dataset=dataset, by=None):
            folder = options["out"] / name
            folder.mkdir(parents=True, exist_ok=True)
            text = json.dumps(mapping, ensure_ascii=False, indent=1)
            (folder / "summary_mapping.json").write_text(text + "\n", encoding="utf-8")
            count += 1
        self.stdout.write(f"{format_count(count, 'case')} written to {options['out']}")
