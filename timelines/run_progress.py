"""What a run page shows: cases × stages with words about what goes on, and totals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Max, Min
from django.utils import timezone

from jobs.models import JobState
from timelines.case_state import CaseState, case_state
from timelines.models import STAGE_ORDER, CaseRun, Run, Stage, StageRun

#: Cases shown on one page of a run; a cohort of thousands is paged, its totals are counted in SQL.
PAGE_SIZE = 50
#: Stages that wait longer than this without a worker's sign of life are worth a word.
QUIET_AFTER = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class StageCell:
    """One stage of one case. `seconds` is run time so far, `waited` the time from queueing to the start."""

    id: int
    stage: str
    label: str
    state: str
    state_label: str
    words: str
    percent: int | None
    seconds: float | None
    waited: float | None
    attempt: int
    worker: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CaseLine:
    """One case of the run with its cells in stage order."""

    public_id: str
    case_run_id: str
    case_id: str
    title: str
    state: CaseState
    cells: tuple[StageCell, ...]


@dataclass(frozen=True, slots=True)
class RunTotals:
    """How many stage rows of the run stand in each state, and what that makes of the run."""

    stages: dict[str, int]
    total: int
    cases: int

    @property
    def finished(self) -> int:
        return sum(self.stages.get(s, 0) for s in (JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED))

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
        return round(100 * self.succeeded / self.total) if self.total else 0


def totals(run: Run) -> RunTotals:
    """Counts over all cases of the run, in one query."""
    counted = StageRun.objects.filter(case_run__run=run).order_by().values_list("state").annotate(n=Count("id"))
    states = dict(counted)
    return RunTotals(states, sum(states.values()), run.cases.count())


def state_of_run(run: Run, counts: RunTotals) -> CaseState:
    """The run's state by the same rule as a case's; a cancelled run says so even while its last stage ends."""
    if run.cancelled_at is not None:
        return CaseState.CANCELLED
    return case_state(counts.stages)


def waiting_warning(run: Run) -> str:
    """A sentence when stages have waited long without any sign of a worker; empty otherwise."""
    stages = StageRun.objects.filter(case_run__run=run)
    waiting = stages.filter(state=JobState.QUEUED).aggregate(since=Min("queued_at"))["since"]
    if waiting is None or run.paused_at is not None or stages.filter(state=JobState.RUNNING).exists():
        return ""
    latest = stages.aggregate(sign=Max("finished_at"))["sign"]
    quiet = timezone.now() - max(t for t in (waiting, latest) if t is not None)
    if quiet < QUIET_AFTER:
        return ""
    return (
        f"No worker has taken a stage of this run for {int(quiet.total_seconds())} seconds. "
        "Start one with `make run`, or look at the queues of the machine that runs the workers."
    )


def case_lines(case_runs: Sequence[CaseRun]) -> list[CaseLine]:
    """The lines of one page of a run, in the order given."""
    now = timezone.now()
    cells: dict[int, dict[str, StageCell]] = defaultdict(dict)
    for stage in StageRun.objects.filter(case_run__in=case_runs):
        cells[stage.case_run_id][stage.stage] = _cell(stage, now)
    lines = []
    for case_run in case_runs:
        mine = cells[case_run.pk]
        lines.append(
            CaseLine(
                public_id=case_run.encounter.public_id,
                case_run_id=case_run.public_id,
                case_id=case_run.encounter.case_id,
                title=case_run.encounter.title,
                state=case_state(c.state for c in mine.values()),
                cells=tuple(mine[s] for s in STAGE_ORDER if s in mine),
            )
        )
    return lines


def _cell(stage: StageRun, now: datetime) -> StageCell:
    progress = stage.progress if isinstance(stage.progress, dict) else {}
    done, total = progress.get("done"), progress.get("total")
    end = stage.finished_at or now
    return StageCell(
        id=stage.pk,
        stage=stage.stage,
        label=Stage(stage.stage).label,
        state=stage.state,
        state_label=JobState(stage.state).label,
        words=str(progress.get("words", "")),
        percent=round(100 * done / total) if isinstance(done, int) and isinstance(total, int) and total else None,
        seconds=(end - stage.started_at).total_seconds() if stage.started_at else None,
        waited=(stage.started_at - stage.queued_at).total_seconds() if stage.started_at else None,
        attempt=stage.attempt,
        worker=stage.worker,
        reasons=tuple(stage.reasons),
    )
