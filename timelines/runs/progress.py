"""The progress of a run.

Its stages counted over all cases, its state, and whether a worker works on it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Max, Sum
from django.utils import timezone

from accounts.wording import format_count
from ehr.presentation.wording import duration_words
from jobs.models import JobState, PreparationJob
from timelines.case_state import CaseState, case_state
from timelines.models import STAGE_ORDER, CaseRun, Run, RunCount, RunPreparation, Stage, StageRun

#: The page warns if stages wait longer than this without a sign of a worker.
QUIET_AFTER = timedelta(seconds=30)


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
class Preparation:
    """Adding the cases of a run, as long as it is not done."""

    state: str
    prepared: int
    total: int
    reasons: tuple[str, ...] = ()

    @property
    def active(self) -> bool:
        return self.state in (JobState.QUEUED, JobState.RUNNING)


@dataclass(frozen=True, slots=True)
class RunTotals:
    """How many stages and cases of the run are in each state.

    Also when that last changed, and the cases still to be added.
    """

    by_stage: dict[str, dict[str, int]]
    by_case: dict[CaseState, int]
    moved_at: datetime | None = None
    preparation: Preparation | None = None

    @property
    def cases(self) -> int:
        return sum(self.by_case.values())

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
        unprepared = self.preparation is not None and not self.preparation.active
        return self.failed + self.stages.get(JobState.CANCELLED, 0) + unprepared

    @property
    def preparing(self) -> bool:
        return self.preparation is not None and self.preparation.active

    @property
    def active(self) -> bool:
        """Return whether anything may still change without a person.

        While it may, the page keeps polling.
        """
        return self.preparing or bool(
            self.stages.get(JobState.RUNNING, 0) or self.stages.get(JobState.QUEUED, 0)
        )

    @property
    def percent(self) -> int:
        return 100 * self.succeeded // self.total if self.total else 0

    def count_stages(self) -> list[StageTotal]:
        """The stages that this run has, in order."""
        return [self._count_stage(stage) for stage in STAGE_ORDER if stage in self.by_stage]

    def _count_stage(self, stage: str) -> StageTotal:
        states = self.by_stage[stage]
        return StageTotal(
            stage=stage,
            label=Stage(stage).label,
            done=states.get(JobState.SUCCEEDED, 0),
            running=states.get(JobState.RUNNING, 0),
            failed=states.get(JobState.FAILED, 0),
            total=sum(states.values()),
        )


def count_run(run: Run, closed: Collection[int] = ()) -> RunTotals:
    """Return the counts of one run over all cases but the `closed` encounters."""
    return count_runs([run], closed)[run.pk]


def count_runs(runs: Sequence[Run], closed: Collection[int] = ()) -> dict[int, RunTotals]:
    """Return the counts of each run, by run id.

    `closed` encounters are excluded. Reads only stored counts (`RunCount`), no stages of other
    cases.
    """
    by_stage: dict[int, dict[str, Counter[str]]] = {run.pk: defaultdict(Counter) for run in runs}
    by_case: dict[int, Counter[CaseState]] = {run.pk: Counter() for run in runs}
    moved: dict[int, datetime] = {}
    counts = (
        RunCount.objects.filter(run__in=runs).order_by().values_list("run_id", "stage", "state")
    )
    for run, stage, state, n, moved_at in counts.annotate(sum=Sum("n"), latest=Max("moved_at")):
        moved[run] = max(moved_at, moved.get(run, moved_at))
        if stage:
            by_stage[run][stage][state] += n
        else:
            by_case[run][CaseState(state)] += n
    if closed:
        moved = {}  # when something of a closed case happened is closed, too
        _subtract(runs, list(closed), by_stage, by_case)
    unprepared = {
        p.run_id: p
        for p in (
            RunPreparation.objects.filter(run__in=runs)
            .exclude(state=JobState.SUCCEEDED)
            .defer("wanted")
        )
    }
    return {
        pk: RunTotals(
            {stage: dict(+states) for stage, states in by_stage[pk].items() if +states},
            dict(+by_case[pk]),
            moved.get(pk),
            describe_preparation(unprepared.get(pk)),
        )
        for pk in by_stage
    }


def _subtract(
    runs: Sequence[Run],
    closed: list[int],
    by_stage: dict[int, dict[str, Counter[str]]],
    by_case: dict[int, Counter[CaseState]],
) -> None:
    """Take the closed cases out of the counts; they are few."""
    cases = CaseRun.objects.filter(run__in=runs, encounter__in=closed)
    for run, state in cases.values_list("run_id", "state"):
        by_case[run][CaseState(state)] -= 1
    for run, stage, state in StageRun.objects.filter(case_run__in=cases).values_list(
        "case_run__run_id", "stage", "state"
    ):
        by_stage[run][stage][state] -= 1


def describe_preparation(job: PreparationJob | None) -> Preparation | None:
    """Return an unfinished preparation as pages show it."""
    return (
        None if job is None else Preparation(job.state, job.prepared, job.total, tuple(job.reasons))
    )


def find_run_state(run: Run, counts: RunTotals) -> CaseState:
    """Return the state of the run as a whole.

    Running while anything may change, then failed or cancelled in part, else done. A cancelled run
    is cancelled even while its last stage ends.
    """
    if run.cancelled_at is not None:
        return CaseState.CANCELLED
    if counts.active:
        begun = counts.succeeded or counts.failed or counts.stages.get(JobState.RUNNING)
        return CaseState.RUNNING if begun else CaseState.WAITING
    if counts.preparation is not None:
        return (
            CaseState.CANCELLED
            if counts.preparation.state == JobState.CANCELLED
            else CaseState.FAILED
        )
    return case_state(counts.stages)


def run_state_words(run: Run, counts: RunTotals) -> str:
    """Return the run's state in one or two words.

    A "reconstructed" case makes a "done" run.
    """
    state = find_run_state(run, counts)
    if run.paused_at is not None and counts.active:
        return "Paused"
    if counts.preparing and state is CaseState.WAITING:
        return "Preparing"
    return "Done" if state is CaseState.DONE else state.label


def cancel_words(counts: RunTotals) -> str:
    """Return what cancelling the run loses, and what stays stored."""
    running = counts.stages.get(JobState.RUNNING, 0)
    waiting = counts.stages.get(JobState.QUEUED, 0) + counts.stages.get(JobState.BLOCKED, 0)
    return (
        f"{_stages(running)} now running will stop and lose their unsaved results. "
        f"{_stages(waiting)} waiting will not run. "
        f"{_stages(counts.succeeded)} done so far will stay stored. Retry continues from there."
    )


def _stages(count: int) -> str:
    return format_count(count, "stage")


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run as lists show it."""

    run: Run
    state: CaseState
    state_words: str
    totals: RunTotals


