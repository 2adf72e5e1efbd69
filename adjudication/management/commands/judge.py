"""`manage.py judge`: findings on the pairs of timelines of a dataset."""

from __future__ import annotations

import time
from argparse import BooleanOptionalAction
from typing import Any

from celery import current_app
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import close_old_connections
from django.db.models import Count
from kombu.exceptions import OperationalError

from accounts.wording import format_count
from adjudication.judge_runs.actions import (
    JudgingRefused,
    find_equal_run,
    start_judging,
)
from adjudication.judge_runs.data import find_sources
from adjudication.judge_runs.following import (
    ACTIVE,
    POLL_SECONDS,
    end_abandoned_games,
    find_preparation,
    is_under_way,
    judge_inline,
    progress_words,
    waiting_words,
)
from adjudication.judge_runs.tools import JUDGES, RULES, UnknownJudge
from adjudication.judging.config import (
    PUBLISHED,
    SEED,
    JudgeConfig,
    SourceUnknown,
    parse_source,
    preset_config,
)
from adjudication.judging.validation import FIXED_TOLERANCE, TOLERANCE, Tolerance
from adjudication.models import Finding, Game, JudgeRun
from ehr.presentation.rendering import JUDGE_SERIES
from jobs.models import JobState
from llm_runtime.base import ProviderError
from timelines.cases.datasets import find_dataset
from timelines.runs.language_models import UnknownModel

PATIENCE_SECONDS = 45.0


