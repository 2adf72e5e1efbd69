"""`manage.py export_timelines`: finished timelines of a dataset as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import Q

from accounts.audit.trail import record
from accounts.wording import format_count
from ehr.models import Dataset
from timelines.cases.datasets import find_dataset
from timelines.exports.formats import EXPORT_FORMATS
from timelines.exports.selecting import read_cases
from timelines.models import Run
from timelines.pipeline.config import Variant
from timelines.runs.baselines import BASELINES
from timelines.runs.storage import NoteChanged
from timelines.runs.study_timeline.selection import current, run_words
from timelines.transfer.lines import Selection, find_cases, finished_timelines
from timelines.transfer.writers import Options


class Command(BaseCommand):
    help = (
        "Export finished timelines, one line per occurrence of a timeline. If a source has several"
        " runs, the study timeline is exported, or else the latest run. Baselines and runs of"
        " variant no_uid have no identifiers and are exported only if --source or --run names them."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the selection, the output and its format."""
        parser.add_argument(
            "--dataset", required=True, help="name or public id of an imported dataset"
        )
        parser.add_argument(
            "--study",
            default="",
            help="name of its study, if two studies have a dataset of that name",
        )
        parser.add_argument("--format", required=True, choices=tuple(EXPORT_FORMATS))
        parser.add_argument(
            "--out",
            required=True,
            type=Path,
            help="the file to write; for meds, bsv, brat, i2b2, fhir and references the folder",
        )
        parser.add_argument(
            "--source",
            action="append",
            default=[],
            help="only timelines of this source (rules, reference, …); repeatable",
        )
        parser.add_argument(
            "--cases", nargs="+", default=[], metavar="CASE", help="only these cases"
        )
        parser.add_argument("--run", default="", help="only timelines of the run with this id")
        parser.add_argument(
            "--with-note-text", action="store_true", help="add the note's own text of each span"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the files and report what was written."""
        try:
            dataset = find_dataset(options["dataset"], options["study"])
        except LookupError as error:
            raise CommandError(str(error)) from error
        named = bool(options["source"] or options["run"])
        wanted = Selection(
            tuple(options["source"]), tuple(options["cases"]), options["run"], identified=not named
        )
        format = EXPORT_FORMATS[options["format"]]
        with_text: bool = options["with_note_text"]
        try:
            count = format.write(
                read_cases(dataset, wanted, options["format"]),
                wanted,
                options["out"],
                Options(dataset.name, with_text),
            )
        except (NoteChanged, OSError) as error:
            raise CommandError(str(error)) from error
        detail = {
            "format": options["format"],
            "lines": count,
            "with_note_text": with_text or format.has_note,
        }
        record(
            actor=None,
            study=dataset.study,
            action="timelines.export",
            object_type="ehr.dataset",
            object_id=dataset.public_id,
            detail=detail,
        )
        self.stdout.write(
            f"{format_count(count, 'occurrence')} of timelines written to {options['out']}"
        )
        if not options["run"]:
            self._say_other_runs(dataset, wanted)
        nameless = Q(variant=Variant.NO_UID.value) | Q(backbone__in=BASELINES)
        left = [] if named else Run.objects.filter(nameless, dataset=dataset).order_by("source")
        for source in dict.fromkeys(run.source for run in left):
            self.stdout.write(
                f"{source} is not exported: its lines have no identifiers. Name it with --source to"
                " export it."
            )
        if not count:
            raise CommandError(
                "Nothing to export: no finished timeline matches. Start one with manage.py"
                " reconstruct."
            )

    def _say_other_runs(self, dataset: Dataset, wanted: Selection) -> None:
        """Print for how many cases another run replaces the study timeline."""
        study = current().filter(dataset=dataset).select_related("run").first()
        if study is None or (wanted.sources and study.run.source not in wanted.sources):
            return
        others = (
            finished_timelines()
            .filter(source=study.run.source, case_run__isnull=False)
            .values("encounter")
        )
        there = finished_timelines().filter(case_run__run=study.run).values("encounter")
        if count := find_cases(dataset, wanted).filter(pk__in=others).exclude(pk__in=there).count():
            cases = format_count(count, "case is", "cases are")
            self.stdout.write(
                f"{cases} not in the study timeline ({run_words(study.run)}); the latest other run"
                f" of {study.run.source} is taken."
            )
