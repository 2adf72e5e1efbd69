"""Find notes that were written during the stay, one below the other.

The head of an entry is a line with a day and often an hour ("PROGRESS NOTE 2 - December 22, 08:10",
"10/30 06:40 POD1"). What an entry says without a time was so when it was written, what it says in
the past was before, and "yesterday" counts from it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from timelines.backbones.rules.sections.headings import Section
from timelines.backbones.rules.timing.phrases.terms import Basis, Kind, TimeExpression

#: The kind of the section of an entry.
ENTRY = "entry"
#: Kinds that the first entry, an admission note, has like any other note.
BEFORE_STAY = frozenset(
    [
        "hpi",
        "pmh",
        "social",
        "family",
        "social_family",
        "allergies",
        "medications_admission",
        "chief_complaint",
    ]
)
_LONGEST_HEAD = 90
_MOST_WORDS = 8
_FEWEST = 3
_WORD = re.compile(r"[A-Za-z]+")
_SENTENCE = re.compile(
    r"\b(?:was|were|is|are|had|has|been|will|admitted|discharged|born|performed|done)\b|[.;]\s+\S|"
    r"\b(?:date|dob|birth|admission date|discharge date|service|attending)\b[^\n]*:",
    re.IGNORECASE,
)
_TITLE = re.compile(
    r"^[\s#*=\[(-]*(?:[A-Z][A-Z /&.-]{2,}\b|(?:\w+\s+){0,3}(?:note|entry|progress|rounds?|addendum|visit|"
    r"shift|consult\w*|day)\b)",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"^[ \t]*(?:(?P<story>s|subj(?:ective)?|hpi)|o|obj\w*|a|assess\w*|p|plan|a/p|imp\w*)[ \t]*[:.)]",
    re.IGNORECASE | re.MULTILINE,
)
_LIST_MARK = re.compile(r"\s*(?:\d{1,2}[.)]|[-*•])\s+")
#: The number of an entry, or of a postoperative day.
_NUMBER = re.compile(
    r"\b(?:note|entry|visit|day|no\.?|#|pod|hd)\s*#?\s*\d+(?:/\d+)?|/\d+\b", re.IGNORECASE
)
#: Characters of an entry's text at least.
_SHORTEST = 40


@dataclass(frozen=True, slots=True)
class DatedEntry:
    """One entry, `[start, end)`; its text begins at `body_start`.

    `day` is the calendar day of writing, `time` its hour in hours from admission.
    """

    start: int
    body_start: int
    end: int
    day: int
    time: float


def find_entries(
    text: str,
    expressions: Sequence[TimeExpression],
    find_day: Callable[[TimeExpression], int | None],
    midnight: Callable[[int], float],
) -> list[DatedEntry]:
    """Return the entries of a note.

    There are none unless at least three follow each other in time. `find_day` returns the calendar
    day that a date or hospital day names, `midnight` the hour at which a day begins.
    """
    heads: list[DatedEntry] = []
    for line in re.finditer(r"[^\r\n]+", text):
        times = [
            e for e in expressions if line.start() <= e.start < line.end() and e.kind is Kind.POINT
        ]
        part = next((e.part for e in times if e.part is not None), None)
        if part is None or not _is_head(text, line, times):
            continue
        day = _named_day(times, find_day, heads[-1].day if heads else None)
        if day is not None:
            time = midnight(day) + part.point
            heads.append(DatedEntry(line.start(), line.end(), len(text), day, time))
    entries = [replace(a, end=b.start) for a, b in pairwise(heads)] + heads[-1:]
    entries = [e for e in entries if len(text[e.body_start : e.end].strip()) >= _SHORTEST]
    days = [e.day for e in entries]
    in_order = all(a.time <= b.time for a, b in pairwise(entries))
    return entries if len(entries) >= _FEWEST and len(set(days)) > 1 and in_order else []


def _is_head(text: str, line: re.Match[str], times: Sequence[TimeExpression]) -> bool:
    """Return whether a line is a title with `times`, and nothing else."""
    lead = _LIST_MARK.match(line.group())
    begin = lead.end() if lead else 0
    rest = line.group()
    for e in reversed(times):
        rest = f"{rest[: e.start - line.start()]} {rest[e.end - line.start() :]}"
    rest = _NUMBER.sub(" ", rest[begin:])
    if (
        len(line.group().strip()) > _LONGEST_HEAD
        or len(_WORD.findall(rest)) > _MOST_WORDS
        or re.search(r"\d", rest)
        or _SENTENCE.search(rest)
    ):
        return False
    begins = not line.group()[begin : times[0].start - line.start()].strip(" \t[(#*-")
    return begins or _TITLE.search(rest) is not None


def _named_day(
    times: Sequence[TimeExpression],
    find_day: Callable[[TimeExpression], int | None],
    before: int | None,
) -> int | None:
    """Return the day that a head names, `before` for the same day."""
    days = [day for e in times if (day := find_day(e)) is not None]
    same = any(e.day and e.day.basis is Basis.CURRENT and e.day.number == 0 for e in times)
    return days[0] if days else before if same else None


def with_entries(
    text: str, sections: Sequence[Section], entries: Sequence[DatedEntry]
) -> tuple[Section, ...]:
    """Return the sections of a note, with one for each entry.

    The first entry is read like an admission note: its story and history stay as they are.
    """
    if not entries:
        return tuple(sections)
    first, last = entries[0], entries[-1].end
    made = [replace(s, end=min(s.end, first.start)) for s in sections if s.start < first.start]
    made += admission_sections(text, sections, first)
    made += [
        Section(ENTRY, text[e.start : e.body_start], e.start, e.end, e.body_start)
        for e in entries[1:]
    ]
    made += [
        replace(s, start=max(s.start, last), body_start=max(s.body_start, last))
        for s in sections
        if s.end > last
    ]
    return tuple(s for s in made if s.end > s.start)


def admission_sections(text: str, sections: Sequence[Section], entry: DatedEntry) -> list[Section]:
    """Return the sections of an admission note: its story and history stay."""
    made = [
        Section(
            ENTRY, text[entry.start : entry.body_start], entry.start, entry.end, entry.body_start
        )
    ]
    labels = list(_LABEL.finditer(text, entry.body_start, entry.end))
    parts = [
        (m.start(), labels[i + 1].start() if i + 1 < len(labels) else entry.end, "hpi")
        for i, m in enumerate(labels)
        if m["story"]
    ] or [
        (max(s.start, entry.body_start), min(s.end, entry.end), s.kind)
        for s in sections
        if s.kind in BEFORE_STAY and s.start < entry.end and s.end > entry.body_start
    ]
    for start, end, kind in parts:
        before = made.pop()
        made.append(replace(before, end=start))
        made.append(Section(kind, "", start, end, start))
        made.append(Section(ENTRY, "", end, entry.end, end))
    return made
