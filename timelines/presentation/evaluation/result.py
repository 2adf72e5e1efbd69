"""The result of an evaluation in a sentence, before any table.

No Django, and nothing is computed anew.
"""

from __future__ import annotations

from dataclasses import dataclass

from ehr.presentation.wording import MINUS
from timelines.evaluation.naming import split_source
from timelines.evaluation.values import Basis, Difference, Estimate, Report, SourceResult

MEDIAN, WITHIN = "median_error", "within_tolerance"


@dataclass(frozen=True, slots=True)
class Result:
    """A sentence, and what it rests on."""

    sentence: str
    basis: str


def describe_result(report: Report, basis: Basis) -> Result | None:
    """Return what the record did to the times of the first source.

    Without a text-only timeline to compare with, the error of the first timeline; None if nothing
    is known of it.
    """
    results = {
        r.key: r
        for r in report.results
        if r.basis is basis and r.key.alternative == 1 and not split_source(r.key.source)[1]
    }
    for found in report.differences:
        if found.basis is basis and found.first.kind == "text_only":
            first, second = results.get(found.first), results.get(found.second)
            if first and second and _value(first) is not None and _value(second) is not None:
                return _describe_change(first, second, found)
    for result in results.values():
        if (error := _value(result)) is not None:
            sentence = f"Times of {result.key.label} differ by {error:.2f} h from the reference."
            return Result(sentence, f"Median error over {_cases(result)}.")
    return None


def _describe_change(first: SourceResult, second: SourceResult, found: Difference) -> Result:
    before, after = _value(first), _value(second)
    assert before is not None
    assert after is not None
    change = found.metrics.get(MEDIAN, Estimate(None))
    errors = f"median error {before:.2f} h → {after:.2f} h"
    if not _excludes_zero(change):
        sentence = f"No clear change by the record: {errors}."
    elif after < before:
        sentence = f"The record moved times closer: {errors}."
    else:
        sentence = f"The record moved times away from the reference: {errors}."
    rests = [f"Source {first.key.source} over {_cases(second)}"]
    if change.low is not None and change.high is not None:
        rests.append(f"95 % CI of the difference {_hours(change.low)} to {_hours(change.high)} h")
    old, new = (r.available.get(WITHIN, Estimate(None)).value for r in (first, second))
    if old is not None and new is not None:
        rests.append(f"within tolerance {100 * old:.0f} % → {100 * new:.0f} %")
    return Result(sentence, "; ".join(rests) + ".")


def _value(result: SourceResult) -> float | None:
    return result.available.get(MEDIAN, Estimate(None)).value


def _excludes_zero(change: Estimate) -> bool:
    return change.low is not None and change.high is not None and not change.low <= 0 <= change.high


def _cases(result: SourceResult) -> str:
    return f"{result.cases} case{'' if result.cases == 1 else 's'}"


def _hours(value: float) -> str:
    return f"{value:.2f}".replace("-", MINUS)
