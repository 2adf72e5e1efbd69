"""Tables and plots of an evaluation, with values by hand.

Words of figures, the best of a column, and the meaning of an interval.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.made_report import (
    NO_ROWS,
    OTHER,
    REVISED,
    SECOND,
    TEXT,
    make_figures,
    make_report,
    make_result,
)
from timelines.evaluation import tables
from timelines.evaluation.naming import split_source
from timelines.evaluation.values import Basis, Difference, Estimate, SourceKey
from timelines.presentation.evaluation import tables as shown
from timelines.presentation.evaluation.plots import payload


@pytest.mark.parametrize(
    ("metric", "value", "signed", "words"),
    [
        ("aultc", 0.7926, False, "0.793"),
        ("aultc", None, False, "–"),
        ("aultc", 0.0331, True, "+0.033"),
        ("aultc", -0.0331, True, "−0.033"),
        ("aultc", -0.0001, True, "0.000"),
        ("median_error", 6.249, False, "6.25"),
        ("median_error", 62.49, False, "62.5"),
        ("median_error_common", -3.1, True, "−3.10"),
    ],
)
def test_values_are_said_with_the_places_of_their_kind(metric, value, signed, words):
    assert shown.value_words(metric, value, signed=signed) == words


@pytest.mark.parametrize(
    ("source", "parts"),
    [
        ("rules", ("rules", "")),
        ("rules/no_uid", ("rules", "no_uid")),
        ("rules/no_uid/rho=0.1", ("rules", "no_uid/rho=0.1")),
        ("rules/rho=0.1", ("rules", "rho=0.1")),
        ("lab/system", ("lab/system", "")),
    ],
)
def test_a_variant_is_told_from_a_name_with_a_slash(source, parts):
    assert split_source(source) == parts


def test_the_main_table_leaves_variants_to_the_ablation_table():
    report = make_report()
    assert [r.key for r in shown.main_results(report, Basis.SPAN)] == [TEXT, REVISED, OTHER]
    assert [r.key for r in shown.ablation_results(report, Basis.SPAN)] == [TEXT, REVISED, NO_ROWS]
    more = tuple(
        make_result(k, Basis.SPAN, make_figures(0.7, 0.8, 0.7, 4.0))
        for k in (
            SourceKey("rules/no_rows", "text_only"),
            SourceKey("rules/unimodal", "text_only"),
            SECOND,
        )
    )
    more_rows = make_report(results=(*report.results, *more))
    assert [r.key for r in shown.main_results(more_rows, Basis.SPAN)] == [TEXT, REVISED, OTHER]
    assert [r.key.label for r in shown.ablation_results(more_rows, Basis.SPAN)][2:] == [
        "rules/no_rows · revised",
        "rules/unimodal · text-only",
    ]
    without = make_report(results=tuple(r for r in report.results if r.key != NO_ROWS))
    assert shown.ablation_results(without, Basis.SPAN) == []


def test_a_missing_case_makes_two_columns_of_a_metric():
    report = make_report()
    table = shown.build_table(
        shown.main_results(report, Basis.SPAN), ("match_rate", "aultc"), Basis.SPAN
    )
    assert [(h.words, h.span) for h in table.heads] == [("Span recall", 2), ("AULTC", 2)]
    assert table.treatments == ["available", "missing as 0", "available", "missing as 0"]
    assert [row.cases for row in table.rows] == ["4", "4", "3 of 4"]
    assert [f.words for f in table.rows[2].figures] == ["0.512", "0.432", "0.661", "0.581"]
    alone = shown.build_table(
        [r for r in report.results if r.key == TEXT], ("match_rate",), Basis.SPAN
    )
    assert alone.treatments == []


def test_the_best_of_a_column_is_marked_the_least_error_included_and_the_neutral_share_not():
    results = [
        make_result(TEXT, Basis.SPAN, make_figures(0.742, 0.861, 0.743, 6.2)),
        make_result(REVISED, Basis.SPAN, make_figures(0.742, 0.8939, 0.792, 3.1)),
        make_result(NO_ROWS, Basis.SPAN, make_figures(0.742, 0.8941, 0.751, 5.4)),
    ]
    table = shown.build_table(
        results, ("match_rate", "concordance", "median_error", "numeric_share"), Basis.SPAN
    )
    marks = [[f.best for f in row.figures] for row in table.rows]
    assert marks == [
        [False, False, False, False],
        [False, True, True, False],
        [False, True, False, False],
    ]


def test_figures_over_different_cases_have_no_best():
    results = [
        make_result(REVISED, Basis.SPAN, make_figures(0.742, 0.89, 0.792, 3.1)),
        make_result(OTHER, Basis.SPAN, make_figures(0.3, 1.0, 0.95, 2.0), missing=1),
    ]
    row, other = shown.build_table(results, ("concordance",), Basis.SPAN).rows
    assert [(f.words, f.best) for f in other.figures] == [("1.000", False), ("0.920", True)]
    assert not row.figures[0].best


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (-0.002, -0.0003, "−0.002 to just below 0"),
        (0.0003, 0.002, "just above 0 to +0.002"),
        (-0.0003, 0.002, "0.000 to +0.002"),
        (-0.004, -0.002, "−0.004 to −0.002"),
    ],
)
def test_an_interval_beside_zero_says_on_which_side_it_lies(low, high, words):
    made = Difference(TEXT, REVISED, Basis.SPAN, {"aultc": Estimate((low + high) / 2, low, high)})
    (comparison,) = shown.comparisons([made], Basis.SPAN, variants=False)
    assert comparison.rows[0].interval == words


def test_rows_of_one_source_stand_together_under_its_name():
    results = [
        make_result(k, Basis.SPAN, make_figures(0.7, 0.8, 0.7, 4.0)) for k in (TEXT, OTHER, REVISED)
    ]
    rows = shown.build_table(results, ("aultc",), Basis.SPAN).rows
    assert [(r.key, r.first, r.span) for r in rows] == [
        (TEXT, True, 2),
        (REVISED, False, 2),
        (OTHER, True, 1),
    ]
    assert [r.kind for r in rows] == ["text-only", "revised", "text-only"]


@pytest.mark.parametrize(
    ("metric", "estimate", "verdict"),
    [
        ("aultc", Estimate(0.03, 0.01, 0.05), "Better (95 % CI excludes 0)"),
        ("aultc", Estimate(-0.03, -0.05, -0.01), "Worse (95 % CI excludes 0)"),
        ("median_error", Estimate(-3.0, -4.0, -1.0), "Better (95 % CI excludes 0)"),
        ("median_error_common", Estimate(3.0, 1.0, 4.0), "Worse (95 % CI excludes 0)"),
        ("numeric_share", Estimate(0.1, 0.05, 0.2), "Higher (95 % CI excludes 0)"),
        ("aultc", Estimate(0.03, 0.0, 0.05), "No clear difference (95 % CI includes 0)"),
        ("aultc", Estimate(0.03), "No interval: too few cases"),
        ("aultc", Estimate(None, why="nothing matched"), "No figure: nothing matched"),
    ],
)
def test_a_difference_says_whether_its_interval_excludes_zero(metric, estimate, verdict):
    (comparison,) = shown.comparisons(
        [Difference(TEXT, REVISED, Basis.SPAN, {metric: estimate})], Basis.SPAN, variants=False
    )
    assert comparison.rows[0].verdict == verdict
    assert (comparison.first, comparison.second) == ("rules · text-only", "rules · revised")


def test_differences_of_variants_stand_apart_and_of_other_bases_nowhere():
    differences = make_report().differences
    assert [c.second for c in shown.comparisons(differences, Basis.SPAN, variants=False)] == [
        "rules · revised"
    ]
    assert [c.second for c in shown.comparisons(differences, Basis.SPAN, variants=True)] == [
        "rules/no_rows · revised"
    ]
    assert shown.comparisons(differences, Basis.LEVENSHTEIN, variants=False) == []


def test_differences_stand_in_the_order_of_the_columns():
    kept = {
        m: Estimate(0.1, 0.05, 0.2)
        for m in ("aultc", "median_error_common", "precision", "concordance", "match_rate")
    }
    (comparison,) = shown.comparisons(
        [Difference(TEXT, REVISED, Basis.SPAN, kept)], Basis.SPAN, variants=False
    )
    assert [row.metric for row in comparison.rows] == [
        "Span recall",
        "Precision",
        "Concordance",
        "AULTC",
        "Median error on common events, h",
    ]


def test_plots_have_one_colour_a_source_and_the_marker_at_the_threshold():
    data = payload(make_report(), Basis.EMBEDDING)
    assert [(s["source"], s["kind"], s["tone"]) for s in data["sweep"]][:2] == [
        ("rules", "text_only", 0),
        ("rules", "revised", 0),
    ]
    assert data["sweep"][2]["tone"] == 2
    marked = [p for p in data["sweep"][0]["points"] if p[4]]
    assert marked == [[0.1, 0.542, 0.851, 0.735, 1]]
    assert payload(make_report(), Basis.SPAN)["sweep"] == []
    assert data["rho"][0]["points"]["concordance"] == [
        [0.0, 0.88, 0.85, 0.91],
        [0.1, 0.885, 0.855, 0.915],
        [0.3, 0.895, 0.865, 0.925],
    ]


def test_the_reliability_plot_has_each_tenth_and_the_nominal_share():
    data = payload(make_report(), Basis.SPAN)
    assert data["nominal"] == 0.9
    assert [s["label"] for s in data["reliability"][:2]] == ["rules · text-only", "rules · revised"]
    assert len(data["reliability"]) == 3
    first = data["reliability"][1]["points"][0]
    assert first == [0.7, 0.61, 0.58, 0.64, 10, 0.5, 0.9]
    assert payload(make_report(bounds=()), Basis.SPAN)["reliability"] == []


def test_a_band_without_data_is_a_gap_and_a_timeline_without_any_is_left_out():
    empty = replace(
        make_result(TEXT, Basis.SPAN, make_figures(0.7, 0.8, 0.7, 4.0)),
        by_distance=(("1 hour to 1 day", 0, Estimate(None), Estimate(None)),),
    )
    assert payload(make_report(results=(empty,)), Basis.SPAN)["bands"] == []


def test_the_rho_sweep_is_one_table_and_names_its_pairing():
    report = make_report()
    assert [t.name for b in report.settings.bases for t in tables.all_tables(report, b)].count(
        "rho"
    ) == 1
    assert (
        tables.rho(report, Basis.EMBEDDING).title
        == "Sensitivity to the reranker's threshold, paired by span overlap (IoU ≥ 0.4)"
    )


def test_the_rho_table_is_in_order_and_says_why_a_figure_is_missing():
    rows = shown.rho_rows(make_report().rho, ("concordance", "evidence_precision"))
    assert [(source, rho, n) for source, rho, n, _ in rows] == [
        ("rules", "0", 310),
        ("rules", "0.1", 240),
        ("rules", "0.3", 90),
    ]
    assert rows[0][3][1].why == "the reference cites no row"
