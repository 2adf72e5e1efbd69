"""Tables of events and times, and damaged exports of our own.

Mentions without offsets are located too.
"""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.timelines.formats import foreign_cases as foreign
from timelines.domain import Anchor, Polarity
from timelines.formats.alignment import Alignment, align
from timelines.formats.event_table.reader import split_bars
from timelines.formats.locating import locate
from timelines.formats.values import CaseFacts, Unreadable

NOTE = "Fever on Monday, then painless. Chest pain came; chest pain went. No fever\nat home."
LINE = {"case_id": "a", "mention": "Fever", "time": 1.0}


# places of mentions


@pytest.mark.parametrize(
    ("mentions", "places"),
    [
        (["Fever"], [(0, 5)]),
        (["fever at home"], [(69, 82)]),
        (["pain"], [None]),
        (["painless"], [(22, 30)]),
        (["less"], [None]),
        (["FEVER"], [None]),
        (["chest pain"], [(49, 59)]),
        (["Fever", "Fever"], [None, None]),
        (["pain", "pain"], [None, None]),
        (["Fever", "pain", "pain", "fever"], [(0, 5), (38, 42), (55, 59), (69, 74)]),
        (["fever", "pain", "pain", "Fever"], [(69, 74), None, None, (0, 5)]),
        (["Fever", "pain", "pain"], [(0, 5), None, None]),
        ([""], [None]),
        ([], []),
    ],
)
def test_a_mention_is_placed_only_where_there_is_one_way_to(mentions, places):
    assert locate(mentions, NOTE) == places


@given(st.lists(st.sampled_from(["Fever", "pain", "chest pain", "went.", "No"]), max_size=6))
def test_whatever_is_placed_stands_there(mentions):
    for mention, place in zip(mentions, locate(mentions, NOTE), strict=True):
        assert place is None or NOTE[slice(*place)] == mention


def test_combining_and_astral_characters_count_as_code_points():
    note = "😀 cafe\u0301 שלום"
    assert locate(["cafe\u0301", "שלום"], note) == [(2, 7), (8, 12)]
    assert locate(["cafe"], note) == [(2, 6)], "a combining mark is no letter of its own"


# two copies of a note


def test_copies_may_differ_in_blanks_alone():
    over = align("a  b\nc d", "a b\r\n\r\nc d ")
    assert over.span(3, 6) == (2, 8)
    assert over.span(0, 5) == (0, 3)
    with pytest.raises(Unreadable, match="only white space"):
        over.span(1, 3)
    assert align("same", "same") == Alignment()


@pytest.mark.parametrize(
    ("theirs", "ours", "where"),
    [("ab", "ac", "1 (ours: 1)"), ("a b", "a", "2 (ours: 1)"), ("a", "a  bc", "1 (ours: 3)")],
)
def test_another_text_is_named_by_its_first_difference(theirs, ours, where):
    with pytest.raises(Unreadable) as caught:
        align(theirs, ours)
    assert where in caught.value.reason


# events and times


def table(folder, text: str, name: str = "a.bsv"):
    (folder / name).write_bytes(text.encode("utf-8"))
    return folder / name


@pytest.mark.parametrize(
    "text",
    [
        'event|time|confidence\nFever|-72|9\nasked "why" | n/a |\n',
        'Fever|-72|9\r\nasked "why"|N/A|\r\n',
        '| event | time | confidence |\n|---|:---:|---|\n| Fever | -72.0 | 9 |\n| asked "why" | NA | |\n',
        '\ufeffEvent|Time|Confidence\n\nFever|-7.2e1|9.0\nasked "why"||\n',
    ],
)
def test_bars_with_and_without_a_heading(tmp_path, text):
    first, second = foreign.events("bsv", table(tmp_path, text), NOTE)
    assert (first.mention, first.time, first.confidence, first.start) == ("Fever", -72.0, 9.0, 0)
    assert (second.mention, second.time, second.confidence, second.start) == (
        'asked \\"why\\"',
        None,
        None,
        None,
    )


def test_commas_with_quotes(tmp_path):
    found = foreign.events(
        "csv", table(tmp_path, 'event,time\n"Chest pain, came",1\n"a ""b"" | c",2\n', "a.csv"), NOTE
    )
    assert [e.mention for e in found] == ["Chest pain, came", 'a \\"b\\" \\| c']


