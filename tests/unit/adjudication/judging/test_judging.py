"""The input of a judge.

Whole hours, seeded and blinded order, opaque row numbers, the record within its limit.
"""

from __future__ import annotations

import pytest
from hypothesis import given as examples
from hypothesis import strategies as st

from adjudication.domain import Side
from adjudication.judging.input import (
    Candidate,
    format_one_line,
    judge_input,
    whole_hours,
)
from tests.unit.adjudication.judging.judge_games import (
    ANCHOR,
    FIRST,
    SECOND,
    game,
    make_candidates,
    make_observation,
    series,
)
from timelines.domain import (
    Entry,
    Inventory,
    Occurrence,
    Polarity,
    Timeline,
    TimelineKind,
)


@pytest.mark.parametrize(
    ("hours", "whole"),
    [
        (0.5, 1),
        (-0.5, -1),
        (1.5, 2),
        (2.5, 3),
        (-2.5, -3),
        (0.49999999999999994, 0),
        (-0.4, 0),
        (12, 12),
        (-8760.2, -8760),
        (None, None),
    ],
)
def test_hours_become_whole_halves_away_from_zero(hours: float | None, whole: int | None) -> None:
    assert whole_hours(hours) == whole


def test_both_orders_are_drawn_and_a_seed_always_draws_the_same() -> None:
    drawn = [game(seed=seed).a_is_first for seed in range(200)]
    assert 70 < sum(drawn) < 130
    assert game(seed=7) == game(seed=7)


@pytest.mark.parametrize("seed", range(6))
def test_the_rerun_in_swapped_positions_has_the_same_rows_under_the_other_labels(seed: int) -> None:
    assert game(seed=seed, swap=True) == game(seed=seed).swapped()
    assert game(seed=seed).swapped().swapped() == game(seed=seed)


@examples(st.integers(0, 10_000))
def test_row_numbers_are_distinct_and_lead_back_to_side_and_candidate(seed: int) -> None:
    given = game(seed=seed)
    assert len(given.by_row) == len(FIRST) + len(SECOND)
    for rows, side, source in (
        (given.a_rows, Side.A, FIRST if given.a_is_first else SECOND),
        (given.b_rows, Side.B, SECOND if given.a_is_first else FIRST),
    ):
        assert sorted((r.source for r in rows), key=repr) == sorted(source, key=repr)
        assert all(given.by_row[r.row] == (side, r) for r in rows)


def test_rows_stand_in_order_of_time_with_n_a_last_whatever_order_the_source_wrote() -> None:
    one = judge_input(FIRST, SECOND, note="n", anchor=ANCHOR, seed=1)
    other = judge_input(FIRST[::-1], SECOND[::-1], note="n", anchor=ANCHOR, seed=1)
    assert [(r.event, r.time) for r in one.a_rows] == [(r.event, r.time) for r in other.a_rows]
    first = one.a_rows if one.a_is_first else one.b_rows
    assert [r.time for r in first] == [-8760, -72, 0, 0, 18, None, None]


def test_an_event_is_one_line_whose_bars_are_no_columns() -> None:
    assert format_one_line("a |  b\n c") == r"a \| b c"
    assert format_one_line(r"a \| b") == r"a \| b"
    assert format_one_line(r"a \\| b") == r"a \\\| b"


def test_the_record_is_cut_by_priority_and_says_so_and_admission_rows_stay() -> None:
    many = [series(f"lab:{n:04d}::", make_observation(1, "x")) for n in range(905)]
    given = judge_input(
        FIRST,
        SECOND,
        note="n",
        anchor=ANCHOR,
        seed=1,
        series=[*many, series("admission:type:", make_observation(0, "EMERGENCY"))],
    )
    assert len(given.series) == 900
    assert given.series[0].event == "admission:type:"
    assert "... and 6 more event types omitted." in given.record_text
    assert all(f"- {s.event}: " in given.record_text for s in given.series)


def test_candidates_carry_the_inventory_and_named_ones_their_words() -> None:
    inventory = Inventory((Occurrence("00aa", 0, "no rash", 3, 7, Polarity.ABSENT),))
    timeline = Timeline.complete(
        inventory, [Entry("00aa", 2.0, 1.0, 3.0, True)], TimelineKind.REVISED
    )
    assert make_candidates(timeline, inventory) == [
        Candidate(
            event="no rash",
            time=2.0,
            uid="00aa",
            polarity=Polarity.ABSENT,
            start=3,
            end=7,
            lower=1.0,
            upper=3.0,
            known=True,
        )
    ]


def test_a_table_of_uids_also_takes_sources_without_them() -> None:
    given = game(uid_table=True)
    assert given.uid_table
    assert {row.uid for _, row in given.by_row.values()} == {None}
