"""`manage.py judge_planted`: a judge's recall on planted differences.

They are planted in a twin of each timeline. It also reports the judge's precision.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from adjudication.judge_runs.data import find_sources
from adjudication.judge_runs.planted import CALLS_OWNER, tally_twins
from adjudication.judge_runs.tools import (
    JUDGES,
    RULES,
    UnknownJudge,
    build_judge,
    describe_judge_models,
)
from adjudication.judging.config import SEED, JudgeConfig, SourceUnknown, parse_source
from adjudication.planting.recall import Tally, pool_tallies, report, report_of_kinds
from ehr.models import Dataset
from jobs.errors import PermanentFailure
from llm_runtime.base import ProviderError
from llm_runtime.ledger import DatabaseLedger
from timelines.cases.datasets import find_dataset
from timelines.runs.language_models import UnknownModel
from timelines.runs.storage import NoteChanged


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
        ledger = DatabaseLedger(CALLS_OWNER, dataset.public_id)
        judge = build_judge(options["judge"], config, models, ledger=ledger)
        for counts in tally_twins(
            dataset,
            source,
            judge,
            config,
            each=options["each"],
            cases=options["cases"],
            say=self.stderr.write,
        ):
            if counts is not None:
                yield counts


def align_columns(table: list[tuple[str, ...]]) -> str:
    """Align columns for a terminal."""
    widths = [max(len(row[at]) for row in table) for at in range(len(table[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    )
