"""The page's input is not trusted, and authors get words back."""

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ehr.presentation.clock import Clock
from timelines.drafts.document import Change
from timelines.drafts.reading import read_fields
from timelines.drafts.values import DraftOccurrence, EditRefused
from timelines.presentation.authoring.history import history_line
from timelines.presentation.authoring.values import occurrence_json

ADMITTED = datetime(2196, 2, 24, 14, 38)
CLOCK = Clock(ADMITTED)


def test_a_typed_time_places_and_is_kept_as_typed():
    assert read_fields({"time_text": " HD 1,  21:08 "}, ADMITTED) == {
        "time": 6.5,
        "lower": None,
        "upper": None,
        "placed": True,
        "entered": "HD 1, 21:08",
    }


def test_a_typed_time_does_not_say_that_the_note_states_it():
    assert "known" not in read_fields({"time_text": "HD 1, 21:08"}, ADMITTED)
    assert read_fields({"time_text": "HD 1, 21:08", "known": True}, ADMITTED)["known"] is True
    assert read_fields({"time_text": "~ -3 d"}, ADMITTED)["known"] is False
    assert read_fields({"time_text": "N/A"}, ADMITTED)["known"] is False


def test_bounds_beside_a_typed_time_go_before_those_it_implies():
    assert read_fields({"time_text": "between -4 and -2", "lower": -5}, ADMITTED)["lower"] == -5


def test_an_empty_time_takes_the_time_away():
    given = read_fields({"time_text": ""}, ADMITTED)
    assert given == {
        "time": None,
        "lower": None,
        "upper": None,
        "known": False,
        "placed": False,
        "entered": "",
    }
    assert read_fields({"placed": False}, ADMITTED) == given


def test_a_time_in_hours_places_within_the_bounds_given_with_it():
    assert read_fields({"time": 3, "known": True}, ADMITTED) == {
        "time": 3.0,
        "lower": None,
        "upper": None,
        "known": True,
        "placed": True,
        "entered": "",
    }
    assert read_fields({"time": None, "upper": 4}, ADMITTED)["upper"] == 4.0


def test_texts_are_one_line_where_tables_hold_them():
    assert read_fields({"mention": " a\n b ", "reason": " a\nb "}, ADMITTED) == {
        "mention": "a b",
        "reason": "a\nb",
    }


@pytest.mark.parametrize("data", [None, [], "values", 3, {"uid": "0000"}, {"": 1}])
def test_values_of_another_shape_are_refused(data):
    with pytest.raises(EditRefused):
        read_fields(data, ADMITTED)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
NAMES = st.sampled_from(
    [
        "start",
        "end",
        "mention",
        "polarity",
        "lane",
        "placed",
        "time",
        "time_text",
        "lower",
        "upper",
        "known",
        "context",
        "rows",
        "reason",
    ]
)


@given(st.dictionaries(NAMES, JSON))
def test_any_values_are_read_or_refused(data):
    try:
        given = read_fields(data, ADMITTED)
        made = DraftOccurrence(**{"uid": "0000", "start": 0, "end": 1, "mention": "m", **given})
    except EditRefused:
        return
    assert DraftOccurrence.from_dict(made.to_dict()) == made


def draft(**values) -> DraftOccurrence:
    return DraftOccurrence("a001", 0, 4, "Fell", **values)


def test_times_are_said_as_on_every_page():
    placed = occurrence_json(draft(placed=True, time=6.5, lower=6.0, upper=7.0), CLOCK)
    assert (placed["words"], placed["bounds"]) == (
        "HD 1 · 21:08 (+6.5 h)",
        "HD 1 · 20:38 to 21:38 (+6 h to +7 h)",
    )
    assert occurrence_json(draft(placed=True), CLOCK)["words"] == "N/A"
    assert occurrence_json(draft(), CLOCK)["words"] == "not placed yet"


AT = "HD 1 · 21:08 (+6.5 h)"


@pytest.mark.parametrize(
    ("kind", "change", "said"),
    [
        ("add", Change((), (draft(),)), ("Added", ("Fell",), "")),
        ("remove", Change((draft(),), ()), ("Removed", ("Fell",), "")),
        (
            "change",
            Change((draft(),), (draft(placed=True, time=6.5),)),
            ("Changed", ("Fell",), f"time not placed yet → {AT}"),
        ),
        (
            "change",
            Change((draft(placed=True, time=6.5),), (draft(placed=True),)),
            ("Changed", ("Fell",), f"time {AT} → N/A"),
        ),
        (
            "change",
            Change((draft(),), (draft(polarity="absent", rows=(1,)),)),
            ("Changed", ("Fell",), "polarity; rows"),
        ),
        ("undo", Change((draft(),), ()), ("Undid: added", ("Fell",), "")),
        ("submit", Change(), ("Submitted", (), "")),
        ("reopen", Change(), ("Opened again", (), "why")),
    ],
)
def test_edits_are_told_in_words(kind, change, said):
    line = history_line(kind, change, "add", "why", CLOCK)
    assert (line.done, line.mentions, line.detail) == said
