"""Progress of a judge run: games by result, and a warning if it waits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from django.db.models import Count, Max, Q, Sum
from django.utils import timezone

from adjudication.access.closed import OPEN, ClosedObjects
from adjudication.models import Finding, Game, JudgeCount, JudgePreparation, JudgeRun
from ehr.presentation.wording import duration_words
from jobs.models import JobState
from timelines.runs.progress import QUIET_AFTER, Preparation, describe_preparation


class GameStatus(StrEnum):
    """State of a game on pages; unjudged means no valid answer, not failed."""

    WAITING = "waiting"
    RUNNING = "running"
    JUDGED = "judged"
    UNJUDGED = "unjudged"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def badge(self) -> str:
        return {GameStatus.JUDGED: "done", GameStatus.UNJUDGED: "incomplete"}.get(self, self.value)

    @property
    def condition(self) -> Q:
        """The rows with this status, so that an index finds them in order."""
        state, outcome = _PAIRS[self]
        return Q(state=state, outcome=outcome)


#: (state, outcome) of a game. Constraints of the table allow no other pairs at the end of a
#: transaction.
_PAIRS: Mapping[GameStatus, tuple[JobState, str]] = {
    GameStatus.WAITING: (JobState.QUEUED, ""),
    GameStatus.RUNNING: (JobState.RUNNING, ""),
    GameStatus.JUDGED: (JobState.SUCCEEDED, Game.Outcome.JUDGED),
    GameStatus.UNJUDGED: (JobState.FAILED, Game.Outcome.UNJUDGED),
    GameStatus.FAILED: (JobState.FAILED, ""),
    GameStatus.CANCELLED: (JobState.CANCELLED, ""),
}


def derive_status(game: Game) -> GameStatus:
    """Return the status of one game, by the same rule."""
    if game.state == JobState.FAILED and game.outcome == Game.Outcome.UNJUDGED:
        return GameStatus.UNJUDGED
    return _OF_STATE[JobState(game.state)]


_OF_STATE = {
    JobState.BLOCKED: GameStatus.WAITING,
    JobState.QUEUED: GameStatus.WAITING,
    JobState.RUNNING: GameStatus.RUNNING,
    JobState.SUCCEEDED: GameStatus.JUDGED,
    JobState.FAILED: GameStatus.FAILED,
    JobState.CANCELLED: GameStatus.CANCELLED,
}


@dataclass(frozen=True, slots=True)
class GameTotals:
    """Number of a run's games by status.

    `done` games need nothing more unless a person asks for it.
    """

    counts: Mapping[GameStatus, int] = field(default_factory=dict)
    findings: int = 0
    #: Judged games in which invalid findings were dropped.
    in_part: int = 0
    #: Time of the last change; None if anything of the run is closed to the person, because the
    #: time would reveal it.
    moved_at: datetime | None = None
    #: The job that adds the games, until it is done.
    preparation: Preparation | None = None

    @property
    def preparing(self) -> bool:
        return self.preparation is not None and self.preparation.active

    @property
    def under_way(self) -> bool:
        """True while anything may change without a person, so that pages poll."""
        return self.preparing or self.active > 0

    @property
    def retryable(self) -> bool:
        """True if games failed, were cancelled or were never added."""
        return bool(
            self.failed or self.cancelled or (self.preparation is not None and not self.preparing)
        )

    def count(self, status: GameStatus) -> int:
        return self.counts.get(status, 0)

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def active(self) -> int:
        return self.waiting + self.running

    @property
    def done(self) -> int:
        return self.total - self.active

    @property
    def waiting(self) -> int:
        return self.count(GameStatus.WAITING)

    @property
    def running(self) -> int:
        return self.count(GameStatus.RUNNING)

    @property
    def judged(self) -> int:
        return self.count(GameStatus.JUDGED)

    @property
    def unjudged(self) -> int:
        return self.count(GameStatus.UNJUDGED)

    @property
    def failed(self) -> int:
        return self.count(GameStatus.FAILED)

    @property
    def cancelled(self) -> int:
        return self.count(GameStatus.CANCELLED)


def count_games(runs: Sequence[JudgeRun], closed: ClosedObjects = OPEN) -> dict[int, GameTotals]:
    """Map run ids to their counts without the closed games.

    Reads stored counts (`JudgeCount`) and counts only the closed games.
    """
    counts: dict[int, Counter[GameStatus]] = {run.pk: Counter() for run in runs}
    findings: Counter[int] = Counter()
    in_part = count_in_part(runs, closed)
    moved: dict[int, datetime] = {}
    stored = (
        JudgeCount.objects.filter(run__in=runs).order_by().values_list("run_id", "state", "outcome")
    )
    for run, state, outcome, n, moved_at in stored.annotate(sum=Sum("n"), latest=Max("moved_at")):
        moved[run] = max(moved_at, moved.get(run, moved_at))
        if state:
            counts[run][derive_status(Game(state=state, outcome=outcome))] += n
        else:
            findings[run] += n
    if closed:
        moved = {}
        _subtract(runs, closed, counts, findings)
    unprepared = {
        p.run_id: p
        for p in (
            JudgePreparation.objects.filter(run__in=runs)
            .exclude(state=JobState.SUCCEEDED)
            .defer("wanted")
        )
    }
    return {
        run: GameTotals(
            dict(+found),
            findings[run],
            in_part.get(run, 0),
            moved.get(run),
            describe_preparation(unprepared.get(run)),
        )
        for run, found in counts.items()
    }


def count_in_part(runs: Sequence[JudgeRun], closed: ClosedObjects = OPEN) -> dict[int, int]:
    """Map run ids to their games judged in part, without the closed games."""
    games = Game.objects.filter(run__in=runs, dropped_findings__gt=0).order_by()
    if closed:
        games = games.exclude(closed.condition("comparison__"))
    return dict(games.values_list("run_id").annotate(n=Count("pk")))


def _subtract(
    runs: Sequence[JudgeRun],
    closed: ClosedObjects,
    counts: Mapping[int, Counter[GameStatus]],
    findings: Counter[int],
) -> None:
    """Subtract the closed games and their findings; they are few."""
    games = Game.objects.filter(closed.condition("comparison__"), run__in=runs).order_by()
    for run, state, outcome, n in games.values_list("run_id", "state", "outcome").annotate(
        n=Count("*")
    ):
        counts[run][derive_status(Game(state=state, outcome=outcome))] -= n
    hidden = Finding.objects.filter(
        closed.condition("game__comparison__"), game__run__in=runs
    ).order_by()
    findings.subtract(dict(hidden.values_list("game__run_id").annotate(n=Count("pk"))))


@dataclass(frozen=True, slots=True)
class RunState:
    """The run's state in a word, and its badge."""

    words: str
    badge: str


