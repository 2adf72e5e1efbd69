"""Rows as reviewers see them, the same for every source. No Django.

A row is shown by the words of the note at its place and a coarse time. What cannot be shown so for
both candidates is shown in a plain form for both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from adjudication.blinding.coarse import CoarseTime, coarse_time, pair_times
from adjudication.blinding.phrases import LONGEST, NoteWords, Place
from adjudication.judging.input import whole_hours
from ehr.presentation.clock import Clock

#: A row is near an item within so many code points of the note and so many hours.
NEAR_TEXT, NEAR_HOURS = 300, 24
#: Largest number of rows near an item that both timelines have.
MOST_SHARED = 4
_ESCAPED_BAR = re.compile(r"\\+(?=\|)")
_PLAIN = re.compile(r"[^\W_]+(?:[.,/%+-]*[^\W_]+)*%?")
_NUMBER = re.compile(r"\d+(?:[./]\d+)*")


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """A row of a timeline; hours from admission, None if it has no time.

    `span` is the place of its occurrence in the note, or None.
    """

    event: str
    time: float | None
    span: Place | None = None


@dataclass(frozen=True, slots=True)
class ShownRow:
    """A row in words. `at` is the hour of the words of its time."""

    event: str
    when: str
    at: float | None = None


@dataclass(frozen=True, slots=True)
class PlacedRow:
    """A row with its place in the note."""

    row: TimelineRow
    place: Place


@dataclass(frozen=True, slots=True)
class NearRows:
    """Rows near an item: of both timelines, and of each at the item's place."""

    shared: tuple[ShownRow, ...] = ()
    a: tuple[ShownRow, ...] = ()
    b: tuple[ShownRow, ...] = ()


@dataclass(frozen=True)
class Reader:
    """Reads rows of one case by one rule.

    `by_spans`: both timelines point into the note. Otherwise spans are not used at all: they would
    show which one does.
    """

    words: NoteWords
    clock: Clock
    by_spans: bool = True

    def locate(self, row: TimelineRow) -> Place | None:
        """Return its place: the span, or the clause that shares most words."""
        span = row.span if self.by_spans else None
        if span is not None and 0 <= span[0] < span[1] <= len(self.words.note):
            return span
        return self.words.find(row.event)

    def describe_candidates(
        self, rows: Sequence[TimelineRow]
    ) -> tuple[tuple[ShownRow, ...], tuple[Place, ...]]:
        """Return one or two candidates in words, and places to mark in the note.

        Both are plain if one has no place, or if they would not differ as they should.
        """
        times = self._times(rows)
        phrases = self._phrases([self.locate(row) for row in rows])
        marks = tuple(sorted({place for place in phrases if place is not None}))
        texts = [self.words.read(place) for place in phrases if place is not None]
        if len(texts) < len(rows) or _are_alike(texts, times, rows):
            texts = [plain_words(row.event) for row in rows]
        shown = (ShownRow(text, t.words, t.at) for text, t in zip(texts, times, strict=True))
        return tuple(shown), marks

    def describe_list(self, rows: Iterable[TimelineRow]) -> tuple[ShownRow, ...]:
        """Return a whole timeline in words, by time and then by the note."""
        found = []
        for row in rows:
            place = self._phrase(self.locate(row))
            text = plain_words(row.event) if place is None else self.words.read(place)
            found.append((place or (0, 0), self._show(text, row)))
        found.sort(key=lambda one: (one[1].at is None, one[1].at or 0.0, one[0], one[1].event))
        return tuple(shown for _, shown in found)

    def find_near(
        self,
        candidates: Sequence[TimelineRow],
        a_rows: Iterable[TimelineRow],
        b_rows: Iterable[TimelineRow],
        *,
        single: bool,
    ) -> NearRows:
        """Return rows near the candidates in note and time, the nearest first.

        A row of both timelines is shown if its coarse time is the same in both: a difference would
        show the sides. `single`, for a question about one row: also the nearest row of each
        timeline at the place of the candidate, so that a finding can be seen to be none.
        """
        a, b = (self._near_rows(rows, candidates) for rows in (a_rows, b_rows))
        pairs, a_alone, b_alone = _pair_rows(a, b)
        shown = [] if single else list(self.describe_candidates(candidates)[0])
        taken = {row.event for row in shown}
        shared = []
        for one, other in pairs:
            place = self.words.phrase(one.place, other.place)
            row, same = (self._show_at(place, p.row) for p in (one, other))
            if place is not None and row == same and row.event not in taken:
                taken.add(row.event)
                shared.append(row)
        here = [self.locate(candidate) for candidate in candidates] if single else []
        alone = (
            tuple(
                self._show_at(self.words.phrase(p.place), p.row)
                for p in rows
                if any(place is not None and _overlap(p.place, place) for place in here)
            )[:1]
            for rows in (a_alone, b_alone)
        )
        return NearRows(tuple(shared[:MOST_SHARED]), *alone)

    def _times(self, rows: Sequence[TimelineRow]) -> tuple[CoarseTime, ...]:
        if len(rows) == 2:
            return pair_times(rows[0].time, rows[1].time, self.clock)
        return tuple(coarse_time(row.time, self.clock) for row in rows)

    def _phrases(self, places: Sequence[Place | None]) -> list[Place | None]:
        if len(places) == 2 and places[0] and places[1] and _overlap(places[0], places[1]):
            return [self.words.phrase(places[0], places[1])] * 2
        return [self._phrase(place) for place in places]

    def _phrase(self, place: Place | None) -> Place | None:
        return None if place is None else self.words.phrase(place)

    def _show(self, text: str, row: TimelineRow) -> ShownRow:
        time = coarse_time(row.time, self.clock)
        return ShownRow(text, time.words, time.at)

    def _show_at(self, place: Place | None, row: TimelineRow) -> ShownRow:
        return self._show("" if place is None else self.words.read(place), row)

    def _near_rows(
        self, rows: Iterable[TimelineRow], candidates: Sequence[TimelineRow]
    ) -> list[PlacedRow]:
        """Return the timed rows near the candidates, without these, nearest first."""
        places = [place for c in candidates if (place := self.locate(c)) is not None]
        hours = [h for c in candidates if (h := whole_hours(c.time)) is not None]
        found = []
        for row in _leave_out(rows, candidates):
            whole, place = whole_hours(row.time), self.locate(row)
            if whole is None or place is None or not places:
                continue
            apart = min(max(start - place[1], place[0] - end, 0) for start, end in places)
            early = min((abs(whole - h) for h in hours), default=0)
            if apart <= NEAR_TEXT and early <= NEAR_HOURS:
                found.append((apart, place, whole, row.event, PlacedRow(row, place)))
        return [placed for *_, placed in sorted(found, key=lambda one: one[:4])]


