"""The reviewer's view of an item, by hand.

Nothing that reveals the sources or the judge's answer changes it.
"""

from __future__ import annotations

import random
from dataclasses import asdict, replace
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjudication.blinding.rows import ShownRow, TimelineRow
from adjudication.blinding.visibility import (
    ROWS_AT_ONCE,
    SERIES_WITH_ROWS,
    ItemMaterial,
    PacketVisibility,
    Question,
    RecordRow,
    RecordSeries,
    Viewer,
    are_sides_swapped,
    blinded_item,
    blinded_timelines,
    derive_visibility,
    series_order,
    shown_rows,
    swap_answer,
)

NOTE = "Fever for three days. Lactate 4.1 in the emergency room. Fell at home; fever again."
FEVER, AGAIN = TimelineRow("fever", -71.6, (0, 5)), TimelineRow("fever", 2.25, (71, 76))
MATERIAL = ItemMaterial(
    item="item-1",
    repeated=False,
    a=FEVER,
    b=AGAIN,
    a_rows=(TimelineRow("lactate 4.1", 0.5, (22, 33)), FEVER, TimelineRow("rash", None)),
    b_rows=(AGAIN, TimelineRow("fell at home", -2.5, (57, 69))),
    note=NOTE,
    series=(
        RecordSeries("chart:heart rate", "80…99", 2, 5, (RecordRow(0.25, "80", "bpm"),)),
        RecordSeries("chart:fever", "yes", 1, 9, (RecordRow(1.75, "yes"),)),
    ),
    stay_hours=96.0,
    admitted_at=datetime(2140, 3, 2, 14, 0),
)
STRAIGHT = next(seed for seed in range(99) if not are_sides_swapped(seed, "item-1"))
SWAPPED = next(seed for seed in range(99) if are_sides_swapped(seed, "item-1"))


def test_both_sides_are_in_words_of_the_note_and_coarse_times() -> None:
    shown = blinded_item(MATERIAL, STRAIGHT)
    assert (shown.left.label, shown.right.label) == ("A", "B")
    assert shown.left.row == ShownRow("Fever for three days", "≈ 3 d before", -72)
    assert shown.right.row == ShownRow("fever again", "HD 1 · afternoon", 1.0)
    assert [NOTE[start:end] for start, end in shown.spans] == [
        "Fever for three days",
        "fever again",
    ]
    assert [(s.number, s.event) for s in shown.series] == [
        (0, "chart:fever"),
        (1, "chart:heart rate"),
    ]


def test_whole_timelines_are_in_the_same_words_by_time() -> None:
    a, b = blinded_timelines(MATERIAL, STRAIGHT)
    assert a == (
        ShownRow("Fever for three days", "≈ 3 d before", -72),
        ShownRow("Lactate 4.1 in the emergency room", "HD 1 · afternoon", 1.0),
        ShownRow("rash", "no time"),
    )
    assert [row.event for row in b] == ["Fell at home", "fever again"]
    assert blinded_timelines(MATERIAL, SWAPPED) == (b, a)


def test_swapped_sides_exchange_the_rows_and_keep_the_labels() -> None:
    straight, swapped = blinded_item(MATERIAL, STRAIGHT), blinded_item(MATERIAL, SWAPPED)
    assert (swapped.left.label, swapped.right.label) == ("A", "B")
    assert replace(swapped.left, label="") == replace(straight.right, label="")
    assert replace(swapped.right, label="") == replace(straight.left, label="")
    assert replace(swapped, left=straight.left, right=straight.right) == straight


@pytest.mark.parametrize("answer", ["A", "B", "BOTH", "NEITHER", "UNCLEAR", "NOT_A_FINDING"])
def test_answers_are_turned_into_the_judges_labels_and_back(answer: str) -> None:
    assert swap_answer(answer, False) == answer
    assert swap_answer(swap_answer(answer, True), True) == answer
    assert swap_answer("A", True) == "B"


def test_sides_are_about_even() -> None:
    items = [f"item-{n}" for n in range(400)]
    assert 160 < sum(are_sides_swapped(7, item) for item in items) < 240


def test_the_question_tells_rows_apart_and_never_the_type() -> None:
    one = replace(MATERIAL, b=None)
    assert blinded_item(MATERIAL, 1).question is Question.TWO_ROWS
    assert blinded_item(replace(MATERIAL, repeated=True), 1).question is Question.TWO_ROWS
    assert blinded_item(one, 1).question is Question.ONE_ROW
    assert blinded_item(replace(one, repeated=True), 1).question is Question.REPEATED_ROW


def test_without_spans_on_both_sides_places_come_from_words_for_both() -> None:
    """The fever is where its word is first, not where the span is."""
    shown = blinded_item(replace(MATERIAL, both_have_spans=False), STRAIGHT)
    assert shown.left.row is not None
    assert shown.right.row is not None
    assert shown.left.row.event == shown.right.row.event == "Fever for three days"
    assert [NOTE[start:end] for start, end in shown.spans] == ["Fever for three days"]
    spanless = replace(MATERIAL, a=replace(FEVER, span=None), b=replace(AGAIN, span=None))
    assert blinded_item(spanless, STRAIGHT).left.row == shown.left.row


