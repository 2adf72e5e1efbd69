"""The evidence of one finding, for its page.

It has the quote in the note, the cited series with its rows, and both timelines around the finding.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields

from django.utils.safestring import SafeString, mark_safe

from adjudication.findings.listing import FindingLine, finding_line, sources_words
from adjudication.models import Finding
from ehr.models import Encounter, EventSeries
from ehr.presentation.clock import Clock, Moment
from ehr.presentation.wording import event_words
from ehr.record.clock import clock_of
from ehr.record.page import RowLine, row_lines, sort_rows
from timelines.models import Entry, Timeline
from timelines.pipeline.uids import unescape_mention
from timelines.presentation.note_html import text_html
from timelines.runs.stay_text import StayText, read_texts

#: Rows shown of either timeline before and after the finding's own.
NEIGHBOURS = 4
ROWS_SHOWN = 60
#: Whole hours may round a row's time either way (`table_evidence.OFFSET_SLACK`).
HOURS_SLACK = 1.0
_HOURS = re.compile(r"@\s*([+-]?\d{1,7}(?:\.\d{1,4})?)\s*h?\s*$")


@dataclass(frozen=True, slots=True)
class Quote:
    """The whole note in three escaped pieces; `text` is the middle, unescaped.

    The middle piece is the quoted span, or if not `judged` the span of the finding's own row.
    """

    before: SafeString
    span: SafeString
    after: SafeString
    judged: bool
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class CitedRow:
    """A source row of the cited series, `hours` from admission.

    `cited`: it is at the cited hour and has the cited value.
    """

    row: RowLine
    hours: float | None
    cited: bool


@dataclass(frozen=True)
class CitedSeries:
    """The series that the table evidence cites.

    `rows` are those nearest to the cited hour, in order of time.
    """

    series: EventSeries
    name: str
    rows: tuple[CitedRow, ...]

    @property
    def left_out(self) -> int:
        return self.series.count - len(self.rows)


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A row of a timeline; `own` is the finding's."""

    event: str
    when: Moment
    own: bool
    uid: str = ""


