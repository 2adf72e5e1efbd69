"""What a reviewer may see; the only blinding code. No Django.

Used by pages, API, exports, admin and error pages. `blinded_item` takes what is known of an item
and returns exactly what may be shown. The result does not depend on who wrote the two timelines, on
the judge's answer or on the judge's evidence. It takes from the judge only the two rows. Rows are
in words of the note and in coarse times (`rows`), because a source's own words and decimals reveal
it. Identifiers, bounds, lanes and contexts of a source are left out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from adjudication.blinding.phrases import NoteWords, Place, extract_words
from adjudication.blinding.rows import NearRows, Reader, ShownRow, TimelineRow
from adjudication.judging.input import whole_hours
from ehr.presentation.clock import Clock

#: Number of series that come with rows; the page fetches the rows of the others one by one.
SERIES_WITH_ROWS = 6
#: Rows of a series shown at first: those nearest to either candidate.
ROWS_AT_ONCE = 24
TWO_ROWS = "Both timelines have this event. Which one is right?"
ONE_ROW = "Only one timeline has this event. Did this event happen?"
REPEATED_ROW = "One timeline has this event twice. Did it happen again?"


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

    `a` and `b` are the judge's sides; `a_rows`, `b_rows` all rows of both timelines.
    `both_have_spans`: both timelines point into the note. If one does not, no span is used, because
    that would reveal which.
    """

    item: str
    repeated: bool
    a: TimelineRow | None
    b: TimelineRow | None
    note: str
    admitted_at: datetime
    a_rows: tuple[TimelineRow, ...] = ()
    b_rows: tuple[TimelineRow, ...] = ()
    both_have_spans: bool = True
    series: tuple[RecordSeries, ...] = ()
    stay_hours: float | None = None

    @property
    def candidates(self) -> tuple[TimelineRow, ...]:
        """The one or two rows of the finding, the judge's A first."""
        return tuple(c for c in (self.a, self.b) if c is not None)

    @property
    def reader(self) -> Reader:
        """The one way in which rows of this item are described."""
        clock = Clock(self.admitted_at, self.stay_hours)
        return Reader(NoteWords(self.note), clock, self.both_have_spans)


@dataclass(frozen=True, slots=True)
class ShownSide:
    """One side of the page.

    `row` is the row that the finding is about, None if this side has none. `alone`: another
    row of this side alone at the place of a finding about one row.
    """

    label: str
    row: ShownRow | None
    alone: tuple[ShownRow, ...] = ()


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
    spans: tuple[Place, ...]
    #: Rows near the item that both sides have, at the same coarse time.
    near: tuple[ShownRow, ...] = ()
    series: tuple[ShownSeries, ...] = ()
    stay_hours: float | None = None
    #: Hour zero by the record's own clock, because notes give dates.
    admitted_at: datetime


def blinded_item(material: ItemMaterial, seed: int) -> BlindedItem:
    """Build the item as the reviewer with this seed sees it: A left, B right.

    A series comes with rows if its `RecordSeries` has them; `series_order` returns the ones that
    need rows.
    """
    candidates, reader, question = material.candidates, material.reader, _question(material)
    shown, spans = reader.describe_candidates(candidates)
    near = reader.find_near(
        candidates, material.a_rows, material.b_rows, single=question is not Question.TWO_ROWS
    )
    left, right = _sides(material, shown, near, seed)
    return BlindedItem(
        item=material.item,
        question=question,
        left=left,
        right=right,
        note=material.note,
        spans=spans,
        near=near.shared,
        series=_shown_series(material.series, candidates),
        stay_hours=material.stay_hours,
        admitted_at=material.admitted_at,
    )


def blinded_timelines(
    material: ItemMaterial, seed: int
) -> tuple[tuple[ShownRow, ...], tuple[ShownRow, ...]]:
    """Return both whole timelines in words, that of side A first."""
    reader = material.reader
    one, other = (reader.describe_list(rows) for rows in (material.a_rows, material.b_rows))
    return (other, one) if are_sides_swapped(seed, material.item) else (one, other)


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


def _question(material: ItemMaterial) -> Question:
    if material.a is not None and material.b is not None:
        return Question.TWO_ROWS
    return Question.REPEATED_ROW if material.repeated else Question.ONE_ROW


def _sides(
    material: ItemMaterial, shown: Sequence[ShownRow], near: NearRows, seed: int
) -> tuple[ShownSide, ShownSide]:
    """Return the left and the right side, labelled A and B."""
    left = list(shown)
    rows = [None if c is None else left.pop(0) for c in (material.a, material.b)]
    sides = [(rows[0], near.a), (rows[1], near.b)]
    if are_sides_swapped(seed, material.item):
        sides.reverse()
    return ShownSide("A", *sides[0]), ShownSide("B", *sides[1])


def _shown_series(
    series: Sequence[RecordSeries], candidates: Sequence[TimelineRow]
) -> tuple[ShownSeries, ...]:
    hours = [c.time for c in candidates]
    found = []
    for number, index in enumerate(series_order(series, [c.event for c in candidates])):
        s = series[index]
        rows = shown_rows(s.rows, hours) if number < SERIES_WITH_ROWS else ()
        found.append(ShownSeries(number, s.event, s.summary, s.count, rows))
    return tuple(found)


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
