"""What a reviewer may see; the only blinding code. No Django.

Used by pages, API, exports, admin and error pages. `blinded_item` takes what is known of an item
and returns exactly what may be shown. The result does not depend on who wrote the two timelines, on
the judge's answer or on the judge's evidence. It takes from the judge only the two rows. Times are
in whole hours on both sides, because decimals reveal which timeline used structured evidence. Rows
are sorted anew. Identifiers, bounds, lanes and contexts of a source are left out.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from adjudication.judging.input import whole_hours

#: Number of series that come with rows; the page fetches the rows of the others one by one.
SERIES_WITH_ROWS = 6
#: Rows of a series shown at first: those nearest to either candidate.
ROWS_AT_ONCE = 24
#: Largest number of places in the note for rows without spans.
PLACES = 3
_WORD = re.compile(r"[^\W_]{2,}")
_ESCAPED_BAR = re.compile(r"\\+(?=\|)")
_SENTENCE = re.compile(r"[^\n.;]+")
_SMALL_WORDS = frozenset(
    (
        "an",
        "and",
        "as",
        "at",
        "by",
        "for",
        "from",
        "in",
        "is",
        "of",
        "on",
        "or",
        "the",
        "to",
        "was",
        "were",
        "with",
    )
)

TWO_ROWS = "Both timelines have this event. Which row is right?"
ONE_ROW = "Only one timeline has this event. Did it happen? Choose its side if it did."
REPEATED_ROW = (
    "One timeline has this event twice. Did it happen again? Choose the side with the repeat if it"
    " did."
)


class Question(StrEnum):
    """The question. All findings about two rows share one.

    Their type would reveal the verdict.
    """

    TWO_ROWS = "two_rows"
    ONE_ROW = "one_row"
    REPEATED_ROW = "repeated_row"

    @property
    def words(self) -> str:
        return {
            Question.TWO_ROWS: TWO_ROWS,
            Question.ONE_ROW: ONE_ROW,
            Question.REPEATED_ROW: REPEATED_ROW,
        }[self]


@dataclass(frozen=True, slots=True)
class CandidateRow:
    """A side's row of the finding, as judged.

    `span` is the place of its occurrence in the note, or None.
    """

    event: str
    time: float | None
    span: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class RecordRow:
    """A row of the structured record; `hours` from admission, None if untimed."""

    hours: float | None
    value: str
    unit: str = ""
    time_kind: str = ""
    index: int = 0


@dataclass(frozen=True, slots=True)
class RecordSeries:
    """All rows with one event name; `shown_rows` may fetch `rows` later."""

    event: str
    summary: str
    count: int
    priority: int = 0
    rows: tuple[RecordRow, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ItemMaterial:
    """What is known of an item.

    `a` and `b` are the judge's sides; `a_rows`, `b_rows` all rows of both timelines as (event,
    hours). `both_have_spans`: both timelines point into the note. If one does not, no span is
    shown, because it would reveal which.
    """

    item: str
    repeated: bool
    a: CandidateRow | None
    b: CandidateRow | None
    a_rows: tuple[tuple[str, float | None], ...]
    b_rows: tuple[tuple[str, float | None], ...]
    note: str
    both_have_spans: bool = True
    series: tuple[RecordSeries, ...] = ()
    stay_hours: float | None = None
    admitted_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ShownRow:
    """A row of a timeline, in whole hours from admission, None for N/A.

    `candidate`: the finding is about it.
    """

    event: str
    hours: int | None
    candidate: bool = False


@dataclass(frozen=True, slots=True)
class ShownSide:
    """One side of the page, with its whole timeline.

    `row` is the row that the finding is about, None if this side has none.
    """

    label: str
    row: ShownRow | None
    timeline: tuple[ShownRow, ...]


@dataclass(frozen=True, slots=True)
class ShownSeries:
    """A series of the record.

    `number` requests its rows; `rows` are those shown at first, in order of time.
    """

    number: int
    event: str
    summary: str
    count: int
    rows: tuple[RecordRow, ...] = ()


@dataclass(frozen=True, kw_only=True)
class BlindedItem:
    """Everything that a reviewer may see of an item, and nothing else.

    `spans` are places in `note`, code points, end-exclusive.
    """

    item: str
    question: Question
    left: ShownSide
    right: ShownSide
    note: str
    spans: tuple[tuple[int, int], ...]
    series: tuple[ShownSeries, ...] = field(default=())
    stay_hours: float | None = None
    #: Hour zero by the record's own clock, because notes give dates.
    admitted_at: datetime | None = None


def blinded_item(material: ItemMaterial, seed: int) -> BlindedItem:
    """Build the item as the reviewer with this seed sees it: A left, B right.

    A series comes with rows if its `RecordSeries` has them; `series_order` returns the ones that
    need rows.
    """
    candidates = [c for c in (material.a, material.b) if c is not None]
    one, other = _side(material.a, material.a_rows), _side(material.b, material.b_rows)
    if are_sides_swapped(seed, material.item):
        one, other = other, one
    return BlindedItem(
        item=material.item,
        question=_question(material),
        left=replace(one, label="A"),
        right=replace(other, label="B"),
        note=material.note,
        spans=_places(candidates, material.note, material.both_have_spans),
        series=_shown_series(material.series, candidates),
        stay_hours=material.stay_hours,
        admitted_at=material.admitted_at,
    )


def are_sides_swapped(seed: int, item: str) -> bool:
    """Return whether this reviewer sees the judge's B on the left, as A.

    Drawn for each item from the reviewer's stored seed.
    """
    return hashlib.sha256(f"{seed}:side:{item}".encode()).digest()[0] % 2 == 1


def swap_answer(answer: str, swapped: bool) -> str:
    """Convert an answer between the labels of the page and the judge's.

    A and B change places if the sides were swapped.
    """
    return {"A": "B", "B": "A"}.get(answer, answer) if swapped else answer


def series_order(series: Sequence[RecordSeries], events: Iterable[str]) -> list[int]:
    """Return the series' indices, most similar to the rows' words first.

    Similarity counts common words of the series' names. It never uses a judge's evidence.
    """
    wanted = set().union(*(extract_words(event) for event in events))

    def rank(index: int) -> tuple[float, int, int, str]:
        own = extract_words(series[index].event)
        shared = len(own & wanted) / len(own) ** 0.5 if own else 0.0
        return (-shared, series[index].priority, -series[index].count, series[index].event)

    return sorted(range(len(series)), key=rank)


def shown_rows(
    rows: Iterable[RecordRow], hours: Iterable[float | None], limit: int | None = ROWS_AT_ONCE
) -> tuple[RecordRow, ...]:
    """Return the rows nearest to any of the whole `hours`, in order of time.

    Untimed rows come last. If no hour is known, the first rows.
    """
    near = [h for h in (whole_hours(hour) for hour in hours) if h is not None]

    def in_time(row: RecordRow) -> tuple[bool, float, int]:
        return (row.hours is None, row.hours or 0.0, row.index)

    def distance(row: RecordRow) -> tuple[float, bool, float, int]:
        apart = (
            min((abs(row.hours - h) for h in near), default=0.0)
            if row.hours is not None
            else float("inf")
        )
        return (apart, *in_time(row))

    return tuple(sorted(sorted(rows, key=distance)[:limit], key=in_time))


def extract_words(event: str) -> frozenset[str]:
    """Return an event's words without case, plural endings and small words."""
    found = (word.casefold() for word in _WORD.findall(event))
    return frozenset(
        w[:-1] if len(w) > 3 and w.endswith("s") else w for w in found if w not in _SMALL_WORDS
    )


