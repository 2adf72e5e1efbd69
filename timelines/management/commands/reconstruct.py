"""`manage.py reconstruct`: timelines for the cases of a dataset."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.wording import format_count
from ehr.models import Dataset
from llm_runtime.base import ProviderError
from llm_runtime.roles import LANGUAGE_MODEL
from timelines.cases.datasets import find_dataset
from timelines.models import Run
from timelines.pipeline.config import PipelineConfig, Preset, Variant, preset_config
from timelines.pipeline.setting_words import SETTING_WORDS
from timelines.runs import actions, tools
from timelines.runs.baselines import BASELINES, is_baseline, usual_variant
from timelines.runs.bases import (
    LATEST,
    based_config,
    find_base,
    find_bases,
    finished_cases,
    late_settings,
)
from timelines.runs.following import NoWorker, failures, follow, waiting_words, work_inline
from timelines.runs.language_models import make_label
from timelines.runs.tools import BACKBONES, UnknownBackbone


class Command(BaseCommand):
    help = "Reconstruct the timelines of a dataset's cases. Exits with 1 if a case failed."

    def add_arguments(self, parser: CommandParser) -> None:
        """Which cases, how, and whether to wait."""
        parser.add_argument(
            "--dataset", required=True, help="name or public id of an imported dataset"
        )
        parser.add_argument(
            "--study",
            default="",
            help="name of its study, if two studies have a dataset of that name",
        )
        parser.add_argument(
            "--cases",
            nargs="+",
            metavar="CASE",
            help="case ids (default: every case that has a note)",
        )
        parser.add_argument(
            "--missing",
            action="store_true",
            help="only cases that have no such timeline, finished or in progress",
        )
        parser.add_argument(
            "--backbone",
            default="rules",
            help=f"one of: {', '.join([*BACKBONES, *BASELINES])} (default: rules)",
        )
        which = parser.add_mutually_exclusive_group()
        which.add_argument(
            "--variant",
            default="",
            choices=[v.value for v in Variant],
            help="default: full, or the only variant of a baseline",
        )
        which.add_argument(
            "--variants",
            metavar="A,B,…",
            help=(
                "several variants: one full run, and the others with its inventory and text-only"
                " estimates"
            ),
        )
        parser.add_argument(
            "--based-on",
            default="",
            metavar="RUN",
            help=(
                f"reuse the stored results of this full run, without its failed cases; {LATEST}:"
                " the newest that has ended"
            ),
        )
        parser.add_argument(
            "--rho",
            type=float,
            default=None,
            help="rerank score below which a series is dropped (default: the preset's)",
        )
        parser.add_argument(
            "--alternatives",
            type=int,
            default=None,
            help="complete revised timelines per case (default: the protocol's)",
        )
        parser.add_argument(
            "--preset",
            choices=list(Preset),
            default=None,
            help="published: as in the paper (default: default, or the base's settings)",
        )
        parser.add_argument(
            "--set",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help=(
                "a setting of the pipeline, as JSON or none; may be repeated:"
                " --set evidence_tokens=12000."
                f" Names: {', '.join(SETTING_WORDS)}"
            ),
        )
        parser.add_argument(
            "--model",
            action="append",
            default=[],
            metavar="[ROLE=]NAME",
            help=(
                "an entry of MODEL_ENDPOINTS for every role, or for one; may be repeated (default:"
                " as MODEL_ROLES says)"
            ),
        )
        parser.add_argument("--label", default="", help="a name for the run")
        parser.add_argument(
            "--wait", action="store_true", help="wait until the workers have finished the run"
        )
        parser.add_argument("--inline", action="store_true", help="do the work in this process")

    def handle(self, *args: Any, **options: Any) -> None:
        """Start the run or runs; follow or execute them if requested."""
        try:
            dataset = find_dataset(options["dataset"], options["study"])
            several = _variants(options["variants"]) if options["variants"] else []
            runs = (
                self._variants(dataset, several, options)
                if several
                else self._find_run(dataset, options)
            )
        except (LookupError, UnknownBackbone, ProviderError, ValueError) as error:
            raise CommandError(str(error)) from error
        if runs and (options["inline"] or options["wait"]):
            self._report(runs)

    def _find_run(self, dataset: Dataset, options: dict[str, Any]) -> list[Run]:
        """Return the requested run; none if `--missing` has nothing to do."""
        variant = Variant(options["variant"] or usual_variant(options["backbone"]))
        base = (
            find_base(dataset, options["backbone"], options["based_on"])
            if options["based_on"]
            else None
        )
        cases = options["cases"]
        if options["missing"]:
            source = _source(options, variant)
            cases = _missing(
                dataset,
                source,
                cases if base is None else _filter_requested(cases, finished_cases(base)),
            )
            if not cases:
                self._say(f"every case has a timeline by {source}, finished or in progress")
                return []
        return self._done([self._start(dataset, variant, cases, base, options)], options)

    def _variants(
        self, dataset: Dataset, variants: Sequence[Variant], options: dict[str, Any]
    ) -> list[Run]:
        """Start a full run over cases without a base, then the other variants.

        The variants run on their bases, all at once.
        """
        if is_baseline(options["backbone"]):
            raise ValueError(
                "--variants keeps one inventory, which a baseline does not have: start its variants"
                " one by one"
            )
        if not (options["based_on"] or options["wait"] or options["inline"]):
            raise ValueError(
                "--variants waits for the full run before it starts the others: add --wait or"
                " --inline"
            )
        wanted = {v: _missing(dataset, _source(options, v), options["cases"]) for v in variants}
        if not options["missing"]:
            every = options["cases"] or actions.noted_cases(dataset)
            wanted = dict.fromkeys(variants, every)
        if not any(wanted.values()):
            self._say(
                f"every case has been reconstructed in all {len(variants)} variants, or is"
                " under way"
            )
            return []
        bases, runs = self._bases(dataset, wanted, options)
        derived = []
        for base, cases in bases:
            for variant in (v for v in variants if v is not Variant.FULL):
                if mine := _filter_requested(wanted[variant], cases):
                    derived.append(self._start(dataset, variant, mine, base, options))
        return runs + self._done(derived, options)

    def _bases(
        self, dataset: Dataset, wanted: dict[Variant, list[str]], options: dict[str, Any]
    ) -> tuple[list[tuple[Run, list[str]]], list[Run]]:
        """Return (run, its finished cases) to base variants on.

        Also return the full runs that were started for it and have ended.
        """
        if options["based_on"]:
            base = find_base(dataset, options["backbone"], options["based_on"])
            return [(base, finished_cases(base))], []
        config = _config(options, Variant.FULL)
        choices = _models(options) or {}
        names = tools.tool_names(
            options["backbone"],
            config,
            choices,
            tools.describe_models(options["backbone"], choices),
        )
        cases = sorted({case for found in wanted.values() for case in found})
        bases, without = (
            find_bases(dataset, options["backbone"], config, names, cases)
            if options["missing"]
            else ([], cases)
        )
        without = sorted({*without, *wanted.get(Variant.FULL, [])})
        if not without:
            return bases, []
        full = self._start(dataset, Variant.FULL, without, None, options)
        started = self._done([full], options)
        return [
            (full, finished_cases(full)),
            *((run, [c for c in found if c not in without]) for run, found in bases),
        ], started

    def _start(
        self,
        dataset: Dataset,
        variant: Variant,
        cases: Sequence[str] | None,
        base: Run | None,
        options: dict[str, Any],
    ) -> Run:
        run = actions.start_run(
            dataset=dataset,
            backbone=options["backbone"],
            config=_config(options, variant, base),
            cases=cases,
            label=options["label"],
            based_on=base,
            models=_models(options),
            by=None,
        )
        kept = f", based on run {base.public_id}" if base else ""
        self._say(
            f"run {run.public_id}: {format_count(run.preparation.total, 'case')} by {run.source}{kept}"
        )
        return run

    def _done(self, runs: list[Run], options: dict[str, Any]) -> list[Run]:
        """Return the same runs, after their end if that was requested."""
        for run in runs:
            if options["inline"]:
                work_inline(run, self._say)
            elif options["wait"]:
                self._follow(run)
        return runs

    def _follow(self, run: Run) -> None:
        try:
            follow(run, self._say)
        except NoWorker as error:
            raise CommandError(
                f"The run is waiting: {error}. Its stages wait and are done when a worker starts"
                " (`make run`). To do the work in this process, cancel it and add --inline."
            ) from error

    def _report(self, runs: Sequence[Run]) -> None:
        failed = [failure for run in runs for failure in failures(run)]
        for failure in failed:
            self.stderr.write(
                f"{failure.case_id}: {failure.stage.lower()} failed: {'; '.join(failure.reasons)}"
            )
        if failed:
            raise CommandError(
                f"{len(failed)} of {sum(run.cases.count() for run in runs)} cases failed"
            )
        self._say(
            "not finished: waiting for answers"
            if any(waiting_words(run) for run in runs)
            else "finished"
        )

    def _say(self, words: str) -> None:
        self.stdout.write(words)
        self.stdout.flush()


def _variants(text: str) -> list[Variant]:
    known = ", ".join(Variant)
    try:
        return list(
            dict.fromkeys(Variant(part.strip()) for part in text.split(",") if part.strip())
        )
    except ValueError:
        raise ValueError(f"--variants takes names separated by commas, of: {known}") from None


def _models(options: dict[str, Any]) -> dict[str, str] | None:
    """Return role → entry as requested; None without a request."""
    pairs = [word.rpartition("=") for word in options["model"]]
    return {role or LANGUAGE_MODEL: name for role, _, name in pairs} or None


def _source(options: dict[str, Any], variant: Variant) -> str:
    """Return the source of the requested runs."""
    recorded = tools.describe_models(options["backbone"], _models(options))
    config = _config(options, variant)
    return actions.make_source(
        options["backbone"], variant, config.own_rho, make_label(recorded), config.preset
    )


def _config(options: dict[str, Any], variant: Variant, base: Run | None = None) -> PipelineConfig:
    """Return the requested settings.

    The others are the base's, or the protocol's.
    """
    settings = _settings(options["set"])
    settings |= {"variant": variant.value}
    if options["rho"] is not None:
        settings.setdefault("rho_threshold", options["rho"])
    if options["alternatives"] is not None:
        settings["alternatives"] = options["alternatives"]
    preset = options["preset"]
    if base is None:
        return preset_config(Preset(preset or Preset.DEFAULT), **settings)
    return based_config(base, **(late_settings(Preset(preset)) if preset else {}) | settings)


def _settings(pairs: Sequence[str]) -> dict[str, Any]:
    """Return the settings of `--set`. Raises ValueError, naming a fault."""
    settings: dict[str, Any] = {}
    words = {"none": None, "yes": True, "no": False}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or name not in SETTING_WORDS:
            raise ValueError(
                f"--set takes NAME=VALUE, with one of these names: {', '.join(SETTING_WORDS)}"
            )
        try:
            settings[name] = json.loads(text)
        except ValueError:
            settings[name] = words.get(text, text)  # a word, such as blind
    return settings


def _missing(dataset: Dataset, source: str, cases: Sequence[str] | None) -> list[str]:
    return _filter_requested(cases, actions.missing_cases(dataset, source))


def _filter_requested(cases: Sequence[str] | None, found: Sequence[str]) -> list[str]:
    """Return those of `found` that were requested."""
    return [case for case in found if cases is None or case in cases]
