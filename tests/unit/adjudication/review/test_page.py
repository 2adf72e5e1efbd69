"""A blinded item in the words of its page, by hand."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudication.blinding.page import (
    build_answer_buttons,
    build_item_page,
    build_record_lines,
    format_entered_hours,
    render_marked_note,
    time_left_words,
    whole_hours_words,
)
from adjudication.blinding.visibility import (
    BlindedItem,
    Question,
    RecordRow,
    ShownRow,
    ShownSeries,
    ShownSide,
)

A_ROW = ShownRow("fever <b>", -72, candidate=True)


def item(
    question: Question = Question.TWO_ROWS,
    *,
    left: ShownRow | None = A_ROW,
    right: ShownRow | None = A_ROW,
) -> BlindedItem:
    return BlindedItem(
        item="x",
        question=question,
        left=ShownSide("A", left, (A_ROW, ShownRow("cough", None))),
        right=ShownSide("B", right, (ShownRow("cough", 7),)),
        note="Fever & chills.",
        spans=((0, 5),),
        series=(
            ShownSeries(
                0, "lab:lactate", "s", 2, (RecordRow(1.25, "4.1", "mmol/L", "collection"),)
            ),
            ShownSeries(1, "odd", "", 1),
        ),
        stay_hours=130.5,
        admitted_at=datetime(2140, 3, 2, 14, 0),
    )


@pytest.mark.parametrize(
    ("hours", "words"),
    [
        (None, "N/A"),
        (0, "0 h"),
        (7, "+7 h"),
        (-72, "−72 h"),
        (-43800, "−43\u202f800 h"),
        (1000, "+1\u202f000 h"),
    ],
)
def test_whole_hours(hours, words):
    assert whole_hours_words(hours) == words


@pytest.mark.parametrize(
    ("hours", "words"),
    [(None, ""), (0.0, "0 h"), (-72.0, "−72 h"), (6.5, "+6.5 h"), (-87600.25, "−87600.25 h")],
)
def test_own_times_are_said_so_that_they_read_back(hours, words):
    assert format_entered_hours(hours) == words


def test_the_page_of_an_item():
    page = build_item_page(item())
    assert [(s.label, s.row and str(s.row.when), s.missing) for s in page.sides] == [
        ("A", "3 d before (−72 h)", ""),
        ("B", "3 d before (−72 h)", ""),
    ]
    assert [(r.event, str(r.when), r.hours, r.candidate) for r in page.sides[0].rows] == [
        ("fever <b>", "3 d before (−72 h)", -72, True),
        ("cough", "N/A", None, False),
    ]
    assert [(s.name, s.kind, s.count) for s in page.series] == [
        ("lactate", "lab", 2),
        ("odd", "", 1),
    ]
    assert (page.stay, page.admitted, page.has_place) == ("+131 h", "2140-03-02 14:00", True)


def test_what_the_answers_mean_where_both_have_a_row():
    assert [(a.key, a.words, a.meaning) for a in build_answer_buttons(item())] == [
        ("1", "A", "A is right"),
        ("2", "B", "B is right"),
        ("3", "Both", "both are possible"),
        ("4", "Neither", "both are wrong"),
        ("5", "Unclear", "not settled"),
        ("6", "Not a finding", "wrongly raised"),
    ]


@pytest.mark.parametrize(
    ("question", "holder", "real", "unreal", "missing"),
    [
        (
            Question.ONE_ROW,
            "left",
            "the event is real",
            "the event is not real",
            "does not have this event",
        ),
        (
            Question.ONE_ROW,
            "right",
            "the event is real",
            "the event is not real",
            "does not have this event",
        ),
        (
            Question.REPEATED_ROW,
            "right",
            "it happened again",
            "it is listed twice",
            "does not repeat this event",
        ),
    ],
)
def test_what_a_and_b_mean_where_one_has_none(question, holder, real, unreal, missing):
    shown = item(
        question,
        left=A_ROW if holder == "left" else None,
        right=A_ROW if holder == "right" else None,
    )
    meanings = [a.meaning for a in build_answer_buttons(shown)][:2]
    assert meanings == ([real, unreal] if holder == "left" else [unreal, real])
    without = build_item_page(shown).sides[1 if holder == "left" else 0]
    assert (without.row, without.missing) == (None, missing)


def test_rows_of_the_record():
    lines = build_record_lines(
        [
            RecordRow(-0.25, "4.1", "mmol/L", "collection"),
            RecordRow(None, "yes"),
            RecordRow(-8760.0, ""),
        ]
    )
    assert [(line.hours, line.value) for line in lines] == [
        ("−0.2 h", "4.1 mmol/L"),
        ("no time", "yes"),
        ("−1 y", ""),
    ]


@pytest.mark.parametrize(
    ("each", "items", "words"),
    [
        (None, 5, ""),
        (30.0, 0, ""),
        (10.0, 5, "less than a minute left"),
        (30.0, 25, "about 12 min left"),
        (60.0, 90, "about 1 h 30 min left"),
    ],
)
def test_time_left(each, items, words):
    assert time_left_words(each, items) == words


def test_a_place_is_marked_and_everything_escaped():
    html = render_marked_note("Fever <b> & chills", ((0, 5), (8, 9)))
    assert (
        '<mark class="place">Fever</mark> &lt;b<mark class="place">&gt;</mark> &amp; chills</div>'
        in html
    )


@given(note=st.text(alphabet=st.sampled_from("ab <&\n\r"), min_size=1, max_size=60), data=st.data())
def test_marking_places_changes_no_character(note, data):
    start = data.draw(st.integers(0, len(note) - 1))
    end = data.draw(st.integers(start + 1, len(note)))
    other = data.draw(st.integers(0, len(note) - 1))
    marked = render_marked_note(note, ((start, end), (other, other + 1)))
    plain = render_marked_note(note, ())
    assert marked.replace('<mark class="place">', "").replace("</mark>", "") == plain
