"""A blinded item in the words of its page, by hand."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudication.blinding.page import (
    answer_words,
    build_answer_buttons,
    build_item_page,
    build_record_lines,
    format_entered_hours,
    render_marked_note,
    time_left_words,
    whole_hours_words,
)
from adjudication.blinding.rows import ShownRow
from adjudication.blinding.visibility import (
    BlindedItem,
    Question,
    RecordRow,
    ShownSeries,
    ShownSide,
)
from ehr.presentation.clock import Clock

ADMITTED = datetime(2140, 3, 2, 14, 0)
A_ROW = ShownRow("fever <b>", "≈ 3 d before", -72)
COUGH = ShownRow("cough", "HD 1 · evening", 7.0)


def item(
    question: Question = Question.TWO_ROWS,
    *,
    left: ShownRow | None = A_ROW,
    right: ShownRow | None = A_ROW,
) -> BlindedItem:
    return BlindedItem(
        item="x",
        question=question,
        left=ShownSide("A", left, (COUGH,)),
        right=ShownSide("B", right),
        near=(COUGH,),
        note="Fever & chills.",
        spans=((0, 5),),
        series=(
            ShownSeries(
                0, "lab:lactate", "s", 2, (RecordRow(1.25, "4.1", "mmol/L", "collection"),)
            ),
            ShownSeries(1, "odd", "", 1),
        ),
        stay_hours=130.5,
        admitted_at=ADMITTED,
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
    assert [(s.label, s.row, s.missing, s.alone) for s in page.sides] == [
        ("A", A_ROW, "", (COUGH,)),
        ("B", A_ROW, "", ()),
    ]
    assert page.near == (COUGH,)
    assert [(s.name, s.kind, s.count) for s in page.series] == [
        ("lactate", "lab", 2),
        ("odd", "", 1),
    ]
    assert (page.stay, page.admitted, page.has_place) == ("+131 h", "2140-03-02 14:00", True)


def test_what_the_answers_mean_where_both_have_a_row():
    assert [(a.key, a.words, a.meaning) for a in build_answer_buttons(item())] == [
        ("1", "A", "A is right, B is not"),
        ("2", "B", "B is right, A is not"),
        ("3", "Both", "both are possible"),
        ("4", "Neither", "both are wrong"),
        ("5", "Unclear", "note and record do not decide"),
        ("6", "Not a finding", "no difference that matters"),
    ]


@pytest.mark.parametrize(
    ("question", "owner", "yes", "no", "missing"),
    [
        (Question.ONE_ROW, "A", "it happened", "it did not happen", "does not have this event"),
        (Question.ONE_ROW, "B", "it happened", "it did not happen", "does not have this event"),
        (
            Question.REPEATED_ROW,
            "B",
            "it happened again",
            "it is listed twice",
            "does not repeat this event",
        ),
    ],
)
def test_where_one_side_has_no_row_the_answers_are_yes_and_no(question, owner, yes, no, missing):
    """The stored value is a side; both and neither would mean nothing."""
    other = "B" if owner == "A" else "A"
    shown = item(
        question,
        left=A_ROW if owner == "A" else None,
        right=A_ROW if owner == "B" else None,
    )
    assert [(a.key, a.value, a.words, a.meaning) for a in build_answer_buttons(shown)] == [
        ("1", owner, "Yes", yes),
        ("2", other, "No", no),
        ("5", "UNCLEAR", "Unclear", "note and record do not decide"),
        ("6", "NOT_A_FINDING", "Not a finding", "no difference that matters"),
    ]
    assert [answer_words(shown, value) for value in (owner, other, "BOTH")] == ["Yes", "No", "Both"]
    without = build_item_page(shown).sides["AB".index(other)]
    assert (without.row, without.missing) == (None, missing)


def test_rows_of_the_record():
    lines = build_record_lines(
        [
            RecordRow(-0.25, "4.1", "mmol/L", "collection"),
            RecordRow(None, "yes"),
            RecordRow(-8760.0, ""),
            RecordRow(15.5, ""),
        ],
        Clock(ADMITTED, 96.0),
    )
    assert [(str(line.when), line.value) for line in lines] == [
        ("15 min before (−0.2 h)", "4.1 mmol/L"),
        ("no time", "yes"),
        ("≈ 12 months before (−1 y)", ""),
        ("HD 2 · 05:30 (+15.5 h)", ""),
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
