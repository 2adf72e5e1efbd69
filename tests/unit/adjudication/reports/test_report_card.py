"""The judge's report card: the published table, and packets by hand."""

from __future__ import annotations

import pytest

from adjudication.reports.card.compute import (
    agreement,
    blinding_check,
    classify_disagreement,
    report_card,
    reviewer_card,
    reviews_needed,
)
from adjudication.reports.card.tables import TABLES
from adjudication.reports.card.values import EMISSION, STRATA, WHICH_SIDE, Item, ReviewerDecision
from adjudication.study_report.published import load_published

PUBLISHED = load_published()


def item(number, stratum="VALUE", verdict="A", case="c1", adjudicated="", **answers):
    return Item(
        number,
        case,
        "x | y",
        stratum,
        verdict,
        tuple(ReviewerDecision(r, a) for r, a in answers.items()),
        adjudicated,
        f"k{number}",
    )


def make_published_items():
    """Return a packet of 150 with the published counts.

    The second reviewer decided on 50 of them as published.
    """
    published = PUBLISHED["validation_strata"]
    pairs = {name: (published[name]["upheld"], published[name]["n"]) for name in STRATA}
    items = []
    for stratum, (upheld, n) in pairs.items():
        items += [item(len(items) + k, stratum, first="A" if k < upheld else "B") for k in range(n)]
    a = PUBLISHED["agreement"]
    wanted = {
        ("A", "A"): a["both_uphold"],
        ("A", "B"): a["only_first"],
        ("B", "A"): a["only_second"],
        ("B", "B"): a["both_reject"],
    }
    shared = []
    for i in items:
        first = i.decisions[0].answer
        second = next((s for s in "AB" if wanted[first, s]), None)
        if second is not None:
            wanted[first, second] -= 1
            i = item(i.number, i.stratum, first=first, second=second)
        shared.append(i)
    assert not any(wanted.values())
    return shared


def corpus():
    return {
        name: round(10 * PUBLISHED["validation_strata"][name]["corpus_percent"]) for name in STRATA
    }


def test_the_published_table_is_reproduced():
    card = report_card(make_published_items(), ["first", "second"], corpus())
    assert card.primary == "first"
    first, second = card.reviewers
    assert (first.raw.upheld, first.raw.n) == (122, 150)
    for rate, published in (
        (first.raw, PUBLISHED["wilson"][0]),
        (second.raw, PUBLISHED["wilson"][2]),
    ):
        assert round(100 * rate.rate, 1) == published["rate_percent"]
        assert (round(100 * rate.low, 1), round(100 * rate.high, 1)) == (
            published["low_percent"],
            published["high_percent"],
        )
    strata = PUBLISHED["validation_strata"]
    for found in first.strata:
        assert round(100 * found.rate.rate, 1) == strata[found.stratum]["rate_percent"]
        assert round(100 * found.corpus, 1) == strata[found.stratum]["corpus_percent"]
    assert round(100 * first.standardised.rate, 1) == strata["standardised_percent"]
    assert 100 * first.standardised.low == pytest.approx(
        strata["low_percent"], abs=strata["interval_tolerance"]
    )
    assert 100 * first.standardised.high == pytest.approx(
        strata["high_percent"], abs=strata["interval_tolerance"]
    )


def test_the_published_agreement_is_reproduced():
    (found,) = report_card(make_published_items(), ["first", "second"], corpus()).agreements
    published = PUBLISHED["agreement"]
    assert found.table == ((42, 1), (4, 3))
    assert round(found.kappa, 3) == published["cohen_kappa"]
    assert round(found.pabak, 3) == published["pabak"]
    assert round(100 * found.raw.rate, 1) == published["raw_percent"]
    assert (round(100 * found.raw.low, 1), round(100 * found.raw.high, 1)) == (78.6, 95.7)
    assert len(found.disagreements) == 5