class Command(BaseCommand):
    help = (
        "Judge each pair of the chosen timelines of each case with note and record. Exits with 1 if"
        " a game failed or is unjudged."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the options."""
        parser.add_argument(
            "--dataset",
            required=True,
            nargs="+",
            help="names or public ids of imported datasets of one study",
        )
        parser.add_argument(
            "--study",
            default="",
            help="name of the study, if two studies have a dataset of that name",
        )
        parser.add_argument(
            "--sources",
            required=True,
            metavar="A,B,…",
            help="SOURCE, SOURCE@KIND or SOURCE@KIND#ALTERNATIVE, two or more",
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
            "--swap", action="store_true", help="judge every game again with A and B exchanged"
        )
        parser.add_argument(
            "--uid-table",
            action=BooleanOptionalAction,
            help="show the judge UIDs, spans and bounds, empty for sources without them",
        )
        parser.add_argument(
            "--fixed-tolerance",
            action="store_true",
            help="times are equal within three hours, at any distance from admission",
        )
        parser.add_argument(
            "--tolerance-hours",
            type=float,
            metavar="H",
            help=f"times nearer than this are equal (default: {TOLERANCE.least:g})",
        )
        parser.add_argument(
            "--tolerance-share",
            type=float,
            metavar="S",
            help=(
                "or nearer than this share of the larger distance from admission (default:"
                f" {TOLERANCE.share:g})"
            ),
        )
        parser.add_argument(
            "--attempts",
            type=int,
            default=JudgeConfig().attempts,
            help=f"attempts of a language model at one game (default: {JudgeConfig().attempts})",
        )
        parser.add_argument(
            "--preset",
            default="default",
            choices=("default", "published"),
            help="published: --record-times iso --no-repair --uid-table (default: default)",
        )
        parser.add_argument(
            "--record-times",
            choices=("hours", "iso"),
            help="times of the record: hours from admission or calendar moments",
        )
        parser.add_argument(
            "--repair",
            action=BooleanOptionalAction,
            help="ask again for invalid findings alone, or reject the whole answer",
        )
        parser.add_argument(
            "--series",
            type=int,
            default=JUDGE_SERIES,
            metavar="N",
            help=f"series of the record, at most (default: {JUDGE_SERIES})",
        )
        parser.add_argument(
            "--seed", type=int, default=SEED, help=f"seed of the choice of side A (default: {SEED})"
        )
        parser.add_argument("--label", default="", help="a name for the judge run")
        parser.add_argument(
            "--missing",
            action="store_true",
            help=(
                "start no run that this judge has judged already; with --wait or --inline continue"
                " an unfinished one"
            ),
        )
        parser.add_argument(
            "--wait", action="store_true", help="wait until the workers have judged all games"
        )
        parser.add_argument("--inline", action="store_true", help="do the work in this process")

    def handle(self, *args: Any, **options: Any) -> None:
        """Start the judge run; follow it or do its work if requested."""
        try:
            run = self._start(options)
        except (
            LookupError,
            JudgingRefused,
            SourceUnknown,
            UnknownJudge,
            UnknownModel,
            ProviderError,
            ValueError,
        ) as error:
            raise CommandError(str(error)) from error
        if run is not None and (options["inline"] or options["wait"]):
            self._follow(run, inline=options["inline"])
            self._report(run)

    def _start(self, options: dict[str, Any]) -> JudgeRun | None:
        datasets = [
            find_dataset(name, options["study"]) for name in dict.fromkeys(options["dataset"])
        ]
        known = find_sources(datasets)
        sources = [
            parse_source(name, known) for name in options["sources"].split(",") if name.strip()
        ]
        usual = FIXED_TOLERANCE if options["fixed_tolerance"] else TOLERANCE
        least, share = options["tolerance_hours"], options["tolerance_share"]
        tolerance = Tolerance(
            usual.least if least is None else least, usual.share if share is None else share
        )
        chosen = {name: options[name] for name in PUBLISHED if options[name] is not None}
        config = preset_config(
            options["preset"],
            seed=options["seed"],
            swap=options["swap"],
            tolerance=tolerance,
            series_limit=options["series"],
            attempts=options["attempts"],
            **chosen,
        )
        asked: dict[str, Any] = {
            "datasets": datasets,
            "sources": sources,
            "judge": options["judge"],
            "model": options["model"],
            "config": config,
        }
        if options["missing"] and (
            found := find_equal_run(study=datasets[0].study, cases=options["cases"], **asked)
        ):
            under_way = is_under_way(found)
            self._say(
                f"{'under way' if under_way else 'judged before'}: judge run {found.public_id}"
            )
            return found if under_way else None
        run = start_judging(
            study=datasets[0].study,
            cases=options["cases"],
            label=options["label"],
            by=None,
            tell_workers=not options["inline"],
            **asked,
        )
        self._say(
            f"judge run {run.public_id}: {_size(run)} of {', '.join(k.written for k in sources)} by"
            f" {run.judge_name}"
        )
        return run

    def _follow(self, run: JudgeRun, *, inline: bool) -> None:
        if inline:
            judge_inline(run, self._say)
            return
        shown, moved = "", time.monotonic()
        while is_under_way(run):
            end_abandoned_games(run)  # the sweeper may not be running here
            if (words := progress_words(run)) != shown:
                self._say(words)
                shown, moved = words, time.monotonic()
            elif words := waiting_words(run):
                self._say(words)
                return
            self._check_workers(run, moved)
            time.sleep(POLL_SECONDS)
            close_old_connections()
        self._say(progress_words(run))

    def _check_workers(self, run: JudgeRun, moved: float) -> None:
        """Raise CommandError if the run makes no progress and no worker listens."""
        running = (
            run.games.filter(state=JobState.RUNNING).exists()
            or find_preparation(run).filter(state=JobState.RUNNING).exists()
        )
        if running or time.monotonic() - moved < PATIENCE_SECONDS:
            return
        run.refresh_from_db(fields=["paused_at"])
        try:
            answers = current_app.control.inspect(timeout=POLL_SECONDS).active_queues() or {}
        except (OperationalError, OSError):
            answers = {}
        needed = "pipeline" if find_preparation(run).filter(state__in=ACTIVE).exists() else "judge"
        if run.paused_at is None and not any(
            queue["name"] == needed for queues in answers.values() for queue in queues
        ):
            raise CommandError(
                f"The judge run is waiting: no worker answers on {needed}. Its games wait and are"
                " judged when a worker starts (`make run`). To do the work in this process, cancel"
                " it and add --inline."
            )

    def _report(self, run: JudgeRun) -> None:
        counts = (
            Finding.objects.filter(game__run=run)
            .values("type")
            .annotate(n=Count("pk"))
            .order_by("type")
        )
        self._say("findings: " + (", ".join(f"{c['n']} {c['type']}" for c in counts) or "none"))
        ended = (
            run.games.filter(state=JobState.FAILED)
            .select_related("comparison__encounter")
            .order_by("pk")
        )
        for game in ended:
            reasons = (
                game.unjudged_reasons if game.outcome == Game.Outcome.UNJUDGED else game.reasons
            )
            self.stderr.write(
                f"{game.comparison.encounter.case_id}: {game.outcome or 'failed'}:"
                f" {'; '.join(reasons)}"
            )
        if unprepared := find_preparation(run).exclude(state=JobState.SUCCEEDED).first():
            words = f"{unprepared.state} after {unprepared.prepared} of {unprepared.total} cases"
            raise CommandError(
                "; ".join([f"the preparation did not finish: {words}", *unprepared.reasons])
            )
        if waiting_words(run):
            self._say("not finished: waiting for answers")
        if ended:
            raise CommandError(f"{len(ended)} of {run.games.count()} games failed or are unjudged")

    def _say(self, words: str) -> None:
        self.stdout.write(words)
        self.stdout.flush()


def _size(run: JudgeRun) -> str:
    """Return the number of games if all are added, else of cases."""
    preparation = find_preparation(run).get()
    return (
        f"{run.games.count()} games"
        if preparation.state == JobState.SUCCEEDED
        else format_count(preparation.total, "case")
    )
