"""What the figures of a judge run are computed from.

It is read from stored counts (docs/adr/0038-scale.md), so it costs the same for any run.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import Max, Sum

from adjudication.models import Game, JudgeCount, JudgeRun
from jobs.models import JobState
from timelines.models import Authoring

#: Plain values; equal if the figures are.
Basis = dict[str, Any]


def read_basis(run: JudgeRun, against: JudgeRun | None = None) -> Basis:
    """Return the state of the run's games and references now.

    With `against`, of both runs.
    """
    found = {"run": _read(run)}
    return found if against is None else found | {"against": _read(against)}


def count_judged(basis: Basis) -> int:
    """Return how many games of the basis were judged, swapped or not."""
    return sum(
        n
        for part in basis.values()
        for _, outcome, n in part["counts"]
        if outcome == Game.Outcome.JUDGED
    )


def count_games(basis: Basis) -> int:
    """Return how many games there are, judged or not."""
    return sum(n for part in basis.values() for state, _, n in part["counts"] if state)


def is_under_way(basis: Basis) -> bool:
    """Return whether a game waits or runs."""
    waits = (JobState.BLOCKED, JobState.QUEUED, JobState.RUNNING)
    return any(n > 0 for part in basis.values() for state, _, n in part["counts"] if state in waits)


def _read(run: JudgeRun) -> Basis:
    counts = list(
        JudgeCount.objects.filter(run=run)
        .order_by("state", "outcome")
        .values_list("state", "outcome")
        .annotate(sum=Sum("n"), moved_at=Max("moved_at"))
    )
    # Other references are other strata.
    references = Authoring.objects.filter(encounter__dataset__in=run.datasets.all())
    return {
        "counts": [[state, outcome, n] for state, outcome, n, _ in counts if n],
        "moved_at": _write(max((moved for *_, moved in counts), default=None)),
        "references": _write(references.aggregate(last=Max("submitted_at"))["last"]),
    }


def _write(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
