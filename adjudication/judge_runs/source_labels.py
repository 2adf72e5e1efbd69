"""The labels of a judge run's sources in its files and its report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjudication.models import JudgeRun
from timelines.access.authoring import SUPERSEDED
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

    A submission superseded since the run keeps its author's label.
    """
    label = SourceKey(source, kind, alternative).label
    return (
        label if label in labels else SourceKey(SUPERSEDED.sub("", source), kind, alternative).label
    )


def find_side_labels(labels: Sequence[str], sides: Sequence[Any]) -> tuple[str, str]:
    """Return the labels of a comparison's two timelines.

    `sides` are the values at SIDES, `labels` those of the run.
    """
    return find_label(labels, *sides[:3]), find_label(labels, *sides[3:])
