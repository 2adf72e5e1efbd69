"""Pairing of differences with findings; pairs are derived by hand."""

from __future__ import annotations

import pytest

from adjudication.searching.matching import Difference, Kind, RowPlace, match_differences
from adjudication.searching.rates import ALL, rate_searches


def one_sided(row: int, span: tuple[int, int] | None = None) -> Difference:
    return Difference(Kind.ONE_SIDED, RowPlace(row, span))


def timing(a: int, b: int) -> Difference:
    return Difference(Kind.TIMING, RowPlace(a), RowPlace(b))


def test_the_same_row_matches_only_with_the_same_kind_and_side():
    listed = [one_sided(1)]
    assert match_differences(listed, [one_sided(1)]) == [(0, 0)]
    assert match_differences(listed, [one_sided(2)]) == []
    assert match_differences(listed, [Difference(Kind.DUPLICATE, RowPlace(1))]) == []
    assert match_differences(listed, [Difference(Kind.ONE_SIDED, None, RowPlace(1))]) == []
    assert match_differences([], [one_sided(1)]) == match_differences(listed, []) == []


def test_rows_at_overlapping_places_match_and_touching_ones_do_not():
    assert match_differences([one_sided(1, (0, 5))], [one_sided(2, (4, 9))]) == [(0, 0)]
    assert match_differences([one_sided(1, (0, 5))], [one_sided(2, (5, 9))]) == []
    assert match_differences([one_sided(1, (0, 5))], [one_sided(2)]) == []


def test_both_sides_of_a_difference_have_to_match():
    assert match_differences([timing(1, 2)], [timing(1, 3)]) == []
    assert match_differences([timing(1, 2)], [timing(1, 2)]) == [(0, 0)]


def test_each_is_used_once_and_as_many_as_possible_match():
    """Row 1 overlaps 11 and 12, row 2 only 11: the equal row must not take 11."""
    listed = [one_sided(11, (0, 9)), one_sided(2, (0, 4))]
    reported = [one_sided(11, (0, 4)), one_sided(12, (5, 9))]
    assert match_differences(listed, reported) == [(0, 1), (1, 0)]
    assert match_differences([one_sided(1), one_sided(1)], [one_sided(1)]) == [(0, 0)]


def test_among_equally_many_pairs_equal_rows_are_taken():
    listed = [one_sided(1, (0, 9)), one_sided(2, (0, 9))]
    reported = [one_sided(2, (0, 9)), one_sided(1, (0, 9))]
    assert match_differences(listed, reported) == [(0, 1), (1, 0)]


def test_kinds_follow_from_the_types_of_findings():
    assert Kind.of_finding("A_ONLY") is Kind.of_finding("B_ONLY") is Kind.ONE_SIDED
    assert Kind.of_finding("TIMING") is Kind.TIMING
    assert [k.rows for k in Kind] == [1, 2, 2, 1, 2]


def test_recall_and_precision_by_kind_with_wilsons_interval():
    """Two pairs: 3 one-sided listed, 4 reported, 2 common; timing 1, 0, 0."""
    searches = [
        ([one_sided(1), one_sided(2), timing(3, 4)], [one_sided(1), one_sided(9)]),
        ([one_sided(5)], [one_sided(5), one_sided(6)]),
    ]
    found = rate_searches("iyer", searches)
    by_kind = {line.kind: line for line in found.lines}
    line = by_kind["one-sided"]
    assert (found.pairs, line.listed, line.reported, line.matched) == (2, 3, 4, 2)
    assert line.recall.rate == pytest.approx(2 / 3)
    # z² = 3.8415: (0.6667 + 0.6402) / 2.2805 = 0.5731, ± 0.8595 · √(0.0741 + 0.1067) = 0.3654.
    assert line.recall.interval == pytest.approx((0.2077, 0.9385), abs=5e-4)
    assert line.precision.rate == 0.5
    assert line.precision.interval == pytest.approx((0.1500, 0.8500), abs=5e-4)
    assert (by_kind["TIMING"].recall.rate, by_kind["TIMING"].precision.rate) == (0.0, None)
    assert by_kind["TIMING"].precision.interval is None
    total = by_kind[ALL]
    assert (total.listed, total.reported, total.matched) == (4, 4, 2)
