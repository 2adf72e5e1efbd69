"""Each timeline against the closest of two references, by hand."""

from __future__ import annotations

from timelines.evaluation.closest import CLOSEST, evaluate_closest
from timelines.evaluation.values import (
    Basis,
    EvaluatedCase,
    EvaluationSettings,
    PlacedEvent,
    ReferenceResult,
    SourceKey,
    SourceResult,
)

ANA, BO = SourceKey("author:ana", "reference"), SourceKey("author:bo", "reference")
RULES = SourceKey("rules", "revised")
SETTINGS = EvaluationSettings(bases=(Basis.SPAN,), resamples=20)


def at(*times: float | None) -> tuple[PlacedEvent, ...]:
    """Return one occurrence at each time, every 20 characters of the note."""
    return tuple(
        PlacedEvent(f"e{n}", f"event {n}", time, 20 * n, 20 * n + 10)
        for n, time in enumerate(times)
    )


#: Of the first case, ana's fever is a day earlier, and only bo has the rash. In the second they
#: differ by 50 hours.
ANA_ONE, BO_ONE = at(-48, 2, 10), at(-24, 2, 10, 5)
ANA_TWO, BO_TWO = at(0), at(50)


def case(
    name: str,
    ana: tuple[PlacedEvent, ...],
    bo: tuple[PlacedEvent, ...],
    rules: tuple[PlacedEvent, ...] | None,
) -> dict[str, EvaluatedCase]:
    own = {} if rules is None else {RULES: rules}
    return {
        ANA.source: EvaluatedCase(name, "demo", ana, {**own, BO: bo}),
        BO.source: EvaluatedCase(name, "demo", bo, {**own, ANA: ana}),
    }


def find(result: ReferenceResult, key: SourceKey) -> SourceResult:
    return next(r for r in result.results if r.key == key)


def value(result: SourceResult, metric: str, *, missing: bool = False) -> float | None:
    return (result.missing_as_zero if missing else result.available)[metric].value


def test_a_case_counts_against_the_reference_with_most_occurrences_in_time():
    """Case one: 2 of ana's 3 are in time, and 3 of bo's 4. Case two: ana's."""
    result = evaluate_closest(
        [
            case("one", ANA_ONE, BO_ONE, at(-24, 2, 11)),
            case("two", ANA_TWO, BO_TWO, at(0)),
        ],
        settings=SETTINGS,
    )
    assert (result.reference, result.cases) == (CLOSEST, 2)
    rules = find(result, RULES)
    assert value(rules, "match_rate") == (3 + 1) / (4 + 1)
    assert value(rules, "within_tolerance") == 1.0
    assert value(rules, "median_error") == 0.0
    assert (rules.reference_events, rules.matched_events) == (5, 4)


def test_a_reference_is_compared_with_the_others_alone():
    result = evaluate_closest([case("two", ANA_TWO, BO_TWO, at(0))], settings=SETTINGS)
    assert value(find(result, ANA), "median_error") == 50.0
    assert value(find(result, BO), "median_error") == 50.0


def test_a_missing_timeline_counts_against_the_first_reference():
    result = evaluate_closest(
        [case("one", ANA_ONE, BO_ONE, None), case("two", ANA_TWO, BO_TWO, at(0))],
        settings=SETTINGS,
    )
    rules = find(result, RULES)
    assert (rules.cases, rules.missing_cases) == (1, 1)
    assert value(rules, "match_rate") == 1.0
    assert value(rules, "match_rate", missing=True) == 1 / (3 + 1)


def test_of_equally_close_references_the_first_counts():
    """Half of either is in time; only bo's has a second occurrence matched."""
    result = evaluate_closest(
        [case("one", (*at(0), PlacedEvent("z", "z", 1.0, 500, 510)), at(0, 90), at(0, 0))],
        settings=SETTINGS,
    )
    assert value(find(result, RULES), "match_rate") == 1.0
    result = evaluate_closest([case("one", at(0, 90), at(0, 70), at(0, 0))], settings=SETTINGS)
    assert value(find(result, RULES), "median_error") == 45.0


def test_without_cases_there_are_no_results():
    assert evaluate_closest([], settings=SETTINGS) == ReferenceResult(CLOSEST, 0, ())
