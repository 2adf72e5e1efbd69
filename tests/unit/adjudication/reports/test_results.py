"""The sentences that the pages of ratings begin with."""

from __future__ import annotations

import pytest

from adjudication.reports.card.compute import report_card
from adjudication.reports.card.result import describe_card
from adjudication.reports.league.result import describe_ratings
from adjudication.reports.league.values import Rating, SourceRatings
from tests.unit.adjudication.reports.test_report_card import item


def rating(source: str, value: float | None, low: float = 0.0, high: float = 0.0) -> Rating:
    return Rating(source, 10, value, low, high, 0.5, 5, 5, 0, 0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("ratings", "sentence"),
    [
        (
            [rating("text", 1450, 1400, 1500), rating("revised", 1560, 1510, 1600)],
            "revised is rated highest: 1560 against 1450 for text.",
        ),
        (
            [rating("text", 1450, 1400, 1520), rating("revised", 1560, 1510, 1600)],
            "No clear difference between revised and text: 1560 against 1450.",
        ),
        ([rating("text", 1450), rating("revised", None)], ""),
        ([], ""),
    ],
)
def test_the_highest_rating_is_named_if_it_is_clear(ratings, sentence):
    assert describe_ratings(SourceRatings("all", tuple(ratings), 10, 0, 0, 0)) == sentence


def test_the_card_says_how_often_the_judge_was_upheld():
    items = [item(n, first="A" if n < 8 else "B") for n in range(10)]
    said = describe_card(report_card(items, ["first"], corpus={"VALUE": 10}))
    # Wilson's interval of 8 in 10.
    assert said == "first upheld the judge in 8 of 10 items (80 %, 95 % CI 49 to 94 %)."