def test_every_table_is_latex_that_any_engine_reads():
    card = report_card(make_published_items(), ["first", "second"], corpus())
    for name, build in TABLES.items():
        body = build(card).to_latex().split("\n", 1)[1]
        assert body.isascii(), name
    assert r"Cohen's $\kappa$" in TABLES["agreement"](card).to_latex()


@pytest.mark.parametrize(
    ("first", "second", "code"),
    [
        ("A", "B", WHICH_SIDE),
        ("A", "UNCLEAR", EMISSION),
        ("NOT_A_FINDING", "B", EMISSION),
        ("BOTH", "NEITHER", EMISSION),
    ],
)
def test_disagreements_are_coded(first, second, code):
    assert classify_disagreement(first, second) == code
    assert classify_disagreement(second, first) == code


def test_a_disagreement_need_not_split_the_reviewers():
    items = [
        item(1, verdict="A", case="c1", x="A", y="B"),  # which side, splits
        # both reject: differ, no split
        item(2, verdict="UNCLEAR", case="c1", x="A", y="B", adjudicated="UNCLEAR"),
        item(3, verdict="B", case="c2", x="B", y="B"),
        item(4, verdict="B", case="c2", x="B"),  # decided by one alone: not shared
    ]
    found = agreement(items, "x", "y")
    assert [(d.number, d.about, d.splits, d.adjudicated) for d in found.disagreements] == [
        (1, WHICH_SIDE, True, ""), (2, WHICH_SIDE, False, "UNCLEAR")
    ]  # fmt: skip
    assert found.table == ((1, 1), (0, 1))
    assert found.by_case == (("c1", 1, 2), ("c2", 0, 1))
    assert found.answers == {("A", "B"): 2, ("B", "B"): 1}
    assert agreement(items, "x", "z") is None


def test_a_stratum_without_decisions_leaves_the_standardised_rate_out():
    card = reviewer_card([item(1, "VALUE", x="A")], "x", {"VALUE": 3, "DUPLICATE": 1})
    assert card.standardised.rate is None
    assert card.standardised.why == "no finding was decided in DUPLICATE, which the corpus has"
    assert reviewer_card([item(1, "VALUE", x="A")], "x", {"VALUE": 3}).standardised.rate == 1.0
    assert "no finding within" in reviewer_card([item(1, x="A")], "x", {}).standardised.why


def test_seconds_in_hand():
    items = [
        Item(n, "c", "p", "VALUE", "A", (ReviewerDecision("x", "A", s),))
        for n, s in enumerate([10.0, 20.0, 30.0, None])
    ]
    card = reviewer_card(items, "x", {})
    assert (card.median_seconds, card.quartiles) == (20.0, (15.0, 25.0))
    assert reviewer_card([], "x", {}).median_seconds is None


def test_reviews_needed_are_the_least_that_do():
    # At one half Wilson's interval is z / sqrt(n + z²) wide: 0.1 needs n >= 100 z² - z² = 99 ·
    # 3.8415 = 380.3.
    assert reviews_needed(0.5, 0.1) == 381
    # At 1 it is z² / (n + z²) wide: 0.05 needs n >= 19 z² = 72.99.
    assert reviews_needed(1.0, 0.05) == 73
    assert reviews_needed(0.5, 0.0001) is None
    with pytest.raises(ValueError, match="rate"):
        reviews_needed(1.5, 0.1)


def test_guesses_against_chance():
    # 8 of 10 at one half: P(8 or more) = 56/1024, and as much for 2 or fewer.
    assert blinding_check(8, 10).p == pytest.approx(112 / 1024)
    assert blinding_check(5, 10).p == pytest.approx(1.0)
    assert blinding_check(0, 0, unsure=4).p is None
    # Wilson's interval of 8 of 10 is 0.490 to 0.943
    assert blinding_check(8, 10).interval_words == "49 % to 94 %"
    assert blinding_check(8, 10).contains_chance
    assert not blinding_check(20, 20).contains_chance
    assert blinding_check(0, 0, unsure=4).interval_words == ""
    with pytest.raises(ValueError, match="right"):
        blinding_check(2, 1)
