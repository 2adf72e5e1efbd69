"""Series summaries against values by hand and a plain implementation.

The implementation follows the protocol's words.
"""

import math
import statistics
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ehr.summarise import Series, summarise
from tests.unit.ehr.rows import make_time, table

LACTATE = "lab:lactate:blood"
RHYTHM = "chart:heart rhythm:"


def one(rows, **options) -> Series:
    (series,) = summarise(table(rows), **options)
    return series


def test_a_numeric_series_by_hand():
    # (4.1 + 2.0 + 3.5) / 3 = 3.2; deviations 0.9, -1.2, 0.3; squares 0.81 + 1.44 + 0.09 = 2.34;
    # 2.34 / 2 = 1.17
    series = one(
        [
            (6, LACTATE, "3.5", "mmol/L"),
            (0, LACTATE, "4.1", "mmol/L"),
            (2.5, LACTATE, "2.0", "mmol/L"),
        ]
    )
    assert series.numbers is not None
    assert series.numbers.mean == pytest.approx(3.2)
    assert series.numbers.sd == pytest.approx(math.sqrt(1.17))
    assert (series.numbers.lowest.value, series.numbers.lowest.time) == ("2.0", make_time(2.5))
    assert (series.numbers.highest.value, series.numbers.highest.time) == ("4.1", make_time(0))
    assert (series.first.value, series.last.value) == ("4.1", "3.5")
    assert series.row_indices == (1, 2, 0)
    assert series.units == ("mmol/L",)
    assert [o.value for o in series.observations] == ["4.1", "2.0", "3.5"]
    assert series.priority == 5


def test_a_single_number_has_no_deviation():
    numbers = one([(0, LACTATE, "4.1")]).numbers
    assert (numbers.mean, numbers.sd, numbers.count) == (4.1, None, 1)


def test_an_extreme_that_occurs_twice_is_shown_where_it_came_first():
    numbers = one(
        [(0, LACTATE, "3"), (1, LACTATE, "1"), (2, LACTATE, "1.0"), (3, LACTATE, "3.0")]
    ).numbers
    assert (numbers.lowest.time, numbers.highest.time) == (make_time(1), make_time(0))


@pytest.mark.parametrize(
    ("numbers", "words", "empty", "numeric"),
    [(4, 1, 0, True), (4, 1, 9, True), (3, 1, 0, False), (0, 0, 3, False), (1, 0, 9, True)],
)
def test_eighty_per_cent_of_the_values_that_are_there_decide(numbers, words, empty, numeric):
    values = ["7"] * numbers + ["hemolyzed"] * words + [""] * empty
    series = one([(hour, LACTATE, value) for hour, value in enumerate(values)])
    assert (series.numbers is not None) is numeric
    assert series.count == len(values)


def test_a_series_of_words_by_hand():
    counts = {"sinus": 4, "af": 3, "paced": 3, "flutter": 2, "svt": 1, "vt": 1, "avb": 1}
    values = [value for value, n in counts.items() for _ in range(n)]
    series = one([(hour, RHYTHM, value) for hour, value in enumerate(values)])
    assert series.top_values == (("sinus", 4), ("af", 3), ("paced", 3), ("flutter", 2), ("avb", 1))
    assert series.other_values == 2
    assert series.numbers is None
    assert series.observations is None  # 15 are more than twelve


@pytest.mark.parametrize(("count", "listed"), [(12, True), (13, False)])
@pytest.mark.parametrize("value", ["7", "sinus"])
def test_up_to_twelve_observations_are_listed_whatever_they_are(count, listed, value):
    series = one([(hour, RHYTHM, value) for hour in range(count)])
    assert (series.observations is not None) is listed


def test_rows_without_a_time_reach_only_those_who_ask():
    rows = [(None, "diagnosis:sepsis:", "A41.9"), (1, LACTATE, "2"), (None, LACTATE, "9")]
    (series,) = summarise(table(rows))
    assert (series.event, series.row_indices) == (LACTATE, (1,))
    everything = {s.event: s for s in summarise(table(rows), untimed=True)}
    assert everything["diagnosis:sepsis:"].first is None
    assert everything[LACTATE].row_indices == (1, 2)
    assert everything[LACTATE].last.time == make_time(1)


def test_names_are_exact_and_groups_apart():
    rows = table(
        [(0, LACTATE, "1"), (1, LACTATE.upper(), "2"), (2, LACTATE, "3"), (3, LACTATE, "5")]
    )
    found = [(s.group, s.event, s.row_indices) for s in summarise(rows, np.array([7, 7, 3, 7]))]
    assert found == [(3, LACTATE, (2,)), (7, LACTATE, (0, 3)), (7, LACTATE.upper(), (1,))]


def test_nothing_has_no_series():
    assert len(summarise(table([]))) == 0
    assert list(summarise(table([(None, LACTATE, "1")]))) == []


EVENTS = st.sampled_from([LACTATE, RHYTHM, "med:heparin:start"])
VALUES = st.one_of(
    st.integers(-5, 5).map(str), st.sampled_from(["", "sinus", "af", "<0.5", "é", "1e3", "NaN"])
)
ROWS = st.lists(st.tuples(st.one_of(st.none(), st.integers(-3, 3)), EVENTS, VALUES), max_size=60)


@given(ROWS)
def test_it_says_what_a_plain_implementation_says(rows):
    found = {s.event: s for s in summarise(table(rows))}
    timed = [
        (hour, i, event, value) for i, (hour, event, value) in enumerate(rows) if hour is not None
    ]
    assert set(found) == {event for _, _, event, _ in timed}
    for name, series in found.items():
        mine = sorted((hour, i, value) for hour, i, event, value in timed if event == name)
        assert series.row_indices == tuple(i for _, i, _ in mine)
        values = [value for *_, value in mine if value]
        numbers = [float(v) for v in values if v.lstrip("-").isdigit() or v == "1e3"]
        assert (series.numbers is not None) == (bool(numbers) and len(numbers) >= 0.8 * len(values))
        if series.numbers is not None:
            assert series.numbers.mean == pytest.approx(statistics.fmean(numbers))
            assert series.numbers.sd == (
                None if len(numbers) == 1 else pytest.approx(statistics.stdev(numbers))
            )
            assert float(series.numbers.lowest.value) == min(numbers)
            assert float(series.numbers.highest.value) == max(numbers)
        else:
            ranked = sorted(Counter(values).items(), key=lambda pair: (-pair[1], pair[0].encode()))
            assert series.top_values == tuple(ranked[:5])
            assert series.other_values == max(len(ranked) - 5, 0)
