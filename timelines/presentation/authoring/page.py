"""Fixed parts of the editor page, drawn next to the draft. No Django.

The beginnings of the note's sections, and the axis of its time strip.
"""

from __future__ import annotations

from typing import Any

from timelines.presentation.note_html import make_label
from timelines.presentation.plots import axis_ladder
from timelines.presentation.segments import split_sections


def layout(note: str) -> dict[str, Any]:
    """Return the sections and the constants of the plot's axis.

    Sections are in code points, with their labels in the margin; the axis is in hours.
    """
    return {
        "sections": [
            {"start": s.start, "label": make_label(s.title)} for s in split_sections(note)
        ],
        "axis": axis_ladder(),
    }
