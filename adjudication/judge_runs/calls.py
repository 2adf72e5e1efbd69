"""The model calls of a judge run and of one of its games."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import CharField, QuerySet
from django.db.models.functions import Cast

from adjudication.access.closed import OPEN, ClosedObjects, exclude_closed_games
from adjudication.judge_runs.actions import CALLS_OWNER
from adjudication.models import Comparison, Game, JudgeRun
from llm_runtime.accounting import Spent, reason_kinds, spent_by_owner, total
from llm_runtime.models import ModelCall
from timelines.evaluation.values import SourceKey
from timelines.models import Timeline


@dataclass(frozen=True, slots=True)
class PairingUsage:
    """The games of two sources."""

    label: str
    spent: Spent


@dataclass(frozen=True, slots=True)
class JudgeUsage:
    """A run's calls; `kinds` are faults of rejected attempts and their counts."""

    pairings: tuple[PairingUsage, ...]
    kinds: tuple[tuple[str, int], ...]
    total: Spent


def find_calls(games: QuerySet[Game]) -> QuerySet[ModelCall]:
    """Return the calls that were made for these games."""
    ids = games.order_by().annotate(name=Cast("pk", CharField())).values("name")
    return ModelCall.objects.filter(owner_type=CALLS_OWNER, owner_id__in=ids)


def sum_run_calls(run: JudgeRun, closed: ClosedObjects = OPEN) -> JudgeUsage:
    """Return the run's calls by pairing and in all, without closed games."""
    games = exclude_closed_games(Game.objects.filter(run=run), closed)
    spent = spent_by_owner(find_calls(games))
    grouped: dict[str, list[Spent]] = {}
    for owner, label in load_pairings(games).items():
        if str(owner) in spent:
            grouped.setdefault(label, []).append(spent[str(owner)])
    return JudgeUsage(
        tuple(PairingUsage(label, total(parts)) for label, parts in sorted(grouped.items())),
        tuple(reason_kinds(find_calls(games))),
        total(spent.values()),
    )


def load_pairings(games: QuerySet[Game]) -> Mapping[int, str]:
    """Map a game id to the names of its two sources on unblinded pages."""
    sides = [
        f"comparison__{side}__{part}"
        for side in ("first", "second")
        for part in ("source", "kind", "alternative")
    ]
    return {
        pk: " | ".join((SourceKey(*six[:3]).label, SourceKey(*six[3:]).label))
        for pk, *six in games.values_list("pk", *sides)
    }


def timeline_label(timeline: Timeline) -> str:
    """Name a timeline on unblinded pages: "rules · revised"."""
    return SourceKey(timeline.source, timeline.kind, timeline.alternative).label


def find_side_labels(game: Game) -> tuple[str, str] | None:
    """Return (source labelled A, source labelled B); None if not yet judged."""
    if game.a_is_first is None:
        return None
    first, second = source_names(game.comparison)
    return (first, second) if game.a_is_first else (second, first)


def source_names(comparison: Comparison) -> tuple[str, str]:
    """Return the labels of both sources, in the judge run's order."""
    return timeline_label(comparison.first), timeline_label(comparison.second)
