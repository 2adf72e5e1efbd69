"""Every valid finding fits the schema of a judge's answer.

Invalid values that the schema can refuse never reach the validator.
"""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from adjudication.domain import FindingType, Verdict
from adjudication.judging.input import JudgeInput, judge_input
from adjudication.judging.prompted.answer_schema import answer_schema
from tests.unit.adjudication.judging.judge_games import (
    ANCHOR,
    FIRST,
    NOTE,
    game,
    make_good_findings,
)

GIVEN = game()


def fits(findings: list[dict[str, Any]], given: JudgeInput = GIVEN, thinking: int = 0) -> bool:
    answer = {"reasoning": "r", "findings": findings} if thinking else {"findings": findings}
    return bool(
        Draft202012Validator(answer_schema(given, thinking)).is_valid(
            json.loads(json.dumps(answer))
        )
    )


@pytest.mark.parametrize("thinking", [0, 500])
@pytest.mark.parametrize("given", [GIVEN, GIVEN.swapped(), game(seed=4)])
def test_valid_findings_fit(given: JudgeInput, thinking: int) -> None:
    Draft202012Validator.check_schema(answer_schema(given, thinking))
    assert fits(make_good_findings(given), given, thinking)
    assert fits([], given, thinking)


def test_rows_words_and_times_are_those_of_their_own_side() -> None:
    good = next(f for f in make_good_findings(GIVEN) if f["type"] == "TIMING")
    other = next(r for r in GIVEN.b_rows if r.event not in {a.event for a in GIVEN.a_rows})
    for fault in (
        {"a_row": 1},
        {"a_row": other.row},
        {"a_event": other.event},
        {"b_time": 5_000},
        {"a_time": None},
        {"a_event": "fever "},
    ):
        assert not fits([{**good, **fault}])


def test_each_type_has_the_sides_verdicts_and_relations_that_are_legal_for_it() -> None:
    a, b = GIVEN.a_rows[0], GIVEN.b_rows[0]
    base = {
        **make_good_findings(GIVEN)[0],
        "note_evidence": None,
        "table_evidence": None,
        "grounding": "NONE",
    }
    count = 0
    for kind, verdict, relation, has_a, has_b in product(
        FindingType, Verdict, ("novel_event", None), (True, False), (True, False)
    ):
        one_sided = kind in ("A_ONLY", "B_ONLY")
        sides = {
            "A_ONLY": (has_a and not has_b),
            "B_ONLY": has_b and not has_a,
            "DUPLICATE": has_a != has_b,
        }.get(kind, has_a and has_b)
        legal = sides and one_sided == (relation is not None)
        legal &= not (one_sided and verdict in ("BOTH", "NEITHER")) and (
            kind != "SHARED_UNSUPPORTED" or verdict == "NEITHER"
        )
        rows: dict[str, object] = {
            f"{s}_{part}": None for s in "ab" for part in ("row", "event", "time")
        }
        rows |= {"a_row": a.row, "a_event": a.event, "a_time": a.time} if has_a else {}
        rows |= {"b_row": b.row, "b_event": b.event, "b_time": b.time} if has_b else {}
        assert (
            fits([{**base, **rows, "type": kind, "verdict": verdict, "relation": relation}])
            is legal
        )
        count += legal
    assert count == 5 + 5 + 1 + 3 + 3 + 2 * 5


def test_no_field_may_be_missing_added_or_of_another_kind() -> None:
    good = make_good_findings(GIVEN)[0]
    assert not any(fits([{k: v for k, v in good.items() if k != name}]) for name in good)
    for fault in (
        {"extra": 1},
        {"reason": ""},
        {"note_evidence": 4},
        {"polarity": None},
    ):
        assert not fits([{**good, **fault}])


def test_no_text_of_a_finding_has_a_greatest_length() -> None:
    """A grammar that ends a sentence cuts it in the middle of a word."""
    assert '"maxLength"' not in json.dumps(answer_schema(GIVEN, 1))
    good = make_good_findings(GIVEN)[0]
    assert fits([{**good, "reason": "the summary dates it. " * 100}])


def test_a_timeline_without_rows_has_no_findings_of_its_own() -> None:
    one_empty = judge_input(FIRST, (), note=NOTE, anchor=ANCHOR, seed=1)
    side, rows = ("A", one_empty.a_rows) if one_empty.a_rows else ("B", one_empty.b_rows)
    shapes = answer_schema(one_empty, 0)["properties"]["findings"]["items"]["anyOf"]
    assert rows
    assert [shape["properties"]["type"]["enum"] for shape in shapes] == [
        [f"{side}_ONLY"],
        ["DUPLICATE"],
    ]
    both_empty = judge_input((), (), note=NOTE, anchor=ANCHOR, seed=1)
    assert fits([], both_empty)
    assert not fits(make_good_findings(GIVEN)[:1], both_empty)
