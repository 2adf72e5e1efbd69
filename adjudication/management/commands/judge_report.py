"""`manage.py judge_report`: the ratings and counts of a judge run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from adjudication.models import JudgeRun
from adjudication.ratings.data import compare_runs, compute_report
from adjudication.reports.league import tables
from adjudication.reports.league.values import JudgeReport
from timelines.evaluation.tables import Table


class Command(BaseCommand):
    help = "Print the ratings of a judge run with their intervals and all tables behind them."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the options."""
        parser.add_argument(
            "run",
            metavar="RUN",
            help="public id of the judge run, or its label if only one run has it",
        )
        parser.add_argument(
            "--against",
            default="",
            metavar="RUN",
            help="another judge run of the same comparisons: print the agreement",
        )
        form = parser.add_mutually_exclusive_group()
        for name, words in (
            ("json", "every table as JSON"),
            ("csv", "every table as CSV"),
            ("latex", "every table as LaTeX"),
        ):
            form.add_argument(
                f"--{name}", dest="form", action="store_const", const=name, help=words
            )
        parser.add_argument("--out", type=Path, help="write there instead of printing")

    def handle(self, *args: Any, **options: Any) -> None:
        """Compute and print."""
        out: Path | None = options["out"]
        if out is not None and not out.absolute().parent.is_dir():
            raise CommandError(f"--out: the folder does not exist: {out.absolute().parent}")
        run = find_judge_run(options["run"])
        other = find_judge_run(options["against"]) if options["against"] else None
        report = compute_report(run)
        found = [table for build in tables.TABLES.values() if (table := build(report)).rows]
        if other is not None:
            found.append(_agreement(run, other))
        text = format_report(report, found, options["form"])
        if out is None:
            self.stdout.write(text)
        else:
            try:
                out.write_text(text, encoding="utf-8")
            except OSError as error:
                raise CommandError(f"--out: {out} cannot be written ({error.strerror})") from error
            self.stderr.write(f"written to {out}")


def find_judge_run(name: str) -> JudgeRun:
    """Return the judge run with that public id, else with that label.

    Raises CommandError listing the latest runs.
    """
    found = list(JudgeRun.objects.filter(public_id=name)) or list(
        JudgeRun.objects.filter(label=name)[:2]
    )
    if len(found) == 1:
        return found[0]
    if found:
        raise CommandError(f"more than one judge run is called {name!r}: give its public id")
    there = (
        ", ".join(
            f"{r.public_id} ({r.label or r.judge_name})"
            for r in JudgeRun.objects.order_by("-created_at")[:10]
        )
        or "none yet"
    )
    raise CommandError(f"there is no judge run {name!r}; the latest are: {there}")


def format_report(report: JudgeReport, found: list[Table], form: str | None) -> str:
    """Return the tables in the requested form, for a terminal by default."""
    if form == "json":
        return json.dumps(
            {**counts(report), "tables": [t.plain() for t in found]},
            ensure_ascii=False,
            indent=1,
        )
    if form == "csv":
        return "\n".join(f"{t.title}\n{t.to_csv()}" for t in found)
    if form == "latex":
        return "\n".join(t.to_latex() for t in found)
    return "\n\n".join(
        [
            ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in counts(report).items()),
            *warnings(report),
            *(t.to_text() for t in found),
        ]
    )


def counts(report: JudgeReport) -> dict[str, int]:
    """Return the numbers that the figures are based on."""
    names = ("cases", "games", "in_part", "unjudged", "open", "findings", "decisive", "flagged")
    return {name: getattr(report, name) for name in names}


def warnings(report: JudgeReport) -> list[str]:
    """Return warnings to read before quoting a rating."""
    rated = report.rated
    warnings = [f"No ratings can be computed from these games: {rated.why}."] if rated.why else []
    if rated.lost:
        warnings.append(
            f"{rated.lost} of {rated.resamples} resamples have no ratings and are not in the"
            " intervals."
        )
    return warnings


def _agreement(run: JudgeRun, other: JudgeRun) -> Table:
    both, found = compare_runs(run, other)
    if not both:
        raise CommandError("--against: the two judge runs judged no comparison in common")
    title = f"Against {other.label or other.judge_name} on {both} comparisons that both judged"
    return tables.overlap_table("agreement", title, ("This run", "The other"), found)