@dataclass(frozen=True)
class Side:
    """One candidate with its timeline around it.

    `moment` is the stored time, not the judged whole hours.
    """

    label: str
    source: str
    timeline: Timeline
    entry: Entry | None
    moment: Moment | None
    bounds: Moment | None
    around: tuple[Neighbour, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingDetail(FindingLine):
    """A finding with all its evidence."""

    quote: Quote | None
    series: CitedSeries | None
    a_timeline: Side
    b_timeline: Side


def finding_detail(finding: Finding, encounter: Encounter) -> FindingDetail:
    """Load the finding's evidence. Raises NoteChanged as `build_quote`."""
    line = finding_line(finding)
    a, b = build_sides(finding, encounter)
    quote = build_quote(finding, encounter)
    return FindingDetail(
        **{field.name: getattr(line, field.name) for field in fields(line)},
        quote=quote if quote and quote.judged else None,
        series=load_cited_series(finding, encounter),
        a_timeline=a,
        b_timeline=b,
    )


def build_quote(finding: Finding, encounter: Encounter) -> Quote | None:
    """Return the note around the quote, else around a row of the finding.

    None without either or without a note. Raises NoteChanged if the text differs from the imported
    one.
    """
    comparison = finding.game.comparison
    found = read_texts(encounter, (comparison.first.inventory_id, comparison.second.inventory_id))
    span = None if found is None else _quote_span(finding) or _own_span(finding, found)
    if found is None or span is None:
        return None
    text, (start, end) = found.text, span
    # text_html escapes every character of the note.
    before, quoted, after = (
        mark_safe(text_html(piece)) for piece in (text[:start], text[start:end], text[end:])
    )
    judged = _quote_span(finding) is not None
    return Quote(before, quoted, after, judged, start, end, text[start:end])


def _quote_span(finding: Finding) -> tuple[int, int] | None:
    return (
        None
        if finding.note_start is None or finding.note_end is None
        else (finding.note_start, finding.note_end)
    )


def _own_span(finding: Finding, text: StayText) -> tuple[int, int] | None:
    """Return the place of the finding's row in the text: A's, else B's."""
    found = (
        e.occurrence
        for e in (finding.a_entry, finding.b_entry)
        if e is not None and e.occurrence is not None
    )
    places = (
        (text.place(o.inventory_id, o.start), text.place(o.inventory_id, o.end)) for o in found
    )
    return next(((a, b) for a, b in places if a is not None and b is not None), None)


def load_cited_series(finding: Finding, encounter: Encounter) -> CitedSeries | None:
    """Return the cited series with rows around the cited hour, or None."""
    series = finding.series
    if series is None:
        return None
    citation = finding.table_evidence or ""
    match = _HOURS.search(citation)
    hours = None if match is None else float(match[1])
    lines = row_lines(encounter, sort_rows(encounter, series))
    clock = clock_of(encounter)
    rows = []
    for line in lines:
        at = None if line.time is None else clock.hours(line.time)
        shown = None if at is None else round(at, 3)
        rows.append(CitedRow(line, shown, _is_cited(line, at, hours, citation)))
    middle = next((n for n, r in enumerate(rows) if r.cited), 0)
    start = max(0, min(middle - ROWS_SHOWN // 2, len(rows) - ROWS_SHOWN))
    return CitedSeries(series, event_words(series.event), tuple(rows[start : start + ROWS_SHOWN]))


def _is_cited(line: RowLine, at: float | None, hours: float | None, citation: str) -> bool:
    if at is None or hours is None:
        return False
    value = citation.rpartition(" @")[0].rpartition(" = ")[2] if " = " in citation else ""
    return abs(at - hours) <= HOURS_SLACK and (
        not value or _number_or_words(value) == _number_or_words(line.value)
    )


def _number_or_words(value: str) -> str:
    """Return the first word if it begins with a digit, else all words.

    This drops the unit of a number.
    """
    words = value.casefold().split()
    return words[0] if words and words[0][0].isdigit() else " ".join(words)


def build_sides(finding: Finding, encounter: Encounter) -> tuple[Side, Side]:
    """Return A and B, each with its own row among its neighbours.

    A side without a row shows the neighbours of the other row's time.
    """
    game = finding.game
    pair = (game.comparison.first, game.comparison.second)
    timelines = pair if game.a_is_first else (pair[1], pair[0])
    own = (finding.a_entry_id, finding.b_entry_id)
    times = (finding.a_time, finding.b_time)
    names = sources_words(game)
    made = [
        _side(
            label, names[n], timelines[n], own[n], times[n] if own[n] else times[1 - n], encounter
        )
        for n, label in enumerate(("A", "B"))
    ]
    return made[0], made[1]


def _side(
    label: str,
    source: str,
    timeline: Timeline,
    own: int | None,
    time: float | None,
    encounter: Encounter,
) -> Side:
    clock = clock_of(encounter)
    entries = sorted(
        Entry.objects.filter(timeline=timeline).select_related("occurrence"),
        key=lambda e: (
            e.time is None,
            e.time or 0.0,
            e.occurrence.ordinal if e.occurrence else 0,
            e.pk,
        ),
    )
    entry = next((e for e in entries if e.pk == own), None)
    return Side(
        label=label,
        source=source,
        timeline=timeline,
        entry=entry,
        moment=clock.read(entry.time) if entry and entry.time is not None else None,
        bounds=clock.bounds(entry.lower, entry.upper) if entry else None,
        around=tuple(_neighbours(entries, entry, time, clock)),
    )


def _neighbours(
    entries: Sequence[Entry], entry: Entry | None, time: float | None, clock: Clock
) -> list[Neighbour]:
    earlier = sum(e.time is not None and (time is None or e.time < time) for e in entries)
    middle = earlier if entry is None else entries.index(entry)
    start, end = max(0, middle - NEIGHBOURS), middle + NEIGHBOURS + (entry is not None)
    return [
        Neighbour(
            row_text(e), clock.read(e.time), e is entry, e.occurrence.uid4 if e.occurrence else ""
        )
        for e in entries[start:end]
    ]


def row_text(entry: Entry) -> str:
    """Return a row's words as the note has them."""
    return unescape_mention(entry.occurrence.mention if entry.occurrence else entry.event)
