"""A whole report on two tiny cases by hand, and rules of any report."""

from __future__ import annotations

import csv
import io
import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from timelines.evaluation import tables
from timelines.evaluation.plain import (
    case_from_plain,
    case_to_plain,
    report_from_plain,
    report_to_plain,
    settings_from_plain,
    settings_to_plain,
)
from timelines.evaluation.report import CONFOUNDED, FEW_CASES, ROWS_KNOWN, SOME_LOCATED, evaluate
from timelines.evaluation.values import (
    METRICS,
    Basis,
    CaseResult,
    EvaluatedCase,
    EvaluationSettings,
    Method,
    PlacedEvent,
    Report,
    SourceKey,
)

TEXT, REVISED = SourceKey("rules", "text_only"), SourceKey("rules", "revised")
SPANS = EvaluationSettings(bases=(Basis.SPAN,))


def event(
    key: str, mention: str, time: float | None, start: int | None = None, rows: tuple[int, ...] = ()
) -> PlacedEvent:
    return PlacedEvent(key, mention, time, start, None if start is None else start + 10, rows)


#: Case one: four reference events; the prediction finds three of them by span, and one that the
#: reference has not.
REFERENCE_ONE = (
    event("a", "fever", -48, 0, (1,)),
    event("b", "lactate 4.1", 2, 20, (2, 3)),
    event("c", "intubation", 10, 40),
    event("d", "no rash", None, 60),
)
TEXT_ONE = (
    event("1", "fever", -24, 0),
    event("2", "lactate", 6, 20),
    event("3", "intubated", 10, 40),
    event("4", "chills", 0, 90),
)
REVISED_ONE = (
    event("1", "fever", -24, 0, (9,)),
    event("2", "lactate", 2, 20, (3,)),
    event("3", "intubated", 11, 40, (7,)),
    event("4", "chills", 0, 90),
)
#: Case two has no timeline of the source: two reference events, one without a time.
REFERENCE_TWO = (event("a", "stroke", 0, 0), event("b", "aspirin", None, 20))


def cases() -> list[EvaluatedCase]:
    return [
        EvaluatedCase("one", "demo", REFERENCE_ONE, {TEXT: TEXT_ONE, REVISED: REVISED_ONE}),
        EvaluatedCase("two", "demo", REFERENCE_TWO, {}),
    ]


def make_report(
    given_cases: list[EvaluatedCase], config: EvaluationSettings = SPANS
) -> tuple[Report, list[CaseResult]]:
    found: list[CaseResult] = []
    report = evaluate(
        given_cases,
        settings=config,
        reference="reference",
        embed=letters,
        embedder="letters",
        on_case=found.append,
    )
    return report, found


def letters(texts: list[str]) -> np.ndarray:
    """One axis a text: equal texts at distance 0, all others at distance 1."""
    return np.array([[float(hash(t) == hash(o)) for o in ALL_TEXTS] for t in texts])


ALL_TEXTS = sorted({e.mention for e in (*REFERENCE_ONE, *REFERENCE_TWO, *TEXT_ONE, *REVISED_ONE)})


def test_available_figures_by_hand() -> None:
    report, _ = make_report(cases())
    text = report.find(TEXT, Basis.SPAN)
    assert text is not None
    assert (
        text.cases,
        text.missing_cases,
        text.reference_events,
        text.predicted_events,
        text.matched_events,
    ) == (1, 1, 4, 4, 3)
    value = {name: e.value for name, e in text.available.items()}
    assert list(value) == list(METRICS)
    assert (value["match_rate"], value["precision"], value["numeric_share"]) == (0.75, 0.75, 1.0)
    # errors 24, 4, 0: the median is 4; within max(3, 0.1·max(|a|, |b|)): 24 against 4.8 no, 4
    # against 3 no, 0 yes
    assert value["median_error"] == 4.0
    assert value["within_tolerance"] == pytest.approx(1 / 3)
    # −48 < 2 < 10 and −24 < 6 < 10: all three pairs in order
    assert (value["concordance"], value["concordance_ref"]) == (1.0, 1.0)
    # s_max is 24, the largest error of either timeline: x = ln 1, ln 5, ln 25, so [(ln 5 − 0)·1/3 +
    # (ln 25 − ln 5)·2/3]/ln 25 … + 0
    x = [0.0, math.log(5), math.log(25)]
    area = (x[0] * 1 / 3 + (x[1] - x[0]) * 2 / 3 + (x[2] - x[1]) * 3 / 3) / x[2]
    assert report.s_max == {"span": 24.0}
    assert value["aultc"] == pytest.approx(area)
    assert value["aultc_ref"] == pytest.approx(1 - sum(x) / 3 / math.log(60 * 24 * 365.26))
    assert value["evidence_precision"] is None
    assert value["evidence_recall"] == 0.0


