"""An occurrence of a draft as plain values for the editor page.

It has the words for its time. No Django.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from timelines.domain import Anchor
from timelines.drafts.document import Document
from timelines.drafts.values import DraftOccurrence
from timelines.presentation.wording import bounds_words, clock_words, moment_words

NA = "N/A"
TO_DO = "not placed yet"


def occurrence_json(occurrence: DraftOccurrence, anchor: Anchor) -> dict[str, Any]:
    """Its values with `words` for the time, `clock`, and `bounds` in words."""
    return {
        **occurrence.to_dict(),
        "words": time_words(occurrence.time, anchor) if occurrence.placed else TO_DO,
        "clock": clock_words(occurrence.time, anchor),
        "bounds": bounds_words(occurrence.lower, occurrence.upper),
    }


def occurrences_json(
    occurrences: Iterable[DraftOccurrence], anchor: Anchor
) -> list[dict[str, Any]]:
    """Each of them."""
    return [occurrence_json(o, anchor) for o in occurrences]


def progress_json(document: Document) -> dict[str, int]:
    """Return the number of occurrences, and how many are placed."""
    return {"total": len(document.occurrences), "placed": document.placed}


def time_words(hours: float | None, anchor: Anchor) -> str:
    """A decided time: "+6.5 h (HD 1, 21:08)", or "N/A"."""
    return NA if hours is None else moment_words(hours, anchor)
