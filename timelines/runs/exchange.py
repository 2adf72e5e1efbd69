"""Runs whose models are asked by files (`llm_runtime.exchange`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from jobs.leases.hold import Hold
from llm_runtime.calls.calling import Ledger
from llm_runtime.exchange.runs import ExchangeKind, ExchangeRun
from timelines.models import Run, StageRun
from timelines.runs.calls import CALLS_OWNER
from timelines.runs.following import asking_run, progress_words, work_inline
from timelines.runs.language_models import Calls
from timelines.runs.progress import count_run
from timelines.runs.stages.execution import compute_stage
from timelines.runs.stages.work import StageWork


def exchange_run(run: Run) -> ExchangeRun:
    """Return the run as the exchange sees it."""
    asking = asking_run(run)
    return ExchangeRun(
        public_id=asking.public_id,
        owner_type=asking.owner_type,
        jobs=asking.jobs,
        study=run.study,
        object_type="timelines.run",
        describe=lambda: progress_words(count_run(run)),
        is_active=lambda: bool(count_run(run).active),
        work_inline=partial(work_inline, run),
    )


def find_run(public_id: str) -> ExchangeRun | None:
    """Return the run with that public id."""
    run = Run.objects.select_related("study").filter(public_id=public_id).first()
    return None if run is None else exchange_run(run)


@dataclass
class CheckedWork(StageWork):
    """A stage over another ledger, whose results are dropped."""

    ledger: Ledger

    @cached_property
    def calls(self) -> Calls:
        return self.calls_over(self.ledger)

    def store(
        self, ordinal: int, payload: Mapping[str, Any], save: Callable[[], object] = lambda: None
    ) -> None:
        """Store nothing."""
        self._stored_ordinals.add(ordinal)


def replay_stage(stage_run_id: int, ledger: Ledger) -> None:
    """Repeat a stage up to its first missing answer; store nothing."""
    stage_run = StageRun.objects.get(pk=stage_run_id)
    hold = Hold(StageRun, stage_run.pk, fence=stage_run.fence, attempt=stage_run.attempt)
    compute_stage(CheckedWork(stage_run, hold, ledger))


KIND = ExchangeKind(CALLS_OWNER, find_run, replay_stage)
