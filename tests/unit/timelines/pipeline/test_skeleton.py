"""The rows that say where the patient was."""

from __future__ import annotations

import pytest

from timelines.domain import SourceRow, TimeKind
from timelines.pipeline.skeleton import MOST_OF_SERIES, MOST_ROWS, select_skeleton

WHERE, DONE, CHARTED = TimeKind.ADMINISTRATIVE, TimeKind.PERFORMED, TimeKind.CHARTED


def row(
    index: int, time: float | None, event: str, value: str = "", kind: TimeKind = WHERE
) -> SourceRow:
    return SourceRow(index, time, event, value, time_kind=kind)


def select(*rows: SourceRow, latest: float | None = None) -> list[int]:
    by_event: dict[str, list[SourceRow]] = {}
    for item in rows:
        by_event.setdefault(item.event, []).append(item)
    return [r.row_index for r in select_skeleton(by_event, latest)]


@pytest.mark.parametrize(
    ("event", "kind", "chosen"),
    [
        ("admission:ed registration:", WHERE, True),
        ("admission:hospital admission:", WHERE, True),
        ("admission:hospital discharge:", WHERE, True),
        ("transfer:transfer:", WHERE, True),
        ("icu:medical intensive care unit:in", WHERE, True),
        ("service:service:", WHERE, True),
        ("services:curr:", WHERE, True),
        ("visit:start:", TimeKind.UNKNOWN, True),
        ("admission:death:", WHERE, True),
        ("death:", WHERE, True),
        ("procedure:or received:start", DONE, True),
        ("procedure:intubation:start", DONE, True),
        ("procedure:extubation:end", DONE, True),
        ("procedure:invasive ventilation:end", DONE, True),
        ("procedure:non-invasive ventilation:start", DONE, True),
        ("chart:mechanical ventilation mode:", CHARTED, True),
        ("procedure:arterial line:start", DONE, False),
        ("lab:lactate:blood", TimeKind.COLLECTION, False),
        ("diagnosis:sepsis:", WHERE, False),
        ("chart:admission weight:", CHARTED, False),
        ("transfer:weight:", CHARTED, False),
    ],
)
def test_series_of_the_stay(event: str, kind: TimeKind, chosen: bool) -> None:
    assert select(row(3, 1.0, event, kind=kind)) == ([3] if chosen else [])


def test_rows_are_in_order_of_time_whatever_their_series() -> None:
    assert select(
        row(5, 30.0, "transfer:transfer:", "Ward"),
        row(9, -4.5, "transfer:transfer:", "ED"),
        row(1, 0.0, "admission:hospital admission:"),
        row(4, 9.0, "procedure:intubation:start", kind=DONE),
    ) == [9, 1, 4, 5]


def test_repetitions_rows_without_a_time_and_rows_after_discharge_are_left_out() -> None:
    assert select(
        row(1, 2.0, "transfer:transfer:", "Ward"),
        row(2, 2.0, "transfer:transfer:", "Ward"),
        row(3, 2.0, "transfer:transfer:", "ICU"),
        row(4, None, "transfer:transfer:", "ICU"),
        row(5, 112.0, "transfer:transfer:", "Home"),
        row(6, 112.1, "transfer:transfer:", "Home"),
        latest=112.0,
    ) == [1, 3, 5]


def test_a_series_that_is_charted_every_hour_does_not_fill_it() -> None:
    charted = [row(i, float(i), "chart:mechanical ventilation:", "on", CHARTED) for i in range(400)]
    assert select(*charted) == list(range(MOST_OF_SERIES))
    many = [row(i, float(i), f"transfer:{i % 20}:") for i in range(400)]
    assert select(*many) == list(range(MOST_ROWS))


def test_a_long_ventilation_leaves_room_for_every_place_and_the_discharge() -> None:
    ventilated = [
        row(i, i + 1.0, f"procedure:invasive ventilation {i // 10}:start", kind=DONE)
        for i in range(200)
    ]
    places = [
        row(200, -4.0, "transfer:ed:"),
        row(201, 0.0, "admission:hospital admission:"),
        row(202, 150.0, "procedure:or received:start", kind=DONE),
        row(203, 160.0, "services:curr:", "MED"),
        row(204, 210.0, "admission:discharge:", "Died"),
        row(205, 209.0, "admission:death:"),
    ]
    chosen = select(*ventilated, *places)
    assert chosen[:2] == [200, 201]
    assert chosen[2:-4] == list(range(MOST_ROWS - 6)), "ventilation fills the rest in order of time"
    assert chosen[-4:] == [202, 203, 205, 204]


@pytest.mark.parametrize(
    "end",
    ["admission:discharge:", "transfer:discharge:", "discharge:", "admission:death:", "visit:end:"],
)
def test_many_transfers_do_not_displace_the_end_of_the_stay(end: str) -> None:
    moves = [row(i, float(i), f"transfer:{i % 20}:") for i in range(400)]
    assert select(*moves, row(400, 500.0, end)) == [*range(MOST_ROWS - 1), 400]


def test_the_last_discharge_of_a_series_is_the_one_of_the_stay() -> None:
    left = [row(i, float(i), "icu:medical intensive care unit discharge:") for i in range(20)]
    assert select(*left) == list(range(20 - MOST_OF_SERIES, 20))
