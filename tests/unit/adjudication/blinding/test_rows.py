"""Rows as reviewers see them, by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from adjudication.blinding.phrases import NoteWords
from adjudication.blinding.rows import NearRows, Reader, ShownRow, TimelineRow, plain_words
from ehr.presentation.clock import Clock

NOTE = (
    "Fever on arrival. Cefepime started, lactate 4.1. Intubated that evening. Pressors weaned."
    + " Rehabilitation was discussed at length with the family." * 8
    + " Home on day five."
)
CLOCK = Clock(datetime(2140, 3, 2, 15, 30), 96.0)
READER = Reader(NoteWords(NOTE), CLOCK)
FEVER = "HD 1 · afternoon"


def row(words: str, hours: float | None, event: str = "") -> TimelineRow:
    start = NOTE.index(words)
    return TimelineRow(event or words, hours, (start, start + len(words)))


def test_polished_names_and_clipped_words_read_the_same() -> None:
    one, other = row("efepime", 2.0, "cefepime"), row("Cefepime started", 20.0, "antibiotic begun")
    shown, marks = READER.describe_candidates([one, other])
    assert [r.event for r in shown] == ["Cefepime started"] * 2
    assert [r.when for r in shown] == ["HD 1 · afternoon", "HD 2 · morning"]
    assert [NOTE[slice(*place)] for place in marks] == ["Cefepime started"]


def test_values_that_the_place_does_not_show_are_in_the_plain_form_of_both() -> None:
    right, wrong = row("lactate 4.1", 2.0), row("lactate 4.1", 20.0, "Lactate 4.0, arterial")
    assert [r.event for r in READER.describe_candidates([right, wrong])[0]] == [
        "lactate 4.1",
        "lactate 4.0 arterial",
    ]
    same_time = replace(row("Fever", 0.2, "no fever"), span=row("Fever", 0).span)
    assert [r.event for r in READER.describe_candidates([row("Fever", 0.0), same_time])[0]] == [
        "fever",
        "no fever",
    ]


def test_the_plain_form() -> None:
    assert plain_words(r"Rash \| RESOLVED, 7.30/76 (50 %)") == "rash resolved 7.30/76 50"
    assert plain_words("one two three four five six seven eight nine").endswith("eight")


def test_near_rows_are_those_of_both_at_the_same_coarse_time() -> None:
    item = [row("Intubated", 4.0), row("Intubated", 20.0)]
    a = [item[0], row("Fever", 0.0), row("Pressors", 30.0), row("lactate", 1.0), row("Home", 5.0)]
    b = [item[1], row("Fever on", 1.5), row("Pressors", 60.0), row("lactate 4.1", 1.9)]
    assert READER.find_near(item, a, b, single=False) == NearRows(
        (ShownRow("lactate 4.1", FEVER, -0.5), ShownRow("Fever on arrival", FEVER, -0.5))
    )


def test_rows_of_one_timeline_alone_are_not_shown() -> None:
    """Which events a source alone has would show the source."""
    item = [row("Intubated", 4.0)]
    a = [*item, row("Fever", 0.0), row("Cefepime", 1.0)]
    b = [row("Pressors", 5.0)]
    assert READER.find_near(item, a, b, single=True) == NearRows()
    assert READER.find_near(item, a, [], single=True) == NearRows()
    assert READER.find_near(item, a, b, single=False) == NearRows()


def test_a_row_at_the_same_place_shows_that_the_other_side_has_the_event() -> None:
    """A finding wrongly called one-sided; other questions do not show it."""
    item = [row("Intubated", 4.0, "intubation")]
    a, b = [*item, row("Fever", 0.0)], [row("Intubated that evening", 5.0, "breathing tube")]
    assert READER.find_near(item, a, b, single=True) == NearRows(
        (), (), (ShownRow("Intubated that evening", "HD 1 · evening", 5.5),)
    )
    assert READER.find_near(item, a, b, single=False) == NearRows()


def test_a_list_is_in_order_of_time_with_the_untimed_last() -> None:
    rows = [row("Home", None), row("Pressors", 5.0), row("Fever", -2.0), TimelineRow("Zebra!", 5.0)]
    assert READER.describe_list(rows) == (
        ShownRow("Fever on arrival", "≈ 2 h before", -2),
        ShownRow("zebra", "HD 1 · evening", 5.5),
        ShownRow("Pressors weaned", "HD 1 · evening", 5.5),
        ShownRow("Home on day five", "no time"),
    )
