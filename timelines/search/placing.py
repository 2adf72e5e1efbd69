"""Occurrences of study timelines with their times, for search."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Q

from timelines.domain import TimelineKind
from timelines.models import CaseRun, Entry, Occurrence, Timeline


@dataclass(frozen=True, slots=True)
class Placed:
    """An occurrence with its time, in hours; None if not placed.

    `start` and `end` are offsets in the note with the primary key `note`.
    """

    note: int
    uid4: str
    mention: str
    start: int | None
    end: int | None
    time: float | None


def load_occurrences(
    study_runs: Collection[int], encounters: Collection[int], only: Q | None = None
) -> dict[int, list[Placed]]:
    """Return the occurrences of these cases in the study timelines.

    With `only`, those that meet the condition. Times are the revised ones, else those of the text.
    """
    case_runs = CaseRun.objects.filter(run__in=study_runs, encounter__in=encounters)
    inventories = dict(case_runs.values_list("inventory_id", "encounter_id"))
    found = Occurrence.objects.filter(only or Q(), inventory__in=[pk for pk in inventories if pk])
    occurrences = list(
        found.order_by("inventory_id", "ordinal").values_list(
            "pk", "inventory_id", "inventory__note_id", "uid4", "mention", "start", "end"
        )
    )
    timelines: dict[int, int] = {}
    for pk, encounter in (
        Timeline.objects.filter(case_run__in=case_runs, alternative=1)
        .exclude(kind=TimelineKind.REFERENCE.value)
        .order_by("-kind")  # "text_only" before "revised"
        .values_list("pk", "encounter_id")
    ):
        timelines[encounter] = pk
    times = dict(
        Entry.objects.filter(
            timeline__in=timelines.values(), occurrence__in=[pk for pk, *_ in occurrences]
        ).values_list("occurrence_id", "time")
    )
    placed: dict[int, list[Placed]] = defaultdict(list)
    for pk, inventory, note, uid4, mention, start, end in occurrences:
        placed[inventories[inventory]].append(
            Placed(note, uid4, mention, start, end, times.get(pk))
        )
    return placed
