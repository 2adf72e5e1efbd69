"""The evidence funnel: every step and every reason, by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from timelines.evaluation.plain import (
    case_from_plain,
    case_to_plain,
    report_from_plain,
    report_to_plain,
)
from timelines.evaluation.report import evaluate
from timelines.evaluation.tables import funnel
from timelines.evaluation.values import (
    Basis,
    CaseResult,
    EvaluatedCase,
    EvaluationSettings,
    FunnelLine,
    Lost,
    PlacedEvent,
    Report,
    SourceKey,
    Step,
    Trail,
)
from timelines.pipeline.retrieval import BELOW_THRESHOLD, KEPT, OUTSIDE_TOP

KEY = SourceKey("rules", "revised")
SETTINGS = EvaluationSettings(bases=(Basis.SPAN, Basis.LEVENSHTEIN), resamples=5)
LACTATE, HEPARIN = "LAB//lactate", "MEDICATION//heparin"
#: Rows 1 and 2 are of the first series, row 3 of the second; row 9 was deleted.
SERIES = {1: LACTATE, 2: LACTATE, 3: HEPARIN}
ALL = tuple(Step)


def follow_one(
    *,
    rows: tuple[int, ...] = (1,),
    cited: tuple[int, ...] = (1,),
    fates: Mapping[str, str] | None = None,
    printed: frozenset[int] = frozenset({1}),
    left: tuple[int, ...] = (),
    times: tuple[float | None, float | None] = (6.0, 6.5),
) -> FunnelLine:
    """Return the line of one occurrence.

    Without arguments it passes every step.
    """
    reference = PlacedEvent("aaaa", "lactate", times[0], 0, 7, rows, "lab")
    predicted = PlacedEvent("bbbb", "lactate", times[1], 0, 7, cited, "finding")
    trail = Trail(
        "public",
        {"bbbb": {LACTATE: KEPT} if fates is None else fates, "cccc": {HEPARIN: KEPT}},
        printed,
        {"bbbb": left, "cccc": (1,)},
    )
    _, (result,) = run(
        EvaluatedCase("1", "demo", (reference,), {KEY: (predicted,)}, {KEY: trail}, SERIES)
    )
    ((line,),) = (each.lines for each in result.funnel)
    return line


def run(*cases: EvaluatedCase) -> tuple[Report, list[CaseResult]]:
    results: list[CaseResult] = []
    return (
        evaluate(cases, settings=SETTINGS, reference="reference", on_case=results.append),
        results,
    )


@pytest.mark.parametrize(
    ("given", "reached", "lost"),
    [
        ({}, ALL, None),
        # the series of any row of the reference counts, from any of its queries
        ({"rows": (3, 2), "printed": frozenset({2}), "cited": (2,)}, ALL, None),
        ({"fates": {}}, ALL[2:], Lost.NOT_FOUND),
        ({"fates": {HEPARIN: KEPT}}, ALL[2:], Lost.NOT_FOUND),
        ({"rows": (9, 1), "fates": {LACTATE: KEPT}}, ALL, None),
        ({"rows": (9,), "cited": (9,)}, (Step.CITED, Step.IN_TIME), Lost.NOT_FOUND),
        (
            {"fates": {LACTATE: BELOW_THRESHOLD}, "printed": frozenset(), "cited": ()},
            (Step.CANDIDATE, Step.IN_TIME),
            Lost.BELOW_THRESHOLD,
        ),
        (
            {
                "rows": (1, 3),
                "fates": {LACTATE: BELOW_THRESHOLD, HEPARIN: OUTSIDE_TOP},
                "printed": frozenset(),
                "cited": (),
            },
            (Step.CANDIDATE, Step.IN_TIME),
            Lost.OUTSIDE_TOP,
        ),
        # a row that another occurrence or the stay itself brought is printed and can be cited
        (
            {"fates": {LACTATE: OUTSIDE_TOP}},
            (Step.CANDIDATE, Step.PRINTED, Step.CITED, Step.IN_TIME),
            Lost.OUTSIDE_TOP,
        ),
        (
            {"printed": frozenset({3}), "cited": (), "left": (2, 1)},
            (Step.CANDIDATE, Step.RETAINED, Step.IN_TIME),
            Lost.OVER_BUDGET,
        ),
        (
            {"printed": frozenset({2}), "cited": (2,)},
            (Step.CANDIDATE, Step.RETAINED, Step.IN_TIME),
            Lost.NOT_SELECTED,
        ),
        # other rows of its series are printed; the right one was chosen, and too dear
        (
            {"printed": frozenset({2}), "cited": (2,), "left": (1,)},
            (Step.CANDIDATE, Step.RETAINED, Step.IN_TIME),
            Lost.OVER_BUDGET,
        ),
        # rows were too dear, but the right one was not among them
        (
            {"printed": frozenset(), "cited": (), "left": (2,)},
            (Step.CANDIDATE, Step.RETAINED, Step.IN_TIME),
            Lost.NOT_SELECTED,
        ),
        # rows after the stay: retained, and no row is left
        (
            {"printed": frozenset(), "cited": (), "times": (6.0, 90.0)},
            (Step.CANDIDATE, Step.RETAINED),
            Lost.NOT_SELECTED,
        ),
        ({"cited": ()}, (*ALL[:3], Step.IN_TIME), Lost.NOT_CITED),
        ({"cited": (2, 3)}, (*ALL[:3], Step.IN_TIME), Lost.OTHER_ROW),
        ({"times": (6.0, 9.0)}, ALL[:4], Lost.TIME_DIFFERS),
        ({"times": (6.0, 8.99)}, ALL, None),
        ({"times": (None, 6.0)}, ALL[:4], Lost.TIME_DIFFERS),
        ({"times": (None, None)}, ALL, None),
    ],
)
def test_steps_and_the_first_that_fails(given, reached, lost) -> None:
    line = follow_one(**given)
    assert (line.reached, line.lost) == (reached, lost)
    assert (line.reference, line.predicted, line.kind) == ("aaaa", "bbbb", "lab")


def make_case(case_id: str, *occurrences: tuple[str, tuple[int, ...], tuple[int, ...]]):
    """Return a case of occurrences.

    Each has its kind, the reference's rows, and the rows that it cites.
    """
    spans = [(10 * n, 10 * n + 5) for n in range(len(occurrences))]
    reference = tuple(
        PlacedEvent(f"{n:04x}", "words", 1.0, *span, rows, kind)
        for n, ((kind, rows, _), span) in enumerate(zip(occurrences, spans, strict=True))
    )
    predicted = tuple(
        PlacedEvent(f"{n:04x}", "words", 1.0, *span, cited)
        for n, ((_, _, cited), span) in enumerate(zip(occurrences, spans, strict=True))
    )
    fates = {e.key: {LACTATE: KEPT} for e in predicted}
    trail = Trail(f"timeline-{case_id}", fates, frozenset({1, 2}), {})
    others = {SourceKey("rules", "text_only"): predicted}
    return EvaluatedCase(
        case_id, "demo", reference, {KEY: predicted, **others}, {KEY: trail}, SERIES
    )


#: Six occurrences over two cases, five of which have rows in the reference.
COHORT = (
    make_case("1", ("lab", (1,), (1,)), ("lab", (2,), ()), ("", (1,), (2,)), ("plan", (), (1,))),
    make_case("2", ("lab", (1, 2), (2,)), ("medication", (3,), (3,))),
)


def test_counts_are_of_occurrences_whose_reference_cites_rows() -> None:
    report, results = run(*COHORT)
    found = {
        (r.kind, r.occurrences): (r.reached[Step.CITED], {k: n for k, n in r.lost.items() if n})
        for r in report.funnel
    }
    assert found == {
        ("", 5): (3, {Lost.NOT_FOUND: 1, Lost.NOT_CITED: 1, Lost.OTHER_ROW: 1}),
        ("lab", 3): (2, {Lost.NOT_CITED: 1}),
        ("medication", 1): (1, {Lost.NOT_FOUND: 1}),
        ("unknown", 1): (0, {Lost.OTHER_ROW: 1}),
    }
    assert {r.key for r in report.funnel} == {KEY}
    assert [[len(f.lines) for f in r.funnel] for r in results] == [[3], [2]]
    assert [f.timeline for r in results for f in r.funnel] == ["timeline-1", "timeline-2"]


@pytest.mark.parametrize(
    ("lanes", "kinds"),
    [
        (("finding", "finding"), ("medication", "unknown")),
        (("", ""), ("medication", "unknown")),
        (("finding", "lab"), ("finding", "lab")),
    ],
)
def test_a_reference_without_kinds_takes_those_of_its_pairs(lanes, kinds) -> None:
    spans = ((0, 5), (10, 15))
    reference = tuple(
        PlacedEvent(f"r{n}", "words", 1.0, *span, (1,), lane)
        for n, (span, lane) in enumerate(zip(spans, lanes, strict=True))
    )
    predicted = tuple(
        PlacedEvent(f"p{n}", "words", 1.0, *span, (1,), lane)
        for n, (span, lane) in enumerate(zip(spans, ("medication", ""), strict=True))
    )
    trail = Trail("public", {}, frozenset({1}), {})
    _, (result,) = run(
        EvaluatedCase("1", "demo", reference, {KEY: predicted}, {KEY: trail}, SERIES)
    )
    assert tuple(line.kind for line in result.funnel[0].lines) == kinds


def test_results_survive_json() -> None:
    report, results = run(*COHORT)
    assert report_from_plain(json.loads(json.dumps(report_to_plain(report)))) == report
    for result in results:
        assert case_from_plain(json.loads(json.dumps(case_to_plain(result)))) == result


def test_a_basis_without_pairs_has_no_funnel() -> None:
    far = PlacedEvent("bbbb", "other", 6.0, 90, 99, (1,))
    reference = PlacedEvent("aaaa", "lactate", 6.0, 0, 7, (1,), "lab")
    trail = Trail("public", {}, frozenset(), {})
    report, _ = run(EvaluatedCase("1", "demo", (reference,), {KEY: (far,)}, {KEY: trail}, SERIES))
    assert report.funnel == ()
    assert funnel(report, Basis.SPAN).rows == ()


def test_the_table_has_shares_of_one_denominator_and_counts_of_reasons() -> None:
    report, _ = run(*COHORT)
    head, *lines = funnel(report, Basis.LEVENSHTEIN).to_csv().splitlines()
    assert head == (
        "Source,Timeline,Kind,Occurrences,Right series a candidate,Right series retained,"
        "Right row printed,Right row cited,Time within tolerance,Not among the candidates,"
        "Below threshold,Outside the top series,Rows over budget,Rows not selected,"
        "Printed but not cited,Another row cited,Time differs"
    )
    assert lines == [
        "rules,revised,all,5,0.8,0.8,0.8,0.6,1.0,1,0,0,0,0,1,1,0",
        "rules,revised,lab,3,1.0,1.0,1.0,0.6666666666666666,1.0,0,0,0,0,0,1,0,0",
        "rules,revised,medication,1,0.0,0.0,0.0,1.0,1.0,1,0,0,0,0,0,0,0",
        "rules,revised,unknown,1,1.0,1.0,1.0,0.0,1.0,0,0,0,0,0,0,1,0",
    ]
