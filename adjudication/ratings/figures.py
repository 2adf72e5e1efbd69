"""The stored figures of judge runs, which a job computes.

Small runs are computed by the same code in the request that first asks. A large run is computed
when its last game ends, and when somebody reads figures that are older than a game
(docs/adr/0066-judging-at-scale.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import IntegrityError, transaction
from django.utils import timezone

from adjudication.models import Game, JudgeRun, RunFigures
from adjudication.ratings.basis import (
    Basis,
    count_games,
    count_judged,
    is_under_way,
    read_basis,
)
from adjudication.ratings.data import compare_runs, compute_report
from adjudication.reports.league.plain import agreement_to_plain, report_to_plain
from adjudication.reports.league.values import Agreement
from jobs.hints import send_hints
from jobs.leases.hold import Hold, write_guard
from jobs.limits import make_limit
from jobs.models import JobState
from jobs.worker import work

#: Runs with so many games are computed in the request: it takes less than a second.
AT_ONCE = 2000


class FiguresPending(Exception):
    """The figures of a large run are not computed yet."""

    log_safe = True


@dataclass(frozen=True, slots=True)
class Stored:
    """Figures as plain values, and how new they are."""

    figures: object
    computed_at: datetime
    #: Games judged since; and whether anything else has changed.
    newer: int
    stale: bool


def load_figures(run: JudgeRun, against: JudgeRun | None = None) -> Stored:
    """Return the newest figures; compute those of a small run.

    Those of a large run are requested if they are missing or older than a game. Raises
    FiguresPending if there are none yet.
    """
    basis, found = read_basis(run, against), _find_newest(run, against)
    if found is None or found.basis != basis:
        if count_games(basis) <= AT_ONCE:
            found = compute_now(run=run, against=against, basis=basis)
        else:
            request_figures(run=run, against=against, basis=basis)
    if found is None:
        raise FiguresPending(_explain(run, against))
    assert found.computed_at is not None
    assert found.basis is not None
    newer = max(0, count_judged(basis) - count_judged(found.basis))
    return Stored(found.figures, found.computed_at, newer, found.basis != basis)


@transaction.atomic
def compute_now(*, run: JudgeRun, against: JudgeRun | None, basis: Basis) -> RunFigures:
    """Compute and store the figures in this process."""
    made = RunFigures.objects.create(
        run=run,
        against=against,
        state=JobState.SUCCEEDED,
        basis=basis,
        figures=_compute(run, against),
        computed_at=timezone.now(),
    )
    _delete_older(made)
    return made


@transaction.atomic
def request_figures(*, run: JudgeRun, against: JudgeRun | None, basis: Basis) -> bool:
    """Queue the job that computes them, unless one is under way.

    One that failed from the same games is not repeated. Returns whether a job was queued.
    """
    last = RunFigures.objects.filter(run=run, against=against).order_by("-pk").first()
    if last is not None and (
        last.state in (JobState.QUEUED, JobState.RUNNING)
        or (last.state == JobState.FAILED and last.basis == basis)
    ):
        return False
    try:
        with transaction.atomic():
            made = RunFigures.objects.create(run=run, against=against, basis=basis)
    except IntegrityError:  # another process was first
        return False
    send_hints(RunFigures, [made.pk])
    return True


def execute_figures(figures_id: int) -> JobState | None:
    """Compute the figures if the job waits; return its new state.

    None if there was nothing to do. If the last game ended meanwhile, they are requested again.
    """
    state = work(
        RunFigures,
        figures_id,
        _do,
        then=_delete_older,
        limit=lambda job: make_limit(asks_models=False),
    )
    if state == JobState.SUCCEEDED:
        done = RunFigures.objects.select_related("run", "against").get(pk=figures_id)
        basis = read_basis(done.run, done.against)
        if basis != done.basis and not is_under_way(basis):
            request_figures(run=done.run, against=done.against, basis=basis)
    return state


def follow_game(game_id: int) -> None:
    """Request the report of a large run if this was its last game."""
    run = JudgeRun.objects.filter(games=game_id).first()
    if run is None or _waits(run):
        return
    basis = read_basis(run)
    if count_games(basis) > AT_ONCE and not is_under_way(basis):
        request_figures(run=run, against=None, basis=basis)


def _waits(run: JudgeRun) -> bool:
    """Return whether a game waits or runs; an index finds one at once."""
    waits = (JobState.BLOCKED, JobState.QUEUED, JobState.RUNNING)
    return Game.objects.filter(run=run, state__in=waits).exists()


def _do(job: RunFigures, hold: Hold) -> None:
    basis = read_basis(job.run, job.against)
    figures = _compute(job.run, job.against)
    hold.check()
    with write_guard(hold):
        hold.row.update(basis=basis, figures=figures, computed_at=timezone.now())


def _compute(run: JudgeRun, against: JudgeRun | None) -> object:
    if against is None:
        return report_to_plain(compute_report(run))
    return agreement_to_plain(Agreement(*compare_runs(run, against)))


def _find_newest(run: JudgeRun, against: JudgeRun | None) -> RunFigures | None:
    done = RunFigures.objects.filter(run=run, against=against, state=JobState.SUCCEEDED)
    return done.order_by("-pk").first()


def _delete_older(job: RunFigures) -> None:
    older = RunFigures.objects.filter(run=job.run_id, against=job.against_id, pk__lt=job.pk)
    older.exclude(state__in=(JobState.QUEUED, JobState.RUNNING)).delete()


def _explain(run: JudgeRun, against: JudgeRun | None) -> str:
    failed = RunFigures.objects.filter(run=run, against=against).order_by("-pk").first()
    if failed is not None and failed.state == JobState.FAILED and failed.reasons:
        return f"the figures could not be computed: {failed.reasons[-1]}"
    return "a worker is computing the figures of this judge run; read them again in a minute"