@pytest.mark.parametrize(
    ("line", "cells"),
    [
        ("a|1|2", ["a", "1", "2"]),
        ("a\\|b|1", ["a\\|b", "1"]),
        ("a\\\\|1", ["a\\\\", "1"]),
        ("| a | 1 |", ["a", "1"]),
        ("a", ["a"]),
    ],
)
def test_a_bar_after_a_backslash_is_part_of_the_event(line, cells):
    assert split_bars(line) == cells


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("event|time\nFever|soon\n", "a.bsv, line 2, time: neither a number nor N/A"),
        ("event|time\nFever|inf\n", "a.bsv, line 2, time: not a finite number"),
        ("event|time\nFever\n", "a.bsv, line 2: 1 cells; a line is event, time"),
        ("event|time\nFever|1|2\n", "a.bsv, line 2: 3 cells; a line is event, time"),
        ("event|time\n|1\n", "a.bsv, line 2, event: no text"),
        ("event|time|confidence\nFever|1|high\n", "a.bsv, line 2, confidence: neither"),
        (
            'event|time|confidence|occurrent\nFever|2||{"mention": "Fever", "time": 1.0}\n',
            "a.bsv, line 2, occurrent: the cells before it",
        ),
        ('event|time|confidence|occurrent\nFever|1||{"mention": "Fev\n', "a.bsv, line 2: not JSON"),
        ("Fever|1|\x00\n", "a.bsv, line 1, confidence: neither"),
        ("Fe\x00ver|1\n", "a.bsv, line 1, event: contains a character"),
        ("", "a.bsv: no events"),
    ],
)
def test_damaged_tables(tmp_path, text, reason):
    found = foreign.faults("bsv", table(tmp_path, text), NOTE)
    assert found[0].startswith(reason), found


def test_files_that_are_not_text_or_cut_off(tmp_path):
    (tmp_path / "a.bsv").write_bytes(b"Fever|1\n\xff\xfe")
    assert foreign.faults("bsv", tmp_path, NOTE) == [
        "a.bsv: not UTF-8 text; save the file as UTF-8"
    ]
    assert (
        "quotes are not closed"
        in foreign.faults("csv", table(tmp_path, 'event,time\n"Fever,1\n', "a.csv"), NOTE)[0]
    )
    with pytest.raises(Unreadable, match="no such file"):
        foreign.read("bsv", tmp_path / "none", foreign.Book(a=NOTE))


# our own exports


def jsonl(folder, *lines: object):
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    return table(folder, text, "t.jsonl")


def test_a_line_of_least_says_a_case_a_mention_and_a_time(tmp_path):
    (event,) = foreign.events(
        "jsonl",
        jsonl(tmp_path, LINE | {"polarity": "absent", "start": 0, "end": 5, "span_text": "Fever"}),
        NOTE,
    )
    assert (event.mention, event.time, event.polarity, event.uid, event.start) == (
        "Fever",
        1.0,
        Polarity.ABSENT,
        None,
        0,
    )


def test_a_place_is_sought_only_where_the_lines_do_not_speak_of_places(tmp_path):
    found = foreign.events(
        "jsonl",
        jsonl(tmp_path, LINE, LINE | {"mention": "painless", "start": None, "end": None}),
        NOTE,
    )
    assert [(e.start, e.end) for e in found] == [(0, 5), (None, None)]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ({"case_id": "a", "time": 1}, "mention: missing"),
        (LINE | {"uid4": "00AB"}, "uid4: not four lower-case hex digits"),
        (LINE | {"start": 0}, "end: a span has both ends or none"),
        (LINE | {"start": 5, "end": 5}, "end: the span is empty"),
        (
            LINE | {"start": 0, "end": 5, "span_text": "fever"},
            "span_text: the note has other text there",
        ),
        (LINE | {"known": 2}, "known: neither 0 nor 1"),
        (LINE | {"time": True}, "time: neither a number"),
        (LINE | {"time": 10**400}, "time: not a finite number"),
        (LINE | {"lower": 2.0}, "lower: the time is outside the bounds"),
        (LINE | {"polarity": "maybe"}, "polarity: not one of"),
        (LINE | {"lane": ["lab"]}, "lane: not one of"),
        (LINE | {"context": ["0001", "0001"]}, "context: not at most 5"),
        (LINE | {"context": 5}, "context: not a list"),
        (LINE | {"rows": [-1]}, "rows: not a list of row numbers"),
        (LINE | {"mention": "\ud800"}, "mention: contains a character"),
        (LINE | {"kind": "final"}, "kind: not one of"),
        (LINE | {"alternative": 0}, "alternative: alternatives count from 1"),
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_damaged_lines_spoil_their_own_timeline(tmp_path, line, reason):
    path = jsonl(tmp_path, LINE, line, LINE | {"case_id": "b"}, LINE | {"case_id": "c"})
    found, faults = foreign.read("jsonl", path, foreign.Book(a=NOTE, b=NOTE, c=NOTE))
    words = faults[0].words()
    assert words.startswith(("t.jsonl, line 2, " + reason, "t.jsonl, line 2: " + reason)), words
    cases = {f.heading.case for f in found}
    assert "a" not in cases
    assert "c" in cases


