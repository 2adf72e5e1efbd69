"""Twins: the effect of each kind of change on a row, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudication.judging.input import Candidate, whole_hours
from adjudication.judging.validation import TOLERANCE
from adjudication.planting.twins import MEASURED, Plant, RowOwner, plant

EVENTS = [
    "fever",
    "sodium 128",
    "no chest pain",
    "heart rate 110",
    "intubation",
    "ceftriaxone 1 g",
    "discharge home",
    "nausea",
]
ROWS = [
    Candidate(event=e, time=t, uid=f"{n:04x}")
    for n, (e, t) in enumerate(zip(EVENTS, [-72, -2, -2, 1, 10, 11, 120, None], strict=True))
]


def _equal(first: float | None, second: float | None) -> bool:
    return TOLERANCE.equal(whole_hours(first), whole_hours(second))


@pytest.mark.parametrize("kind", [Plant.SHIFTED_BEYOND, Plant.SHIFTED_WITHIN, Plant.SIGN_FLIPPED])
@pytest.mark.parametrize("seed", range(5))
def test_a_time_is_moved_on_the_side_of_the_tolerance_that_its_kind_names(
    kind: Plant, seed: int
) -> None:
    twin = plant(ROWS, seed=seed, each=2, kinds=[kind])
    before = {r.uid: r for r in ROWS}
    moved = [r for r in twin.rows if r != before[r.uid]]
    assert len(moved) == len(twin.planted) == 2
    for row, planted in zip(
        sorted(moved, key=lambda r: str(r.uid)),
        sorted(twin.planted, key=lambda p: min(p.uids)),
        strict=True,
    ):
        was = before[row.uid]
        assert row.time is not None
        assert was.time is not None
        assert planted.size == pytest.approx(abs(row.time - was.time))
        assert _equal(row.time, was.time) is kind.quiet
        assert replace(row, time=was.time) == was


def test_a_flipped_sign_turns_the_bounds_round() -> None:
    twin = plant(
        [Candidate(event="fever", time=-72, lower=-80, upper=-60, uid="0001")],
        seed=1,
        kinds=[Plant.SIGN_FLIPPED],
    )
    assert [(r.time, r.lower, r.upper) for r in twin.rows] == [(72, 60, 80)]
    assert twin.planted[0].size == 144


def test_rows_are_dropped_and_copied() -> None:
    dropped = plant(ROWS, seed=3, each=2, kinds=[Plant.DROPPED])
    assert len(dropped.rows) == len(ROWS) - 2
    assert {u for p in dropped.planted for u in p.uids} == {r.uid for r in ROWS} - {
        r.uid for r in dropped.rows
    }
    copied = plant(ROWS, seed=3, each=1, kinds=[Plant.DUPLICATED])
    (planted,) = copied.planted
    one, two = (r for r in copied.rows if r.uid in planted.uids)
    assert one.uid != two.uid
    assert replace(two, uid=one.uid) == one
    assert planted.owner is RowOwner.TWIN


def test_a_value_is_changed_in_the_words_alone() -> None:
    twin = plant([ROWS[1]], seed=0, kinds=[Plant.VALUE_CHANGED])
    (row,), (planted,) = twin.rows, twin.planted
    number = float(row.event.removeprefix("sodium "))
    assert number != 128
    assert planted.size == pytest.approx(abs(number - 128) / 128)


@pytest.mark.parametrize(
    ("event", "measured"),
    [
        ("sodium 128 in the ED", ["128"]),
        ("fever on POD 3", []),
        ("blood gas 7.38/41", []),
        ("INR 1.1, HD#5", ["1.1"]),
        ("B12 low", []),
    ],
)
def test_what_is_a_measured_number(event: str, measured: list[str]) -> None:
    assert MEASURED.findall(event) == measured


def test_neighbours_at_equal_times_are_told_as_one_row() -> None:
    twin = plant(ROWS, seed=0, each=1, kinds=[Plant.MERGED])
    (planted,) = twin.planted
    assert len(planted.uids) == 2
    assert planted.kind.quiet
    assert len(twin.rows) == len(ROWS) - 1
    (row,) = [r for r in twin.rows if r.uid in planted.uids]
    first, second = (r for r in ROWS if r.uid in planted.uids)
    assert row.event == f"{first.event} with {second.event}"
    assert row.time == first.time


def test_an_invented_event_is_not_in_the_original() -> None:
    twin = plant(ROWS, seed=0, each=3, kinds=[Plant.INVENTED], invented=["Fever", "snake bite"])
    assert [r.event for r in twin.rows[len(ROWS) :]] == ["snake bite"]


def test_contexts_name_rows_of_the_twin_only() -> None:
    rows = [ROWS[0], replace(ROWS[1], context=("0000",))]
    for seed in range(6):
        twin = plant(rows, seed=seed, each=1, kinds=[Plant.DROPPED])
        assert {u for r in twin.rows for u in r.context} <= {r.uid for r in twin.rows}


def test_rows_that_cannot_be_told_apart_are_refused() -> None:
    with pytest.raises(ValueError, match="UID"):
        plant([ROWS[0], ROWS[0]], seed=0)
    with pytest.raises(ValueError, match="UID"):
        plant([Candidate(event="fever", time=0)], seed=0)


@given(st.integers(0, 10_000), st.integers(0, 3))
def test_every_change_is_listed_and_every_other_row_is_as_it_was(seed: int, each: int) -> None:
    twin = plant(ROWS, seed=seed, each=each)
    assert twin == plant(ROWS, seed=seed, each=each)
    touched = [u for p in twin.planted for u in p.uids]
    assert len(touched) == len(set(touched))
    assert [r for r in twin.rows if r.uid not in touched] == [
        r for r in ROWS if r.uid not in touched
    ]
    uids = [r.uid for r in twin.rows]
    assert len(uids) == len(set(uids))
