"""Literal value match between mentions and rows."""

import pytest

from timelines.pipeline.values import find_numbers, states_value


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("BP 102/56", {102, 56}),
        ("gas 7.43/24/60", {7.43, 24, 60}),
        ("WBC-14.2*", {14.2}),
        ("lactate 4.10, then 2.0.", {4.1, 2}),
        ("platelets 1,200", {1200}),
        ("flat T2 signal, B12", set()),
        ("the 2nd unit", set()),
        ("20mg at 38.5C", {20, 38.5}),
        ("CK 5097, 9891", {5097, 9891}),
    ],
)
def test_numbers_that_stand_by_themselves(text: str, numbers: set[float]) -> None:
    assert find_numbers(text) == numbers


@pytest.mark.parametrize(
    ("mention", "value", "match"),
    [
        ("creatinine of 4.2", "4.2", True),
        ("creatinine of 4.20 mg/dL", "4.2", True),
        ("creatinine of 14.2", "4.2", False),
        ("creatinine of 4.2", "4", False),
        ("BP 102/56", "102", True),
        ("C. difficile PCR negative", "Negative", True),
        ("C. difficile PCR positive", "Negative", False),
        ("creatinine of 4.2", "", False),
        ("range 0.5 to 2 mg", "0.5-2", True),
        ("dose of 2 mg", "0.5-2", False),
    ],
)
def test_mention_states_the_value_of_a_row(mention: str, value: str, match: bool) -> None:
    assert states_value(mention, value) is match
