"""Find the sections of a note by what kind of note it is.

The words of a section say its kind in a summary of a stay, from which they were learned. A note
that was written during the stay has the sections that its headings name, and none of a discharge.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum

from timelines.backbones.rules.sections.headings import HEAD_FIELD, Section, find_sections
from timelines.backbones.rules.sections.structure import read_sections

#: Words in the kind of a note that looks back on the whole stay.
_LOOKS_BACK = ("discharge summary", "death summary", "transfer summary")
#: Words in the kind of a note about how the patient came.
_ADMITS = ("admission", "history and physical", "h&p", "emergency", "ed note", "triage")
#: Sections that only a note of the discharge has, as a note during the stay has them.
_DURING = {
    "discharge_diagnosis": "other",
    "discharge_condition": "other",
    "disposition": "other",
    "exam_discharge": "exam",
    "results_discharge": "results",
    "medications_discharge": "medications",
    "instructions": "transitional",
    "followup": "transitional",
}


class View(Enum):
    """From where a note sees the stay."""

    END = "end"
    ARRIVAL = "arrival"
    DURING = "during"


def find_view(kind: str) -> View:
    """Return the view of a kind of note; without a kind, the end."""
    kind = kind.lower()
    if not kind or _says(kind, _LOOKS_BACK):
        return View.END
    return View.ARRIVAL if _says(kind, _ADMITS) else View.DURING


def read_sections_of(text: str, view: View) -> tuple[Section, ...]:
    """Return the sections of a note with this view."""
    if view is View.END:
        return read_sections(text)
    found = read_sections(text) if view is View.ARRIVAL else _cut_head(text, find_sections(text))
    return tuple(replace(s, kind=_DURING.get(s.kind, s.kind)) for s in found)


def _cut_head(text: str, sections: Sequence[Section]) -> list[Section]:
    """Return the sections; what is below the fields of the head is not it."""
    made = []
    for section in sections:
        end = _find_end_of_fields(text, section)
        if section.kind != "header" or end >= section.end:
            made.append(section)
            continue
        made.append(replace(section, end=end))
        made.append(Section("other", "", end, section.end, end))
    return [s for s in made if s.end > s.start]


def _find_end_of_fields(text: str, section: Section) -> int:
    """Return where the first line without a field begins, below one with it."""
    end = section.start
    for line in re.finditer(r"[^\r\n]+", text[section.start : section.end]):
        if HEAD_FIELD.match(line.group().lstrip()):
            end = section.start + line.end()
        elif end > section.start and line.group().strip():
            return section.start + line.start()
    return section.end


def _says(kind: str, words: Sequence[str]) -> bool:
    return any(word in kind for word in words)