def _question(material: ItemMaterial) -> Question:
    if material.a is not None and material.b is not None:
        return Question.TWO_ROWS
    return Question.REPEATED_ROW if material.repeated else Question.ONE_ROW


def _side(candidate: CandidateRow | None, rows: Iterable[tuple[str, float | None]]) -> ShownSide:
    """Sort rows by time, N/A last, then by words, and mark the candidate.

    Of rows that read the same the first is marked, so that the mark does not reveal which was
    meant.
    """
    shown = [ShownRow(_one_line(event), whole_hours(time)) for event, time in rows]
    shown.sort(key=lambda r: (r.hours is None, r.hours or 0, r.event))
    if candidate is None:
        return ShownSide("", None, tuple(shown))
    row = ShownRow(_one_line(candidate.event), whole_hours(candidate.time), candidate=True)
    at = next(
        (i for i, r in enumerate(shown) if (r.event, r.hours) == (row.event, row.hours)), None
    )
    if at is not None:
        shown[at] = row
    return ShownSide("", row, tuple(shown))


def _places(
    candidates: Sequence[CandidateRow], note: str, both_have_spans: bool
) -> tuple[tuple[int, int], ...]:
    """Return places in the note: the rows' own spans, without saying whose.

    Else the sentences that share most words with the rows.
    """
    own = {
        c.span for c in candidates if c.span is not None and 0 <= c.span[0] < c.span[1] <= len(note)
    }
    if own and both_have_spans:
        return tuple(sorted(own))
    wanted = set().union(*(extract_words(c.event) for c in candidates))
    scored = []
    for match in _SENTENCE.finditer(note):
        if shared := len(extract_words(match.group()) & wanted):
            start = match.start() + len(match.group()) - len(match.group().lstrip())
            scored.append((-shared, start, match.start() + len(match.group().rstrip())))
    best = scored and min(scored)[0]
    return tuple(
        sorted((start, end) for score, start, end in sorted(scored)[:PLACES] if score == best)
    )


