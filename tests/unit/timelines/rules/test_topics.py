"""What words without a name are about, and which series they ask for."""

from __future__ import annotations

import pytest

from timelines.backbones.rules.querying.reading import Reading, opens_with_act, read_note
from timelines.backbones.rules.querying.vocabulary import event_name
from timelines.backbones.rules.querying.writer import write_queries
from timelines.backbones.rules.revision.judge import Judge
from timelines.domain import Entry, Inventory, Occurrence, SourceRow, TaggedNote


def _reading(text: str, span: str, mention: str = "") -> Reading:
    start = text.index(span)
    occurrence = Occurrence("0000", 0, mention or span, start, start + len(span))
    (reading,) = read_note(TaggedNote(text, Inventory((occurrence,)))).values()
    return reading


@pytest.mark.parametrize(
    ("text", "span", "topics"),
    [
        ("Sodium 131 on arrival, 137 by supper.", "137 by supper", ["sodium"]),
        ("Slept well. 88/51 at four.", "88/51 at four", ["blood pressure"]),
        (
            "Labetalol drip; pulse fine. Stopped at six.",
            "Stopped at six",
            ["heart rate", "labetalol"],
        ),
        ("Sodium 131, then potassium 3.9.", "potassium 3.9", []),
        ("Sodium 131. Ketamine. 137 at noon.", "137 at noon", ["sodium", "ketamine"]),
        ("Sodium 131. Ketamine. 20 mg at noon.", "20 mg at noon", ["ketamine", "sodium"]),
        ("Sodium 131, 135 after the scan in the ED.", "135 after the scan in the ED", ["sodium"]),
    ],
)
def test_words_without_a_name_are_about_what_was_named_before(
    text: str, span: str, topics: list[str]
) -> None:
    assert [topic.name for topic in _reading(text, span).topics] == topics


def test_the_name_in_the_span_goes_before_a_name_from_other_words() -> None:
    reading = _reading(
        "Ferritin high; crit 24 at noon.", "crit 24 at noon", "ferritin crit 24 at noon"
    )
    assert [hit.concept.name for hit in reading.subjects][:1] == ["hematocrit"]


@pytest.mark.parametrize(
    ("text", "span", "opens"),
    [
        ("Ketamine. Started again at two.", "Started again at two", True),
        ("Ketamine. It was stopped at two.", "It was stopped at two", True),
        ("Ketamine. The splint was removed.", "The splint was removed", False),
    ],
)
def test_only_words_that_open_with_an_act_continue_with_a_drug(
    text: str, span: str, opens: bool
) -> None:
    assert opens_with_act(_reading(text, span)) is opens


def _row(index: int, event: str, value: float, time: float) -> SourceRow:
    return SourceRow(index, time, event, f"{value:g}", numeric_value=value)


def test_an_equal_value_near_the_time_is_the_topic_and_another_value_is_not() -> None:
    reading = _reading("Sodium 131 on arrival, 137 by supper.", "137 by supper")
    rows = [
        _row(1, "lab:sodium:blood", 137, 18),
        _row(2, "lab:sodium:blood", 136, 18.5),
        _row(3, "lab:sodium:blood", 137, 60),
    ]
    verdicts = Judge(rows).verdicts(reading, Entry("0000", 18, 16, 20), rows)
    assert [v.row.row_index for v in verdicts] == [1]


def test_a_query_has_the_name_of_the_series_of_the_stay() -> None:
    series = [event_name(n) for n in ("lab:inr(pt):blood", "chart:heart rate:", "lab:pt:blood")]
    assert (
        write_queries(_reading("INR 1.7 today.", "INR 1.7"), series)[0] == "lab inr(pt) blood count"
    )


def test_a_row_found_for_another_occurrence_may_be_this_one() -> None:
    reading = _reading("Transferred to the floor at noon.", "Transferred to the floor at noon")
    row = SourceRow(4, 60.0, "transfer:medicine:", "transfer")
    other = SourceRow(5, 60.0, "lab:sodium:blood", "140")
    assert Judge([row, other]).rows_about(reading) == [row]


@pytest.mark.parametrize(
    ("span", "subject"),
    [
        ("vancomycin 22.4", "vancomycin level"),
        ("vancomycin 1.25 g", "vancomycin"),
        ("digoxin 0.125 IV", "digoxin"),
        ("albumin hung at two", "albumin infusion"),
        ("albumin 2.4", "albumin"),
    ],
)
def test_a_number_without_a_dose_is_the_level(span: str, subject: str) -> None:
    reading = _reading(f"Course: {span}, then home.", span)
    assert [hit.concept.name for hit in reading.subjects][:1] == [subject]


def test_an_equal_value_of_a_name_from_other_words_leaves_the_topic_open() -> None:
    text = "Ferritin 181. Glucose 251, then 143 at noon."
    reading = _reading(text, "143 at noon", "ferritin 143 at noon")
    rows = [_row(1, "lab:ferritin:blood", 143, 19), _row(2, "lab:glucose:blood", 143, 18)]
    verdicts = Judge(rows).verdicts(reading, Entry("0000", 18, 16, 20), rows)
    assert verdicts[0].row.row_index == 2
