"""Decide a difference from note and record (protocol section 4, "judge").

If they do not settle it, neither side is right. Clinicians review the decisions, so each needs
evidence for one side that does not equally support the other. No Django.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from adjudication.judging.input import CandidateRow, whole_hours
from adjudication.judging.rules.joining import Statement, may_be_stated, read_statement
from adjudication.judging.rules.reading import CaseReading, RowSupport, Span
from adjudication.judging.rules.words import (
    content_words,
    contradict,
    differ_in_denial,
    numbers,
    wording_distances,
)
from adjudication.judging.validation import Tolerance
from ehr.presentation.wording import hours_words
from timelines.domain import Entry

#: A row of the record decides if its cost is at most `_FITS`, and the other time has no row or one
#: that costs more by `_CLEARLY`.
_FITS, _CLEARLY = 0.5, 0.4
#: The note's reading settles a time if its bounds are at most this many hours wide, or at most this
#: share of its distance from admission.
_NARROW_HOURS, _NARROW_SHARE = 6.0, 0.2
#: Shares of an event's words that occur in a sentence. At `_MENTIONED` or more, the sentence
#: mentions the event; at `_UNMENTIONED` or less, nothing like it.
_MENTIONED, _UNMENTIONED = 0.5, 0.34
#: If the judge's own reading gives a timeline's exact hour for `_SAME_READER` of its rows, that
#: timeline was made by the same rules and the reading is no second witness. If the shares of the
#: two timelines differ by more than `_PARTIAL`, it favours one. Fewer rows are too few to say.
_SAME_READER, _PARTIAL, _ENOUGH_ROWS = 0.8, 0.05, 30
#: Wordings closer than this may name the same event.
_ALIKE = 0.5


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision on one difference, with its reason and evidence.

    `right` is the row judged right, None if nothing is settled. `rejected`: the only row is judged
    wrong. `quote` is a place in the note, `table` a line of evidence. `sought`: the note was
    searched without result.
    """

    right: CandidateRow | None
    reason: str
    quote: Span | None = None
    table: str | None = None
    rejected: bool = False
    sought: bool = False


