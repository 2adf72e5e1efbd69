"""`manage.py evidence_funnel`: show at which step evidence is lost."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from timelines.cases.datasets import find_dataset
from timelines.evaluation.tables import funnel
from timelines.evaluation.values import Basis, EvaluationSettings
from timelines.evaluations.actions import EvaluationRefused, check, compute
from timelines.evaluations.data import Chosen

#: The funnel has no intervals, so the resamples of the report are not used.
SETTINGS = EvaluationSettings(bases=(Basis.SPAN,), resamples=1)
NOTHING = (
    "no occurrence of a revised timeline was matched with one whose reference cites rows, so there"
    " is no funnel"
)


class Command(BaseCommand):
    help = (
        "Show at which step evidence is lost between the record and the revised timelines, for the"
        " occurrences whose reference cites rows. Occurrences are paired by their spans. Nothing is"
        " stored."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the selection and the format."""
        parser.add_argument(
            "--dataset",
            required=True,
            action="append",
            help="name or public id of a dataset; may be repeated",
        )
        parser.add_argument(
            "--study",
            default="",
            help="name of the study, if two studies have a dataset of that name",
        )
        parser.add_argument("--reference", required=True, help="source of the reference timelines")
        parser.add_argument(
            "--source",
            action="append",
            default=[],
            help="source to follow; may be repeated (default: every one)",
        )
        parser.add_argument(
            "--format", choices=("table", "csv", "json"), default="table", help="default: table"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Compute and print."""
        try:
            datasets = [
                find_dataset(name, options["study"]) for name in dict.fromkeys(options["dataset"])
            ]
            chosen = Chosen(datasets, options["reference"], tuple(options["source"]))
            check(None, chosen)
        except (LookupError, EvaluationRefused) as error:
            raise CommandError(str(error)) from error
        table = funnel(compute(chosen, SETTINGS), Basis.SPAN)
        if not table.rows:
            raise CommandError(NOTHING)
        form = {"table": table.to_text, "csv": table.to_csv, "json": table.to_json}
        self.stdout.write(form[options["format"]]().rstrip("\n"))
