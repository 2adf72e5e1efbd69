"""How a revision prompt prints the record; texts by hand."""

from __future__ import annotations

import pytest

from tests.unit.timelines.prompted.answers import expand_row_numbers
from timelines.backbones.prompted.record import PrintedRecord, print_record
from timelines.domain import Evidence, Expansion, SourceRow, TimeKind

A, B, C = "0a1b", "77de", "c0de"
COLLECTION, CHARTED = TimeKind.COLLECTION, TimeKind.CHARTED
GIVEN, WHERE, DONE = TimeKind.ADMINISTRATION, TimeKind.ADMINISTRATIVE, TimeKind.PERFORMED
INFUSION = "med:norepinephrine"


def row(
    index: int, time: float, event: str, value: str = "", unit: str = "", kind: TimeKind = GIVEN
) -> SourceRow:
    return SourceRow(index, time, event, value, unit, time_kind=kind)


def found(uid: str, *rows: SourceRow) -> list[Evidence]:
    return [Evidence(uid, 0, r, 1, 0.5, 0.5) for r in rows]


ARRIVAL = row(1, -4.5, "transfer:ed:", "Emergency Department", kind=WHERE)
ADMISSION = row(2, 0.0, "admission:hospital admission:", kind=WHERE)
FIRST = row(10, -3.8667, "lab:lactate:blood", "4.2", "mmol/L", COLLECTION)
REPEAT = row(11, 6.1333, "lab:lactate:blood", "1.8", "mmol/L", COLLECTION)
RUN = (
    row(20, 1.25, f"{INFUSION}:start", "0.05", "mcg/kg/min"),
    row(22, 4.0, f"{INFUSION}:start", "0.12", "mcg/kg/min"),
    row(21, 19.5, f"{INFUSION}:end"),
)
BOLUS = (
    row(30, 2.0, "med:furosemide:start", "40", "mg"),
    row(31, 2.02, "med:furosemide:end", "40", "mg"),
)
DRAIN = row(40, 26.4167, "procedure:thoracentesis:start", kind=DONE)
SKELETON = (ARRIVAL, ADMISSION)
EXPANSION = Expansion(
    (
        *found(A, REPEAT, FIRST),
        *found(B, RUN[1], RUN[2], *BOLUS, FIRST),
        *found(C, DRAIN, ARRIVAL, RUN[0]),
    ),
    skeleton=SKELETON,
)


def test_a_record_is_printed_by_series_in_order_of_time_with_every_row_once() -> None:
    assert print_record(EXPANSION, 160).text == (
        "== the stay\n"
        "r1 | -4.5 | transfer:ed Emergency Department\n"
        "r2 | 0 | admission:hospital admission\n"
        "\n"
        "== lab:lactate:blood | mmol/L | collection\n"
        "r3 | -3.87 | 4.2\n"
        "r4 | 6.13 | 1.8\n"
        "\n"
        "== med:furosemide | mg | administration\n"
        "r5 | 2 | start amount 40\n"
        "r6 | 2.02 | end amount 40\n"
        "\n"
        "== med:norepinephrine | mcg/kg/min | administration\n"
        "r7 | 1.25 | start rate 0.05\n"
        "r8 | 4 | start rate 0.12\n"
        "r9 | 19.5 | end\n"
        "\n"
        "== procedure:thoracentesis | performed\n"
        "r10 | 26.42 | start"
    )


def test_numbers_of_an_occurrence_are_in_order_of_relevance() -> None:
    record = print_record(EXPANSION, 160)
    assert record.numbers_of == {A: (4, 3), B: (8, 9, 5, 6, 3), C: (10, 1, 7)}
    assert record.words_of(A) == "r4 r3"
    assert record.words_of(B) == "r8 r3 r5 r6 r9"
    assert record.words_of("ffff") == ""


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ((7,), "r7"),
        ((5, 6, 7), "r5 r6 r7"),
        ((5, 6, 7, 8), "r5 r6-8"),
        ((8, 7, 6, 5), "r8 r5-7"),
        ((4, 9, 2, 11, 10, 1), "r4 r1 r2 r9-11"),
        ((6, 5, 7, 4, 8), "r6 r4 r5 r7 r8"),
    ],
)
def test_three_numbers_that_follow_each_other_are_a_range(numbers, words) -> None:
    record = PrintedRecord("", (), {A: numbers})
    assert record.words_of(A) == words
    assert sorted(expand_row_numbers(words)) == sorted(numbers)


def test_a_number_names_its_row_and_no_other_number_names_any() -> None:
    record = print_record(EXPANSION, 160)
    assert [record.row(n) for n in (1, 3, 9, 10)] == [ARRIVAL, FIRST, RUN[2], DRAIN]
    assert [record.row(n) for n in (-1, 0, 11)] == [None] * 3


def test_rows_whose_units_or_kinds_differ_say_so_themselves() -> None:
    event = "chart:temperature:"
    rows = (
        row(1, 1.0, event, "38.5", "°C", CHARTED),
        row(2, 2.0, event, "101", "°F", CHARTED),
        row(3, 3.0, event, "37", "", COLLECTION),
        row(4, 4.0, event, "", "", CHARTED),
    )
    assert print_record(Expansion(tuple(found(A, *rows))), 160).text == (
        "== chart:temperature\n"
        "r1 | 1 | 38.5 °C | charted\n"
        "r2 | 2 | 101 °F | charted\n"
        "r3 | 3 | 37 | collection\n"
        "r4 | 4 | – | charted"
    )


def test_a_value_without_a_unit_is_a_rate_at_the_start_and_an_amount_at_the_end() -> None:
    rows = (row(1, 1.0, f"{INFUSION}:start", "0.1"), row(2, 5.0, f"{INFUSION}:end", "2"))
    assert print_record(Expansion(tuple(found(A, *rows))), 160).text == (
        "== med:norepinephrine | administration\nr1 | 1 | start rate 0.1\nr2 | 5 | end amount 2"
    )


def test_the_value_of_an_order_is_neither_rate_nor_amount() -> None:
    rows = (
        row(1, 1.0, "order:heparin:start", "5000", "units", TimeKind.ORDER),
        row(2, 9.0, "order:heparin:stop", "", "", TimeKind.ORDER),
    )
    assert print_record(Expansion(tuple(found(A, *rows))), 160).text == (
        "== order:heparin | units | order\nr1 | 1 | start 5000\nr2 | 9 | stop"
    )


def test_fields_are_cut_and_cannot_start_a_column_or_a_line() -> None:
    rows = (row(1, 1.0, "micro:a|b:", "GROWTH\n| of " + "x" * 400, "", TimeKind.RESULT),)
    text = print_record(Expansion(tuple(found(A, *rows))), 20).text
    assert text == "== micro:a/b | result\nr1 | 1 | GROWTH / of xxxxxxxx"


def test_without_rows_the_prompt_says_so() -> None:
    record = print_record(Expansion(()), 160)
    assert (record.text, record.rows, record.row(1)) == ("no rows", (), None)
