"""Rows of the structured record for an author.

Searched by words, nearest in time first. Hours from admission.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet

from ehr.models import Encounter, SourceRow
from ehr.presentation.clock import Clock
from ehr.presentation.wording import (
    event_words,
    time_kind_words,
    value_words,
)
from timelines.domain import Anchor
from timelines.drafts.values import EditRefused

FOUND_AT_MOST = 30
LONGEST_SEARCH = 200
#: The pages' words for the acts in event names (`ehr.presentation.wording`).
_ACTS = {"started": "start", "stopped": "stop", "ended": "end", "microbiology": "micro"}


def search_rows(
    encounter: Encounter, text: str, near: float | None
) -> tuple[list[SourceRow], bool]:
    """Find timed rows with every word in event, value or unit.

    Return them and whether there are more. Nearest to `near` (hours) first, else in order of time.
    Raises EditRefused for a text without words.
    """
    words = text.casefold().split()
    if not words or len(text) > LONGEST_SEARCH or "\x00" in text:
        raise EditRefused(
            "text", f"Enter words of the record, at most {LONGEST_SEARCH} characters."
        )
    found = timed_rows(encounter)
    for word in words:
        said = _ACTS.get(word, word)
        found = found.filter(
            Q(event__icontains=said) | Q(value__icontains=word) | Q(unit__icontains=word)
        )
    moment = None if near is None else _clock(encounter, near)
    if moment is None:
        rows = list(found.order_by("time", "row_index")[: FOUND_AT_MOST + 1])
    else:
        after = found.filter(time__gte=moment).order_by("time", "row_index")[: FOUND_AT_MOST + 1]
        before = found.filter(time__lt=moment).order_by("-time", "row_index")[: FOUND_AT_MOST + 1]
        rows = sorted([*after, *before], key=lambda row: (_distance(row, moment), row.row_index))
    return rows[:FOUND_AT_MOST], len(rows) > FOUND_AT_MOST


def timed_rows(encounter: Encounter) -> QuerySet[SourceRow]:
    """Return the rows that can date something.

    The query has both keys, so that only one partition is read.
    """
    return SourceRow.objects.filter(
        dataset_id=encounter.dataset_id, encounter_id=encounter.pk, time__isnull=False
    )


def load_rows(encounter: Encounter, indices: Sequence[int]) -> list[SourceRow]:
    """The timed rows of these indices, in their order."""
    found = {
        row.row_index: row for row in timed_rows(encounter).filter(row_index__in=list(indices))
    }
    return [found[index] for index in indices if index in found]


def row_json(row: SourceRow, clock: Clock) -> dict[str, Any]:
    """Return a row as the page gets it.

    It has its values, and in words its content (`words`), its time (`when`) and the kind of that
    time (`kind`).
    """
    assert row.time is not None
    hours = round(clock.hours(row.time), 6)
    when = str(clock.read(hours))
    return {
        "row_index": row.row_index,
        "event": row.event,
        "value": row.value,
        "unit": row.unit,
        "hours": hours,
        "time_kind": row.time_kind,
        "words": event_words(row.event),
        "value_words": value_words(row.value, row.unit),
        "when": when,
        "kind": time_kind_words(row.time_kind),
    }


def _distance(row: SourceRow, moment: datetime) -> float:
    assert row.time is not None
    return abs((row.time - moment).total_seconds())


def _clock(encounter: Encounter, hours: float) -> datetime | None:
    return Anchor(encounter.admitted_at).clock(hours)
