"""The guess test: features, classifier, area and interval."""

from __future__ import annotations

import random

import numpy as np
import pytest

from adjudication.guessing.auc import area, area_interval
from adjudication.guessing.classifier import fit_classifier
from adjudication.guessing.features import describe_item, describe_side
from adjudication.guessing.run import Guess, guess_sources, score_unseen
from adjudication.guessing.served import ServedItem, ServedSide


def side(words: str, *hours: float | None) -> ServedSide:
    return ServedSide({"row": (words,) if words else ()}, {"hours": hours})


def test_features_of_a_side() -> None:
    found = describe_side(side("K 6.2", 6.0, 7.0, None, 7.0))
    assert found["row: “k”"] == found["row: “0”"] == 1
    assert (found["row: length"], found["row: words"], found["row: digits"]) == (5, 2, 2)
    assert found["row: begins with a capital"] == 1
    assert found["hours: numbers"] == 4
    assert found["hours: missing"] == 0.25
    assert found["hours: different numbers"] == pytest.approx(2 / 3)
    assert found["hours: sixth hours"] == pytest.approx(1 / 3)


def test_what_both_sides_have_cancels_and_exchanging_them_changes_the_sign() -> None:
    one, other = side("fever", 3.0), side("fever again", 3.0)
    item, mirror = ServedItem("c", "p", one, other), ServedItem("c", "p", other, one)
    found = describe_item(item)
    assert found["row: “again”"] == -1
    assert not any(name.startswith("hours") for name in found)
    assert describe_item(mirror) == {name: -value for name, value in found.items()}
    assert describe_item(ServedItem("c", "p", one, one)) == {}


def test_which_side_is_later() -> None:
    item = ServedItem("c", "p", side("", 3.0, None, 9.0), side("", 5.0, 1.0, 2.0))
    assert "hours: later" not in describe_item(item)  # one is earlier and one is later
    item = ServedItem("c", "p", side("", 3.0, None, 1.0), side("", 5.0, 1.0, 2.0))
    assert describe_item(item)["hours: later"] == -1


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([1.0, 2.0], 1.0),
        ([-1.0, -2.0], 0.0),
        ([0.0, 0.0], 0.5),
        # pairs of a true and a false side: 3 > −3, 3 > 1, −1 > −3, and −1 < 1
        ([3.0, -1.0], 0.75),
    ],
)
def test_the_area_by_hand(scores: list[float], expected: float) -> None:
    assert area(np.array(scores)) == expected


def test_the_interval_draws_whole_cases() -> None:
    low, high = area_interval(np.array([1.0, 1.0, -1.0, -1.0]), ["a", "a", "b", "b"], 500)
    assert (low, high) == (0.0, 1.0)
    assert area_interval(np.array([1.0, 2.0]), ["a", "b"], 500) == (1.0, 1.0)
    with pytest.raises(ValueError, match="needs scores"):
        area(np.array([]))


def test_the_classifier_finds_the_sign_and_names_it() -> None:
    fitted = fit_classifier([{"sign": 1.0, "noise": (-1.0) ** n} for n in range(8)])
    (name, weight), *_ = fitted.strongest(2)
    assert (name, weight > 0) == ("sign", True)
    assert fitted.score([{"sign": 1.0}, {"sign": -1.0}, {}]) == pytest.approx(
        [weight, -weight, 0.0]
    )
    assert fit_classifier([]).score([{"sign": 1.0}]) == pytest.approx([0.0])


def cohort(sign: bool, *, cases: int = 12, each: int = 6) -> list[ServedItem]:
    """Items that differ by chance; a `sign`: the first has no whole hours."""
    chance = random.Random(1)
    words = ["fever", "cough", "rash", "lactate", "intubated", "weaned", "aspirin", "heparin"]

    def made(hours: float) -> ServedSide:
        return side(" ".join(chance.sample(words, 3)), hours)

    return [
        ServedItem(
            f"case-{case}",
            "a | b",
            made(chance.randrange(90) + 0.5 * sign),
            made(chance.randrange(90)),
        )
        for case in range(cases)
        for _ in range(each)
    ]


def test_a_tell_is_found_in_cases_that_were_not_seen() -> None:
    (guess,) = guess_sources(cohort(sign=True))
    assert (guess.pairing, guess.count, guess.cases) == ("a | b", 72, 12)
    assert guess.area == 1.0
    assert guess.passed is False
    assert guess.signs[0][0] == "hours: whole"
    assert guess.signs[0][1] < 0
    assert Guess.from_plain(guess.plain()) == guess


def test_without_a_tell_the_area_is_that_of_chance() -> None:
    (guess,) = guess_sources(cohort(sign=False, cases=12, each=20))
    assert guess.low is not None
    assert guess.high is not None
    assert guess.low <= 0.5 <= guess.high
    assert guess.passed is (guess.area is not None and guess.area <= 0.55)


def test_a_tell_of_one_case_alone_is_no_tell() -> None:
    assert area(score_unseen([{f"only-{n}": 1.0} for n in range(4)], list("abcd"))) == 0.5


def test_one_case_is_not_enough() -> None:
    (guess,) = guess_sources(cohort(sign=True, cases=1))
    assert (guess.area, guess.passed) == (None, None)
    assert guess_sources([]) == []