class Ruling:
    """Decides the differences of one game, independently of the labels."""

    def __init__(self, reading: CaseReading, tolerance: Tolerance) -> None:
        self.reading, self.tolerance = reading, tolerance
        self.note = reading.given.note
        self._statements: dict[int, Statement] = {}
        self._sentence_words = [
            (s, content_words(self.note[s[0] : s[1]])) for s in reading.sentences
        ]
        self._note_words = frozenset(w for _, words in self._sentence_words for w in words)
        self._record_words = content_words(
            " ".join(
                f"{s.event} {' '.join(v for v, _ in s.top_values)}" for s in reading.given.series
            )
        )

    def decide_timing(self, one: CandidateRow, other: CandidateRow) -> Decision:
        """Decide for the time that the note or a row of the record supports.

        The note supports a time by its own expression, the record by a row of that very occurrence.
        Nothing is settled if both times are supported, or note and record disagree.
        """
        one, other = _sort_rows(one, other)
        entry = self.reading.read_entry(one) or self.reading.read_entry(other)
        span = self.reading.spans.get(one.row) or self.reading.spans.get(other.row)
        quote = self.reading.find_quote(span) if span else None
        rows = [self.reading.support(r, r.time) for r in (one, other)]
        by_note = self._choose_by_note(one, other, entry) if self._independent else None
        by_rows = _recorded_row(one, other, *rows)
        if by_note is not None and by_rows is not None and by_note is not by_rows:
            return Decision(
                None, "the note's words and a row of the record speak for different times", quote
            )
        right = by_note or by_rows
        if right is None or (
            by_note is None
            and self._independent
            and self._note_favours_other(right, other if right is one else one, entry)
        ):
            return Decision(
                None, "neither the note nor the record settles which time is right", quote
            )
        row = rows[0] if right is one else rows[1]
        # A row that no supplied summary shows cannot be cited, so a reader could not check
        # it as evidence.
        support = row if row is not None and row.cost <= _FITS and row.cited is not None else None
        table = support.cited if support is not None else None
        if table is None and (by_note is None or quote is None):
            return Decision(
                None, "no evidence that could be shown settles which time is right", quote
            )
        reasons = []
        if by_note is not None and entry is not None:
            reasons.append(
                f"the note puts it at {hours_words(entry.time)}"
                + (f" ({entry.reason})" if entry.reason else "")
            )
        if support is not None:
            reasons.append(
                f"the record has it at {hours_words(support.row.time)} ({support.reason})"
            )
        return Decision(right, "; ".join(reasons), quote, table)

    def decide_value(self, one: CandidateRow, other: CandidateRow) -> Decision:
        """Decide by the number at the event's place in the note.

        Nothing is settled unless exactly one row has it.
        """
        one, other = _sort_rows(one, other)
        span = self.reading.spans.get(one.row) or self.reading.spans.get(other.row)
        if span is None:
            return Decision(None, "the event has no place in the note")
        quote = self.reading.find_quote(span)
        if quote is None or differ_in_denial(one.event, other.event):
            return Decision(None, "the note does not settle which is right", quote)
        values = [numbers(r.event, also_times=True) for r in (one, other)]
        for place in (span, self.reading.sentence(span)):
            stated = numbers(self.note[place[0] : place[1]], also_times=True)
            fits = [not (v - stated) for v in values]
            if fits[0] != fits[1]:
                return Decision(
                    one if fits[0] else other,
                    "the note has this value there, and not the other",
                    quote,
                )
        return Decision(None, "the note does not settle which value is right", quote)

    def decide_unpaired(self, row: CandidateRow, others: Sequence[CandidateRow]) -> Decision:
        """Decide on an event that only one timeline has.

        The row is right if the note mentions it at its place, and wrong if neither note nor record
        has anything like it. Nothing is settled for a heading, if few of its words are clinical, if note and
        row differ in affirming or denying it, or if the other timeline may have it as another row,
        there or elsewhere in the note.
        """
        span = self.reading.spans.get(row.row)
        if span is None:
            if self.is_unsupported(row):
                return Decision(
                    None,
                    "neither the note nor the record has anything like it",
                    rejected=True,
                    sought=True,
                )
            return Decision(
                None,
                "it has no place in the note, and the record does not settle whether it happened",
            )
        quote = self.reading.find_quote(span)
        words, (start, end) = content_words(row.event), self.reading.sentence(span)
        if quote is None or len(words & content_words(self.note[start:end])) < _MENTIONED * max(
            1, len(words)
        ):
            return Decision(None, "its place in the note does not say it in these words", quote)
        if self.reading.is_heading(span):
            return Decision(None, "it is a heading; the text below it names the event", quote)
        if not self.reading.is_clinical(row):
            return Decision(None, "few of its words are clinical", quote)
        polarity = self.reading.polarity(span)
        if polarity is None or polarity.denied != row.source.polarity.denied:
            return Decision(None, "whether the note affirms or denies it is not settled", quote)
        if self._may_match_other(row, span, others):
            return Decision(None, "the other timeline may have it in another row", quote)
        if may_be_stated(self._read(row), [self._read(o) for o in others], self.tolerance):
            return Decision(None, "the other timeline has a similar event in another row", quote)
        return Decision(row, "the note has it, and the other timeline does not have it", quote)

    def decide_duplicate(self, row: CandidateRow, pattern: CandidateRow) -> Decision:
        """Reject the copy if both rows have the same place in the note."""
        span = self.reading.spans.get(row.row)
        quote = self.reading.find_quote(span) if span else None
        if row.source.start is None or quote is None or self.reading.spans.get(pattern.row) != span:
            return Decision(None, "whether it happened twice is not settled", quote)
        return Decision(
            None,
            "the note has it once, at one place, and the timeline has it twice at one time",
            quote,
            rejected=True,
        )

    def is_unsupported(self, row: CandidateRow) -> bool:
        """Return whether neither note nor record has anything like the row.

        It has no place in the note, most of its words are not in the note, and its rarer words are
        not in the record.
        """
        if row.row in self.reading.spans:
            return False
        words = frozenset(w for w in content_words(row.event) if w.isalpha())
        if not words:
            return False
        unknown = {w for w in words if w not in self._note_words and w not in self._record_words}
        most = max((len(words & s) for _, s in self._sentence_words), default=0)
        return len(unknown) > len(words) / 2 and most <= max(_UNMENTIONED * len(words), 0)

    def is_detail(self, row: CandidateRow, others: Sequence[CandidateRow]) -> bool:
        """Return whether another row overlaps its place, at an equal time."""
        span = self.reading.spans.get(row.row)
        if span is None:
            return False
        places = ((o, self.reading.spans.get(o.row)) for o in others)
        return any(
            p is not None
            and p[0] < span[1]
            and span[0] < p[1]
            and self.tolerance.equal(row.time, o.time)
            for o, p in places
        )

    def _read(self, row: CandidateRow) -> Statement:
        if row.row not in self._statements:
            self._statements[row.row] = read_statement(row, self.reading)
        return self._statements[row.row]

    @cached_property
    def _independent(self) -> bool:
        """Return whether the judge's reading of the note is independent.

        It is not if a timeline was made by the same rules, or if it has the exact hours of one
        timeline clearly more often than those of the other.
        """
        shares = []
        for rows in (self.reading.given.a_rows, self.reading.given.b_rows):
            read = [
                (r.time, e.time)
                for r in rows
                if (e := self.reading.read_entry(r)) is not None and e.time is not None and r.time
            ]
            if len(read) >= _ENOUGH_ROWS:
                shares.append(sum(whole_hours(stated) == time for time, stated in read) / len(read))
        if any(s >= _SAME_READER for s in shares):
            return False
        return len(shares) < 2 or abs(shares[0] - shares[1]) <= _PARTIAL

    def _may_match_other(
        self, row: CandidateRow, span: Span, others: Sequence[CandidateRow]
    ) -> bool:
        """Return whether the other side may have it as another row.

        That row is at an equal time, in the same sentence or with similar words and no other
        number. Two sources word one event differently more often than a sentence has two events
        of one hour: "neo off", "phenylephrine stopped".
        """
        stated = numbers(row.event, also_times=False)
        start, end = self.reading.sentence(span)
        near = [o for o in others if self.tolerance.equal(row.time, o.time)]
        for other, distance in (
            zip(near, wording_distances([row.event], [o.event for o in near])[0], strict=True)
            if near
            else ()
        ):
            place = self.reading.spans.get(other.row)
            if place is not None and place[0] < end and start < place[1]:
                return True
            if distance < _ALIKE and not contradict(stated, numbers(other.event, also_times=False)):
                return True
        return False

    def _choose_by_note(
        self, one: CandidateRow, other: CandidateRow, entry: Entry | None
    ) -> CandidateRow | None:
        if entry is None or not entry.known or entry.time is None:
            return None
        fits = [self._agrees(r, entry) for r in (one, other)]
        if fits[0] == fits[1]:
            return None
        right, wrong = (one, other) if fits[0] else (other, one)
        return None if self._is_in_bounds(wrong, entry) else right

    def _agrees(self, row: CandidateRow, entry: Entry) -> bool:
        if row.time is None or entry.time is None:
            return False
        return self.tolerance.equal(row.time, round(entry.time))

    def _is_in_bounds(self, row: CandidateRow, entry: Entry) -> bool:
        """Return whether the bounds of the note's reading allow the time."""
        if row.time is None:
            return False
        low = entry.lower is None or row.time >= entry.lower - 1
        return low and (entry.upper is None or row.time <= entry.upper + 1)

    def _note_favours_other(
        self, right: CandidateRow, wrong: CandidateRow, entry: Entry | None
    ) -> bool:
        """Return whether the note's reading is nearer to the other row's time.

        The other time is the one that the record does not have.
        """
        if entry is None or entry.time is None or right.time is None:
            return entry is not None and entry.time is not None
        if wrong.time is None:
            return False
        return abs(right.time - entry.time) > abs(wrong.time - entry.time)


def _sort_rows(one: CandidateRow, other: CandidateRow) -> tuple[CandidateRow, CandidateRow]:
    """Order two rows without regard to labels.

    A row with its own place comes first, else the lower row number.
    """
    first, second = sorted((one, other), key=lambda r: (r.source.start is None, r.row))
    return first, second


def _recorded_row(
    one: CandidateRow, other: CandidateRow, first: RowSupport | None, second: RowSupport | None
) -> CandidateRow | None:
    """Return the row whose time the record has, None if neither or both.

    A row wins if the record does not have the other's time or has it clearly worse.
    """
    costs = [s.cost if s is not None else float("inf") for s in (first, second)]
    if min(costs) > _FITS or abs(costs[0] - costs[1]) < _CLEARLY:
        return None
    right, support = (one, first) if costs[0] < costs[1] else (other, second)
    return right if support is not None and support.only else None
