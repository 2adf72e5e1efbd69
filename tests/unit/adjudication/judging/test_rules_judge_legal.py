"""Findings for any timelines are legal, and charges ignore the labels."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjudication.domain import Side
from adjudication.judging.answers import N_A, FindingAnswer
from adjudication.judging.input import (
    Candidate,
    Judged,
    JudgedFinding,
    JudgeInput,
    judge_input,
    swap_labels,
)
from adjudication.judging.rules.judge import RulesJudge
from adjudication.judging.validation import validate_findings
from adjudication.scoring.errors import Category, charge
from tests.unit.adjudication.judging.judge_games import ANCHOR, NOTE, SERIES
from tests.unit.adjudication.packets.planted_games import DEMO, QUALITY, game
from timelines.domain import Polarity, SourceRow

WORDS = [
    "fever",
    "Fever for three days",
    "lactate 4.1",
    "lactate 2.0",
    "lactate 4.0",
    "no chest pain",
    "rash | resolved",
    "snake bite",
    "—",
]
TIMES = (
    st.none()
    | st.sampled_from([-8760.0, -72.0, -0.5, 0.0, 0.4, 2.4, 2.5, 17.5, 19.0, 96.0])
    | st.floats(-200, 200)
)
PLACES = st.none() | st.tuples(st.integers(0, len(NOTE) - 1), st.integers(1, 60)).map(
    lambda p: (p[0], min(p[0] + p[1], len(NOTE)))
)


@st.composite
def candidate(draw: st.DrawFn) -> Candidate:
    place = draw(PLACES) or (None, None)
    uid, polarity = (
        draw(st.none() | st.sampled_from(["0001", "0002", "0003"])),
        draw(st.sampled_from(Polarity)),
    )
    return Candidate(
        event=draw(st.sampled_from(WORDS)),
        time=draw(TIMES),
        uid=uid,
        start=place[0],
        end=place[1],
        polarity=polarity,
    )


TIMELINES = st.lists(candidate(), max_size=6)
ROWS = [
    SourceRow(0, 0.5, "lab:lactate:blood", "4.1", "mmol/L", numeric_value=4.1),
    SourceRow(1, None, "diagnosis:fever:"),
]


def raw(judged: JudgedFinding) -> dict[str, Any]:
    """A finding as a judge would have written it."""
    finding = judged.finding
    fields = {name: getattr(finding, name) for name in FindingAnswer.model_fields}
    for side in ("a", "b"):
        if fields[f"{side}_row"] is not None and fields[f"{side}_time"] is None:
            fields[f"{side}_time"] = N_A
    return fields


def findings(given: JudgeInput) -> list[JudgedFinding]:
    found = RulesJudge().judge(given)
    assert isinstance(found, Judged)
    return list(found.findings)


def charges(given: JudgeInput) -> Counter[tuple[bool, Category]]:
    """(whether the first timeline is charged, for what)."""
    found = [charge(j.finding) for j in findings(given)]
    return Counter(
        ((c.side is Side.A) == given.a_is_first, c.category) for c in found if c is not None
    )


def assert_same_when_swapped(given: JudgeInput) -> None:
    swapped = given.swapped()
    assert charges(swapped) == charges(given)
    assert [swap_labels(j.finding) for j in findings(swapped)] == [
        j.finding for j in findings(given)
    ]


def assert_legal(given: JudgeInput) -> None:
    found = findings(given)
    again = validate_findings([raw(j) for j in found], given)
    assert [j.finding for j in again] == [j.finding for j in found]
    for judged in found:
        finding = judged.finding
        assert (
            not finding.verdict.decisive
            or finding.note_evidence is not None
            or finding.table_evidence is not None
        )
        if judged.note_span is not None:
            assert given.note[judged.note_span[0] : judged.note_span[1]] == finding.note_evidence


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(TIMELINES, TIMELINES, st.integers(0, 9))
def test_any_game_has_legal_findings_that_swapping_leaves_alone(
    first: list[Candidate], second: list[Candidate], seed: int
) -> None:
    given = judge_input(
        first, second, note=NOTE, anchor=ANCHOR, seed=seed, series=SERIES, rows=ROWS
    )
    assert_legal(given)
    assert_same_when_swapped(given)


@settings(max_examples=25, deadline=None)
@given(TIMELINES, st.integers(0, 9))
def test_a_timeline_against_itself_has_no_one_sided_charge(
    rows: list[Candidate], seed: int
) -> None:
    same = judge_input(rows, rows, note=NOTE, anchor=ANCHOR, seed=seed, series=SERIES, rows=ROWS)
    assert not charges(same)


def test_cases_on_disk_have_legal_findings_that_swapping_leaves_alone() -> None:
    for folder in (DEMO[0], QUALITY[0]):
        _, planted = game(folder, 3)
        assert_legal(planted)
        assert_same_when_swapped(planted)
