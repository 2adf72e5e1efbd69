"""Read what a timeline without identifiers rests on (variant `no_uid`).

Its lines belong to no occurrence, so no provenance panel opens for them.
"""

from __future__ import annotations

from dataclasses import dataclass

from ehr.presentation.clock import Clock
from ehr.presentation.wording import event_words, value_words
from timelines.cases.choices import Choice
from timelines.models import Entry, Evidence, Timeline


@dataclass(frozen=True, slots=True)
class NamedLine:
    """One line: its event, its reason, and its rows as (index, words)."""

    event: str
    reason: str
    cited: tuple[tuple[int, str], ...]
    near: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class NamedGrounds:
    """The reasoning of a timeline and its lines that have a reason or rows."""

    reasoning: str
    lines: tuple[NamedLine, ...]


def load_grounds(choice: Choice, clock: Clock) -> NamedGrounds | None:
    """Return what a revised timeline without an inventory rests on.

    None if it has an inventory, or if nothing was stored. Three queries.
    """
    if choice.inventory_id is not None or choice.case_run_id is None:
        return None
    entries = list(Entry.objects.filter(timeline_id=choice.pk).order_by("time", "pk"))
    named = {row for e in entries for row in (*e.adopted_rows, *e.near_rows)}
    seen = Evidence.objects.filter(case_run_id=choice.case_run_id, row_index__in=named)
    words = {e.row_index: _row_words(e, clock) for e in seen.order_by("pk")}
    lines = tuple(
        NamedLine(
            e.event,
            e.reason,
            tuple((row, words[row]) for row in e.adopted_rows),
            tuple((row, words[row]) for row in e.near_rows),
        )
        for e in entries
        if e.reason or e.adopted_rows or e.near_rows
    )
    reasoning = Timeline.objects.values_list("reasoning", flat=True).get(pk=choice.pk)
    return NamedGrounds(reasoning, lines) if reasoning or lines else None


def _row_words(row: Evidence, clock: Clock) -> str:
    value = value_words(row.value, row.unit)
    said = (event_words(row.event), value, str(clock.read(row.hours)))
    return ", ".join(words for words in said if words)
