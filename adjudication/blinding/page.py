"""A blinded item in the words of the reviewer's page. No Django.

Its only input is a `BlindedItem`, so it cannot show more than a reviewer may see. It escapes all
outside text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from adjudication.blinding.coarse import NO_TIME
from adjudication.blinding.rows import ShownRow
from adjudication.blinding.visibility import (
    BlindedItem,
    Question,
    RecordRow,
    ShownSeries,
    ShownSide,
)
from adjudication.judging.input import whole_hours
from ehr.presentation.clock import Clock, Moment
from ehr.presentation.wording import (
    DAY,
    MINUS,
    category_words,
    duration_words,
    name_words,
    time_kind_words,
    value_words,
)
from timelines.presentation.note_html import make_label, text_html
from timelines.presentation.segments import Section, Segment, Span, split_sections, split_segments

NOT_APPLICABLE = "N/A"
#: Answers in their fixed order: key, value, words.
ANSWERS = (
    ("1", "A", "A"),
    ("2", "B", "B"),
    ("3", "BOTH", "Both"),
    ("4", "NEITHER", "Neither"),
    ("5", "UNCLEAR", "Unclear"),
    ("6", "NOT_A_FINDING", "Not a finding"),
)
ANSWER_WORDS = {value: words for _, value, words in ANSWERS}
_MEANING = {
    "A": "A is right, B is not",
    "B": "B is right, A is not",
    "BOTH": "both are possible",
    "NEITHER": "both are wrong",
    "UNCLEAR": "note and record do not decide",
    "NOT_A_FINDING": "no difference that matters",
}
_HAPPENED = {Question.ONE_ROW: "it happened", Question.REPEATED_ROW: "it happened again"}
_DID_NOT = {Question.ONE_ROW: "it did not happen", Question.REPEATED_ROW: "it is listed twice"}
_MISSING = {
    Question.ONE_ROW: "does not have this event",
    Question.REPEATED_ROW: "does not repeat this event",
}


@dataclass(frozen=True, slots=True)
class AnswerButton:
    """One of the six answers: key, value, words and meaning for this item."""

    key: str
    value: str
    words: str
    meaning: str


@dataclass(frozen=True, slots=True)
class SideBlock:
    """One side: its candidate and its rows.

    If the candidate is None, `missing` says so.
    """

    label: str
    row: ShownRow | None
    missing: str
    alone: tuple[ShownRow, ...]


@dataclass(frozen=True, slots=True)
class RecordLine:
    """A row of the record; `when` has the hospital day and the hours."""

    when: Moment
    value: str
    kind: str


@dataclass(frozen=True, slots=True)
class SeriesBlock:
    """A series with its first rows."""

    number: int
    name: str
    kind: str
    count: int
    rows: tuple[RecordLine, ...]


@dataclass(frozen=True, slots=True)
class ItemPage:
    """All that the template shows of an item."""

    question: str
    sides: tuple[SideBlock, SideBlock]
    near: tuple[ShownRow, ...]
    answers: tuple[AnswerButton, ...]
    note_html: str
    has_place: bool
    series: tuple[SeriesBlock, ...]
    stay: str
    admitted: str


def build_item_page(item: BlindedItem) -> ItemPage:
    """Return the item as the template needs it."""
    clock = Clock(item.admitted_at, item.stay_hours)
    left, right = (_side(side, item.question) for side in (item.left, item.right))
    return ItemPage(
        question=item.question.words,
        sides=(left, right),
        near=item.near,
        answers=build_answer_buttons(item),
        note_html=render_marked_note(item.note, item.spans),
        has_place=bool(item.spans),
        series=tuple(_series(s, clock) for s in item.series),
        stay=whole_hours_words(whole_hours(item.stay_hours)) if item.stay_hours is not None else "",
        admitted=f"{item.admitted_at:%Y-%m-%d %H:%M}",
    )


def build_answer_buttons(item: BlindedItem) -> tuple[AnswerButton, ...]:
    """Return the answers in words of this item's question, in their order.

    Where one side has no row, they are yes and no; the stored value is a side, and “both” and
    “neither” would mean nothing.
    """
    if item.left.row is not None and item.right.row is not None:
        return tuple(AnswerButton(k, value, words, _MEANING[value]) for k, value, words in ANSWERS)
    owner, other = (item.left, item.right) if item.left.row is not None else (item.right, item.left)
    return (
        AnswerButton("1", owner.label, "Yes", _HAPPENED[item.question]),
        AnswerButton("2", other.label, "No", _DID_NOT[item.question]),
        *(AnswerButton(k, value, words, _MEANING[value]) for k, value, words in ANSWERS[4:]),
    )


def answer_words(item: BlindedItem, answer: str) -> str:
    """Return an answer in the words of its item's buttons."""
    words = {button.value: button.words for button in build_answer_buttons(item)}
    return words.get(answer, ANSWER_WORDS[answer])