def _shown_series(
    series: Sequence[RecordSeries], candidates: Sequence[CandidateRow]
) -> tuple[ShownSeries, ...]:
    hours = [c.time for c in candidates]
    found = []
    for number, index in enumerate(series_order(series, [c.event for c in candidates])):
        s = series[index]
        rows = shown_rows(s.rows, hours) if number < SERIES_WITH_ROWS else ()
        found.append(ShownSeries(number, s.event, s.summary, s.count, rows))
    return tuple(found)


def _one_line(event: str) -> str:
    r"""Unescape bars: some sources store `\|`, others a bare bar."""
    return _ESCAPED_BAR.sub("", " ".join(event.split()))


class Viewer(StrEnum):
    """A person's part in a packet."""

    REVIEWER = "reviewer"
    ADJUDICATOR = "adjudicator"
    #: A study admin who is not assigned to it.
    ADMIN = "admin"
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class PacketVisibility:
    """What a person may see of a packet.

    All but `items` and `own_answers` unblinds.
    """

    items: bool = False
    own_answers: bool = False
    colleagues_answers: bool = False
    judge: bool = False
    sources: bool = False
    report: bool = False


def derive_visibility(viewer: Viewer, state: str, reveal: str) -> PacketVisibility:
    """Return the parts of a packet that a person may see, for every page.

    `state`: "draft", "open" or "closed"; `reveal`: "never" or "after_close". Reviewers see blinded
    items while the packet is open. After it closed they also see the judge's side, unless the
    policy is "never".
    """
    if viewer is Viewer.NOBODY:
        return PacketVisibility()
    if viewer is Viewer.ADMIN:
        return PacketVisibility(
            items=True, colleagues_answers=True, judge=True, sources=True, report=True
        )
    if state == "draft":
        return PacketVisibility()
    revealed = state == "closed" and reveal == "after_close"
    return PacketVisibility(
        items=True,
        own_answers=True,
        colleagues_answers=revealed,
        judge=revealed,
        sources=revealed,
        report=revealed,
    )
