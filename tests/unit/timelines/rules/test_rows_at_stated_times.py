"""How a stated clock time, an act and a kind of row decide between rows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from timelines.backbones.rules.querying.reading import Act, Reading, read_note
from timelines.backbones.rules.revision.judge import Judge
from timelines.backbones.rules.revision.scope import may_follow_arrival, may_have_rows
from timelines.domain import Entry, Inventory, Occurrence, Polarity, SourceRow, TaggedNote


def _reading(text: str, span: str) -> Reading:
    start = text.index(span)
    occurrence = Occurrence("0000", 0, span, start, start + len(span))
    (reading,) = read_note(TaggedNote(text, Inventory((occurrence,)))).values()
    return reading


def _best(reading: Reading, entry: Entry, *rows: SourceRow) -> int | None:
    verdicts = Judge(rows).verdicts(reading, entry, rows)
    return verdicts[0].row.row_index if verdicts and verdicts[0].cost < 0.7 else None


def _at(hour: float, rule: str = "hour", width: float = 2.0) -> Entry:
    return Entry("0000", hour, hour - width, hour + width, decided_by=rule)


DOSE = _reading("HOSPITAL COURSE: Meropenem was given at 13:20.", "Meropenem was given at 13:20")


@pytest.mark.parametrize(
    ("row_time", "rule", "believed"),
    [
        (13.4, "hour", True),
        (37.4, "hour", True),
        (37.4, "clock", False),
        (41.4, "hour", False),
        (160.0, "hour", False),
    ],
)
def test_a_row_at_the_stated_hour_of_another_day_is_the_act(
    row_time: float, rule: str, believed: bool
) -> None:
    row = SourceRow(1, row_time, "med:meropenem:start", "")
    assert (_best(DOSE, _at(13.3, rule), row) == 1) is believed


def test_without_a_clock_time_no_row_of_another_day_is_the_act() -> None:
    reading = _reading("HOSPITAL COURSE: Meropenem was given then.", "Meropenem was given")
    assert _best(reading, _at(13.3), SourceRow(1, 37.4, "med:meropenem:start", "")) is None


def test_the_end_of_a_dose_at_the_stated_minute_goes_before_a_later_dose() -> None:
    end = SourceRow(1, 13.33, "med:meropenem:end", "1", numeric_value=1.0)
    later = SourceRow(2, 14.6, "med:meropenem:start", "")
    assert _best(DOSE, _at(13.33), end, later) == 1
    assert _best(DOSE, _at(13.33), later) == 2


def test_an_act_two_hours_from_the_stated_clock_time_is_another_act() -> None:
    assert _best(DOSE, _at(13.33), SourceRow(2, 15.3, "med:meropenem:start", "")) is None


@pytest.mark.parametrize(
    ("text", "span", "act"),
    [
        ("The last dose of meropenem was withdrawn.", "meropenem was withdrawn", Act.END),
        ("After the dose meropenem was stopped.", "the dose meropenem was stopped", Act.END),
        ("Cefazolin off → meropenem at noon.", "meropenem at noon", Act.BEGIN),
        ("Meropenem 1 g    3/4    stopped 3/9", "Meropenem 1 g", Act.BEGIN),
    ],
)
def test_a_verb_goes_before_a_noun_and_a_column_is_no_clause(
    text: str, span: str, act: Act
) -> None:
    assert _reading(text, span).act is act


@pytest.mark.parametrize(("rule", "may"), [("stay", False), ("static", False), ("narrative", True)])
def test_what_was_so_all_along_has_no_row(rule: str, may: bool) -> None:
    assert may_have_rows(_reading("COURSE: No chills.", "No chills"), _at(3, rule)) is may


def test_the_laboratory_dates_a_culture_before_the_unit_does() -> None:
    reading = _reading("COURSE: Urine culture was sent.", "Urine culture was sent")
    charted = SourceRow(1, 3.0, "procedure:urine culture:start", "")
    taken = SourceRow(2, 3.4, "micro:urine culture:urine", "")
    assert _best(reading, _at(3, "narrative"), charted, taken) == 2


@pytest.mark.parametrize(
    ("span", "subjects"), [("Spirits good", []), ("Gone home with her sister", ["discharge"])]
)
def test_only_words_of_leaving_are_the_discharge(span: str, subjects: list[str]) -> None:
    reading = _reading(f"DISPOSITION:\n{span}.\n", span)
    assert [hit.concept.name for hit in reading.subjects] == subjects


@pytest.mark.parametrize(
    ("span", "event", "value", "fits"),
    [
        ("Pain seven out of ten", "chart:pain level:", 7, True),
        ("Pain seven out of ten", "chart:pain level:", 10, False),
        ("Back pain rated six", "chart:pain level:", 6, True),
        ("Without any pain", "chart:pain level:", 0, True),
        ("Without any pain", "chart:pain level:", 4, False),
        ("FiO2 of 0.45", "chart:inspired o2 fraction:", 45, True),
        ("Inattentive", "chart:cam-icu inattention:", 1, True),
        ("Attentive", "chart:cam-icu inattention:", 1, False),
        ("Not breathless", "chart:current dyspnea assessment:", 0, True),
        ("Disoriented", "chart:orientation to place:", 2, False),
        ("Not febrile", "chart:temperature fahrenheit:", 98.2, False),
    ],
)
def test_values_in_words_fit_charted_assessments(
    span: str, event: str, value: float, fits: bool
) -> None:
    reading = _reading(f"COURSE: {span} then.", span)
    if "Not" in span:
        absent = replace(reading.occurrence, polarity=Polarity.ABSENT)
        reading = replace(reading, occurrence=absent)
    row = SourceRow(1, 3.0, event, f"{value:g}", numeric_value=float(value))
    assert (_best(reading, _at(3, "narrative"), row) == 1) is fits


def test_the_name_of_the_row_decides_between_equal_tests() -> None:
    reading = _reading("COURSE: Legionella antigen was sent.", "Legionella antigen was sent")
    culture = SourceRow(1, 3.0, "micro:legionella culture:sputum", "")
    antigen = SourceRow(2, 3.1, "micro:legionella urinary antigen:urine", "")
    assert _best(reading, _at(3, "narrative"), culture, antigen) == 2


def test_a_row_of_a_subject_from_other_words_costs_more() -> None:
    text = "Nafcillin at eight. Oxacillin then. Stopped at ten."
    entry = _at(3, "narrative")
    start = text.index("Stopped")
    occurrence = Occurrence("0000", 0, "Nafcillin stopped at ten", start, len(text) - 1)
    (reading,) = read_note(TaggedNote(text, Inventory((occurrence,)))).values()
    rows = [SourceRow(1, 3.0, "order:nafcillin:stop", "")]
    near = replace(reading, topics=reading.topics[::-1])
    costs = [Judge(rows).verdicts(r, entry, rows)[0].cost for r in (reading, near)]
    assert costs[0] > costs[1]


@pytest.mark.parametrize(
    ("event", "hours", "may"),
    [
        ("med:ketamine:start", 2.0, False),
        ("procedure:invasive ventilation:start", 1.5, False),
        ("med:ketamine:start", 0.5, True),
        ("lab:lactate:blood", 2.0, True),
    ],
)
def test_what_led_to_the_admission_is_not_what_the_unit_goes_on_with(
    event: str, hours: float, may: bool
) -> None:
    reading = _reading("HISTORY OF PRESENT ILLNESS:\nKetamine was given.\n", "Ketamine was given")
    assert may_follow_arrival(reading, _at(-2, "narrative"), SourceRow(1, hours, event, "")) is may
    assert may_follow_arrival(DOSE, _at(-2, "narrative"), SourceRow(1, hours, event, ""))


@pytest.mark.parametrize(
    ("span", "values"),
    [
        ("Calcium 7.9 by 0615", {7.9}),
        ("Sodium 129 4/7 0530", {129.0}),
        ("Calcium 7.9 at 1810", {7.9}),
        ("Insulin at 1200 units", {1200.0}),
        ("CK 1820", {1820.0}),
    ],
)
def test_clock_times_without_a_colon_are_no_values(span: str, values: set[float]) -> None:
    assert _reading(f"COURSE: {span}, then home.", span).values == values


@pytest.mark.parametrize(
    ("text", "event", "value", "found"),
    [
        ("Floor 21:40 HD2", "transfer:medicine:", "", True),
        ("Neurology assumed her care", "service:nmed:", "", True),
        ("Discharge: 4/7 13:00", "admission:discharge:home", "", True),
        ("Nurse on the floor was called", "transfer:medicine:", "", False),
    ],
)
def test_a_place_with_a_time_is_a_move(text: str, event: str, value: str, found: bool) -> None:
    reading = _reading(f"COURSE: {text}; then.", text)
    assert (_best(reading, _at(3, "narrative"), SourceRow(1, 3.0, event, value)) == 1) is found


def test_an_order_of_the_stated_dose_is_the_change_where_doses_are_charted() -> None:
    reading = _reading("COURSE: Bumetanide was cut to 2 mg today.", "Bumetanide was cut to 2 mg")
    dose = SourceRow(1, 3.0, "med:bumetanide:start", "")
    order = SourceRow(2, 4.0, "order:bumetanide:start", "2", numeric_value=2.0)
    other = SourceRow(3, 4.0, "order:bumetanide:start", "1", numeric_value=1.0)
    judge = Judge([dose, order, other])
    costs = {
        v.row.row_index: v.cost for v in judge.verdicts(reading, _at(4, "day"), [order, other])
    }
    assert costs[2] < 0.7 < costs[3]


def test_a_drug_in_a_list_of_diagnoses_has_no_row() -> None:
    listed = _reading("DISCHARGE DIAGNOSIS:\nDiabetes on insulin.\n", "insulin")
    given = _reading("HOSPITAL COURSE:\nDiabetes on insulin.\n", "insulin")
    assert [may_have_rows(r, _at(3, "narrative")) for r in (listed, given)] == [False, True]
