"""Count and filter the members of a result that are open to a person."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet

from cohorts.models import WindowMember, WindowResult
from cohorts.windows.values import STATUSES
from jobs.models import JobState
from timelines.access.closed import exclude_closed, has_closed

WORDS: Mapping[str, str] = {"yes": "Yes", "uncertain": "Uncertain", "no": "No", "": "No times"}


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of the table: how many stays, and the filter that lists them."""

    count: int
    key: str
    changed: bool


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the table: the answer of the first source."""

    words: str
    cells: tuple[Cell, ...]
    total: int


def open_members(result: WindowResult, closed: Collection[int]) -> QuerySet[WindowMember]:
    """Return the members of the open cases, in the order of case ids."""
    members = exclude_closed(WindowMember.objects.filter(result=result), closed)
    return members.order_by("encounter__case_id", "pk")


def count_table(members: QuerySet[WindowMember]) -> tuple[list[str], list[Line]]:
    """Return the answers of the second source, and a line for each of the first."""
    rows = members.order_by().values_list("first", "second").annotate(count=Count("pk"))
    found = {(first, second): count for first, second, count in rows}
    firsts = [s for s in STATUSES if s or any(first == "" for first, _ in found)]
    seconds = [s for s in STATUSES if s or any(second == "" for _, second in found)]
    return [WORDS[s] for s in seconds], [_line(first, seconds, found) for first in firsts]


def _line(first: str, seconds: list[str], found: Mapping[tuple[str, str], int]) -> Line:
    cells = tuple(
        Cell(found.get((first, second), 0), f"{first}.{second}", bool(first != second))
        for second in seconds
    )
    return Line(WORDS[first], cells, sum(cell.count for cell in cells))


def choose_members(
    members: QuerySet[WindowMember], shown: str, before: WindowResult | None
) -> QuerySet[WindowMember]:
    """Return the members that a filter names.

    A cell, "changed", "since" or all.
    """
    first, dot, second = shown.partition(".")
    if dot and {first, second} <= set(STATUSES):
        return members.filter(first=first, second=second)
    if shown == "changed":
        return members.exclude(first=F("second"))
    if shown == "since" and before is not None:
        return changed_since(members, before)
    return members


def find_before(result: WindowResult) -> WindowResult | None:
    """Return the result before, of the same window, dataset and sources."""
    earlier = WindowResult.objects.filter(
        version__window=result.version.window_id,
        dataset=result.dataset_id,
        first=result.first,
        second=result.second,
        state=JobState.SUCCEEDED,
        pk__lt=result.pk,
    )
    return earlier.order_by("-pk").first()


def changed_since(members: QuerySet[WindowMember], before: WindowResult) -> QuerySet[WindowMember]:
    """Return the members whose answers differ from those of a result before."""
    earlier = WindowMember.objects.filter(result=before, encounter=OuterRef("encounter"))
    same = earlier.filter(first=OuterRef("first"), second=OuterRef("second"))
    return members.filter(~Exists(same))


def count_yes(members: QuerySet[WindowMember]) -> tuple[int, int]:
    """Return how many stays are members by the first and by the second source."""
    found = members.aggregate(
        first=Count("pk", filter=Q(first="yes")), second=Count("pk", filter=Q(second="yes"))
    )
    return found["first"], found["second"]


def count_given_up(result: WindowResult, closed: Collection[int]) -> int:
    """Return how many stays were not decided exactly.

    It was counted over all cases, so it is 0 to a person to whom one is closed.
    """
    if has_closed([result.dataset], closed):
        return 0
    return sum((result.report or {}).get("given_up", {}).values())
