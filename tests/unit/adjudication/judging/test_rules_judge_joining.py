"""What two sources mark and word differently is not called one-sided."""

from __future__ import annotations

from datetime import datetime

import pytest

from adjudication.domain import Finding, FindingType, Verdict
from adjudication.judging.input import Candidate, Judged, judge_input
from adjudication.judging.rules.joining import Statement, join_rows, may_be_stated, read_statement
from adjudication.judging.rules.judge import RulesJudge
from adjudication.judging.rules.reading import CaseReading
from adjudication.judging.validation import TOLERANCE
from timelines.domain import Anchor

ANCHOR = Anchor(datetime(2180, 3, 4, 14, 30))
NOTE = (
    "- PS 5 trial HD5 noon, tired, back to full support.\n"
    "The reversal agent was given about an hour and a half after admission.\n"
    "# Fever: 100.8 that evening. No edema, no rash. She received four 10 mEq runs of potassium.\n"
    "Lactate 4.1, then 2.0.\n"
)


def row(words: str, event: str, time: float | None) -> Candidate:
    """A row whose place is that of `words`."""
    start = NOTE.index(words)
    return Candidate(event=event, time=time, start=start, end=start + len(words))


def judge(first: list[Candidate], second: list[Candidate], seed: int = 0) -> list[Finding]:
    found = RulesJudge().judge(judge_input(first, second, note=NOTE, anchor=ANCHOR, seed=seed))
    assert isinstance(found, Judged)
    return [j.finding for j in found.findings]


def read(*rows: Candidate) -> list[Statement]:
    given = judge_input(rows, [], note=NOTE, anchor=ANCHOR, seed=0)
    reading, sides = CaseReading(given), (*given.a_rows, *given.b_rows)
    return [read_statement(next(r for r in sides if r.source is c), reading) for c in rows]


TIRED = row("tired", "tired", 86.8)
TRIAL = row("PS 5 trial HD5 noon", "pressure support trial", 86.7)
LONGER = row("PS 5 trial HD5 noon, tired", "pressure support trial, tired", 86.7)
AGENT = row("reversal agent was given", "reversal agent given", 1.5)
SENTENCE = row(
    "The reversal agent was given about an hour and a half after admission",
    "reversal agent about an hour and a half after admission",
    1.5,
)


@pytest.mark.parametrize("seed", range(4))
def test_an_event_told_one_row_up_is_not_missing(seed: int) -> None:
    assert judge([TRIAL, TIRED], [LONGER], seed) == []


@pytest.mark.parametrize("seed", range(4))
def test_one_event_at_one_hour_is_not_only_in_either(seed: int) -> None:
    assert judge([AGENT], [SENTENCE], seed) == []
    assert judge([AGENT], [row("The reversal agent", "antidote", 1.6)], seed) == []


def test_one_place_at_two_times_is_a_difference_in_time() -> None:
    runs = row("four 10 mEq runs", "four potassium chloride runs", 22.4)
    other = row("received four 10 mEq runs of potassium", "KCl 10 mEq x4", 73.9)
    (finding,) = judge([runs], [other])
    assert finding.type is FindingType.TIMING


def test_words_elsewhere_in_the_sentence_at_an_equal_time_are_the_event() -> None:
    shorter = row("Lactate 4.1", "lactate", 1.0)
    assert judge([shorter], [row("then 2.0", "lactate falling", 2.0)]) == []
    apart = judge([shorter], [row("then 2.0", "lactate falling", 30.0)])
    assert [f.type.one_sided for f in apart] == [True, True]


def test_other_numbers_and_denials_are_other_events() -> None:
    first, second = read(row("Lactate 4.1", "lactate 4.1", 1.0), row("2.0", "lactate 2.0", 1.0))
    assert join_rows([first], [second], TOLERANCE) == []
    assert not may_be_stated(first, [second], TOLERANCE)
    (longer,) = read(row("Lactate 4.1, then", "lactate 4.1 first", 1.0))
    assert join_rows([first], [longer], TOLERANCE) == [(first.row, longer.row)]
    assert may_be_stated(first, [longer], TOLERANCE)


def test_a_second_row_of_one_side_at_a_place_is_not_told_by_the_other() -> None:
    again = row("reversal agent was given", "reversal agent given again", 9.0)
    found = judge([AGENT, again], [AGENT])
    assert [f.type.one_sided for f in found] == [True]


def test_a_heading_settles_nothing() -> None:
    (finding,) = judge([AGENT, row("Fever", "fever", 3.0)], [AGENT])
    assert (finding.type.one_sided, finding.verdict) == (True, Verdict.UNCLEAR)
    assert "heading" in finding.reason


@pytest.mark.parametrize(
    ("event", "clinical"),
    [
        ("potassium 3.4", True),
        ("no edema", True),
        ("one should go back to his blood counts", False),
        ("worth going back to the question of the antiplatelet drug", False),
    ],
)
def test_an_event_names_more_than_one_clinical_word_in_passing(event: str, clinical: bool) -> None:
    given = judge_input([Candidate(event=event, time=1.0)], [], note=NOTE, anchor=ANCHOR, seed=0)
    (judged,) = (*given.a_rows, *given.b_rows)
    assert CaseReading(given).is_clinical(judged) is clinical
