"""The events of a timeline for the page, with their sources and weights."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ehr.presentation.clock import Clock
from ehr.presentation.wording import name_words, value_words
from timelines.domain import Polarity, TimelineKind, differs
from timelines.formats.lines import Cited, Line
from timelines.formats.report.values import ReportRow
from timelines.pipeline.uids import unescape_mention
from timelines.presentation.status import Status, find_status
from timelines.presentation.wording import shorten_quote

_LONGEST_QUOTE = 90
#: Shapes, so that the page says the status in black and white.
MARKS = {
    Status.EXPLICIT: "●",
    Status.INFERRED: "○",
    Status.MOVED: "■",
    Status.CORRECTED: "✓",
    Status.UNPLACED: "–",
    Status.UNSPECIFIED: "·",
}
LEGEND = (
    f"{MARKS[Status.EXPLICIT]} stated in the note    {MARKS[Status.INFERRED]} inferred from the note"
    f"    {MARKS[Status.MOVED]} from the record    {MARKS[Status.CORRECTED]} corrected by a clinician"
)
_POLARITY_WORDS = {
    Polarity.ABSENT: "absent",
    Polarity.PLANNED: "planned",
    Polarity.FAMILY: "family",
}
#: The rank of what the story leaves out: what is denied, planned or names nothing.
_LEFT_OUT = 10_000


def make_rows(
    lines: Sequence[Line],
    text_times: Mapping[str, float | None],
    clock: Clock,
    *,
    ranks: Mapping[str, int],
    corrected: Collection[str] = (),
    with_note_text: bool,
) -> tuple[ReportRow, ...]:
    """Return every line as a row, in order of time.

    Those without a time are last. By UID: `ranks` in the story, `text_times` from the text alone if the timeline is revised.
    `corrected`: UIDs that a clinician corrected.
    """
    rows = [_row(x, text_times, clock, ranks, x.uid4 in corrected, with_note_text) for x in lines]
    return tuple(sorted(rows, key=lambda r: (r.hours is None, r.hours or 0.0)))


def _row(
    line: Line,
    text_times: Mapping[str, float | None],
    clock: Clock,
    ranks: Mapping[str, int],
    corrected: bool,
    with_note_text: bool,
) -> ReportRow:
    status = find_status(
        line.time,
        known=line.known,
        kind=TimelineKind(line.kind),
        cited_rows=line.rows,
        corrected=corrected,
    )
    moment = clock.read(line.time)
    before = text_times.get(line.uid4 or "")
    moved = line.uid4 in text_times and before is not None and differs(before, line.time)
    return ReportRow(
        hours=line.time,
        when=moment.day,
        beside=moment.hours,
        mark=MARKS[status],
        event=_event_words(line),
        source=f"Clinician: {line.reason or 'corrected'}"
        if corrected
        else _source_words(line, status, before if moved else None, clock, with_note_text),
        rank=0 if corrected else ranks.get(line.uid4 or "", _LEFT_OUT + (line.time is None)),
    )


def _event_words(line: Line) -> str:
    mention = unescape_mention(line.mention)
    word = _POLARITY_WORDS.get(Polarity(line.polarity)) if line.polarity else None
    return f"{mention} ({word})" if word else mention


def _source_words(
    line: Line, status: Status, before: float | None, clock: Clock, with_note_text: bool
) -> str:
    if line.time is not None and line.evidence:
        nearest = min(line.evidence, key=lambda r: abs(r.hours - (line.time or 0.0)))
        more = len(line.evidence) - 1
        said = f"Record: {_row_words(nearest, line.time, clock)}"
        said += f" and {more} more {'row' if more == 1 else 'rows'}" if more else ""
    elif with_note_text and line.span_text:
        said = f"Note: “{shorten_quote(line.span_text, _LONGEST_QUOTE)}”"
    else:
        said = "Note" if line.start is not None else status.label.capitalize()
    return said if before is None else f"{said}; note: {clock.say(before, line.time)}"


def _row_words(row: Cited, beside: float, clock: Clock) -> str:
    value = value_words(row.value, row.unit)
    words = f"{name_words(row.event)}{f', {value}' if value else ''}"
    return f"{words}, {clock.say(row.hours, beside)}"
