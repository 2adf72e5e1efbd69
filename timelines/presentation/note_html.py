"""The note as HTML: exactly its characters, cut into segments.

Each segment names the occurrences that cover it. No Django here; everything from the note is
escaped by this module, and a carriage return is written as a character reference because a browser
would otherwise fold CRLF into LF.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from timelines.presentation.segments import (
    Section,
    Segment,
    Span,
    find_levels,
    split_chart,
    split_sections,
    split_segments,
)

#: Deeper stacks share the last line; all of their occurrences stay reachable by clicking again.
DEEPEST_LEVEL = 3


def note_html(
    note: str,
    spans: Sequence[Span],
    status: Mapping[str, str],
    parts: Sequence[tuple[int, int]] = (),
) -> str:
    """Return the HTML of the whole note.

    `status`: UID → status name. Span keys must be UIDs (they become attributes). `parts` are the
    places of the notes of a chart, in order; what is above one of them is its head. Each note with
    its head is an element of its own, so that a page can show one.
    """
    sections = split_chart(note, parts) if parts else split_sections(note)
    pieces = split_segments(len(note), spans, [section.start for section in sections])
    levels = find_levels(spans)
    by_section = _group_by_section(sections, pieces)
    html = [_section_html(note, s, by_section[s.start], levels, status) for s in sections]
    if not parts:
        return "".join(html)
    return "".join(
        f'<div class="note-part" data-note-part="{section.heads}">{"".join(html[at:until])}</div>'
        for (at, section), until in _split_notes(sections)
    )


def text_html(text: str) -> str:
    """Escaped text whose carriage returns reach the page."""
    return escape(text).replace("\r", "&#13;")


def make_label(title: str) -> str:
    """Return a heading for the margin, with capitals made small.

    Abbreviations keep their capitals.
    """
    return title.capitalize() if title.isupper() and len(title) > 5 else title


def _split_notes(sections: Sequence[Section]) -> list[tuple[tuple[int, Section], int]]:
    """Return the head of each note of a chart with its place, and its end."""
    heads = [(at, s) for at, s in enumerate(sections) if s.heads is not None]
    ends = [at for at, _ in heads[1:]] + [len(sections)]
    return list(zip(heads, ends, strict=True))


def _group_by_section(
    sections: Sequence[Section], pieces: Sequence[Segment]
) -> dict[int, list[Segment]]:
    found: dict[int, list[Segment]] = {section.start: [] for section in sections}
    starts = [section.start for section in sections]
    current = 0
    for piece in pieces:
        while current + 1 < len(starts) and piece.start >= starts[current + 1]:
            current += 1
        found[starts[current]].append(piece)
    return found


def _section_html(
    note: str,
    section: Section,
    pieces: Sequence[Segment],
    levels: Mapping[str, int],
    status: Mapping[str, str],
) -> str:
    body = "".join(_segment_html(note[p.start : p.end], p, levels, status) for p in pieces)
    if section.heads is not None:
        return f'<div class="note-head" id="note-at-{section.heads}" tabindex="-1">{body}</div>'
    label = (
        '<div class="note-label"'
        f' aria-hidden="true"><span>{text_html(make_label(section.title))}</span></div>'
    )
    return (
        f'<div class="note-section" data-start="{section.start}">{label}<div'
        f' class="note-text">{body}</div></div>'
    )


def _segment_html(
    text: str, segment: Segment, levels: Mapping[str, int], status: Mapping[str, str]
) -> str:
    inside = text_html(text)
    if not segment.keys:
        return inside
    for key in segment.keys:
        inside = (
            f'<span class="u u-{status[key]} l{min(levels[key], DEEPEST_LEVEL)}">{inside}</span>'
        )
    keys = " ".join(segment.keys)
    return (
        f'<span class="seg" role="button" tabindex="-1" data-o="{keys}"'
        f' data-s="{segment.start}">{inside}</span>'
    )
