"""Runs with their progress, as bodies of the API show them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from timelines.access.closed import open_runs
from timelines.models import Run
from timelines.pipeline.config import describe_preset
from timelines.runs.progress import (
    RunTotals,
    count_run,
    count_runs,
    find_run_state,
    run_state_words,
    time_left_words,
    waiting_warning,
)
from timelines.runs.study_timeline.selection import current


def describe_runs(runs: Sequence[Run], closed: Collection[int]) -> list[dict[str, Any]]:
    """Return the lines of a list of runs, without the `closed` encounters."""
    counted = count_runs(runs, closed)
    chosen = set(current().filter(run__in=runs).values_list("run_id", flat=True))
    return [_line(run, counted[run.pk], run.pk in chosen) for run in runs]


def describe_run(run: Run, closed: Collection[int]) -> dict[str, Any]:
    """Return one run with its progress and settings."""
    counts = count_run(run, closed)
    base = open_runs(Run.objects.filter(derived=run), closed).first()
    return {
        **_line(run, counts, current().filter(run=run).exists()),
        "stages": counts.count_stages(),
        "time_left": time_left_words(run, counts),
        "warning": waiting_warning(run, counts),
        "preset": describe_preset(run.config),
        "based_on": base.public_id if base else None,
    }


def _line(run: Run, counts: RunTotals, is_study: bool) -> dict[str, Any]:
    return {
        "run": run,
        "totals": counts,
        "state": find_run_state(run, counts),
        "state_words": run_state_words(run, counts),
        "paused": run.paused_at is not None,
        "cases": {state.value: n for state, n in counts.by_case.items()},
        "study_timeline": is_study,
    }
