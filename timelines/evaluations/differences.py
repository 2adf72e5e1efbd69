"""The times of a study that differ most from the reference.

They are the matched occurrences whose reference cites rows of the record: an evaluation stores both
of their times. Of each case the one that differs most is taken.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.core.cache import cache
from django.db.models import F, Func, JSONField, Value
from pydantic import TypeAdapter

from timelines.domain import TimelineKind
from timelines.evaluation.values import CaseFunnel
from timelines.models import Evaluation, Timeline
from timelines.pipeline.changes import measure_change

#: Differences kept of one evaluation, of which a page shows the first that a person may see.
KEPT = 100
_KEEP_SECONDS = 3600
_FUNNELS: TypeAdapter[list[CaseFunnel]] = TypeAdapter(list[CaseFunnel])


@dataclass(frozen=True, slots=True)
class Difference:
    """A time of a case and how far it is from the reference.

    `encounter` is a primary key. `weight` counts tolerances, by which differences are sorted.
    """

    encounter: int
    uid: str
    hours: float
    weight: float


def find_differences(evaluation: Evaluation, runs: Collection[int]) -> Sequence[Difference]:
    """Return the largest difference of each case, the largest first.

    `runs` are those whose primary revised timelines count. A finished evaluation never changes, so
    the result is reused for an hour.
    """
    key = f"differences:{evaluation.public_id}:{','.join(map(str, sorted(runs)))}"
    found: list[Difference] | None = cache.get(key)
    if found is None:
        found = _find(evaluation, runs)
        cache.set(key, found, _KEEP_SECONDS)
    return found


def _find(evaluation: Evaluation, runs: Collection[int]) -> list[Difference]:
    timelines = set(
        Timeline.objects.filter(
            case_run__run__in=runs, kind=TimelineKind.REVISED.value, alternative=1
        ).values_list("public_id", flat=True)
    )
    funnel = Func(
        F("result"), Value("funnel"), function="jsonb_extract_path", output_field=JSONField()
    )
    cases = evaluation.cases.annotate(funnel=funnel).values_list("encounter_id", "funnel")
    largest = [
        found
        for encounter, stored in cases.iterator()
        if (found := _largest(encounter, _FUNNELS.validate_python(stored or []), timelines))
    ]
    return sorted(largest, key=lambda d: (-d.weight, d.encounter))[:KEPT]


def _largest(
    encounter: int, funnels: Sequence[CaseFunnel], timelines: Collection[str]
) -> Difference | None:
    """Return the case's largest difference beyond tolerance, or None."""
    changes = [
        measure_change(line.predicted, line.reference_time, line.predicted_time)
        for funnel in funnels
        if funnel.timeline in timelines
        for line in funnel.lines
        if line.reference_time is not None and line.predicted_time is not None
    ]
    top = max(changes, key=lambda change: change.weight, default=None)
    if top is None or top.weight < 1:
        return None
    return Difference(encounter, top.uid, top.hours, top.weight)
