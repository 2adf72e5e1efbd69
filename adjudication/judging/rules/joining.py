"""Pair the rows that are left after pairing by words. No Django.

Two sources mark and word one event differently: "tired" within "PS trial, tired, back to full
support", "Kcentra given" beside "reversal agent". Before an event is called one-sided, it is sought
on the other side by place, concept and time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from adjudication.judging.input import CandidateRow
from adjudication.judging.rules.reading import CaseReading, Span
from adjudication.judging.rules.words import content_words, contradict, numbers
from adjudication.judging.validation import Tolerance
from timelines.backbones.rules.querying.vocabulary import vocabulary
from timelines.evaluation.matching import match_events
from timelines.evaluation.spans import span_iou

#: Least overlap (IoU) of the places of one statement, with any words. If words or time agree,
#: the least share of the shorter place within the longer one.
_SAME, _WITHIN = 0.4, 0.5
#: Least share of the fewer words that two rows of one event have in common.
_IN_COMMON = 0.5
#: Distances by what rows have in common: one place, a place within the other, a sentence, no place.
#: Words in common make it smaller by less than one step.
_AT_ONE_PLACE, _INSIDE, _IN_SENTENCE, _PLACELESS, _APART = 1.0, 2.0, 3.0, 4.0, 9.0


#: Where a source found the event, or which one of several it is: "(problem)", "(second mention)".
_REMARK = re.compile(r"\s*\([^()]*\)\s*$")


@dataclass(frozen=True, slots=True)
class Statement:
    """A row with its place, the sentence around it and its words and concepts."""

    row: CandidateRow
    place: Span | None
    sentence: Span | None
    words: frozenset[str]
    concepts: frozenset[str]

    @property
    def denied(self) -> bool:
        return self.row.source.polarity.denied


def read_statement(row: CandidateRow, reading: CaseReading) -> Statement:
    """Return the row as it is compared here."""
    place = reading.spans.get(row.row)
    words = _REMARK.sub("", row.source.event)
    return Statement(
        row,
        place,
        None if place is None else reading.sentence(place),
        content_words(words),
        frozenset(hit.concept.name for hit in vocabulary().find(words)),
    )


def join_rows(
    a: Sequence[Statement], b: Sequence[Statement], tolerance: Tolerance
) -> list[tuple[CandidateRow, CandidateRow]]:
    """Pair the closest first; each row is in one pair at most."""
    if not a or not b:
        return []
    distance = np.array([[_distance(one, other, tolerance) for other in b] for one in a])
    return [(a[i].row, b[j].row) for i, j in match_events(distance, _APART)]


def is_stated_within(
    one: Statement, others: Sequence[tuple[Statement, Statement | None]], tolerance: Tolerance
) -> bool:
    """Return whether a row of the other side also states the event.

    They overlap, at an equal time or with words in common, or are at an equal time in one sentence
    and the other row has all its words. `others` come with their partners: if the partner overlaps
    the event too, its own side has both.
    """
    for other, partner in others:
        apart = partner is not None and _overlaps(one, partner)
        if apart or one.denied != other.denied or _contradict(one, other):
            continue
        near = tolerance.equal(one.row.time, other.row.time)
        if _overlaps(one, other) and (near or _in_common(one, other) >= _IN_COMMON):
            return True
        if near and one.words and one.words <= other.words and _share_sentence(one, other):
            return True
    return False


def may_be_stated(one: Statement, others: Sequence[Statement], tolerance: Tolerance) -> bool:
    """Return whether the other side may have the event anywhere.

    Another row has all its words, or one of its concepts at an equal time.
    """
    for other in others:
        if one.denied != other.denied or _contradict(one, other):
            continue
        if one.words <= other.words or other.words <= one.words:
            return True
        if one.concepts & other.concepts and tolerance.equal(one.row.time, other.row.time):
            return True
    return False


def _distance(one: Statement, other: Statement, tolerance: Tolerance) -> float:
    common, near = _in_common(one, other), tolerance.equal(one.row.time, other.row.time)
    step = _APART
    if one.place is not None and other.place is not None:
        if span_iou(one.place, other.place) >= _SAME:
            step = _AT_ONE_PLACE
        elif one.denied != other.denied or _contradict(one, other):
            step = _APART
        elif _overlaps(one, other):
            step = _INSIDE
        elif near and common >= _IN_COMMON and _share_sentence(one, other):
            step = _IN_SENTENCE
    elif near and common >= _IN_COMMON and one.denied == other.denied:
        step = _APART if _contradict(one, other) else _PLACELESS
    return step if step == _APART else round(step - common / 2 - near / 4, 9)


def _overlaps(one: Statement, other: Statement) -> bool:
    """Return whether most of the shorter place is within the other."""
    if one.place is None or other.place is None:
        return False
    shared = min(one.place[1], other.place[1]) - max(one.place[0], other.place[0])
    return shared >= _WITHIN * min(p[1] - p[0] for p in (one.place, other.place)) and shared > 0


def _share_sentence(one: Statement, other: Statement) -> bool:
    return one.sentence is not None and one.sentence == other.sentence


def _in_common(one: Statement, other: Statement) -> float:
    """Return the share of the fewer words that both have.

    It is at least a half if they share a concept.
    """
    least = min(len(one.words), len(other.words))
    share = len(one.words & other.words) / least if least else 0.0
    return max(share, _IN_COMMON) if one.concepts & other.concepts else share


def _contradict(one: Statement, other: Statement) -> bool:
    return contradict(
        numbers(one.row.event, also_times=False), numbers(other.row.event, also_times=False)
    )
