"""`manage.py evaluate_window`: evaluate a window and print its table."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from cohorts.models import Window, WindowResult
from cohorts.values import Source
from cohorts.windows.counting import count_table, open_members
from cohorts.windows.evaluating import execute_result
from cohorts.windows.results import launch_result
from cohorts.windows.values import WindowRefused
from ehr.models import Dataset
from jobs.models import JobState


class Command(BaseCommand):
    help = "Evaluate the newest version of a window over a dataset, from two sources of times."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the window, the dataset and the sources."""
        sources = [source.value for source in Source]
        parser.add_argument("window", help="name or public id")
        parser.add_argument("--dataset", required=True, help="name or public id")
        parser.add_argument("--study", default="", help="name, if two studies have such a window")
        parser.add_argument("--first", choices=sources, default=Source.NOTE.value)
        parser.add_argument("--second", choices=sources, default=Source.CURATED.value)

    def handle(self, *args: Any, **options: Any) -> None:
        """Evaluate here, store the result, print how answers change."""
        window = _find_window(options["window"], options["study"])
        version = window.versions.first()
        assert version is not None
        try:
            result = launch_result(
                version=version,
                dataset=_find_dataset(window, options["dataset"]),
                first=Source(options["first"]),
                second=Source(options["second"]),
                by=None,
                tell_workers=False,
            )
        except WindowRefused as refused:
            raise CommandError(str(refused)) from None
        if execute_result(result.pk) is not JobState.SUCCEEDED:
            result.refresh_from_db()
            raise CommandError(" ".join(result.reasons) or "A worker evaluates it.")
        self._print(result)

    def _print(self, result: WindowResult) -> None:
        heads, lines = count_table(open_members(result, ()))
        first, second = Source(result.first).words, Source(result.second).words
        self.stdout.write(f"{first} (lines) and {second} (columns)")
        self.stdout.write("".join(f"{word:>12}" for word in ("", *heads)))
        for line in lines:
            counts = "".join(f"{cell.count:>12}" for cell in line.cells)
            self.stdout.write(f"{line.words:>12}{counts}")


def _find_window(name: str, study: str) -> Window:
    windows = Window.objects.filter(name=name) | Window.objects.filter(public_id=name)
    found = list(windows.filter(study__name=study) if study else windows)
    if len(found) != 1:
        problem = "no window" if not found else "more than one window"
        raise CommandError(f"There is {problem} “{name}”. Give its public id, or --study.")
    return found[0]


def _find_dataset(window: Window, name: str) -> Dataset:
    datasets = Dataset.objects.filter(study=window.study)
    found = datasets.filter(public_id=name).first() or datasets.filter(name=name).first()
    if found is None:
        known = ", ".join(datasets.values_list("name", flat=True)) or "none"
        raise CommandError(f"The study has no dataset “{name}”. It has: {known}.")
    return found
