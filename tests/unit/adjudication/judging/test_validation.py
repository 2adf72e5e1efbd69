"""Every rule of a finding, and swapped labels (protocol section 4).

Swapping changes nothing but the labels.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given as examples
from hypothesis import strategies as st

from adjudication.domain import Finding
from adjudication.judging.input import swap_labels
from adjudication.judging.quotes import locate_quote
from adjudication.judging.table_evidence import read_table_evidence
from adjudication.judging.validation import (
    FIXED_TOLERANCE,
    TOLERANCE,
    validate_finding,
    validate_findings,
)
from adjudication.scoring.errors import Category, charge
from llm_runtime.errors import AnswerRejected
from tests.unit.adjudication.judging.judge_games import (
    ANCHOR,
    NOTE,
    SERIES,
    find_row,
    game,
    make_good_findings,
    make_raw,
)

SUPPLIED = {s.event: s for s in SERIES}


@pytest.mark.parametrize("seed", range(4))
def test_valid_findings_pass_and_are_charged_to_the_same_timeline_whatever_its_label(
    seed: int,
) -> None:
    given = game(seed=seed)
    charges = []
    for judged in validate_findings(make_good_findings(given), given):
        found = charge(judged.finding)
        charges.append(found and ((found.side == "A") == given.a_is_first, found.category))
    assert charges == [
        (False, Category.WRONG_TIME),
        (False, Category.WRONG_VALUE),
        (True, Category.WRONG_TIME),
        (False, Category.MISSED_NEGATIVE),
        (False, Category.OVER_ANNOTATION),
        (True, Category.FALSE_DUPLICATE),
        None,
        None,
        None,
    ]


def test_no_findings_are_no_fault() -> None:
    assert validate_findings([], game()) == []


KINDS = ("TIMING", "VALUE", "FIRST_ONLY", "SECOND_ONLY", "SHARED_UNSUPPORTED", "DUPLICATE")


@examples(st.data(), st.integers(0, 50))
def test_swapping_a_and_b_with_all_labels_leaves_every_charge_the_same(
    data: st.DataObject, seed: int
) -> None:
    """A finding in a game and in its swapped twin has the same charge.

    An illegal finding is refused in both.
    """
    straight, twin = game(seed=seed), game(seed=seed, swap=True)
    firsts = [r for r in straight.by_row.values() if (r[0] == "A") == straight.a_is_first]
    seconds = [r for r in straight.by_row.values() if (r[0] == "A") != straight.a_is_first]
    first = data.draw(st.sampled_from([None, *(r for _, r in firsts)]))
    second = data.draw(st.sampled_from([None, *(r for _, r in seconds)]))
    kind, right = (
        data.draw(st.sampled_from(KINDS)),
        data.draw(st.sampled_from(["FIRST", "SECOND", "BOTH", "NEITHER", "UNCLEAR"])),
    )
    fields: dict[str, Any] = {
        "polarity": data.draw(st.sampled_from(["present", "absent"])),
        "grounding": data.draw(st.sampled_from(["NONE", "NOTE"])),
        "note_evidence": data.draw(
            st.sampled_from([None, "Denies chest pain.", "Denies chest  pain", "never said"])
        ),
    }
    outcomes: list[tuple[bool, Finding | None, object]] = []
    for given in (straight, twin):
        try:
            finding = validate_finding(
                make_raw(given, kind, first, second, right, **fields), given
            ).finding
            found = charge(finding)
            outcomes.append(
                (
                    given.a_is_first,
                    finding,
                    found and ((found.side == "A") == given.a_is_first, found.category),
                )
            )
        except AnswerRejected:
            outcomes.append((given.a_is_first, None, None))
    assert outcomes[0][2] == outcomes[1][2]
    one, other = outcomes[0][1], outcomes[1][1]
    assert (one is None) == (other is None)
    if one is not None and other is not None:
        assert swap_labels(one) == other
        assert swap_labels(other) == one


def faults(number: int = 0, **changes: Any) -> str:
    given = game()
    answers = {**make_good_findings(given)[number], **changes}
    with pytest.raises(AnswerRejected) as refused:
        validate_finding(answers, given)
    return "; ".join(refused.value.reasons)


@pytest.mark.parametrize(
    ("number", "changes", "reason"),
    [
        (0, {"type": "ORDER"}, "type is none of"),
        (0, {"type": ["TIMING"]}, "type is none of"),
        (0, {"verdict": "a"}, "verdict is none of"),
        (0, {"grounding": None}, "grounding is none of"),
        (0, {"polarity": None}, "polarity is none of"),
        (0, {"verdict": "A", "type": "SHARED_UNSUPPORTED"}, "needs the verdict NEITHER"),
        (3, {"verdict": "BOTH"}, "cannot have the verdict BOTH or NEITHER"),
        (3, {"verdict": "NEITHER"}, "cannot have the verdict BOTH or NEITHER"),
        (3, {"relation": None}, "one-sided findings need a relation"),
        (3, {"relation": "novel"}, "relation is neither null"),
        (0, {"relation": "novel_event"}, "one-sided findings need a relation"),
        (0, {"type": "DUPLICATE"}, "sides with a row"),
        (5, {"type": "VALUE"}, "sides with a row"),
        (0, {"reason": "  "}, "reason is not a text"),
        (0, {"reason": None}, "reason is not a text"),
        (0, {"a_time": None}, "not all of one row"),
        (0, {"a_time": -72.0}, "not all of one row"),
        (0, {"a_row": True}, "not all of one row"),
        (0, {"a_time": -71 * 9}, "a_time is not the time of row"),
        (0, {"a_event": "chills"}, "a_event is not the text of row"),
        (0, {"a_row": 99_999}, "no row of timeline A"),
        (0, {"note_evidence": "Fever for 3 days"}, "not copied word for word"),
        (0, {"note_evidence": "none found"}, "grounding NOTE needs note_evidence"),
        (0, {"grounding": "TABLE"}, "grounding TABLE needs table_evidence"),
        (0, {"grounding": "BOTH"}, "grounding BOTH needs table_evidence"),
        (0, {"grounding": "NONE"}, "grounding NONE goes with neither"),
        (1, {"grounding": "NONE"}, "grounding NONE goes with neither"),
        (
            1,
            {"table_evidence": "lab:lactate:: = 4.2 @ 0h"},
            "does not show that value at that time",
        ),
        (0, {"note_evidence": "a\x00b"}, "note_evidence is not a text"),
    ],
)
def test_each_rule_refuses_what_breaks_it(
    number: int, changes: dict[str, Any], reason: str
) -> None:
    assert reason in faults(number, **changes)


def test_a_row_of_the_other_timeline_is_no_row_of_this_one() -> None:
    given = game()
    answers = make_good_findings(given)[0]
    assert "no row of timeline" in faults(0, a_row=answers["b_row"])


@pytest.mark.parametrize("field", ["a_row", "table_evidence", "reason"])
def test_every_field_must_be_there_and_no_other(field: str) -> None:
    given = game()
    answers = make_good_findings(given)[0]
    with pytest.raises(AnswerRejected, match=f"missing {field}"):
        validate_finding({k: v for k, v in answers.items() if k != field}, given)
    with pytest.raises(AnswerRejected, match="1 keys that were not asked for"):
        validate_finding({**answers, "note": "Denies chest pain"}, given)


def test_an_answer_is_refused_whole_with_the_faults_of_each_finding_and_no_text_of_the_patient() -> (
    None
):
    given = game()
    answers = make_good_findings(given)
    answers[1] = {**answers[1], "a_event": "Denies chest pain"}
    answers[4] = {**answers[4], "note_evidence": "secret words"}
    with pytest.raises(AnswerRejected) as refused:
        validate_findings([*answers, answers[0], "[]"], given)
    reasons = "; ".join(refused.value.reasons)
    assert all(f"finding {n}:" in reasons for n in (2, 5, 10, 11))
    assert "reported twice" in reasons
    assert "not an object" in reasons
    assert not any(word in reasons for word in ("secret", "chest", "lactate"))


def test_identical_rows_resolve_by_their_numbers() -> None:
    given = game()
    first, second = (find_row(given, r"rash \| resolved", first=True, at=n) for n in (0, 1))
    answers = [make_raw(given, "DUPLICATE", r, None, "UNCLEAR") for r in (first, second)]
    rows = [
        j.finding.a_row if given.a_is_first else j.finding.b_row
        for j in validate_findings(answers, given)
    ]
    assert rows == [first.row, second.row]


def test_a_bar_and_quotation_marks_may_be_written_either_way() -> None:
    given = game()
    answers = make_good_findings(given)
    side = "a" if answers[5]["a_row"] is not None else "b"
    assert (
        validate_finding({**answers[5], f"{side}_event": "rash | resolved"}, given).finding.holder
        is not None
    )
    other = "b" if side == "a" else "a"
    kept = validate_finding({**answers[4], f"{other}_event": "pain 'worst ever'"}, given).finding
    assert getattr(kept, f"{other}_event") == 'pain "worst ever"'


def test_timing_within_the_tolerance_is_kept_flagged_and_charged() -> None:
    given = game()
    by_hours = [j.finding for j in validate_findings(make_good_findings(given), given)]
    assert [f.flagged for f in by_hours] == [
        False,
        False,
        True,
        False,
        False,
        False,
        False,
        False,
        False,
    ]
    assert charge(by_hours[2]) is not None


@pytest.mark.parametrize(
    ("first", "second", "equal", "fixed"),
    [
        (0, 2, True, True),
        (0, 3, False, False),
        (-2, 2, False, False),
        (100, 109, True, False),
        (-8760, -8700, True, False),
        (90, 100, False, False),
        (None, None, True, True),
        (None, 0, False, False),
    ],
)
def test_tolerance_is_strict_and_grows_with_the_distance_unless_fixed(
    first: int | None, second: int | None, equal: bool, fixed: bool
) -> None:
    assert TOLERANCE.equal(first, second) is equal
    assert TOLERANCE.equal(second, first) is equal
    assert FIXED_TOLERANCE.equal(first, second) is fixed


@pytest.mark.parametrize(
    ("quote", "words"),
    [
        ("Denies chest pain.", "Denies chest pain."),
        ("three days, 'the worst ever'", 'three days, "the worst ever"'),
        ("emergency room, then 2.0", "emergency room,\n  then 2.0"),
        ('  Patient"s rash ', "Patient’s rash"),
        ("denies chest pain", None),
        ("enies chest", None),
        ("hest pai", None),
        ("1 in the", "1 in the"),
        ("|", None),
        ("", None),
    ],
)
def test_a_quote_is_found_where_it_stands(quote: str, words: str | None) -> None:
    span = locate_quote(quote, NOTE)
    assert (span and NOTE[span[0] : span[1]]) == words


@pytest.mark.parametrize(
    ("cited", "series"),
    [
        ("lab:lactate:: = 4.1 mmol/L @ 0h", "lab:lactate::"),
        ("- lab:lactate:: = 4.10 @ +1h", "lab:lactate::"),
        ("lab:lactate:: = 2 @ 19", "lab:lactate::"),
        ("lab:lactate:: @ 18.5h", "lab:lactate::"),
        ("lab:lactate::: = 4.1 @ 0h", "lab:lactate::"),
        ("lab:lactate::: @ 0h", "lab:lactate::"),
        ("lab:lactate:::: = 4.1 @ 0h", None),
        ("lab:lactate:: = 4.1 @ 18h", None),
        ("lab:lactate:: = 4.1 @ NA", None),
        ("lab:lactate:: = 4.1 g @ 0h", None),
        ("lab:lactate = 4.1 @ 0h", None),
        ("lab:lactate:: = 4.1", None),
        ("lab lactate 4.1 at +0h from admission", None),
        ("chart:heart rate:: = 99 @ 19h", "chart:heart rate::"),
        ("chart:heart rate:: = 90 @ 10h", None),
        ("chart:pain present:: = yes @ 5h", "chart:pain present::"),
        ("chart:pain present:: = Yes @ 40h", None),
        ("chart:pain present:: = Maybe @ 5h", None),
        ("diagnosis:E = mc2: = sepsis @ NA", "diagnosis:E = mc2:"),
        ("diagnosis:E = mc2: @ N/A", "diagnosis:E = mc2:"),
        ("diagnosis:E = mc2: = sepsis @ 0h", None),
    ],
)
def test_a_cited_event_must_stand_in_a_summary_with_its_value_and_time(
    cited: str, series: str | None
) -> None:
    found = read_table_evidence(cited, SUPPLIED, ANCHOR)
    assert found.series == series
    assert bool(found.faults) == (series is None)


def test_none_found_and_null_are_kept_apart() -> None:
    assert read_table_evidence("None found", SUPPLIED, ANCHOR).text == "none found"
    assert read_table_evidence(None, SUPPLIED, ANCHOR).text is None
