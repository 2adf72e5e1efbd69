"""Drawing by hand-made cohorts, and properties of every draw."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjudication.domain import FindingType, Verdict
from adjudication.sampling.drawing import (
    NO_QUOTA,
    OTHER_CASE,
    OTHER_PAIRING,
    QUOTAS,
    SAME_OCCURRENCE,
    Design,
    Eligible,
    EligibleFinding,
    Shortage,
    Stratum,
    draw,
    find_stratum,
    leans_to_a,
)

PAIRINGS = ("a | b", "a | c", "b | c")


def cohort(
    counts: dict[tuple[str, str, str], int], pairings: tuple[str, ...] = PAIRINGS
) -> Eligible:
    """Return eligible findings: (case, pairing, stratum) → how many.

    Every named case was judged in all `pairings`.
    """
    found = [
        EligibleFinding(f"{case}/{pairing}/{stratum}/{n}", case, pairing, stratum)
        for (case, pairing, stratum), count in counts.items()
        for n in range(count)
    ]
    return Eligible(tuple(found), {case: frozenset(pairings) for case, _, _ in counts})


def full(cases: int, each: int = 20) -> Eligible:
    return cohort(
        {(f"case{c:02d}", p, s): each for c in range(cases) for p in PAIRINGS for s in Stratum}
    )


@pytest.mark.parametrize(
    ("kind", "verdict", "stratum"),
    [
        ("TIMING", "A", "TIMING decisive"),
        ("TIMING", "B", "TIMING decisive"),
        ("TIMING", "UNCLEAR", "TIMING UNCLEAR"),
        ("TIMING", "BOTH", None),
        ("TIMING", "NEITHER", None),
        ("A_ONLY", "A", "one-sided"),
        ("B_ONLY", "UNCLEAR", "one-sided"),
        ("DUPLICATE", "B", "DUPLICATE"),
        ("VALUE", "BOTH", "VALUE"),
        ("SHARED_UNSUPPORTED", "NEITHER", None),
    ],
)
def test_each_finding_has_its_stratum_or_none(kind: str, verdict: str, stratum: str | None) -> None:
    assert find_stratum(FindingType(kind), Verdict(verdict)) == stratum


def test_the_published_design_draws_fifty_a_pairing_from_ten_cases() -> None:
    drawn = draw(full(25), Design(pairings=PAIRINGS), seed=20260904)
    assert len(drawn.items) == 150
    assert Counter((f.pairing, f.stratum) for f in drawn.items) == {
        (p, s): n for p in PAIRINGS for s, n in QUOTAS.items()
    }
    assert len(drawn.cases) == 10 == len({f.case for f in drawn.items})
    assert drawn.shortages == ()
    assert drawn.excluded == {OTHER_CASE: 15 * 3 * 5 * 20}


def test_cases_come_evenly_where_there_is_enough() -> None:
    drawn = draw(full(10), Design(pairings=PAIRINGS), seed=3)
    for pairing in PAIRINGS:
        assert set(Counter(f.case for f in drawn.items if f.pairing == pairing).values()) == {5}


def test_a_scarce_stratum_does_not_make_the_cases_uneven() -> None:
    """Case x has all three duplicates; y and z share the six others."""
    eligible = cohort(
        {
            ("x", "p", "DUPLICATE"): 3,
            ("x", "p", "VALUE"): 9,
            ("y", "p", "VALUE"): 9,
            ("z", "p", "VALUE"): 9,
        },
        ("p",),
    )
    drawn = draw(
        eligible, Design(pairings=("p",), quotas={"DUPLICATE": 3, "VALUE": 6}, cases=None), seed=1
    )
    assert Counter(f.case for f in drawn.items if f.stratum == "VALUE") == {"x": 2, "y": 2, "z": 2}
    assert Counter(f.case for f in drawn.items if f.stratum == "DUPLICATE") == {"x": 3}


def test_a_case_that_was_not_judged_in_all_pairings_is_not_drawn_from() -> None:
    eligible = full(2)
    partly = Eligible(
        eligible.findings, {"case00": frozenset(PAIRINGS), "case01": frozenset(PAIRINGS[:2])}
    )
    assert draw(partly, Design(pairings=PAIRINGS), seed=1).cases == ("case00",)
    assert draw(partly, Design(pairings=PAIRINGS[:2]), seed=1).cases == ("case00", "case01")


def test_a_shortage_is_told_and_redistributed_only_where_asked() -> None:
    eligible = cohort(
        {("x", "p", "VALUE"): 2, ("x", "p", "DUPLICATE"): 9, ("x", "p", "one-sided"): 1}, ("p",)
    )
    quotas = {"VALUE": 5, "DUPLICATE": 4, "one-sided": 1}
    plain = draw(eligible, Design(pairings=("p",), quotas=quotas), seed=1)
    assert Counter(f.stratum for f in plain.items) == {"VALUE": 2, "DUPLICATE": 4, "one-sided": 1}
    assert plain.shortages == (Shortage("p", "VALUE", wanted=5, available=2),)
    moved = draw(eligible, Design(pairings=("p",), quotas=quotas, redistribute=True), seed=1)
    assert Counter(f.stratum for f in moved.items) == {"VALUE": 2, "DUPLICATE": 7, "one-sided": 1}
    assert moved.shortages == (Shortage("p", "VALUE", wanted=5, available=2, redistributed=3),)


def test_what_cannot_be_redistributed_stays_short() -> None:
    eligible = cohort({("x", "p", "VALUE"): 2, ("x", "p", "DUPLICATE"): 5}, ("p",))
    drawn = draw(
        eligible,
        Design(pairings=("p",), quotas={"VALUE": 6, "DUPLICATE": 4}, redistribute=True),
        seed=1,
    )
    assert len(drawn.items) == 7
    assert drawn.shortages == (Shortage("p", "VALUE", wanted=6, available=2, redistributed=1),)


def test_what_is_outside_the_design_is_counted_with_its_reason() -> None:
    eligible = Eligible(
        (
            EligibleFinding("1", "x", "p", "VALUE"),
            EligibleFinding("2", "x", "q", "VALUE"),
            EligibleFinding("3", "x", "p", "DUPLICATE"),
        ),
        {"x": frozenset(("p", "q"))},
        {"unjudged": 4},
    )
    drawn = draw(eligible, Design(pairings=("p",), quotas={"VALUE": 1}), seed=1)
    assert [f.key for f in drawn.items] == ["1"]
    assert drawn.excluded == {"unjudged": 4, OTHER_PAIRING: 1, NO_QUOTA: 1}


def test_a_pairing_may_have_quotas_and_reviewers_of_its_own() -> None:
    design = Design(
        pairings=PAIRINGS, own_quotas={"a | c": {"VALUE": 2}}, own_per_item={"a | c": 2}
    )
    drawn = draw(full(10), design, seed=1)
    assert Counter(f.pairing for f in drawn.items) == {"a | b": 50, "a | c": 2, "b | c": 50}
    assert (design.count_reviewers("a | c"), design.count_reviewers("a | b")) == (2, 1)
    assert Design.from_plain(design.plain()) == design


@pytest.mark.parametrize(
    "wrong",
    [
        {"pairings": ()},
        {"pairings": ("p", "p")},
        {"pairings": ("p",), "quotas": {"TIMING": 1}},
        {"pairings": ("p",), "quotas": {"VALUE": -1}},
        {"pairings": ("p",), "own_quotas": {"q": {"VALUE": 1}}},
        {"pairings": ("p",), "cases": 0},
        {"pairings": ("p",), "per_item": 0},
    ],
)
def test_a_design_that_cannot_be_drawn_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        Design(**wrong)  # type: ignore[arg-type]


counts = st.dictionaries(
    st.tuples(
        st.sampled_from(["u", "v", "w", "x", "y"]),
        st.sampled_from(PAIRINGS),
        st.sampled_from(list(map(str, Stratum))),
    ),
    st.integers(0, 6),
    min_size=1,
)
quotas = st.dictionaries(st.sampled_from(list(map(str, Stratum))), st.integers(0, 8))


@settings(max_examples=150, deadline=None)
@given(
    counts,
    quotas,
    st.booleans(),
    st.one_of(st.none(), st.integers(1, 5)),
    st.integers(0, 2**40),
    st.randoms(use_true_random=False),
)
def test_what_holds_of_every_draw(
    amounts: dict[tuple[str, str, str], int],
    wanted: dict[str, int],
    redistribute: bool,
    cases: int | None,
    seed: int,
    order: random.Random,
) -> None:
    eligible = cohort(amounts)
    design = Design(pairings=PAIRINGS, quotas=wanted, redistribute=redistribute, cases=cases)
    drawn = draw(eligible, design, seed)
    mixed = list(eligible.findings)
    order.shuffle(mixed)
    judged = dict(reversed(list(eligible.judged.items())))
    # the order of what comes in changes nothing
    assert draw(Eligible(tuple(mixed), judged), design, seed) == drawn
    assert len({f.key for f in drawn.items}) == len(drawn.items)  # no finding twice
    assert {f.case for f in drawn.items} <= set(drawn.cases)
    if cases is not None:
        assert len(drawn.cases) <= cases
    got = Counter((f.pairing, f.stratum) for f in drawn.items)
    there = Counter((f.pairing, f.stratum) for f in eligible.findings if f.case in drawn.cases)
    short = {(s.pairing, s.stratum): s for s in drawn.shortages}
    for pairing in PAIRINGS:
        for stratum, quota in design.find_quotas(pairing).items():
            place = (pairing, stratum)
            assert got[place] >= min(quota, there[place])  # quotas bind
            assert (place in short) == (there[place] < quota)
            if not redistribute:
                assert got[place] == min(quota, there[place])
        assert sum(n for (p, _), n in got.items() if p == pairing) <= sum(
            design.find_quotas(pairing).values()
        )


def test_no_occurrence_comes_twice_and_no_pairing_takes_them_all() -> None:
    """The same row against two opponents; places may overlap."""
    found = [
        EligibleFinding(f"{pairing}{n}", "x", pairing, "VALUE", ((n * 10, n * 10 + 5 + wide),))
        for pairing, wide in (("a | b", 0), ("a | c", 3))
        for n in range(4)
    ]
    eligible = Eligible(tuple(found), {"x": frozenset(("a | b", "a | c"))})
    drawn = draw(eligible, Design(pairings=("a | b", "a | c"), quotas={"VALUE": 3}), seed=1)
    assert Counter(f.pairing for f in drawn.items) == {"a | b": 2, "a | c": 2}
    assert len({f.key[-1] for f in drawn.items}) == 4
    assert drawn.shortages == (
        Shortage("a | b", "VALUE", wanted=3, available=2),
        Shortage("a | c", "VALUE", wanted=3, available=2),
    )
    assert drawn.excluded == {SAME_OCCURRENCE: 4}


def test_rows_without_a_place_are_known_by_their_words_in_their_case() -> None:
    found = [
        EligibleFinding("1", "x", "p", "VALUE", ("fever",)),
        EligibleFinding("2", "x", "p", "VALUE", ("fever", (0, 5))),
        EligibleFinding("3", "y", "p", "VALUE", ("fever",)),
        EligibleFinding("4", "y", "p", "VALUE", ((5, 9), "rash")),
    ]
    judged = {case: frozenset(("p",)) for case in "xy"}
    drawn = draw(Eligible(tuple(found), judged), Design(pairings=("p",), quotas={"VALUE": 9}), 1)
    assert Counter(f.case for f in drawn.items) == {"x": 1, "y": 2}


def test_sources_come_evenly_with_the_later_time() -> None:
    """Eight of ten have the first source later; two of each are drawn."""
    found = [EligibleFinding(str(n), "x", "p", "VALUE", (), leans_first=n < 8) for n in range(10)]
    eligible = Eligible(tuple(found), {"x": frozenset(("p",))})
    for seed in range(5):
        drawn = draw(eligible, Design(pairings=("p",), quotas={"VALUE": 4}), seed)
        assert Counter(f.leans_first for f in drawn.items) == {True: 2, False: 2}
    drawn = draw(eligible, Design(pairings=("p",), quotas={"VALUE": 7}), 1)
    assert Counter(f.leans_first for f in drawn.items) == {True: 5, False: 2}, "quotas bind"


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ((True, 3), (False, None), True),
        ((False, None), (True, None), False),
        ((True, 3), (True, 2), True),
        ((True, 2), (True, 3), False),
        ((True, 2), (True, 2), None),
        ((True, None), (True, 2), None),
    ],
)
def test_which_source_a_finding_leans_to(
    a: tuple[bool, int | None], b: tuple[bool, int | None], expected: bool | None
) -> None:
    assert leans_to_a(*a, *b) is expected