def derive_state(run: JudgeRun, totals: GameTotals) -> RunState:
    """Return the run's state: under way, else the worst remaining problem."""
    if totals.under_way:
        if run.paused_at is not None:
            return RunState("Paused", "waiting")
        if totals.done or totals.count(GameStatus.RUNNING):
            return RunState("Judging", "running")
        return RunState("Preparing" if totals.preparing else "Waiting", "waiting")
    if totals.preparation is not None and totals.preparation.state == JobState.CANCELLED:
        return RunState("Cancelled", "cancelled")
    if totals.failed or totals.preparation is not None:
        return RunState("Failed in part" if totals.judged else "Failed", "failed")
    if totals.unjudged:
        return RunState("Unjudged in part" if totals.judged else "Unjudged", "incomplete")
    return RunState("Cancelled", "cancelled") if totals.cancelled else RunState("Done", "done")


def waiting_warning(run: JudgeRun, totals: GameTotals) -> str:
    """Return a warning if games have waited long with no sign of a worker.

    Else "".
    """
    running = totals.count(GameStatus.RUNNING) or (
        totals.preparation and totals.preparation.state == JobState.RUNNING
    )
    if not totals.under_way or running or run.paused_at is not None or totals.moved_at is None:
        return ""
    quiet = timezone.now() - totals.moved_at
    if quiet < QUIET_AFTER:
        return ""
    return (
        f"No worker has taken a game of this run for {duration_words(quiet.total_seconds())}. Games"
        " wait on the queue “judge”. Start the workers with make run, or ask your administrator"
        " to check them. No data is lost."
    )
