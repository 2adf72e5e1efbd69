"""Where a run stands: its stages counted over all cases, its state, and whether anybody works on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Count, Max, Min
from django.db.models.functions import Greatest
from django.utils import timezone

from ehr.wording import duration_words
from jobs.claims import due
from jobs.models import JobState
from timelines.case_state import CaseState, case_state
from timelines.closed_cases import without
from timelines.models import STAGE_ORDER, Run, Stage, StageRun

#: Stages that wait longer than this without a worker's sign of life are worth a word.
QUIET_AFTER = timedelta(seconds=30)
#: From a stage to its encounter.
_CASE = "case_run__encounter"


@dataclass(frozen=True, slots=True)
class StageTotal:
    """One stage over all cases of the run."""

    stage: str
    label: str
    done: int
    running: int
    failed: int
    total: int


@dataclass(frozen=True, slots=True)
class RunTotals:
    """How many stage rows of the run stand in each state, and what that makes of the run."""

    by_stage: dict[str, dict[str, int]]
    cases: int

    @property
    def stages(self) -> dict[str, int]:
        """Job state → number of stage rows."""
        summed: Counter[str] = Counter()
        for states in self.by_stage.values():
            summed.update(states)
        return dict(summed)

    @property
    def total(self) -> int:
        return sum(self.stages.values())

    @property
    def succeeded(self) -> int:
        return self.stages.get(JobState.SUCCEEDED, 0)

    @property
    def failed(self) -> int:
        return self.stages.get(JobState.FAILED, 0)

    @property
    def retryable(self) -> int:
        return self.failed + self.stages.get(JobState.CANCELLED, 0)

    @property
    def active(self) -> bool:
        """True while anything may still change without a person: then the page keeps asking."""
        return bool(self.stages.get(JobState.RUNNING, 0) or self.stages.get(JobState.QUEUED, 0))

    @property
    def percent(self) -> int:
        return 100 * self.succeeded // self.total if self.total else 0

    def of_stages(self) -> list[StageTotal]:
        """The stages that this run has, in order."""
        return [self._of(stage) for stage in STAGE_ORDER if stage in self.by_stage]

    def _of(self, stage: str) -> StageTotal:
        states = self.by_stage[stage]
        return StageTotal(
            stage=stage,
            label=Stage(stage).label,
            done=states.get(JobState.SUCCEEDED, 0),
            running=states.get(JobState.RUNNING, 0),
            failed=states.get(JobState.FAILED, 0),
            total=sum(states.values()),
        )


def totals(run: Run, closed: Collection[int] = ()) -> RunTotals:
    """Return the counts of one run over all cases but the `closed` encounters, in one query."""
    return totals_of([run], closed)[run.pk]


def totals_of(runs: Sequence[Run], closed: Collection[int] = ()) -> dict[int, RunTotals]:
    """Return run id → its counts without the `closed` encounters, in one query for all of them."""
    by_stage: dict[int, dict[str, dict[str, int]]] = {run.pk: {} for run in runs}
    cases: Counter[int] = Counter()
    counted = without(StageRun.objects.filter(case_run__run__in=runs), closed, _CASE).order_by()
    for run, stage, state, n in counted.values_list("case_run__run_id", "stage", "state").annotate(n=Count("id")):
        by_stage[run].setdefault(stage, {})[state] = n
    for run, stages in by_stage.items():
        cases[run] = max((sum(states.values()) for states in stages.values()), default=0)
    return {run: RunTotals(stages, cases[run]) for run, stages in by_stage.items()}


def case_states(run: Run, closed: Collection[int] = ()) -> dict[int, CaseState]:
    """Return case run id → its state, by the rule that every page uses, without the `closed` encounters."""
    states = without(StageRun.objects.filter(case_run__run=run), closed, _CASE).order_by().values_list("case_run_id")
    return {case_run: case_state(found) for case_run, found in states.annotate(found=ArrayAgg("state", distinct=True))}


def state_of_run(run: Run, counts: RunTotals) -> CaseState:
    """What the run as a whole does: at work while anything may change, then failed or cancelled in part, else done.

    A cancelled run says so even while its last stage ends.
    """
    if run.cancelled_at is not None:
        return CaseState.CANCELLED
    if counts.active:
        begun = counts.succeeded or counts.failed or counts.stages.get(JobState.RUNNING)
        return CaseState.RUNNING if begun else CaseState.WAITING
    return case_state(counts.stages)


def run_state_words(run: Run, counts: RunTotals) -> str:
    """The run's state in a word or two; a case that is "reconstructed" makes a run that is "done"."""
    state = state_of_run(run, counts)
    if run.paused_at is not None and counts.active:
        return "Paused"
    return "Done" if state is CaseState.DONE else state.label


def cancel_words(counts: RunTotals) -> str:
    """What cancelling the run loses, and what it keeps."""
    running = counts.stages.get(JobState.RUNNING, 0)
    waiting = counts.stages.get(JobState.QUEUED, 0) + counts.stages.get(JobState.BLOCKED, 0)
    return (
        f"{_stages(running)} now running will stop, and what they have not stored yet is lost. "
        f"{_stages(waiting)} that wait will not be done. "
        f"The {_stages(counts.succeeded)} done so far stay stored. Retry failed goes on from there."
    )


def _stages(count: int) -> str:
    return f"{count} stage{'' if count == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class RunLine:
    """What lists say about a run."""

    run: Run
    state: CaseState
    state_words: str
    totals: RunTotals


def run_line(run: Run, counts: RunTotals) -> RunLine:
    """The line of one run."""
    return RunLine(run, state_of_run(run, counts), run_state_words(run, counts), counts)


def waiting_warning(run: Run, closed: Collection[int] = ()) -> str:
    """Return a sentence if stages have waited long without any sign of a worker, else an empty text."""
    stages = without(StageRun.objects.filter(case_run__run=run), closed, _CASE)
    signs = stages.aggregate(waiting=Min(Greatest("queued_at", "not_before"), filter=due()), latest=Max("finished_at"))
    if signs["waiting"] is None or run.paused_at is not None or stages.filter(state=JobState.RUNNING).exists():
        return ""
    quiet = timezone.now() - max(t for t in (signs["waiting"], signs["latest"]) if t is not None)
    if quiet < QUIET_AFTER:
        return ""
    return (
        f"No worker has taken a stage of this run for {duration_words(quiet.total_seconds())}. "
        "Start the workers with make run; elsewhere, ask whoever runs them whether one listens. Nothing is lost while it waits."
    )