def test_missing_cases_count_zero_and_errors_s_max() -> None:
    report, _ = make_report(cases())
    text = report.find(TEXT, Basis.SPAN)
    assert text is not None
    value = {name: e.value for name, e in text.missing_as_zero.items()}
    assert value["match_rate"] == 3 / 6
    assert value["concordance"] == 0.5  # the median of 1 and 0
    # of 0, 4, 24 and S_max = 24 for the one timed event of the missing case
    assert value["median_error"] == 14.0
    assert value["within_tolerance"] == pytest.approx(1 / 4)


def test_evidence_is_right_when_a_cited_row_is_one_of_the_references() -> None:
    report, _ = make_report(cases())
    revised = report.find(REVISED, Basis.SPAN)
    assert revised is not None
    # three pairs cite rows; the reference has rows for a and b; only b's 3 is among them
    assert revised.available["evidence_precision"].value == pytest.approx(1 / 3)
    assert revised.available["evidence_recall"].value == 0.5


def test_difference_is_revised_less_text_on_common_events() -> None:
    report, _ = make_report(cases())
    (found,) = report.differences
    assert (found.first, found.second) == (TEXT, REVISED)
    # errors text 24, 4, 0 → revised 24, 0, 1
    assert found.metrics["median_error_common"].value == 1.0 - 4.0
    logs = (math.log1p(24) + math.log1p(0) + math.log1p(1)) / 3 - (
        math.log1p(24) + math.log1p(4) + math.log1p(0)
    ) / 3
    assert found.metrics["mean_log_error_common"].value == pytest.approx(logs)


def test_groups_of_errors() -> None:
    text = make_report(cases())[0].find(TEXT, Basis.SPAN)
    assert text is not None
    assert [(w, e.value) for w, e in text.cumulative][:2] == [
        ("1 hour", pytest.approx(1 / 3)),
        ("1 day", 1.0),
    ]
    assert [(w, n) for w, n, _, _ in text.by_distance if n] == [
        ("1 hour to 1 day", 2),
        ("1 day to 1 week", 1),
    ]
    assert [hours for hours, _ in text.error_cdf] == [0.0, 4.0, 24.0]
    assert [share for _, share in text.error_cdf] == pytest.approx([1 / 3, 2 / 3, 1.0])


def test_drill_down_has_the_pairs_of_each_case() -> None:
    _, found = make_report(cases())
    one = {(s.key, s.basis): s for s in found[0].sources}[REVISED, Basis.SPAN]
    assert [(p.reference, p.predicted) for p in one.pairs] == [
        ("a", "1"),
        ("b", "2"),
        ("c", "3"),
    ]
    assert found[1].sources == ()


def test_embedding_basis_pairs_equal_mentions_and_sweeps() -> None:
    config = EvaluationSettings(bases=(Basis.EMBEDDING, Basis.LEVENSHTEIN), sweep=(0.05, 0.5))
    report, _ = make_report(cases(), config)
    text = report.find(TEXT, Basis.EMBEDDING)
    assert text is not None
    assert text.matched_events == 1
    assert [(t, rate) for t, rate, _, _ in text.sweep] == [(0.05, 0.25), (0.5, 0.25)]
    spelling = report.find(TEXT, Basis.LEVENSHTEIN)
    assert spelling is not None
    # "lactate" against "lactate 4.1": 4 edits of 11; "intubated" against "intubation": 3 of 10 →
    # both below 0.5
    assert spelling.sweep[-1][1] == 0.75


