"""Recall and precision on planted discrepancies, counted by hand."""

from __future__ import annotations

from datetime import datetime

import pytest

from adjudication.domain import Finding, FindingType, Relation, Verdict
from adjudication.judging.input import Candidate, JudgedFinding, JudgeInput, judge_input
from adjudication.planting.recall import (
    Difference,
    Rates,
    overall,
    pool_tallies,
    rates,
    report,
    report_of_kinds,
    tally,
    verdicts,
)
from adjudication.planting.twins import Plant, PlantedChange, RowOwner
from timelines.domain import Anchor

ORIGINAL = [
    Candidate(event="fever", time=0, uid="0001"),
    Candidate(event="sodium 128", time=5, uid="0002"),
]
TWIN = [
    Candidate(event="fever", time=48, uid="0001"),
    Candidate(event="sodium 192", time=5, uid="0002"),
]
TWIN += [Candidate(event="snake bite", time=3, uid="0003")]
PLANTED = [
    PlantedChange(Plant.SHIFTED_BEYOND, frozenset({"0001"}), RowOwner.BOTH, 48.0),
    PlantedChange(Plant.VALUE_CHANGED, frozenset({"0002"}), RowOwner.BOTH, 0.5),
    PlantedChange(Plant.INVENTED, frozenset({"0003"}), RowOwner.TWIN),
]


def _game(seed: int) -> JudgeInput:
    return judge_input(
        ORIGINAL, TWIN, note="Fever.", anchor=Anchor(datetime(2120, 1, 1)), seed=seed
    )


def _finding(
    given: JudgeInput,
    kind: FindingType,
    original: str | None,
    twin: str | None,
    *,
    original_right: bool = False,
) -> JudgedFinding:
    """A finding about rows named by UID; the labels follow from the game."""
    first, second = (
        (given.a_rows, given.b_rows) if given.a_is_first else (given.b_rows, given.a_rows)
    )
    one, two = (
        next((r for r in first if r.uid == original), None),
        next((r for r in second if r.uid == twin), None),
    )
    a, b = (one, two) if given.a_is_first else (two, one)
    verdict = (Verdict.A if given.a_is_first else Verdict.B) if original_right else Verdict.UNCLEAR
    return JudgedFinding(
        Finding(
            type=kind,
            verdict=verdict,
            a_row=a.row if a else None,
            a_event=a.event if a else None,
            a_time=a.time if a else None,
            b_row=b.row if b else None,
            b_event=b.event if b else None,
            b_time=b.time if b else None,
            relation=Relation.NOVEL_EVENT if kind.one_sided else None,
        )
    )


@pytest.mark.parametrize("seed", range(4))
def test_each_difference_has_its_recall_and_precision(seed: int) -> None:
    given = _game(seed)
    twin_only = FindingType.B_ONLY if given.a_is_first else FindingType.A_ONLY
    findings = [
        _finding(given, FindingType.TIMING, "0001", "0001", original_right=True),
        _finding(given, FindingType.TIMING, "0002", "0002"),
        _finding(given, twin_only, None, "0003"),
    ]
    counts = tally(PLANTED, given, findings)
    table = {(r.difference, r.size): r for r in rates(counts)}
    timing = table[Difference.TIMING, ""]
    assert (timing.recall, timing.precision) == (1.0, 0.5)
    assert table[Difference.TIMING, "1 day to 1 week"] == Rates(
        Difference.TIMING, "1 day to 1 week", 1, 1, 1, 1
    )
    assert table[Difference.TIMING, "under 1 day"].recall is None
    assert (
        table[Difference.VALUE, "half or more"].recall,
        table[Difference.VALUE, ""].precision,
    ) == (0.0, None)
    assert (table[Difference.TWIN_ONLY, ""].recall, table[Difference.TWIN_ONLY, ""].precision) == (
        1.0,
        1.0,
    )
    assert counts.decided == counts.right == {Difference.TIMING: 1}


def test_a_difference_told_twice_is_true_once() -> None:
    given = _game(0)
    twice = [_finding(given, FindingType.VALUE, "0002", "0002")] * 2
    (value,) = [
        r
        for r in rates(tally(PLANTED, given, twice))
        if (r.difference, r.size) == (Difference.VALUE, "half or more")
    ]
    assert (value.planted, value.found, value.reported, value.true) == (1, 1, 2, 1)


def test_what_is_no_difference_must_not_be_found() -> None:
    given = _game(0)
    quiet = [
        PlantedChange(Plant.SHIFTED_WITHIN, frozenset({"0001"}), RowOwner.BOTH, 2.0),
        PlantedChange(Plant.MERGED, frozenset({"0002"}), RowOwner.BOTH),
    ]
    counts = tally(quiet, given, [_finding(given, FindingType.TIMING, "0001", "0001")])
    assert counts.kinds_found == {Plant.SHIFTED_WITHIN: 1}
    (timing, _) = rates(counts)
    assert (timing.planted, timing.recall, timing.precision) == (0, None, 0.0)


def test_games_are_pooled_by_adding_counts() -> None:
    given = _game(0)
    one = tally(PLANTED, given, [_finding(given, FindingType.VALUE, "0002", "0002")])
    none = tally(PLANTED, given, [])
    (value,) = [
        r
        for r in rates(pool_tallies([one, none]))
        if (r.difference, r.size) == (Difference.VALUE, "")
    ]
    assert (value.planted, value.found, value.recall, value.precision) == (2, 1, 0.5, 1.0)


def test_the_report_tells_rates_and_verdicts_in_words() -> None:
    given = _game(0)
    findings = [
        _finding(given, FindingType.TIMING, "0001", "0001", original_right=True),
        _finding(given, FindingType.TIMING, "0002", "0002"),
    ]
    counts = tally(PLANTED, given, findings)
    assert overall(counts) == (1 / 3, 0.5)
    (timing,) = verdicts(counts)
    assert (timing.decisive, timing.accuracy) == (1.0, 1.0)
    table = report(counts)
    assert {len(row) for row in table} == {len(table[0])}
    assert ("timing", "all", "1", "1", "1.000", "2", "1", "0.500", "1.000", "1.000") in table
    assert table[-1] == ("all", "all", "3", "1", "0.333", "2", "1", "0.500", "1.000", "1.000")
    assert overall(tally([], given, [])) == (None, None)


def test_each_kind_of_change_is_told_with_whether_it_should_have_been() -> None:
    given = _game(0)
    quiet = PlantedChange(Plant.SHIFTED_WITHIN, frozenset({"0002"}), RowOwner.BOTH, 1.0)
    counts = tally(
        [PLANTED[0], PLANTED[2], quiet],
        given,
        [
            _finding(given, kind, u, u)
            for kind, u in ((FindingType.TIMING, "0001"), (FindingType.TIMING, "0002"))
        ],
    )
    assert report_of_kinds(counts) == [
        ("change", "made", "reported", "expected"),
        ("shifted beyond the tolerance", "1", "1", "yes"),
        ("shifted within the tolerance", "1", "1", "no"),
        ("invented", "1", "0", "yes"),
    ]
