"""What foreign formats have no field for: all values of a line as one JSON object, and names of
files that tell cases apart.
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


def values_of(line: Line, ordinal: int) -> dict[str, Any]:
    """The documented columns without `evidence`, which is the record's, and the line's place in its
    timeline.
    """
    values = line_values(line, with_note_text=False)
    del values["evidence"]
    return {**values, "ordinal": ordinal}


def as_json(values: dict[str, Any]) -> str:
    """ASCII on one line: a format that cannot hold some character can hold this."""
    return json.dumps(values, ensure_ascii=True)


def file_name(name: str) -> str:
    """A name for files: the name itself where a file system takes it, else with a piece of its
    digest, so that no two are the same.
    """
    safe = _UNSAFE.sub("_", name)
    return (
        safe if safe == name else f"{safe}-{hashlib.sha256(name.encode('utf-8')).hexdigest()[:8]}"
    )


def folder_name(line: Line) -> str:
    """The folder of a timeline: `rules+unimodal-text_only-1`."""
    return f"{'+'.join(file_name(part) for part in line.source.split('/'))}-{line.kind}-{line.alternative}"


def with_notes(cases: Iterable[CaseLines]) -> Iterator[tuple[CaseLines, str, tuple[Line, ...]]]:
    """(case, note, timeline) of every timeline that has occurrences and a note to show them in."""
    for case in cases:
        for timeline in case.timelines:
            if case.note is not None and timeline:
                yield case, case.note, timeline


def is_shown(line: Line, note: str) -> bool:
    """Whether a tool can mark the line's span: it has one, and something can be seen there."""
    return line.start is not None and not all(is_blank(c) for c in note[line.start : line.end])
