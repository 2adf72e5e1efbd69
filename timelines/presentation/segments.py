"""Cut a note into pieces by the occurrences that cover them.

Overlapping and nested spans all survive. No Django here. Offsets are code points of the note
exactly as stored, end-exclusive; the pieces concatenate to the note.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from timelines.backbones.rules.sections.headings import find_sections


@dataclass(frozen=True, slots=True)
class Span:
    """One highlighted occurrence; `key` is its UID."""

    key: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of the note covered by the same occurrences throughout.

    Shortest span first; none for plain text.
    """

    start: int
    end: int
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """A stretch of the note under one heading.

    `title` is empty before the first. `heads` is where the note begins if the section is the head
    of a note of a chart.
    """

    title: str
    start: int
    end: int
    heads: int | None = None


#: A section shorter than this has no title in the margin: its heading is visible anyway.
SHORTEST_TITLED = 120
_LONGEST_TITLE = 60


def split_sections(note: str) -> list[Section]:
    """Partition the note at the headings that begin a line.

    In order, without gaps. A heading inside a line cuts nothing.
    """
    starts = [
        (s.start, s.title) for s in find_sections(note) if s.start == 0 or note[s.start - 1] == "\n"
    ]
    if not starts or starts[0][0] > 0:
        starts.insert(0, (0, ""))
    ends = [start for start, _ in starts[1:]] + [len(note)]
    return [
        Section(
            title[:_LONGEST_TITLE].strip() if end - start >= SHORTEST_TITLED else "", start, end
        )
        for (start, title), end in zip(starts, ends, strict=True)
    ]


def split_chart(chart: str, parts: Sequence[tuple[int, int]]) -> list[Section]:
    """Partition a chart: each of its notes, and the line above it.

    `parts` are the places of the notes, in order.
    """
    sections, before = [], 0
    for start, end in parts:
        sections.append(Section("", before, start, heads=start))
        sections += [
            replace(s, start=s.start + start, end=s.end + start)
            for s in split_sections(chart[start:end])
        ]
        before = end
    return sections


def split_segments(length: int, spans: Sequence[Span], cuts: Sequence[int] = ()) -> list[Segment]:
    """Partition [0, length) at every span's ends and at `cuts`.

    Raises ValueError for a span outside the note.
    """
    for span in spans:
        if not 0 <= span.start < span.end <= length:
            raise ValueError(f"span of {span.key} is outside the note")
    opening: dict[int, list[Span]] = {}
    for span in spans:
        opening.setdefault(span.start, []).append(span)
    points = sorted({0, length, *cuts, *(s.start for s in spans), *(s.end for s in spans)})
    found: list[Segment] = []
    active: list[Span] = []
    for start, end in pairwise(points):
        active = [s for s in active if s.end > start] + opening.get(start, [])
        inner_first = sorted(active, key=lambda s: (s.end - s.start, s.start, s.key))
        found.append(Segment(start, end, tuple(s.key for s in inner_first)))
    return found


def find_levels(spans: Sequence[Span]) -> dict[str, int]:
    """Return the underline level of each span, 0 nearest the text.

    No two overlapping spans share one; shorter spans are nearer.
    """
    taken: dict[str, int] = {}
    placed: list[Span] = []
    for span in sorted(spans, key=lambda s: (s.end - s.start, s.start, s.key)):
        used = {
            taken[other.key]
            for other in placed
            if other.start < span.end and span.start < other.end
        }
        taken[span.key] = next(level for level in range(len(used) + 1) if level not in used)
        placed.append(span)
    return taken
