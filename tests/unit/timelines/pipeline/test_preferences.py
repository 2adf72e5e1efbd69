"""Which rows of one series an occurrence prefers.

Every order is derived by hand.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timelines.domain import Entry, SourceRow, TimeKind
from timelines.pipeline.preferences import (
    Act,
    Place,
    Wanted,
    named_acts,
    named_place,
    records_act,
)

UID = "0a1b"
LAB = "lab:lactate:blood"
START, END = "med:norepinephrine:start", "med:norepinephrine:end"
COLLECTION, RESULT, ORDER = TimeKind.COLLECTION, TimeKind.RESULT, TimeKind.ORDER
GIVEN, DONE, CHARTED = TimeKind.ADMINISTRATION, TimeKind.PERFORMED, TimeKind.CHARTED


def row(
    index: int,
    time: float | None,
    value: str = "",
    event: str = LAB,
    kind: TimeKind = TimeKind.UNKNOWN,
) -> SourceRow:
    number = float(value) if value.replace(".", "").isdigit() else None
    return SourceRow(index, time, event, value, time_kind=kind, numeric_value=number)


def order(mention: str, entry: Entry, rows: list[SourceRow]) -> list[int]:
    return [r.row_index for r in Wanted.of(mention, entry).order_rows(rows)]


def test_the_literal_value_precedes_the_act() -> None:
    rows = [row(0, 10, "2.0", kind=COLLECTION), row(1, 40, "4.1", kind=RESULT)]
    assert order("lactate 4.1 collected", Entry(UID, 10), rows) == [1, 0]
    assert order("lactate collected", Entry(UID, 40), rows) == [0, 1]


def test_the_act_precedes_the_place_among_like_rows() -> None:
    rows = [row(0, 1, kind=ORDER), row(1, 5, kind=GIVEN), row(2, 9, kind=GIVEN)]
    assert order("first vancomycin given", Entry(UID, 9), rows) == [1, 2, 0]


def test_the_place_precedes_nearness() -> None:
    rows = [row(0, 1), row(1, 50), row(2, 99)]
    assert order("last sodium", Entry(UID, 1), rows) == [2, 1, 0]
    assert order("sodium", Entry(UID, 1), rows) == [0, 1, 2]


def test_inside_the_bounds_the_point_estimate_decides_and_outside_the_distance() -> None:
    rows = [row(0, 13.5), row(1, 11.5), row(2, 8), row(3, 10.5), row(4, 7)]
    assert order("sodium", Entry(UID, 10, 8, 12), rows) == [3, 1, 2, 4, 0]


def test_equal_distances_go_by_time_and_equal_times_by_index() -> None:
    rows = [row(0, 11), row(1, 9), row(2, 9)]
    assert order("sodium", Entry(UID, 10, 8, 12), rows) == [1, 2, 0]
    assert order("sodium", Entry(UID, None, 8, 12), rows) == [1, 2, 0]


def test_rows_without_a_time_are_left_out() -> None:
    assert order("sodium", Entry(UID, 1), [row(0, None), row(1, 3)]) == [1]


@pytest.mark.parametrize(
    ("mention", "expected"),
    [
        ("first sodium", [0, 1, 2]),
        ("initial sodium", [0, 1, 2]),
        ("last sodium", [2, 1, 0]),
        ("sodium at discharge", [2, 1, 0]),
        # The first row is no repetition; the nearest of the others is best.
        ("repeat sodium", [1, 2, 0]),
        ("second sodium", [1, 2, 0]),
    ],
)
def test_first_last_and_repeat_among_rows_in_time(mention: str, expected: list[int]) -> None:
    rows = [row(0, 4), row(1, 8), row(2, 40)]
    assert order(mention, Entry(UID, 5), rows) == expected


@pytest.mark.parametrize(
    ("mention", "expected"),
    [
        ("highest sodium", [1, 2, 0, 3]),
        ("sodium peak", [1, 2, 0, 3]),
        ("lowest sodium", [0, 2, 1, 3]),
        ("sodium nadir", [0, 2, 1, 3]),
    ],
)
def test_highest_and_lowest_by_number_and_rows_without_one_last(
    mention: str, expected: list[int]
) -> None:
    rows = [row(0, 1, "2.0"), row(1, 90, "4.1"), row(2, 50, "3.0"), row(3, 1, "hemolyzed")]
    assert order(mention, Entry(UID, 1), rows) == expected


def test_restarted_is_a_later_start() -> None:
    rows = [row(i, t, event=START, kind=GIVEN) for i, t in enumerate((2, 20, 40))]
    assert order("norepinephrine restarted", Entry(UID, 3), rows) == [1, 2, 0]
    assert order("norepinephrine started", Entry(UID, 3), rows) == [0, 1, 2]


def test_a_repeated_value_is_the_later_of_its_rows() -> None:
    rows = [row(0, 1, "4.1"), row(1, 2, "2.0"), row(2, 9, "4.1")]
    assert order("repeat lactate 4.1", Entry(UID, 1), rows) == [2, 0, 1]


@pytest.mark.parametrize(
    ("mention", "acts"),
    [
        ("vancomycin was ordered", {Act.ORDERED}),
        ("apixaban prescribed", {Act.ORDERED}),
        ("norepinephrine restarted", {Act.STARTED}),
        ("began antibiotics", {Act.STARTED}),
        ("heparin stopped", {Act.STOPPED}),
        ("beta blocker held", {Act.STOPPED}),
        ("weaned off pressors", {Act.STOPPED}),
        ("extubated", {Act.STOPPED}),
        ("unit of red cells transfused", {Act.GIVEN}),
        ("blood cultures drawn", {Act.COLLECTED}),
        ("culture grew E. coli", {Act.RESULTED}),
        ("vancomycin ordered and given", {Act.ORDERED, Act.GIVEN}),
        ("lactate 4.1", set()),
        ("bipolar disorder", set()),
        ("comfort care offered", set()),
        ("endoscopy", set()),
    ],
)
def test_acts_that_a_mention_names(mention: str, acts: set[Act]) -> None:
    assert named_acts(mention) == acts


@pytest.mark.parametrize(
    ("event", "kind", "act", "expected"),
    [
        (START, GIVEN, Act.STARTED, True),
        (END, GIVEN, Act.STARTED, False),
        (START, GIVEN, Act.STOPPED, False),
        (END, GIVEN, Act.STOPPED, True),
        (END, GIVEN, Act.GIVEN, False),
        ("med:furosemide:administered", GIVEN, Act.GIVEN, True),
        ("procedure:arterial line:start", DONE, Act.STARTED, True),
        ("procedure:arterial line:end", DONE, Act.STOPPED, True),
        ("order:heparin:start", ORDER, Act.ORDERED, True),
        ("order:heparin:stop", ORDER, Act.ORDERED, False),
        ("order:heparin:stop", ORDER, Act.STOPPED, True),
        ("order:heparin:start", ORDER, Act.STARTED, True),
        ("order:heparin:start", ORDER, Act.GIVEN, False),
        (LAB, COLLECTION, Act.COLLECTED, True),
        (LAB, RESULT, Act.COLLECTED, False),
        ("micro:culture:", RESULT, Act.RESULTED, True),
        ("chart:line:", CHARTED, Act.STARTED, False),
    ],
)
def test_rows_that_record_an_act(event: str, kind: TimeKind, act: Act, expected: bool) -> None:
    assert records_act(row(0, 1, event=event, kind=kind), frozenset((act,))) is expected


def test_every_row_suits_a_mention_that_names_no_act() -> None:
    assert records_act(row(0, 1, event=END, kind=ORDER), frozenset())


@pytest.mark.parametrize(
    ("mention", "place"),
    [
        ("lowest blood pressure", Place.LOWEST),
        ("hemoglobin nadir 6.1", Place.LOWEST),
        ("peak troponin", Place.HIGHEST),
        ("Tmax 39.4", Place.HIGHEST),
        ("repeat lactate", Place.LATER),
        ("lactate rechecked", Place.LATER),
        ("heparin restarted", Place.LATER),
        ("first dose of vancomycin", Place.FIRST),
        ("creatinine on admission", Place.FIRST),
        ("most recent hemoglobin", Place.LAST),
        ("sodium at discharge", Place.LAST),
        ("highest temperature on admission", Place.HIGHEST),
        ("lactate 4.1", None),
    ],
)
def test_places_that_a_mention_names(mention: str, place: Place | None) -> None:
    assert named_place(mention) is place


ROWS = st.lists(
    st.tuples(st.integers(-20, 60), st.sampled_from(["", "4.1", "2.0", "pending"])), max_size=12
)


@given(
    ROWS,
    st.sampled_from(["lactate 4.1", "first lactate", "peak lactate given", "repeat lactate"]),
    st.sampled_from([Entry(UID, None), Entry(UID, 5), Entry(UID, 5, 0, 9), Entry(UID, None, 1)]),
    st.randoms(use_true_random=False),
)
def test_the_order_does_not_depend_on_the_order_of_the_record(
    made: list[tuple[int, str]], mention: str, entry: Entry, rng: random.Random
) -> None:
    rows = [row(i, time, value) for i, (time, value) in enumerate(made)]
    shuffled = rng.sample(rows, len(rows))
    assert order(mention, entry, rows) == order(mention, entry, shuffled)
