"""`manage.py embed_mentions`: embed mentions for search by meaning."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from timelines.cases.datasets import find_dataset
from timelines.runs.study_timeline.selection import find_study_run
from timelines.runs.tools import roles
from timelines.search.indexing import embed_mentions


class Command(BaseCommand):
    help = (
        "Embed the mentions of a dataset's study timeline that have no vector of the current"
        " embedder. Runs do this at their end; use it after a change of the embedder."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the option for the dataset."""
        parser.add_argument("--dataset", required=True, help="name or public id of a dataset")

    def handle(self, *args: Any, **options: Any) -> None:
        """Embed what is missing and print how many mentions that were."""
        dataset = find_dataset(options["dataset"])
        run = find_study_run(dataset.pk)
        if run is None:
            raise CommandError(f"{dataset.name} has no study timeline yet")
        embedder = roles().embedder()
        count = embed_mentions(run, embedder)
        self.stdout.write(f"{count} mentions embedded by {embedder.name}.")
