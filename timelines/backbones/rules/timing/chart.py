"""Find the sections of a chart, which is several notes in one text.

A note that was written during the stay is an entry, read from when it was written. A discharge
summary, and a note whose time of writing nobody knows, keep the sections that they have alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from timelines.backbones.rules.sections.headings import Section
from timelines.backbones.rules.text import analyse
from timelines.backbones.rules.timing.entries import (
    BEFORE_STAY,
    ENTRY,
    DatedEntry,
    admission_sections,
)
from timelines.domain import NotePart
from timelines.pipeline.backbone import Check

#: Words in the kind of a note that looks back on the whole stay.
_LOOKS_BACK = ("discharge summary", "death summary", "transfer summary")
#: Words in the kind of a note about how the patient came.
_ADMITS = ("admission", "history and physical", "h&p", "emergency", "ed note", "triage")


def entries_of_parts(parts: Sequence[NotePart], day_of: Callable[[float], int]) -> list[DatedEntry]:
    """Return an entry for each note that was written during the stay.

    `day_of` returns the calendar day of an hour from admission.
    """
    return [
        DatedEntry(p.start, p.start, p.end, day_of(p.written), p.written)
        for p in parts
        if p.written is not None and not _says(p, _LOOKS_BACK)
    ]


def sections_of_parts(text: str, parts: Sequence[NotePart], check: Check) -> tuple[Section, ...]:
    """Return the sections of a chart; what is between notes has none."""
    made: list[Section] = []
    for part in parts:
        own = [
            replace(
                s,
                start=s.start + part.start,
                end=s.end + part.start,
                body_start=s.body_start + part.start,
            )
            for s in analyse(text[part.start : part.end], check).sections
        ]
        if part.written is None or _says(part, _LOOKS_BACK):
            made += own
        elif _says(part, _ADMITS):
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


def _says(part: NotePart, words: Sequence[str]) -> bool:
    return any(word in part.kind.lower() for word in words)