def test_an_assignment_has_no_sweep() -> None:
    report, _ = make_report(
        cases(), EvaluationSettings(bases=(Basis.LEVENSHTEIN,), method="assignment", threshold=0.5)
    )
    assert all(r.sweep == () for r in report.results)
    assert report.results[0].matched_events == 3


def test_sources_without_spans_take_no_part_on_spans() -> None:
    foreign = SourceKey("other", "text_only")
    lone = [
        EvaluatedCase(
            "one", "demo", REFERENCE_ONE, {TEXT: TEXT_ONE, foreign: (event("#1", "fever", 0.0),)}
        )
    ]
    report, by_case = make_report(lone, EvaluationSettings(bases=(Basis.SPAN, Basis.LEVENSHTEIN)))
    assert report.find(foreign, Basis.SPAN) is None
    assert [s.basis for s in by_case[0].sources if s.key == foreign] == [Basis.LEVENSHTEIN]
    found = report.find(foreign, Basis.LEVENSHTEIN)
    assert found is not None
    assert found.matched_events == 1


def test_alternatives_are_compared_on_the_cases_where_all_are_valid() -> None:
    second = SourceKey("rules", "revised", 2)
    both = EvaluatedCase("one", "demo", REFERENCE_ONE, {REVISED: REVISED_ONE, second: TEXT_ONE})
    alone = EvaluatedCase("two", "demo", REFERENCE_TWO, {REVISED: (event("1", "stroke", 99, 0),)})
    report, _ = make_report([both, alone])
    assert [(r.key.alternative, r.cases, r.matched_events) for r in report.alternatives] == [
        (1, 1, 3),
        (2, 1, 3),
    ]
    main = report.find(REVISED, Basis.SPAN)
    assert main is not None
    assert main.cases == 2


def test_datasets_are_strata_with_a_warning() -> None:
    one, two = cases()
    report, _ = make_report(
        [one, EvaluatedCase("two", "other", REFERENCE_TWO, {TEXT: (event("1", "stroke", 5, 0),)})]
    )
    assert [(s.stratum, s.cases) for s in report.strata] == [("demo", 1), ("other", 1)]
    assert set(report.warnings) == {CONFOUNDED, ROWS_KNOWN, FEW_CASES}
    assert make_report([one])[0].strata == ()
    assert two.reference


def test_rho_timelines_give_points_and_no_result() -> None:
    low, high = SourceKey("rules@ρ=0", "revised"), SourceKey("rules@ρ=0.5", "revised")
    case = EvaluatedCase(
        "one", "demo", REFERENCE_ONE, {TEXT: TEXT_ONE, low: REVISED_ONE, high: TEXT_ONE}
    )
    report = evaluate(
        [case],
        settings=SPANS,
        reference="reference",
        rho={low: ("rules", 0.0), high: ("rules", 0.5)},
    )
    assert [(p.source, p.rho, p.rows) for p in report.rho] == [("rules", 0.0, 3), ("rules", 0.5, 0)]
    assert report.keys == [TEXT]


def test_occurrences_without_a_span_are_reported() -> None:
    partly = (*TEXT_ONE[:3], event("4", "chills", 0))
    report, _ = make_report([EvaluatedCase("one", "demo", REFERENCE_ONE, {TEXT: partly})])
    warning = SOME_LOCATED.format("rules · text-only", 1, 4)
    assert warning in report.warnings
    assert not any("have no span" in words for words in make_report(cases())[0].warnings)
    spelled, _ = make_report(
        [EvaluatedCase("one", "demo", REFERENCE_ONE, {TEXT: partly})],
        EvaluationSettings(bases=(Basis.LEVENSHTEIN,)),
    )
    assert warning not in spelled.warnings


@pytest.mark.parametrize("method", ["greedy", "assignment"])
def test_s_max_is_the_largest_error_at_threshold_one_half_whatever_is_compared(
    method: Method,
) -> None:
    # "intubated" for "intubation" is 3 edits of 10: a pair at 0.5 with an error of 90 h, and none
    # at 0.1
    predicted = (event("1", "fever", -40), event("2", "intubated", 100))
    config = EvaluationSettings(bases=(Basis.LEVENSHTEIN,), method=method)
    report, _ = make_report(
        [EvaluatedCase("one", "demo", REFERENCE_ONE, {TEXT: predicted})], config
    )
    assert report.results[0].matched_events == 1
    assert report.s_max == {"levenshtein": 90.0}


