"""The sentence that an evaluation begins with."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.made_report import REVISED, TEXT, make_figures, make_report, make_result
from timelines.evaluation.values import Basis, Difference, Estimate
from timelines.presentation.evaluation.result import describe_result


def report(before: float, after: float, low: float, high: float):
    """A report in which the median error changes by as much."""
    change = Difference(
        TEXT, REVISED, Basis.SPAN, {"median_error": Estimate(after - before, low, high, n=80)}
    )
    results = tuple(
        make_result(key, Basis.SPAN, make_figures(0.8, 0.9, 0.85, hours))
        for key, hours in ((TEXT, before), (REVISED, after))
    )
    return make_report(results=results, differences=(change,))


@pytest.mark.parametrize(
    ("figures", "sentence"),
    [
        ((1.0, 0.0, -1.2, -0.4), "The record moved times closer: median error 1.00 h → 0.00 h."),
        ((1.0, 0.9, -0.3, 0.1), "No clear change by the record: median error 1.00 h → 0.90 h."),
        # An interval that touches zero is no clear difference.
        ((1.0, 0.5, -0.9, 0.0), "No clear change by the record: median error 1.00 h → 0.50 h."),
        (
            (1.0, 2.5, 0.3, 2.0),
            "The record moved times away from the reference: median error 1.00 h → 2.50 h.",
        ),
    ],
)
def test_the_first_sentence(figures, sentence):
    found = describe_result(report(*figures), Basis.SPAN)
    assert found is not None
    assert found.sentence == sentence
    assert "95 % CI of the difference" in found.basis


def test_the_interval_has_a_minus_sign_and_the_source_is_named():
    found = describe_result(report(1.0, 0.0, -1.2, -0.4), Basis.SPAN)
    assert found is not None
    assert found.basis.startswith(f"Source {TEXT.source} over ")
    assert "95 % CI of the difference −1.20 to −0.40 h" in found.basis


def test_without_a_comparison_the_error_of_the_first_timeline_is_said():
    alone = replace(report(1.0, 0.25, -1, -0.5), differences=())
    (_, revised) = alone.results
    found = describe_result(replace(alone, results=(revised,)), Basis.SPAN)
    assert found is not None
    assert found.sentence == f"Times of {REVISED.label} differ by 0.25 h from the reference."
    assert describe_result(replace(alone, results=()), Basis.SPAN) is None
    assert describe_result(alone, Basis.EMBEDDING) is None
