"""Note and record of a game, read by the rules backbone. No Django.

Times are hours from admission. The note is read, not a timeline, so the result does not depend on
which timeline is called A.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from adjudication.judging.input import CandidateRow, JudgeInput
from adjudication.judging.quotes import locate_quote
from adjudication.judging.rules.words import content_words
from adjudication.judging.table_evidence import read_table_evidence
from timelines.backbones.rules.querying.reading import Reading, read_note
from timelines.backbones.rules.querying.vocabulary import vocabulary
from timelines.backbones.rules.revision.judge import Judge as RowJudge
from timelines.backbones.rules.revision.judge import Verdict as RowVerdict
from timelines.backbones.rules.tagging.lexicon import Concept, find_terms
from timelines.backbones.rules.tagging.polarity import find_polarity
from timelines.backbones.rules.tagging.tokens import tokenize
from timelines.backbones.rules.text import Analysis, analyse
from timelines.backbones.rules.timing.timer import RuleTimer
from timelines.domain import (
    Anchor,
    Entry,
    Inventory,
    Occurrence,
    Polarity,
    SourceRow,
    TaggedNote,
    Timeline,
)

Span = tuple[int, int]

#: Hours around a time in which a row records it: charting is rounded.
ROW_HOURS = 1.0
#: Longest sentence, in characters, quoted whole; from longer ones only the event's words.
_QUOTE_LENGTH = 300
#: Rows whose cost is higher by at most this fit equally well.
_AS_WELL = 0.1
#: An event names something clinical with more than this share of its words.
_CLINICAL = 1 / 3
#: What may precede a heading in its line, and what follows it.
_HEADING, _HEADING_END = re.compile(r"\s*(?:[#*-]+\s*|\d+[.)]\s*)*"), re.compile(r"\s*(?::|/|$)")
_CLAUSE_END = re.compile(r"[.;:,()\n]|\b(?:and|but|however|although|except)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RowSupport:
    """A row of the record for the same occurrence.

    `cost` is as in the rules backbone (0 fits perfectly). `only`: no other moment of its series
    fits as well. `cited`: the row as table evidence, None if no supplied summary shows it.
    """

    row: SourceRow
    cost: float
    reason: str
    only: bool
    cited: str | None


class CaseReading:
    """Note and record of one game. Raises nothing.

    Rows that cannot be read have no place, no entry and no support.
    """

    def __init__(self, given: JudgeInput) -> None:
        self.given = given
        self._rows = sorted(
            (r for r in given.rows if r.time is not None),
            key=lambda r: (r.time or 0.0, r.row_index),
        )
        self._times = [r.time or 0.0 for r in self._rows]

    @cached_property
    def spans(self) -> Mapping[int, Span]:
        """Map a row number to its place in the note.

        A row without one gets the first place of its exact words.
        """
        found = {}
        for row in (*self.given.a_rows, *self.given.b_rows):
            start, end = row.source.start, row.source.end
            if start is not None and end is not None and 0 <= start < end <= len(self.given.note):
                found[row.row] = (start, end)
            elif (start is None or end is None) and (
                place := locate_quote(row.source.event, self.given.note)
            ) is not None:
                found[row.row] = place
        return found

    def sentence(self, span: Span) -> Span:
        """Return the sentence around a span, without the white space around it."""
        sentence = self._analysis.sentence_at(span[0])
        start, end = (sentence.start, max(sentence.end, span[1])) if sentence is not None else span
        text = self.given.note[start:end]
        return start + len(text) - len(text.lstrip()), start + len(text.rstrip())

    @property
    def sentences(self) -> list[Span]:
        return [(s.start, s.end) for s in self._analysis.sentences]

    def find_quote(self, span: Span) -> Span | None:
        """Return the text to quote for a span; None without a letter or digit.

        It is the span's sentence, or the whole words of the span if the sentence is long.
        """
        note = self.given.note
        start, end = self.sentence(span)
        if end - start > _QUOTE_LENGTH:
            start, end = span
            while start > 0 and note[start - 1].isalnum() and note[start].isalnum():
                start -= 1
            while end < len(note) and note[end - 1].isalnum() and note[end].isalnum():
                end += 1
        return (start, end) if locate_quote(note[start:end], note) is not None else None

    def read_entry(self, row: CandidateRow) -> Entry | None:
        """Return the time that the note alone gives; None without a place."""
        uid = self._uids_by_span.get(self.spans.get(row.row, (-1, -1)))
        return None if uid is None else self._timeline.by_uid[uid]

    def support(self, row: CandidateRow, time: float | None) -> RowSupport | None:
        """Return the best row of the record within an hour of `time`, else None.

        The row is for the same occurrence.
        """
        uid = self._uids_by_span.get(self.spans.get(row.row, (-1, -1)))
        if uid is None or time is None:
            return None
        near = self._rows[
            bisect_left(self._times, time - ROW_HOURS) : bisect_right(self._times, time + ROW_HOURS)
        ]
        # No bounds: compare a row with the words of the occurrence, not with a time of either
        # timeline.
        found: list[RowVerdict] = self._row_judge.verdicts(
            self._readings[uid], Entry(uid, None), near
        )
        if not found:
            return None
        best = min(
            found,
            key=lambda v: (round(v.cost, 6), abs((v.row.time or 0.0) - time), v.row.row_index),
        )
        series = self._row_judge.verdicts(
            self._readings[uid], Entry(uid, None), self._rows_by_event[best.row.event]
        )
        like = [
            v.row.time for v in series if v.cost <= best.cost + _AS_WELL and v.row.time is not None
        ]
        only = max(like) - min(like) <= ROW_HOURS
        return RowSupport(best.row, best.cost, best.reason, only, cite_row(best.row, self.given))

    def is_clinical(self, row: CandidateRow) -> bool:
        """Return whether enough of its words name something clinical.

        That is a subject that the record could have, or a term of the lexicon other than a place.
        "One should go back to his blood counts" names one in passing.
        """
        event = row.source.event
        tokens = tokenize(event)
        places = [(h.start, h.end) for h in vocabulary().find(event)]
        places += [
            (tokens[t.first].start, tokens[t.last - 1].end)
            for t in find_terms(tokens)
            if t.concept is not Concept.PLACE
        ]
        named = content_words(" ".join(event[start:end] for start, end in places))
        return len(named) > _CLINICAL * len(content_words(event))

    def is_heading(self, span: Span) -> bool:
        """Return whether a place is a heading: "# Fever", "VENT"."""
        note = self.given.note
        line = note[note.rfind("\n", 0, span[0]) + 1 : span[0]]
        after = note[span[1] :].split("\n", 1)[0]
        return _HEADING.fullmatch(line) is not None and _HEADING_END.match(after) is not None

    def polarity(self, span: Span) -> Polarity | None:
        """Return whether the note affirms or denies the event at a place.

        Absent if the place or its clause denies it, present if nothing before it in its sentence
        denies it, else None.
        """
        before = self.given.note[self.sentence(span)[0] : span[0]]
        own = _CLAUSE_END.split(before)[-1] + self.given.note[span[0] : span[1]]
        if find_polarity(own) is Polarity.ABSENT:
            return Polarity.ABSENT
        return Polarity.PRESENT if find_polarity(before) is Polarity.PRESENT else None

    @cached_property
    def _rows_by_event(self) -> dict[str, list[SourceRow]]:
        series: dict[str, list[SourceRow]] = defaultdict(list)
        for row in self._rows:
            series[row.event].append(row)
        return series

    @cached_property
    def _analysis(self) -> Analysis:
        return analyse(self.given.note)

    @cached_property
    def _tagged_note(self) -> TaggedNote:
        """The note tagged with every place of either timeline once.

        If two wordings share a place, the one that sorts first is used.
        """
        wording: dict[Span, CandidateRow] = {}
        for row in sorted(
            (*self.given.a_rows, *self.given.b_rows),
            key=lambda r: (r.event, r.source.polarity, r.row),
        ):
            if row.row in self.spans:
                wording.setdefault(self.spans[row.row], row)
        occurrences = [
            Occurrence(
                f"{i:04x}",
                i,
                wording[span].source.event.strip() or "-",
                *span,
                polarity=wording[span].source.polarity,
            )
            for i, span in enumerate(sorted(wording))
        ]
        return TaggedNote(self.given.note, Inventory(tuple(occurrences)))

    @cached_property
    def _uids_by_span(self) -> dict[Span, str]:
        return {
            (o.start, o.end): o.uid
            for o in self._tagged_note.inventory
            if o.start is not None and o.end is not None
        }

    @cached_property
    def _timeline(self) -> Timeline:
        return RuleTimer().infer(self._tagged_note, self.given.anchor)

    @cached_property
    def _readings(self) -> dict[str, Reading]:
        return read_note(self._tagged_note)

    @cached_property
    def _row_judge(self) -> RowJudge:
        return RowJudge(self._rows)


def cite_row(row: SourceRow, given: JudgeInput) -> str | None:
    """Return the row as table evidence, `<type> = <value> @ <hours>`.

    None if no supplied summary shows it.
    """
    name = " ".join(row.event.split())
    value = " ".join(row.value.split())
    when = _hours(row.time, given.anchor)
    for what in (f"{name} = {value}", name) if value else (name,):
        text = f"{what} @ {when}"
        if read_table_evidence(text, given.by_series, given.anchor).series is not None:
            return text
    return None


def _hours(time: float | None, anchor: Anchor) -> str:
    if time is None:
        return "NA"
    return f"{round(time, 2):+g}h" if abs(time) < 10_000 else f"{round(time):+d}h"
