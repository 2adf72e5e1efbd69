"""`manage.py reconstruct`: timelines for the cases of a dataset."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from timelines import actions
from timelines.datasets import find_dataset
from timelines.following import NoWorker, failures, follow, work_inline
from timelines.models import Run
from timelines.pipeline.config import PipelineConfig, Variant
from timelines.tools import BACKBONES, UnknownBackbone


class Command(BaseCommand):
    help = "Reconstruct the timelines of a dataset's cases. Exits with 1 where a case failed."

    def add_arguments(self, parser: CommandParser) -> None:
        """Which cases, how, and whether to wait."""
        parser.add_argument("--dataset", required=True, help="name or public id of an imported dataset")
        parser.add_argument("--study", default="", help="name of its study, where two studies have a dataset of that name")
        parser.add_argument("--cases", nargs="+", metavar="CASE", help="case ids (default: every case that has a note)")
        parser.add_argument("--missing", action="store_true", help="only cases that are neither reconstructed this way nor under way")
        parser.add_argument("--backbone", default="rules", help=f"one of: {', '.join(BACKBONES)} (default: rules)")
        parser.add_argument("--variant", default="full", choices=[v.value for v in Variant], help="default: full")
        parser.add_argument("--alternatives", type=int, default=None, help="complete revised timelines a case (default: the protocol's)")
        parser.add_argument("--label", default="", help="a name for the run")
        parser.add_argument("--wait", action="store_true", help="follow the run to its end; workers do the work")
        parser.add_argument("--inline", action="store_true", help="do the work in this process")

    def handle(self, *args: Any, **options: Any) -> None:
        """Start the run; follow it or do it where asked."""
        run = self._started(options)
        if run is None:
            return
        self.stdout.write(f"run {run.public_id}: {run.cases.count()} cases by {run.source}")
        if options["inline"]:
            work_inline(run, self._say)
        elif options["wait"]:
            try:
                follow(run, self._say)
            except NoWorker as error:
                raise CommandError(
                    f"The run stands still: {error}. Its stages wait and are done when a worker starts (`make run`). "
                    "To do the work in this process, cancel it and add --inline."
                ) from error
        else:
            return
        self._report(run)

    def _started(self, options: dict[str, Any]) -> Run | None:
        """The new run; None where `--missing` finds nothing to do."""
        settings = {"variant": options["variant"]}
        if options["alternatives"] is not None:
            settings["alternatives"] = options["alternatives"]
        try:
            dataset = find_dataset(options["dataset"], options["study"])
            config = PipelineConfig.from_dict(settings)
            cases = options["cases"]
            if options["missing"]:
                source = actions.source_of(options["backbone"], config.variant)
                cases = [case for case in actions.missing_cases(dataset, source) if cases is None or case in cases]
                if not cases:
                    self._say(f"every case has been reconstructed by {source}, or is under way")
                    return None
            return actions.start_run(
                dataset=dataset, backbone=options["backbone"], config=config, cases=cases, label=options["label"], by=None
            )
        except (LookupError, UnknownBackbone, ValueError) as error:
            raise CommandError(str(error)) from error

    def _report(self, run: Run) -> None:
        failed = failures(run)
        for failure in failed:
            self.stderr.write(f"{failure.case_id}: {failure.stage.lower()} failed: {'; '.join(failure.reasons)}")
        if failed:
            raise CommandError(f"{len(failed)} of {run.cases.count()} cases failed")
        self._say("finished")

    def _say(self, words: str) -> None:
        self.stdout.write(words)
        self.stdout.flush()