def test_a_line_that_cannot_be_attributed_spoils_both_neighbours(tmp_path):
    path = jsonl(tmp_path, LINE, "{", LINE | {"case_id": "b"}, LINE | {"case_id": "c"})
    found, faults = foreign.read("jsonl", path, foreign.Book(a=NOTE, b=NOTE, c=NOTE))
    assert [f.heading.case for f in found] == ["c"]
    assert len(faults) == 3


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (
            [LINE | {"uid4": "0001"}, LINE | {"uid4": "0001"}],
            "t.jsonl: UIDs occur twice in one case: 0001",
        ),
        ([LINE | {"uid4": "0001", "context": ["0002"]}], "t.jsonl: unknown UIDs 0002"),
        (
            [LINE | {"uid4": "0001", "start": 0, "end": 999}],
            "t.jsonl: UID 0001: span ends at 999, the note at",
        ),
    ],
)
def test_identifiers_and_spans_must_fit_together(tmp_path, lines, reason):
    assert foreign.faults("jsonl", jsonl(tmp_path, *lines), NOTE)[0].startswith(reason)


def test_csv_of_ours_with_a_lost_cell(tmp_path):
    path = table(tmp_path, "case_id,mention,time\na,Fever,1\na,Fever\n", "t.csv")
    assert (
        foreign.faults("csv", path, NOTE)[0]
        == "t.csv, line 3: more or fewer cells than the heading has"
    )


def test_parquet_of_another_kind_and_cut_off(tmp_path):
    pq.write_table(pa.table({"case_id": ["a"], "x": [1]}), tmp_path / "t.parquet")
    assert foreign.faults("parquet", tmp_path, NOTE) == [
        "t.parquet, mention: the table has no such column; it is none of our exports"
    ]
    assert foreign.faults("meds", tmp_path, NOTE) == [
        "t.parquet, code: the table has no such column; it is none of our exports"
    ]
    (tmp_path / "t.parquet").write_bytes((tmp_path / "t.parquet").read_bytes()[:-20])
    assert foreign.faults("parquet", tmp_path, NOTE) == [
        "t.parquet: not a Parquet file, or cut off"
    ]


def test_a_case_is_found_by_the_name_of_its_file(tmp_path):
    facts = CaseFacts("a", NOTE, Anchor(foreign.ADMITTED))
    for name in ("a.txt", "a.bsv", "a.bsv.txt", "a.PSV"):
        path = table(tmp_path, "Fever|1\n", name)
        found, faults = foreign.read("bsv", path, foreign.Book(a=NOTE))
        assert [f.heading.case for f in found] == [facts.case_id], (name, faults)


def test_meds_exports_with_lists_and_truth_values_are_still_read(tmp_path):
    row = {
        "case_id": "a",
        "code": "OCCURRENCE//LAB//ABSENT",
        "text_value": "fever",
        "hours": 1.5,
        "uid4": "0001",
        "known": True,
        "context": [],
        "rows": [3, 14],
        "reason": "row",
    }
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "0.parquet")
    (event,) = foreign.events("meds", tmp_path / "0.parquet", "No fever.")
    assert (event.known, event.rows, event.reason, event.lane) == (True, (3, 14), "row", "lab")