def plain_words(event: str) -> str:
    r"""Return an event's first words in a form that all sources share.

    In lower case, without marks; some sources store `\|`, others a bare bar.
    """
    return " ".join(_PLAIN.findall(_ESCAPED_BAR.sub("", event).casefold())[:LONGEST])


def _are_alike(
    texts: Sequence[str], times: Sequence[CoarseTime], rows: Sequence[TimelineRow]
) -> bool:
    """Return whether the words hide the difference of two candidates.

    They do if times and words are the same, or if the words are and the rows' numbers are not.
    """
    if len(texts) != 2 or texts[0] != texts[1]:
        return False
    numbers = [_NUMBER.findall(row.event) for row in rows]
    return times[0] == times[1] or (all(numbers) and sorted(numbers[0]) != sorted(numbers[1]))


def _leave_out(
    rows: Iterable[TimelineRow], candidates: Sequence[TimelineRow]
) -> Iterable[TimelineRow]:
    """Return the rows without those that are the candidates, each once."""
    left = list(rows)
    for candidate in candidates:
        at = next((i for i, row in enumerate(left) if _is_same(row, candidate)), None)
        if at is not None:
            del left[at]
    return left


def _is_same(row: TimelineRow, candidate: TimelineRow) -> bool:
    """Compare whole hours: judged candidates have no decimals."""
    return (row.span, whole_hours(row.time), plain_words(row.event)) == (
        candidate.span,
        whole_hours(candidate.time),
        plain_words(candidate.event),
    )


def _pair_rows(
    a: Sequence[PlacedRow], b: Sequence[PlacedRow]
) -> tuple[list[tuple[PlacedRow, PlacedRow]], list[PlacedRow], list[PlacedRow]]:
    """Pair rows whose places overlap, one to one; return the others of each.

    Of several, the one whose time is nearest.
    """
    left, pairs, alone = list(b), [], []
    for one in a:
        same = [i for i, other in enumerate(left) if _overlap(one.place, other.place)]
        if same:
            nearest = min(same, key=lambda i: (_hours_apart(one.row, left[i].row), i))
            pairs.append((one, left.pop(nearest)))
        else:
            alone.append(one)
    return pairs, alone, left


def _hours_apart(one: TimelineRow, other: TimelineRow) -> int:
    return abs((whole_hours(one.time) or 0) - (whole_hours(other.time) or 0))


def _overlap(one: Place, other: Place) -> bool:
    return max(one[0], other[0]) < min(one[1], other[1])
