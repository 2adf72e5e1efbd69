"""An occurrence of a draft as plain values for the editor page.

It has the words for its time. No Django.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ehr.presentation.clock import Clock
from timelines.drafts.document import Document
from timelines.drafts.values import DraftOccurrence

NA = "N/A"
TO_DO = "not placed yet"


def occurrence_json(occurrence: DraftOccurrence, clock: Clock) -> dict[str, Any]:
    """Its values with `words` for the time, and `bounds` in words."""
    return {
        **occurrence.to_dict(),
        "words": time_words(occurrence.time, clock) if occurrence.placed else TO_DO,
        "bounds": str(clock.bounds(occurrence.lower, occurrence.upper) or ""),
    }


def occurrences_json(occurrences: Iterable[DraftOccurrence], clock: Clock) -> list[dict[str, Any]]:
    """Each of them."""
    return [occurrence_json(o, clock) for o in occurrences]


def progress_json(document: Document) -> dict[str, int]:
    """Return the number of occurrences, and how many are placed."""
    return {"total": len(document.occurrences), "placed": document.placed}


def time_words(hours: float | None, clock: Clock) -> str:
    """A decided time: "HD 1 · 21:08 (+6.5 h)", or "N/A"."""
    return NA if hours is None else str(clock.read(hours))
