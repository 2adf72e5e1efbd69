"""Find the sections of a chart, which is several notes in one text.

A note that was written during the stay is an entry, read from when it was written. A discharge
summary, and a note whose time of writing nobody knows, keep the sections that they have alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from timelines.backbones.rules.parts import find_own_sections
from timelines.backbones.rules.sections.headings import Section
from timelines.backbones.rules.sections.notes import View, find_view
from timelines.backbones.rules.timing.entries import (
    BEFORE_STAY,
    ENTRY,
    DatedEntry,
    admission_sections,
)
from timelines.domain import NotePart
from timelines.pipeline.backbone import Check


def entries_of_parts(parts: Sequence[NotePart], day_of: Callable[[float], int]) -> list[DatedEntry]:
    """Return an entry for each note that was written during the stay.

    `day_of` returns the calendar day of an hour from admission.
    """
    return [
        DatedEntry(p.start, p.start, p.end, day_of(p.written), p.written)
        for p in parts
        if p.written is not None and find_view(p.kind) is not View.END
    ]


def sections_of_parts(text: str, parts: Sequence[NotePart], check: Check) -> tuple[Section, ...]:
    """Return the sections of a chart; what is between notes has none."""
    made: list[Section] = []
    for part in parts:
        own = find_own_sections(text, part, check)
        if part.written is None or find_view(part.kind) is View.END:
            made += own
        elif find_view(part.kind) is View.ARRIVAL:
            made += _admission(text, own, part, part.written)
        else:
            made.append(Section(ENTRY, "", part.start, part.end, part.start))
    return tuple(s for s in made if s.end > s.start)


def _admission(text: str, own: Sequence[Section], part: NotePart, written: float) -> list[Section]:
    """Return the sections of an admission note.

    Story and history stay, by their headings or else by labels such as "S:"; the rest was so when
    the note was written.
    """
    if any(s.kind in BEFORE_STAY for s in own):
        return [s if s.kind in BEFORE_STAY else replace(s, kind=ENTRY) for s in own]
    entry = DatedEntry(part.start, part.start, part.end, 0, written)
    return admission_sections(text, own, entry)