def whole_hours_words(hours: int | None) -> str:
    """Return whole hours in words: "−72 h", "+7 h", "0 h", "N/A"."""
    if hours is None:
        return NOT_APPLICABLE
    sign = MINUS if hours < 0 else "+" if hours else ""
    return f"{sign}{abs(hours):,} h".replace(",", "\u202f")


def format_entered_hours(hours: float | None) -> str:
    """Return a reviewer's own time in words: "−72 h", "+6.5 h"; "" for none."""
    if hours is None:
        return ""
    return f"{MINUS if hours < 0 else '+'}{abs(hours):.10g} h" if hours else "0 h"


def build_record_lines(rows: Sequence[RecordRow], clock: Clock) -> tuple[RecordLine, ...]:
    """Return rows of the record as a table shows them."""
    return tuple(
        RecordLine(
            _record_time(r.hours, clock),
            value_words(r.value, r.unit),
            time_kind_words(r.time_kind),
        )
        for r in rows
    )


def time_left_words(seconds_each: float | None, items: int) -> str:
    """Return "about 12 min left", or "" without answers.

    Uses the median active time of one's own answers.
    """
    if seconds_each is None or not items:
        return ""
    seconds = seconds_each * items
    if seconds < 60:
        return "less than a minute left"
    return f"about {duration_words(round(seconds / 60) * 60)} left"


def render_marked_note(note: str, places: Sequence[tuple[int, int]]) -> str:
    """Return the note as escaped HTML, with section labels and marked places.

    Its text is exactly as stored. `places` are in code points, end-exclusive.
    """
    sections = split_sections(note)
    spans = [Span(str(n), start, end) for n, (start, end) in enumerate(places)]
    pieces = split_segments(len(note), spans, [s.start for s in sections])
    return "".join(_section(note, section, pieces) for section in sections)


def _section(note: str, section: Section, pieces: Sequence[Segment]) -> str:
    inside = [p for p in pieces if section.start <= p.start < section.end]
    body = "".join(_piece(note[p.start : p.end], p) for p in inside)
    label = (
        '<div class="note-label"'
        f' aria-hidden="true"><span>{text_html(make_label(section.title))}</span></div>'
    )
    return f'<div class="note-section">{label}<div class="note-text">{body}</div></div>'


def _piece(text: str, piece: Segment) -> str:
    return f'<mark class="place">{text_html(text)}</mark>' if piece.keys else text_html(text)


def _side(side: ShownSide, question: Question) -> SideBlock:
    missing = "" if side.row else _MISSING.get(question, "")
    return SideBlock(side.label, side.row, missing, side.alone)


def _series(series: ShownSeries, clock: Clock) -> SeriesBlock:
    category, _, rest = series.event.partition(":")
    return SeriesBlock(
        series.number,
        name_words(series.event),
        category_words(category) if rest else "",
        series.count,
        build_record_lines(series.rows, clock),
    )


def _record_time(hours: float | None, clock: Clock) -> Moment:
    """Return hospital day and clock time, with hours to a tenth."""
    if hours is None:
        return Moment(NO_TIME)
    if abs(hours) >= 14 * DAY:
        return clock.read(hours)
    sign = MINUS if hours < 0 else "+"
    return replace(clock.read(hours), hours=f"{sign}{abs(hours):.1f} h")
