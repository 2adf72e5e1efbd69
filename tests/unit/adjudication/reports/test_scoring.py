"""Charging, shares, ratings, intervals and agreement.

They are compared with figures by hand, a direct optimiser, and published figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, root

from adjudication.domain import (
    Finding,
    FindingPolarity,
    FindingType,
    IllegalFinding,
    Relation,
    Side,
    Verdict,
)
from adjudication.scoring import bradley_terry, resampling
from adjudication.scoring.agreement import cohen_kappa, pabak, raw_agreement
from adjudication.scoring.bradley_terry import (
    Undetermined,
    bootstrap_ratings,
    interval,
    ratings,
)
from adjudication.scoring.errors import WEIGHTS, Category, charge
from adjudication.scoring.fitting import Pairs, strengths
from adjudication.scoring.intervals import standardise_rate, wilson_interval
from adjudication.scoring.shares import mean_shares, pool_shares, share
from adjudication.study_report.published import load_published

PUBLISHED: Mapping[str, Any] = load_published()


def finding(
    kind: FindingType,
    verdict: Verdict,
    polarity: FindingPolarity = FindingPolarity.PRESENT,
    holder: Side = Side.A,
) -> Finding:
    both = kind in (FindingType.VALUE, FindingType.TIMING, FindingType.SHARED_UNSUPPORTED)
    on_a = (
        both or kind is FindingType.A_ONLY or (kind is FindingType.DUPLICATE and holder is Side.A)
    )
    on_b = both or not on_a
    return Finding(
        type=kind,
        verdict=verdict,
        polarity=polarity,
        a_event="fever" if on_a else None,
        a_time=0 if on_a else None,
        b_event="fever" if on_b else None,
        b_time=9 if on_b else None,
        relation=Relation.NOVEL_EVENT if kind.one_sided else None,
    )


def legal_findings() -> list[Finding]:
    found = []
    for kind, verdict, polarity, holder in product(FindingType, Verdict, FindingPolarity, Side):
        try:
            found.append(finding(kind, verdict, polarity, holder))
        except IllegalFinding:
            continue
    return found


def swap(f: Finding) -> Finding:
    other = {FindingType.A_ONLY: FindingType.B_ONLY, FindingType.B_ONLY: FindingType.A_ONLY}
    verdicts = {Verdict.A: Verdict.B, Verdict.B: Verdict.A}
    return replace(
        f, type=other.get(f.type, f.type), verdict=verdicts.get(f.verdict, f.verdict),
        a_event=f.b_event, b_event=f.a_event, a_time=f.b_time, b_time=f.a_time,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "verdict", "polarity", "holder", "side", "category"),
    [
        ("A_ONLY", "B", "present", "A", "A", "over_annotation"),
        ("A_ONLY", "A", "present", "A", "B", "missed_positive"),
        ("A_ONLY", "A", "absent", "A", "B", "missed_negative"),
        ("B_ONLY", "A", "absent", "B", "B", "over_annotation"),
        ("B_ONLY", "B", "present", "B", "A", "missed_positive"),
        ("DUPLICATE", "B", "present", "A", "A", "false_duplicate"),
        ("DUPLICATE", "A", "present", "A", "B", "missed_recurrence"),
        ("DUPLICATE", "A", "present", "B", "B", "false_duplicate"),
        ("TIMING", "A", "present", "A", "B", "wrong_time"),
        ("TIMING", "B", "absent", "A", "A", "wrong_time"),
        ("VALUE", "A", "present", "A", "B", "wrong_value"),
    ],
)
def test_each_decisive_finding_is_one_error_of_one_side(
    kind, verdict, polarity, holder, side, category
) -> None:
    found = charge(
        finding(FindingType(kind), Verdict(verdict), FindingPolarity(polarity), Side(holder))
    )
    assert found is not None
    assert (found.side, found.category) == (Side(side), Category(category))


def test_only_decisive_verdicts_are_charged() -> None:
    for f in legal_findings():
        assert (charge(f) is not None) == (f.verdict in (Verdict.A, Verdict.B)), f


def test_swapping_the_labels_changes_no_charge() -> None:
    for f in legal_findings():
        one, two = charge(f), charge(swap(f))
        assert (one is None) == (two is None)
        if one is not None and two is not None:
            assert (one.side.other, one.category) == (two.side, two.category)


@pytest.mark.parametrize(
    ("kind", "verdict"),
    [
        ("A_ONLY", "BOTH"),
        ("B_ONLY", "NEITHER"),
        ("SHARED_UNSUPPORTED", "A"),
        ("SHARED_UNSUPPORTED", "UNCLEAR"),
    ],
)
def test_illegal_pairs_cannot_be_built(kind: str, verdict: str) -> None:
    with pytest.raises(IllegalFinding):
        finding(FindingType(kind), Verdict(verdict))


def test_a_duplicate_fills_exactly_one_side_and_relation_belongs_to_one_sided_findings() -> None:
    with pytest.raises(IllegalFinding, match="sides"):
        Finding(type=FindingType.DUPLICATE, verdict=Verdict.A, a_event="x", b_event="x")
    with pytest.raises(IllegalFinding, match="relation"):
        Finding(type=FindingType.A_ONLY, verdict=Verdict.A, a_event="x")
    with pytest.raises(IllegalFinding, match="b_time has no"):
        Finding(
            type=FindingType.A_ONLY,
            verdict=Verdict.A,
            a_event="x",
            b_time=3,
            relation=Relation.ADDED_DETAIL,
        )


# Shares


def test_a_share_is_what_the_other_side_is_charged() -> None:
    assert share(1, 3) == 0.75
    assert share(0, 0) == 0.5
    assert share(2, 0) == 0.0
    with pytest.raises(ValueError):
        share(-1, 0)


@given(st.floats(0, allow_infinity=False), st.floats(0, allow_infinity=False))
@example(1e308, 1e308)
def test_the_shares_of_a_game_add_up_to_one(a: float, b: float) -> None:
    assert share(a, b) + share(b, a) == pytest.approx(1.0)


def test_mean_shares_include_draws_and_leave_out_who_never_played() -> None:
    found = mean_shares([0, 0], [1, 1], [0.5, 1.0], 3)
    assert list(found[:2]) == [0.75, 0.25]
    assert np.isnan(found[2])


def test_a_controlled_share_pools_points_and_counts_empty_games_apart() -> None:
    # charged to the first: 1, 0, 2, 3; to the second: 3, 0, 2, 0 → points 11, the first earned 5
    found = pool_shares([1, 0, 2, 3], [3, 0, 2, 0])
    assert (found.cases, found.empty, found.points, found.wins, found.losses, found.ties) == (
        4,
        1,
        11.0,
        1,
        1,
        1,
    )
    assert found.share == pytest.approx(5 / 11)
    assert not found.separated
    assert pool_shares([0, 0], [4, 2]).separated
    assert pool_shares([0], [0]).share is None
    assert pool_shares([], []).cases == 0


# Ratings


def games(
    rng: np.random.Generator, n: int, count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    first = rng.integers(0, n, count)
    second = (first + rng.integers(1, n, count)) % n
    return first, second, rng.uniform(0.02, 0.98, count), rng.integers(0, 7, count)


def optimise(first: np.ndarray, second: np.ndarray, s: np.ndarray, n: int) -> np.ndarray:
    """Return the same maximum by a general optimiser.

    It works on the log-likelihood, with the first source at 0.
    """

    def parts(free: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x = np.concatenate([[0.0], free])
        return x, x[first] - x[second]

    def loss(free: np.ndarray) -> float:
        _, d = parts(free)
        return float((s * np.logaddexp(0, -d) + (1 - s) * np.logaddexp(0, d)).sum())

    def slope(free: np.ndarray) -> np.ndarray:
        _, d = parts(free)
        surplus = 1 / (1 + np.exp(-d)) - s
        return np.asarray((np.bincount(first, surplus, n) - np.bincount(second, surplus, n))[1:])

    # The optimiser comes near; the root of its slope is then as exact as numbers are.
    near = minimize(loss, np.zeros(n - 1), jac=slope, method="BFGS").x
    x, _ = parts(root(slope, near, tol=1e-14).x)
    found: np.ndarray = 1500 + 400 / np.log(10) * (x - x.mean())
    return found


@pytest.mark.parametrize(("n", "count", "seed"), [(2, 5, 0), (5, 374, 1), (9, 60, 2)])
def test_ratings_equal_those_of_a_direct_optimiser(n: int, count: int, seed: int) -> None:
    first, second, s, _ = games(np.random.default_rng(seed), n, count)
    np.testing.assert_allclose(
        ratings(first, second, s, n), optimise(first, second, s, n), rtol=0, atol=1e-6
    )


def test_two_sources_by_hand() -> None:
    # θ1/θ2 = 3 → 400·log10(3) apart
    found = ratings([0, 0], [1, 1], [0.75, 0.75], 2)
    assert found[0] - found[1] == pytest.approx(400 * np.log10(3))
    assert found.mean() == pytest.approx(1500)


@settings(max_examples=40)
@given(st.integers(2, 6), st.integers(0, 10_000))
def test_ratings_answer_the_likelihoods_equations_to_a_millionth(n: int, seed: int) -> None:
    first, second, s, _ = games(np.random.default_rng(seed), n, 12 * n)
    assume(len(set(first) | set(second)) == n)
    try:
        x = (ratings(first, second, s, n) - 1500) * np.log(10) / 400
    except Undetermined:
        assume(False)
    expected = 1 / (1 + np.exp(x[second] - x[first]))
    for k in range(n):
        residual = (s - expected)[first == k].sum() - (s - expected)[second == k].sum()
        assert abs(residual) < 1e-6


def test_what_has_no_finite_rating_is_reported() -> None:
    with pytest.raises(Undetermined, match="one source alone"):
        ratings([], [], [], 1)
    with pytest.raises(Undetermined, match="2 groups that never meet: 0, 1; 2, 3"):
        ratings([0, 2], [1, 3], [0.5, 0.5], 4)
    with pytest.raises(Undetermined, match="perfect separation: sources 0 lost nothing"):
        ratings([0, 0, 1], [1, 2, 2], [1.0, 1.0, 0.5], 3)
    with pytest.raises(Undetermined, match="perfect separation: sources 0, 1 lost nothing"):
        ratings([0, 0, 1], [1, 2, 2], [0.4, 1.0, 1.0], 3)
    with pytest.raises(ValueError, match="play itself"):
        ratings([0], [0], [0.5], 2)
    for first, second in (([0.7], [1.0]), ([0], [float("nan")]), (["a"], ["b"])):
        with pytest.raises(ValueError, match="integers"):
            ratings(first, second, [0.5], 2)


def test_each_resample_is_rated_as_it_would_be_by_itself() -> None:
    first, second, s, case = games(np.random.default_rng(5), 4, 80)
    samples = bootstrap_ratings(first, second, s, case, 4, resamples=30, seed=11)
    labels = np.unique(case)
    drawn = np.random.default_rng(11).integers(0, len(labels), size=(30, len(labels)))
    for row, picks in zip(samples, drawn, strict=True):
        rows = np.concatenate([np.flatnonzero(case == labels[k]) for k in picks])
        np.testing.assert_allclose(row, ratings(first[rows], second[rows], s[rows], 4), atol=1e-6)


@pytest.mark.parametrize("kept", [0, 10**6])
def test_blocks_of_resamples_give_what_one_draw_gives(
    monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    rng = np.random.default_rng(3)
    games = (
        rng.integers(0, 4, 200),
        (rng.integers(1, 4, 200)),
        rng.random(200),
        rng.integers(0, 30, 200),
    )
    first = games[0]
    second = (first + games[1]) % 4
    whole = bootstrap_ratings(first, second, games[2], games[3], 4, resamples=40)
    monkeypatch.setattr(resampling, "_BLOCK", 7 * 30)
    monkeypatch.setattr(resampling, "_KEPT", kept)
    resampling._draw_all.cache_clear()
    assert np.allclose(
        bootstrap_ratings(first, second, games[2], games[3], 4, resamples=40),
        whole,
        rtol=0,
        atol=1e-9,
    )


@pytest.mark.parametrize("kept", [0, 10**6])
def test_blocks_of_cases_give_the_interval_of_one_draw(
    monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    rng = np.random.default_rng(4)
    one, two = rng.integers(0, 5, 60).tolist(), rng.integers(0, 5, 60).tolist()
    whole = pool_shares(one, two, resamples=100)
    monkeypatch.setattr(resampling, "_BLOCK", 7 * 60)
    monkeypatch.setattr(resampling, "_KEPT", kept)
    resampling._draw_all.cache_clear()
    found = pool_shares(one, two, resamples=100)
    assert found.low == pytest.approx(whole.low)
    assert found.high == pytest.approx(whole.high)


def test_resamples_without_ratings_are_counted_and_left_out() -> None:
    # Source 2 plays in one case alone: a resample without it has no rating.
    samples = bootstrap_ratings(
        [0, 0, 1, 1, 0],
        [1, 1, 2, 2, 2],
        [0.6, 0.4, 0.3, 0.6, 0.5],
        [0, 1, 2, 2, 2],
        3,
        resamples=200,
    )
    low, high, failed = interval(samples)
    assert 0 < failed < 200
    assert failed == int(np.isnan(samples).any(axis=1).sum())
    assert (low <= high).all()


# Intervals and agreement


def test_wilson_by_hand_and_at_its_edges() -> None:
    low, high = wilson_interval(1, 2) or (0, 0)
    # z² = 3.8415: middle = (0.5 + 0.9604)/(1 + 1.9207) = 0.5, half = 1.96/2.9207·√(0.125 + 0.2401)
    # = 0.4055
    assert low == pytest.approx(0.0945, abs=1e-4)
    assert high == pytest.approx(0.9055, abs=1e-4)
    assert wilson_interval(0, 0) is None
    assert (wilson_interval(0, 9) or (1,))[0] == 0.0
    assert (wilson_interval(9, 9) or (0, 0))[1] == 1.0
    with pytest.raises(ValueError):
        wilson_interval(3, 2)


def test_kappa_of_no_items_and_of_one_answer_throughout_is_none() -> None:
    assert cohen_kappa([[0, 0], [0, 0]]) is None
    assert cohen_kappa([[9, 0], [0, 0]]) is None
    assert pabak([[9, 0], [0, 0]]) == 1.0
    assert cohen_kappa([[1, 1], [1, 1]]) == 0.0


def test_a_stratum_of_the_corpus_that_was_not_sampled_leaves_no_standardised_rate() -> None:
    assert standardise_rate([1, 0], [2, 0], [0.5, 0.5]) is None
    rate, low, high = standardise_rate([1, 0], [2, 0], [1.0, 0.0]) or (0, 0, 0)
    assert (rate, low, high) == (0.5, 0.0, 1.0)


# Published figures


@pytest.mark.parametrize("row", PUBLISHED["wilson"])
def test_published_wilson_intervals(row: dict[str, float]) -> None:
    low, high = wilson_interval(int(row["upheld"]), int(row["n"])) or (0, 0)
    shown = [round(100 * v, 1) for v in (row["upheld"] / row["n"], low, high)]
    assert shown == [row["rate_percent"], row["low_percent"], row["high_percent"]]


def test_published_agreement() -> None:
    a = PUBLISHED["agreement"]
    table = [[a["both_uphold"], a["only_first"]], [a["only_second"], a["both_reject"]]]
    assert round(100 * (raw_agreement(table) or 0), 1) == a["raw_percent"]
    assert round(cohen_kappa(table) or 0, 3) == a["cohen_kappa"]
    assert round(pabak(table) or 0, 3) == a["pabak"]


def test_published_standardised_rate() -> None:
    published = PUBLISHED["validation_strata"]
    strata = [v for v in published.values() if isinstance(v, dict)]
    for s in strata:
        assert round(100 * s["upheld"] / s["n"], 1) == s["rate_percent"]
    found = standardise_rate(
        [s["upheld"] for s in strata],
        [s["n"] for s in strata],
        [s["corpus_percent"] for s in strata],
    )
    assert found is not None
    assert round(100 * found[0], 1) == published["standardised_percent"]
    assert abs(100 * found[1] - published["low_percent"]) <= published["interval_tolerance"]
    assert abs(100 * found[2] - published["high_percent"]) <= published["interval_tolerance"]


def test_published_ratings_follow_from_shares_and_schedule() -> None:
    names = list(PUBLISHED["ratings"])
    met = np.zeros((len(names), len(names)))
    for one, two, count in PUBLISHED["schedule"]:
        met[names.index(one), names.index(two)] = met[names.index(two), names.index(one)] = count
    assert met.sum() / 2 == PUBLISHED["games"]
    earned = met.sum(1) * [PUBLISHED["mean_share_percent"][n] / 100 for n in names]
    earned *= met.sum() / 2 / earned.sum()  # the published percentages are rounded
    one, two = np.nonzero(np.triu(met, 1))
    fitted, converged = strengths(
        Pairs(one, two, len(names)),
        met[one, two][:, None],
        (earned - met.sum(1) / 2)[:, None],
        np.zeros(len(names)),
    )
    assert converged.all()
    found = bradley_terry.CENTRE + bradley_terry.SCALE * (fitted[:, 0] - fitted.mean())
    for name, rating in zip(names, found, strict=True):
        assert (
            abs(rating - PUBLISHED["ratings"][name]) <= PUBLISHED["ratings_from_shares_tolerance"]
        ), name


def test_published_category_shares_and_the_average_source() -> None:
    counts = PUBLISHED["decisive_counts"]
    total = sum(counts.values())
    assert total == PUBLISHED["decisive"]
    assert round(100 * total / PUBLISHED["findings"], 1) == PUBLISHED["decisive_percent"]
    assert {k: round(100 * v / total, 1) for k, v in counts.items()} == PUBLISHED[
        "decisive_shares_percent"
    ]
    average = {k: round(v / (2 * PUBLISHED["games"]), 2) for k, v in counts.items()}
    assert {**average, "total": round(total / (2 * PUBLISHED["games"]), 1)} == PUBLISHED[
        "average_source_per_matchup"
    ]
    assert {c.value: w for c, w in WEIGHTS.items()} == PUBLISHED["weights"]


def test_published_controlled_comparisons_hang_together() -> None:
    for row in PUBLISHED["controlled"]:
        assert row["cases"] == row["empty"] + row["wins"] + row["losses"] + row["ties"]
        assert row["separated"] == (not row["low"] <= 50 <= row["high"])


def test_published_controlled_records_and_empty_games_follow_from_their_games() -> None:
    empty = 0
    for row in PUBLISHED["controlled"]:
        games = (
            [(1, 2)] * row["wins"]
            + [(2, 1)] * row["losses"]
            + [(1, 1)] * row["ties"]
            + [(0, 0)] * row["empty"]
        )
        found = pool_shares(*zip(*games, strict=True))
        assert [getattr(found, k) for k in ("cases", "empty", "wins", "losses", "ties")] == [
            row[k] for k in ("cases", "empty", "wins", "losses", "ties")
        ]
        empty += found.empty
    # Every game without a decisive finding is of these two pairs; draws are those and the tied
    # ones.
    assert empty == PUBLISHED["draws"]["without_decisive_finding"]
    assert PUBLISHED["draws"]["all"] >= empty + sum(row["ties"] for row in PUBLISHED["controlled"])


def test_published_error_profiles_add_up_to_the_decisive_counts() -> None:
    by_source = {
        source: row
        for source, row in PUBLISHED["errors_per_matchup"].items()
        if source != "columns"
    }
    games = {
        name: sum(n for *pair, n in PUBLISHED["schedule"] if name in pair)
        for name in PUBLISHED["ratings"]
    }
    assert {source: row[-1] for source, row in by_source.items()} == games
    for row in by_source.values():
        assert sum(row[:7]) == pytest.approx(row[7], abs=0.041)
    rounding = 0.005 * sum(games.values())
    for at, category in enumerate(Category):
        assert sum(row[at] * row[-1] for row in by_source.values()) == pytest.approx(
            PUBLISHED["decisive_counts"][category.value], abs=rounding
        )


@pytest.mark.parametrize("charges", [(np.inf, 1.0), (1.0, np.inf), (np.nan, 0.0), (-1.0, 2.0)])
def test_a_charge_that_is_no_charge_is_refused(charges: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="finite and not negative"):
        share(*charges)


@pytest.mark.parametrize(("first", "second"), [(0, 2), (2, 0), (-1, 1)])
def test_a_game_of_a_source_that_is_not_there_is_refused(first: int, second: int) -> None:
    with pytest.raises(ValueError, match="outside 0…1"):
        ratings([first], [second], [1.0], 2)


def test_every_resample_is_drawn() -> None:
    """Of like cases each resample has the same sums."""
    by_case = np.tile([2.0, 3.0], (5, 1))
    assert resampling.sum_resamples(by_case, 7, seed=1).tolist() == [[10.0, 15.0]] * 7


def test_a_resample_counts_the_cases_that_the_generator_draws() -> None:
    drawn = np.random.default_rng(9).integers(0, 4, size=(3, 4))
    expected = [[(row == case).sum() for case in range(4)] for row in drawn]
    ((block, counts),) = resampling.draw_counts(4, 3, seed=9)
    assert (block, counts.tolist()) == (slice(0, 3), expected)