def test_without_a_place_for_one_both_sides_have_the_plain_form() -> None:
    shown = blinded_item(replace(MATERIAL, a=TimelineRow("ZEBRA, 4 (seen)", 1.0)), STRAIGHT)
    assert shown.left.row == ShownRow("zebra 4 seen", "HD 1 · 15 h", 1.0)
    assert shown.right.row is not None
    assert shown.right.row.event == "fever"


def test_the_series_that_share_words_with_the_rows_come_first_with_rows() -> None:
    series = [
        RecordSeries(f"lab:thing {n}", "", 1, n % 3, (RecordRow(1.0, "x"),)) for n in range(9)
    ]
    series.append(RecordSeries("chart:lactates", "", 1, 9, (RecordRow(1.0, "4"),)))
    assert series_order(series, ["lactate 4.1"])[0] == 9
    shown = blinded_item(replace(MATERIAL, series=tuple(series)), 1).series
    assert [bool(s.rows) for s in shown] == [True] * SERIES_WITH_ROWS + [False] * 4
    assert sorted(s.event for s in shown) == sorted(s.event for s in series)


def test_of_two_series_that_share_as_many_words_the_shorter_name_comes_first() -> None:
    row = (RecordRow(1.0, "4"),)
    long = RecordSeries("lab:lactate dehydrogenase in body fluid", "", 1, 1, row)
    short = RecordSeries("lab:lactate", "", 2, 1, row)
    assert series_order([long, short], ["lactate 4.1"]) == [1, 0]
    both = RecordSeries("lab:lactate peritoneal fluid", "", 9, 1, row)
    assert series_order([long, short, both], ["lactate in peritoneal fluid"])[0] == 2


def test_the_rows_nearest_to_either_hour_come_in_order_of_time() -> None:
    rows = [RecordRow(float(h), str(h), index=h) for h in range(100)] + [
        RecordRow(None, "?", index=100)
    ]
    shown = shown_rows(rows, [10.0, 80.0, None])
    assert len(shown) == ROWS_AT_ONCE
    assert [r.hours for r in shown] == [*map(float, range(4, 17)), *map(float, range(75, 86))]
    assert shown_rows(rows, (), limit=None)[-1].hours is None


def test_who_may_see_what() -> None:
    nothing = PacketVisibility()
    working = PacketVisibility(items=True, own_answers=True)
    everything = PacketVisibility(
        items=True, own_answers=True, colleagues_answers=True, judge=True, sources=True, report=True
    )
    for viewer in (Viewer.REVIEWER, Viewer.ADJUDICATOR):
        for reveal in ("never", "after_close"):
            assert derive_visibility(viewer, "draft", reveal) == nothing
            assert derive_visibility(viewer, "open", reveal) == working
        assert derive_visibility(viewer, "closed", "never") == working
        assert derive_visibility(viewer, "closed", "after_close") == everything
    for state in ("draft", "open", "closed"):
        assert derive_visibility(Viewer.NOBODY, state, "after_close") == nothing
        assert derive_visibility(Viewer.ADMIN, state, "never") == replace(
            everything, own_answers=False
        )


hours = st.one_of(st.none(), st.integers(-9000, 900))
rows = st.lists(
    st.tuples(st.sampled_from(["fever", "rash", "fell at home", "lactate 4.1"]), hours),
    min_size=1,
    max_size=8,
)


@settings(max_examples=150, deadline=None)
@given(rows, rows, st.integers(0, 2**62), st.randoms(use_true_random=False), st.booleans())
def test_decimals_and_the_order_of_a_source_change_nothing(
    a: list[tuple[str, int | None]],
    b: list[tuple[str, int | None]],
    seed: int,
    chance: random.Random,
    repeated: bool,
) -> None:
    """Two worlds have the same whole hours; one has decimals.

    Structured evidence gives decimals.
    """

    def world(decimals: bool) -> ItemMaterial:
        def row(event: str, time: int | None) -> TimelineRow:
            moved = None if time is None else time + decimals * chance.uniform(-0.49, 0.49)
            return TimelineRow(event, moved)

        def side(whole: list[tuple[str, int | None]]) -> tuple[TimelineRow, ...]:
            written = [row(*one) for one in whole]
            chance.shuffle(written)
            return tuple(written)

        return replace(
            MATERIAL,
            repeated=repeated,
            a=row(*a[0]),
            b=row(*b[0]),
            a_rows=side(a),
            b_rows=side(b),
        )

    worlds = world(False), world(True)
    one, other = (blinded_item(w, seed) for w in worlds)
    assert one == other
    assert repr(asdict(one)) == repr(asdict(other))
    assert blinded_timelines(worlds[0], seed) == blinded_timelines(worlds[1], seed)
