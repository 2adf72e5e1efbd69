"""What the editor page draws by itself beside the draft: where the note's sections begin, and the
axis of its time strip. No Django.
"""

from __future__ import annotations

from typing import Any

from timelines.presentation.note_html import label_of
from timelines.presentation.plots import axis_ladder
from timelines.presentation.segments import sections_of


def layout(note: str) -> dict[str, Any]:
    """Sections as code points with their labels in the margin, and the constants of the plot's axis
    (hours).
    """
    return {
        "sections": [{"start": s.start, "label": label_of(s.title)} for s in sections_of(note)],
        "axis": axis_ladder(),
    }
