"""`manage.py judge_planted`: a judge's recall on planted differences.

They are planted in a twin of each timeline. It also reports the judge's precision.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from adjudication.judge_runs.data import (
    find_sources,
    load_candidates,
    load_material,
    load_source_timelines,
)
from adjudication.judge_runs.tools import (
    JUDGES,
    RULES,
    UnknownJudge,
    build_judge,
    describe_judge_models,
)
from adjudication.judging.config import SEED, JudgeConfig, SourceUnknown, parse_source
from adjudication.judging.input import Unjudged, judge_input
from adjudication.planting.recall import Tally, pool_tallies, report, report_of_kinds, tally
from adjudication.planting.twins import plant
from ehr.models import Dataset
from jobs.errors import PermanentFailure
from llm_runtime.base import ProviderError
from llm_runtime.ledger import DatabaseLedger
from timelines.cases.datasets import find_dataset
from timelines.runs.language_models import UnknownModel
from timelines.runs.storage import NoteChanged

#: Owner of these calls in the ledger; they are deleted with the dataset.
CALLS_OWNER = "adjudication.planted"


class Command(BaseCommand):
    help = (
        "Plant differences in a copy of each timeline of a source and measure whether a judge finds"
        " them: recall and precision by type and size."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the options."""
        parser.add_argument(
            "--dataset", required=True, help="name or public id of an imported dataset"
        )
        parser.add_argument(
            "--study",
            default="",
            help="name of its study, if two studies have a dataset of that name",
        )
        parser.add_argument(
            "--source",
            default="reference",
            help="SOURCE, SOURCE@KIND or SOURCE@KIND#ALTERNATIVE (default: reference)",
        )
        parser.add_argument("--judge", default=RULES, choices=JUDGES, help=f"default: {RULES}")
        parser.add_argument(
            "--model",
            default="",
            metavar="NAME",
            help="entry of MODEL_ENDPOINTS (default: that of MODEL_ROLES)",
        )
        parser.add_argument(
            "--cases", nargs="+", default=[], metavar="CASE", help="case ids (default: all)"
        )
        parser.add_argument(
            "--each", type=int, default=3, help="changes of each kind per case (default: 3)"
        )
        parser.add_argument("--seed", type=int, default=SEED, help=f"default: {SEED}")
        parser.add_argument(
            "--uid-table", action="store_true", help="show the judge UIDs, spans and bounds"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Judge every twin, then print the table."""
        if options["each"] < 1:
            raise CommandError("--each must be at least 1")
        try:
            dataset = find_dataset(options["dataset"], options["study"])
            tallies = list(self._tallies(dataset, options))
        except (
            LookupError,
            SourceUnknown,
            UnknownJudge,
            UnknownModel,
            ProviderError,
            PermanentFailure,
            NoteChanged,
            ValueError,
        ) as error:
            raise CommandError(str(error)) from error
        if not tallies:
            raise CommandError("no game was judged, so there are no figures")
        counts = pool_tallies(tallies)
        self.stdout.write(
            align_columns(report(counts)) + "\n\n" + align_columns(report_of_kinds(counts))
        )

    def _tallies(self, dataset: Dataset, options: dict[str, Any]) -> Iterator[Tally]:
        source = parse_source(options["source"], find_sources([dataset]))
        config = JudgeConfig(seed=options["seed"], uid_table=options["uid_table"])
        models = describe_judge_models(options["judge"], options["model"])
        judge = build_judge(
            options["judge"], config, models, ledger=DatabaseLedger(CALLS_OWNER, dataset.public_id)
        )
        for timeline in load_source_timelines(dataset, source, options["cases"]):
            material = load_material(timeline.encounter, [timeline])
            original = [candidate for candidate, _ in load_candidates(timeline, material.text)]
            twin = plant(original, seed=options["seed"], each=options["each"])
            given = judge_input(
                original, list(twin.rows), note=material.text.text, anchor=material.anchor, seed=options["seed"],
                series=material.series, rows=material.rows, uid_table=options["uid_table"], limit=config.series_limit,
                record_times=config.record_times,
            )  # fmt: skip
            answer = judge.judge(given)
            if isinstance(answer, Unjudged):
                self.stderr.write(
                    f"{timeline.encounter.case_id}: unjudged: {'; '.join(answer.reasons)}"
                )
                continue
            dropped = f", {len(answer.dropped)} dropped" if answer.dropped else ""
            self.stderr.write(
                f"{timeline.encounter.case_id}: {len(twin.planted)} changes,"
                f" {len(answer.findings)} findings{dropped}"
            )
            yield tally(twin.planted, given, answer.findings)


def align_columns(table: list[tuple[str, ...]]) -> str:
    """Align columns for a terminal."""
    widths = [max(len(row[at]) for row in table) for at in range(len(table[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    )
