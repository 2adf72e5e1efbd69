"""Values that foreign formats have no field for.

All values of a line as one JSON object, and names of files that distinguish cases.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from timelines.formats.alignment import is_blank
from timelines.formats.lines import CaseLines, Line, line_values

_UNSAFE = re.compile(r"[^\w.-]+")


def list_values(line: Line, ordinal: int) -> dict[str, Any]:
    """Return the documented columns of a line and its place.

    Without `evidence`, which is the record's.
    """
    values = line_values(line, with_note_text=False)
    del values["evidence"]
    return {**values, "ordinal": ordinal}


def dump_json(values: dict[str, Any]) -> str:
    """Return JSON in ASCII on one line.

    A format that lacks some characters can still carry it.
    """
    return json.dumps(values, ensure_ascii=True)


def file_name(name: str) -> str:
    """Return a name for files.

    It is the name itself if a file system accepts it, else has a piece of its digest, so that no
    two are the same.
    """
    safe = _UNSAFE.sub("_", name)
    return (
        safe if safe == name else f"{safe}-{hashlib.sha256(name.encode('utf-8')).hexdigest()[:8]}"
    )


def folder_name(line: Line) -> str:
    """The folder of a timeline: `rules+unimodal-text_only-1`."""
    return f"{'+'.join(file_name(part) for part in line.source.split('/'))}-{line.kind}-{line.alternative}"


def select_shown(cases: Iterable[CaseLines]) -> Iterator[tuple[CaseLines, str, tuple[Line, ...]]]:
    """Return (case, note, timeline) of every timeline to show.

    Such a timeline has occurrences, and a note to show them in.
    """
    for case in cases:
        for timeline in case.timelines:
            if case.note is not None and timeline:
                yield case, case.note, timeline


def is_shown(line: Line, note: str) -> bool:
    """Return whether a tool can mark the line's span.

    The line has a span, and the span has visible text.
    """
    return line.start is not None and not all(is_blank(c) for c in note[line.start : line.end])
