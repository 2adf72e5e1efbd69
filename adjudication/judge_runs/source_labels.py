"""The labels of a judge run's sources in its files and its report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjudication.models import JudgeRun
from timelines.access.authoring import SUPERSEDED
from timelines.access.references import ANY_CONSENSUS, is_consensus
from timelines.evaluation.values import SourceKey

#: Fields of a game that identify its comparison's first timeline, then the second one.
SIDES = tuple(
    f"comparison__{side}__{name}"
    for side in ("first", "second")
    for name in ("source", "kind", "alternative")
)


def load_run_labels(run: JudgeRun) -> list[str]:
    """Return the labels in the run's order."""
    return [SourceKey(*source).label for source in run.sources]


def find_label(labels: Sequence[str], source: str, kind: str, alternative: int) -> str:
    """Return the timeline's label in the run.

    A submission superseded since the run keeps its author's label, and a consensus that of each
    case's if the run names no other.
    """
    label, *others = (
        SourceKey(name, kind, alternative).label for name in (source, *_list_other_names(source))
    )
    return next((name for name in (label, *others) if name in labels), others[0])


def _list_other_names(source: str) -> list[str]:
    names = [SUPERSEDED.sub("", source)]
    return [*names, ANY_CONSENSUS] if is_consensus(source) else names


def find_side_labels(labels: Sequence[str], sides: Sequence[Any]) -> tuple[str, str]:
    """Return the labels of a comparison's two timelines.

    `sides` are the values at SIDES, `labels` those of the run.
    """
    return find_label(labels, *sides[:3]), find_label(labels, *sides[3:])