@pytest.mark.parametrize(
    "wrong",
    [
        {"threshold": 0.6},
        {"threshold": 0},
        {"threshold": True},
        {"sweep": [0.1, 0.6]},
        {"resamples": 0},
        {"resamples": "20"},
        {"method": "closest"},
        {"rho_sweep": [-0.1]},
        {"seed": None},
    ],
)
def test_settings_out_of_range_cannot_be_built(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        settings_from_plain(wrong)
    with pytest.raises(ValueError, match=next(iter(wrong))):
        EvaluationSettings(**wrong)


def test_embedding_without_an_embedder_is_refused() -> None:
    with pytest.raises(ValueError, match="needs an embedder"):
        evaluate(cases(), settings=EvaluationSettings(), reference="reference")


def test_no_case_at_all_gives_no_figure_and_no_crash() -> None:
    assert evaluate([], settings=SPANS, reference="reference").results == ()


events = st.lists(
    st.tuples(st.integers(0, 40), st.one_of(st.none(), st.floats(-1e4, 1e4, width=32))),
    max_size=8,
    unique_by=lambda e: e[0],
).map(
    lambda places: tuple(
        event(str(n), f"event {start}", time, 12 * start) for n, (start, time) in enumerate(places)
    )
)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(events, events), min_size=1, max_size=5))
def test_a_perfect_source_scores_one_and_the_order_of_cases_changes_nothing(
    cases: list[tuple[tuple[PlacedEvent, ...], ...]],
) -> None:
    perfect, other = SourceKey("perfect", "text_only"), SourceKey("other", "text_only")
    given_cases = [
        EvaluatedCase(str(n), "demo", ref, {perfect: ref, other: pred})
        for n, (ref, pred) in enumerate(cases)
    ]
    config = EvaluationSettings(bases=(Basis.SPAN, Basis.LEVENSHTEIN), resamples=20)
    report, back = make_report(given_cases, config)[0], make_report(given_cases[::-1], config)[0]
    for basis in config.bases:
        result = report.find(perfect, basis)
        if result is not None:
            for name in (
                "match_rate",
                "precision",
                "concordance",
                "concordance_ref",
                "within_tolerance",
                "numeric_share",
            ):
                assert result.available[name].value in (None, 1.0)
            assert result.available["median_error"].value in (None, 0.0)
    for one in report.results:
        two = back.find(one.key, one.basis)
        assert two is not None
        for name, found in one.available.items():
            other_value = two.available[name].value
            assert found.value == (None if other_value is None else pytest.approx(other_value))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(events, events), min_size=2, max_size=6))
def test_reports_survive_json_and_intervals_are_ordered(
    cases: list[tuple[tuple[PlacedEvent, ...], ...]],
) -> None:
    given_cases = [
        EvaluatedCase(str(n), "demo", ref, {TEXT: pred, REVISED: pred})
        for n, (ref, pred) in enumerate(cases)
    ]
    report, found = make_report(
        given_cases, EvaluationSettings(bases=(Basis.SPAN, Basis.LEVENSHTEIN), resamples=20)
    )
    assert report_from_plain(json.loads(json.dumps(report_to_plain(report)))) == report
    assert [case_from_plain(json.loads(json.dumps(case_to_plain(c)))) for c in found] == found

    for result in report.results:
        for figure in result.available.values():
            if figure.low is not None and figure.high is not None:
                assert figure.low <= figure.high
    for same in report.differences:
        assert all(e.value in (None, 0.0) for e in same.metrics.values())


def test_a_stored_case_of_an_earlier_form_loads() -> None:
    _, (case, _) = make_report(cases())
    older = case_to_plain(case)
    for source in older["sources"]:
        for pair in source["pairs"]:
            pair |= {"reference_time": 1.0, "predicted_time": None}
    assert case_from_plain(older) == case


