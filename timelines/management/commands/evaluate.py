"""`manage.py evaluate`: compare timelines with a reference."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from pydantic import ValidationError

from ehr.models import Dataset
from jobs.models import JobState
from llm_runtime.base import ProviderError
from llm_runtime.schema import field_faults
from timelines.cases.datasets import find_dataset
from timelines.evaluation.plain import report_from_plain, report_to_plain
from timelines.evaluation.tables import Table, all_tables
from timelines.evaluation.values import RHO_SWEEP, Basis, EvaluationSettings, Report
from timelines.evaluations.actions import (
    EvaluationRefused,
    check,
    compute,
    execute_evaluation,
    start_evaluation,
)
from timelines.evaluations.data import Chosen
from timelines.models import Evaluation

#: Tables that are too long for a terminal; the files have them.
UNPRINTED = ("sweep", "strata", "reliability")


class Command(BaseCommand):
    help = (
        "Compare timelines of one or more datasets with a reference, with intervals over cases."
        " The result is stored and shown on the pages."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add options for the comparison and its output."""
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
        parser.add_argument(
            "--reference",
            default="reference",
            help=(
                "source of the reference timelines, or consensus for each case's (default:"
                " reference)"
            ),
        )
        parser.add_argument(
            "--further-reference",
            action="append",
            default=[],
            metavar="SOURCE",
            help=(
                "compare with this reference and with the closest of all, too, and show the"
                " spread; may be repeated"
            ),
        )
        parser.add_argument(
            "--sources", default="", metavar="A,B,…", help="sources to compare (default: every one)"
        )
        parser.add_argument(
            "--threshold",
            type=float,
            default=0.1,
            help="pair occurrences below this distance (default: 0.1)",
        )
        parser.add_argument(
            "--iou",
            type=float,
            default=EvaluationSettings().iou,
            help=(
                "pair spans that overlap by this share of their union (default:"
                f" {EvaluationSettings().iou:g})"
            ),
        )
        parser.add_argument(
            "--method", choices=("greedy", "assignment"), default="greedy", help="default: greedy"
        )
        parser.add_argument(
            "--basis",
            action="append",
            choices=[b.value for b in Basis],
            help="may be repeated (default: span, embedding)",
        )
        parser.add_argument(
            "--resamples",
            type=int,
            default=200,
            help="case-level bootstrap resamples (default: 200)",
        )
        parser.add_argument(
            "--rho-sweep",
            action="store_true",
            help="revise again at reranker thresholds from 0 to 0.5",
        )
        parser.add_argument(
            "--once",
            action="store_true",
            help="do nothing if these datasets have a finished evaluation already",
        )
        parser.add_argument("--label", default="", help="a name for the evaluation")
        form = parser.add_mutually_exclusive_group()
        for name, words in (
            ("json", "the whole report as JSON"),
            ("csv", "every table as CSV"),
            ("latex", "every table as LaTeX"),
        ):
            form.add_argument(
                f"--{name}", dest="form", action="store_const", const=name, help=words
            )
        parser.add_argument("--out", type=Path, help="write there instead of printing")
        parser.add_argument(
            "--store",
            action=argparse.BooleanOptionalAction,
            default=True,
            help="store it for the pages (default: yes)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Compute, keep and print."""
        if options["out"] is not None and not options["out"].absolute().parent.is_dir():
            # checked before the computation, which takes minutes
            raise CommandError(
                f"--out: the folder does not exist: {options['out'].absolute().parent}"
            )
        try:
            datasets = [
                find_dataset(name, options["study"]) for name in dict.fromkeys(options["dataset"])
            ]
            sources = [s.strip() for s in options["sources"].split(",") if s.strip()]
            chosen = Chosen(
                datasets, options["reference"], sources, further=options["further_reference"]
            )
            if options["once"] and is_evaluated(datasets):
                self.stderr.write("there is an evaluation already")
                return
            report = (
                self._store(chosen, options) if options["store"] else self._compute(chosen, options)
            )
        except (LookupError, EvaluationRefused, ProviderError, ValueError) as error:
            raise CommandError(str(error)) from error
        text = format_report(report, options["form"])
        if options["out"] is None:
            self.stdout.write(text)
        else:
            try:
                options["out"].write_text(text, encoding="utf-8")
            except OSError as error:
                raise CommandError(
                    f"--out: {options['out']} cannot be written ({error.strerror})"
                ) from error
            self.stderr.write(f"written to {options['out']}")

    def _compute(self, chosen: Chosen, options: dict[str, Any]) -> Report:
        check(None, chosen)
        return compute(chosen, parse_settings(options), progress=self._progress)

    def _store(self, chosen: Chosen, options: dict[str, Any]) -> Report:
        study = chosen.datasets[0].study
        evaluation = start_evaluation(
            study=study,
            datasets=chosen.datasets,
            reference=chosen.reference,
            further_references=chosen.further,
            sources=chosen.sources,
            settings=parse_settings(options),
            label=options["label"],
            by=None,
            tell_workers=False,
        )
        state = execute_evaluation(evaluation.pk)
        evaluation.refresh_from_db()
        if state != JobState.SUCCEEDED or evaluation.report is None:
            raise CommandError(
                "; ".join(evaluation.reasons)
                or "a worker has taken over the evaluation; see the Evaluation page"
            )
        self.stderr.write(f"stored as evaluation {evaluation.public_id}")
        return report_from_plain(evaluation.report)

    def _progress(self, done: int, total: int) -> None:
        if sys.stderr.isatty() or done == total:
            self.stderr.write(
                f"compared {done} of {total} cases", ending="\n" if done == total else "\r"
            )


def is_evaluated(datasets: Sequence[Dataset]) -> bool:
    """Return whether a finished evaluation covers exactly these datasets."""
    wanted = {d.pk for d in datasets}
    done = Evaluation.objects.filter(datasets__in=wanted, state=JobState.SUCCEEDED).distinct()
    return any(set(e.datasets.values_list("pk", flat=True)) == wanted for e in done)


def parse_settings(options: dict[str, Any]) -> EvaluationSettings:
    """Settings from the command line. Raises CommandError naming the option."""
    bases = tuple(
        Basis(b) for b in dict.fromkeys(options["basis"] or (Basis.SPAN, Basis.EMBEDDING))
    )
    try:
        return EvaluationSettings(
            bases=bases,
            method=options["method"],
            threshold=options["threshold"],
            iou=options["iou"],
            resamples=options["resamples"],
            rho_sweep=RHO_SWEEP if options["rho_sweep"] else (),
        )
    except ValidationError as error:
        raise CommandError("; ".join(f"--{fault}" for fault in field_faults(error))) from None


def format_report(report: Report, form: str | None) -> str:
    """The report in the form asked for; tables for a terminal by default."""
    if form == "json":
        return json.dumps(report_to_plain(report), ensure_ascii=False, indent=1)
    tables = [table for basis in report.settings.bases for table in all_tables(report, basis)]
    if form == "csv":
        return "\n".join(f"{table.title}\n{table.to_csv()}" for table in tables)
    if form == "latex":
        return "\n".join(table.to_latex() for table in tables)
    shown: list[Table] = [table for table in tables if table.name not in UNPRINTED]
    return "\n\n".join([*report.warnings, *(table.to_text() for table in shown)])