def run_line(run: Run, counts: RunTotals) -> RunLine:
    """The line of one run."""
    return RunLine(run, find_run_state(run, counts), run_state_words(run, counts), counts)


def time_left_words(run: Run, counts: RunTotals, now: datetime | None = None) -> str:
    """Return how long the run may still take, at its own pace so far.

    Empty before the first stage is done, while it is paused or prepared, and if cases are closed to
    the person: the pace would show when something happened to them.
    """
    left = counts.total - counts.succeeded - counts.failed
    ended = counts.succeeded + counts.failed
    if not counts.active or counts.preparing or run.paused_at is not None or not ended:
        return ""
    if counts.moved_at is None:
        return ""
    elapsed = ((now or timezone.now()) - run.created_at).total_seconds()
    return f"about {duration_words(max(60.0, elapsed * left / ended))} left"


def waiting_warning(run: Run, counts: RunTotals) -> str:
    """Return a sentence if work has waited long without a sign of a worker.

    Otherwise an empty text, and also if cases are closed to the person: the warning would show when
    something happened to them.
    """
    running = counts.stages.get(JobState.RUNNING) or (
        counts.preparation and counts.preparation.state == JobState.RUNNING
    )
    if not counts.active or running or run.paused_at is not None or counts.moved_at is None:
        return ""
    quiet = timezone.now() - counts.moved_at
    if quiet < QUIET_AFTER:
        return ""
    return (
        f"No worker has taken a stage of this run for {duration_words(quiet.total_seconds())}."
        " Start the workers with make run, or ask the operator whether a worker is running. No"
        " data is lost."
    )