def test_settings_survive_json() -> None:
    config = EvaluationSettings(
        bases=(Basis.LEVENSHTEIN,), method="assignment", rho_sweep=(0.0, 0.1)
    )
    assert settings_from_plain(json.loads(json.dumps(settings_to_plain(config)))) == config
    with pytest.raises(ValueError):
        settings_from_plain({"bases": ["nonsense"]})


# Tables


def test_the_main_table_in_csv_latex_and_json() -> None:
    report, _ = make_report(cases())
    table = tables.main(report, Basis.SPAN)
    rows = list(csv.DictReader(io.StringIO(table.to_csv())))
    assert [(r["Source"], r["Timeline"], r["Cases"], r["Span recall"]) for r in rows] == [
        ("rules", "text-only", "1/2", "0.75"),
        ("rules", "revised", "1/2", "0.75"),
    ]
    assert rows[0]["Span recall, missing as 0"] == "0.5"
    assert rows[0]["Evidence precision"] == ""
    latex = table.to_latex()
    assert latex.count(r"\\") == 3
    assert r"\toprule" in latex
    parsed = json.loads(table.to_json())
    assert parsed["rows"][0][3]["value"] == 0.75
    assert parsed["rows"][0][12]["why"]


def test_names_that_spreadsheets_or_tex_would_read_are_made_safe() -> None:
    odd = SourceKey("=1+1 & 50% of_x", "text_only")
    report, _ = make_report([EvaluatedCase("one", "demo", REFERENCE_ONE, {odd: TEXT_ONE})])
    table = tables.main(report, Basis.SPAN)
    assert next(csv.reader(io.StringIO(table.to_csv().split("\n", 1)[1])))[0] == "'=1+1 & 50% of_x"
    assert r"=1+1 \& 50\% of\_x" in table.to_latex()


def test_published_figures_are_marked_and_never_among_spans() -> None:
    config = EvaluationSettings(bases=(Basis.SPAN, Basis.LEVENSHTEIN))
    report, _ = make_report(cases(), config)
    marked = [
        row[0]
        for row in tables.main(report, Basis.LEVENSHTEIN, published=True).rows
        if "(published)" in str(row[0])
    ]
    assert "GLM-5.2 (published)" in marked
    assert len(marked) == 15
    assert not any(
        "(published)" in str(row[0]) for row in tables.main(report, Basis.SPAN, published=True).rows
    )


def test_the_ablation_table_has_a_line_a_variant() -> None:
    variant = SourceKey("rules/no_uid", "revised")
    case = EvaluatedCase(
        "one", "demo", REFERENCE_ONE, {TEXT: TEXT_ONE, REVISED: REVISED_ONE, variant: TEXT_ONE}
    )
    report, _ = make_report([case])
    assert [row[0] for row in tables.ablation(report, Basis.SPAN, "rules").rows] == [
        "full",
        "unimodal",
        "no_uid",
    ]
    assert [(d.first.label, d.second.label) for d in report.differences] == [
        ("rules · text-only", "rules · revised"),
        ("rules · revised", "rules/no_uid · revised"),
    ]
    assert [t.name for t in tables.all_tables(report, Basis.SPAN)][:3] == [
        "main",
        "ablation",
        "differences",
    ]


def test_a_source_whose_name_holds_a_slash_is_no_variant() -> None:
    imported, at_rho = SourceKey("rules/mine", "text_only"), SourceKey("rules/rho=0.3", "revised")
    case = EvaluatedCase(
        "one",
        "demo",
        REFERENCE_ONE,
        {TEXT: TEXT_ONE, REVISED: REVISED_ONE, imported: TEXT_ONE, at_rho: TEXT_ONE},
    )
    report, _ = make_report([case])
    assert [row[0] for row in tables.main(report, Basis.SPAN).rows] == [
        "rules",
        "rules",
        "rules/mine",
    ]
    assert [(d.first, d.second) for d in report.differences] == [(TEXT, REVISED), (REVISED, at_rho)]
    assert [row[0] for row in tables.ablation(report, Basis.SPAN, "rules").rows] == [
        "full",
        "unimodal",
    ]
