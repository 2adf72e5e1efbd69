"""i2b2-2012 XML by its published layout.

Offsets from 1, times by links to dated periods, nothing inferred, damage named by line.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from tests.unit.timelines.formats import foreign_cases as foreign
from timelines.domain import Anchor, Lane, Polarity
from timelines.formats.i2b2.times import parse_period
from timelines.formats.i2b2.writer import write_i2b2
from timelines.formats.lines import Line

NOTE = 'Admission Date :\n02/24/2131\nFever began 02/22 . No chest pain 😀 . Ceftriaxone 18:30 & later a "CT" .\n'
#: Offsets of the released corpus: "Admission" is 1–10, the date of admission 18–28.
E0 = '<EVENT id="E0" start="1" end="10" text="Admission" modality="FACTUAL" polarity="POS" type="OCCURRENCE" />'
S0 = (
    '<SECTIME id="S0" start="18" end="28" text="02/24/2131" type="ADMISSION" dvalue="2131-02-24" />'
)
T0 = '<TIMEX3 id="T0" start="41" end="46" text="02/22" type="DATE" val="2131-02-22" mod="NA" />'
T1 = '<TIMEX3 id="T1" start="78" end="83" text="18:30" type="TIME" val="2131-02-24T18:30" mod="NA" />'
T2 = '<TIMEX3 id="T2" start="1" end="2" text="A" type="DURATION" val="P2D" mod="NA" />'
#: 24 February 2131, 14:38, is t = 0.
MIDNIGHT = -(14 + 38 / 60)


def event(
    name: str,
    words: str,
    *,
    shift: int = 1,
    kind: str = "PROBLEM",
    polarity: str = "POS",
    modality: str = "FACTUAL",
) -> str:
    start = NOTE.index(words) + shift
    quoted = words.replace("&", "&amp;").replace('"', "&quot;")
    place = f'start="{start}" end="{start + len(words)}" text="{quoted}"'
    return (
        f'<EVENT id="{name}" {place} modality="{modality}" polarity="{polarity}" type="{kind}" />'
    )


def link(start: str, kind: str, end: str) -> str:
    return f'<TLINK id="TL" fromID="{start}" fromText="" toID="{end}" toText="" type="{kind}" />'


def xml(*tags: str, text: str = "\n" + NOTE, head: str = "") -> str:
    body = "\n".join(tags)
    start = (
        f'<?xml version="1.0" encoding="UTF-8" ?>\n{head}<ClinicalNarrativeTemporalAnnotation>\n'
    )
    return f"{start}<TEXT><![CDATA[{text}]]></TEXT>\n<TAGS>\n{body}\n</TAGS>\n</ClinicalNarrativeTemporalAnnotation>\n"


def write(folder: Path, content: str) -> Path:
    (folder / "a.xml").write_bytes(content.encode("utf-8"))
    return folder


def events(folder: Path, *tags: str, note: str = NOTE):
    return foreign.events("i2b2", write(folder, xml(*tags)), note)


def test_events_are_occurrences_with_polarity_and_lane(tmp_path):
    tags = [
        E0,
        event("E1", "chest pain", polarity="NEG"),
        event("E2", "Ceftriaxone", kind="TREATMENT"),
    ]
    tags += [event("E3", '"CT"', kind="TEST", modality="PROPOSED")]
    found = events(tmp_path, *tags, S0, T0)
    assert [(e.mention, e.polarity, e.lane) for e in found] == [
        ("Admission", Polarity.PRESENT, Lane.FINDING),
        ("chest pain", Polarity.ABSENT, Lane.FINDING),
        ("Ceftriaxone", Polarity.PRESENT, Lane.MEDICATION),
        ('\\"CT\\"', Polarity.PRESENT, Lane.PLAN),
    ]
    assert [NOTE[e.start : e.end] for e in found] == [
        "Admission",
        "chest pain",
        "Ceftriaxone",
        '"CT"',
    ]
    assert {(e.time, e.lower, e.upper, e.known, e.decided_by) for e in found} == {
        (None, None, None, False, "")
    }


@pytest.mark.parametrize(
    ("links", "lower", "time", "upper", "known"),
    [
        ([("E1", "OVERLAP", "T0")], MIDNIGHT - 48, MIDNIGHT - 36, MIDNIGHT - 24, True),
        ([("E1", "SIMULTANEOUS", "T1")], 3 + 52 / 60, 3 + 52 / 60, 3 + 52 / 60, True),
        ([("T1", "OVERLAP", "E1")], 3 + 52 / 60, 3 + 52 / 60, 3 + 52 / 60, True),
        ([("E1", "BEFORE", "T0")], None, None, MIDNIGHT - 48, False),
        ([("T0", "BEFORE", "E1")], MIDNIGHT - 24, None, None, False),
        ([("E1", "AFTER", "T0"), ("E1", "BEFORE", "T1")], MIDNIGHT - 24, None, 3 + 52 / 60, False),
        ([("E1", "BEFORE_OVERLAP", "T0")], None, None, MIDNIGHT - 24, False),
        ([("E1", "BEFORE", "S0")], None, None, MIDNIGHT + 24, False),
        ([("E1", "AFTER", "S0")], MIDNIGHT, None, None, False),
        ([("E1", "OVERLAP", "S0")], MIDNIGHT, MIDNIGHT + 12, MIDNIGHT + 24, False),
        (
            [("E1", "OVERLAP", "S0"), ("E1", "OVERLAP", "T0")],
            MIDNIGHT - 48,
            MIDNIGHT - 36,
            MIDNIGHT - 24,
            True,
        ),
        ([("E1", "OVERLAP", "T0"), ("E1", "OVERLAP", "T1")], None, None, None, False),
        ([("E1", "OVERLAP", "T2")], None, None, None, False),
        ([("E1", "OVERLAP", "E0")], None, None, None, False),
        ([("T0", "BEGUN_BY", "E1")], None, None, None, False),
        ([("E1", "OVERLAP", "T9")], None, None, None, False),
    ],
)
def test_times_are_what_links_to_dated_periods_say(tmp_path, links, lower, time, upper, known):
    found = events(
        tmp_path, E0, event("E1", "Fever"), S0, T0, T1, T2, *(link(*one) for one in links)
    )
    assert (found[1].lower, found[1].time, found[1].upper) == pytest.approx((lower, time, upper))
    assert found[1].known is known


@pytest.mark.parametrize(
    ("value", "begin", "end"),
    [
        ("2131-02-25", 0.0, 24.0),
        ("2131-02-25T08", 8.0, 9.0),
        ("2131-02-25T08:30", 8.5, 8.5),
        ("2131-02-25T08:30:36", 8.51, 8.51),
        ("2131-02", -576.0, 96.0),
        ("2131-12", 6696.0, 7440.0),
        ("2131", -55 * 24.0, 310 * 24.0),
    ],
)
def test_a_calendar_value_is_a_period(value, begin, end):
    assert parse_period(value, Anchor(datetime(2131, 2, 25))) == pytest.approx((begin, end))


@pytest.mark.parametrize(
    "value",
    ["P2D", "R3P1D", "2131-W08", "2131-02-30", "PAST_REF", "", "T08:00", "0000", "9999-12-31"],
)
def test_anything_else_places_nothing(value):
    assert parse_period(value, Anchor(datetime(2131, 2, 25))) is None


def test_files_that_count_from_zero_are_seen_by_what_they_quote(tmp_path):
    found = events(tmp_path, event("E0", "Fever", shift=0), event("E1", "Ceftriaxone", shift=0))
    assert [(e.start, e.mention) for e in found] == [
        (28, "Fever"),
        (NOTE.index("Ceftriaxone"), "Ceftriaxone"),
    ]


def test_our_note_may_have_other_line_endings(tmp_path):
    note = NOTE.replace("\n", "\r\n")
    found = events(tmp_path, E0, event("E1", "began 02/22"), event("E2", "2131\nFever"), note=note)
    assert [note[e.start : e.end] for e in found] == ["Admission", "began 02/22", "2131\r\nFever"]


def test_an_admission_of_another_day_is_refused(tmp_path):
    content = xml(E0, S0.replace('dvalue="2131-02-24"', 'dvalue="2131-03-06"'))
    (fault,) = foreign.faults("i2b2", write(tmp_path, content), NOTE)
    assert (
        fault
        == "a.xml, line 10, SECTIME.dvalue: the file's admission is 9.4 days from the case's; the dates are of another shift"
    )


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (xml(E0)[:-60], "a.xml, line 9: not well-formed XML"),
        (xml(E0.replace("Admission", "A & B")), "a.xml, line 9: not well-formed XML"),
        ("", "a.xml, line 1: not well-formed XML (no element found)"),
        ("<TimeML/>", "a.xml, line 1: the root is not ClinicalNarrativeTemporalAnnotation"),
        (
            xml(E0, head='<!DOCTYPE x [<!ENTITY a "aa"><!ENTITY b "&a;&a;&a;">]>\n'),
            "a.xml, line 2: declares a document type",
        ),
        (
            xml(E0, head='<!DOCTYPE x SYSTEM "file:///etc/passwd">\n'),
            "a.xml, line 2: declares a document type",
        ),
        (
            xml(event("E1", "Fever"), E0.replace('"1"', '"2"').replace('"10"', '"11"')),
            "a.xml, line 10, EVENT.start: the text at these offsets",
        ),
        (xml(E0.replace('end="10"', 'end="1"')), "a.xml, line 9, EVENT.end: the span is empty"),
        (
            xml(E0.replace('end="10"', 'end="99999"')),
            "a.xml, line 9, EVENT.end: the span is empty, reversed or ends outside",
        ),
        (
            xml(E0.replace('end="10"', 'end="x"')),
            "a.xml, line 9, EVENT.start: start and end are not whole numbers",
        ),
        (xml(E0, E0), "a.xml, line 10, EVENT.id: missing, or the same identifier twice"),
        (xml(), "a.xml: no events"),
        (
            xml(E0, text="Another note"),
            "a.xml, text: the text is not this case's note: first difference at offset 1 (ours: 1)",
        ),
        (xml(E0, '<?occurrent {"event": ?>'), "a.xml, line 10, ?occurrent: not JSON"),
        (
            xml(E0, '<?occurrent {"event": "E0", "mention": "x", "time": "soon"}?>'),
            "a.xml, line 9, time: neither a number",
        ),
    ],
)
def test_damage_is_named_by_file_line_and_field_and_nothing_is_taken(tmp_path, content, reason):
    found = foreign.faults("i2b2", write(tmp_path, content), NOTE)
    assert found[0].startswith(reason), found


def test_a_file_of_no_case_and_a_file_that_is_not_text(tmp_path):
    assert foreign.faults("i2b2", write(tmp_path, xml(E0)), NOTE, case="b")[0].startswith(
        "a.xml, case_id: the dataset has no case"
    )
    (tmp_path / "a.xml").write_bytes(b"\xff\xfe\x00")
    assert "not well-formed" in foreign.faults("i2b2", tmp_path, NOTE)[0]


def test_a_reader_of_the_layers_alone_finds_our_times_to_the_second(tmp_path):
    def line(uid: str, words: str, time: float | None, polarity: str = "present") -> Line:
        start = NOTE.index(words)
        return Line(
            "a",
            "s",
            "text_only",
            1,
            uid,
            "in words",
            start,
            start + len(words),
            time,
            0.0,
            None,
            True,
            (),
            (),
            polarity,
            "lab",
            None,
        )

    lines = (
        line("0001", "Fever", 1.5),
        line("0002", "chest pain", None, "absent"),
        line("0003", '"CT"', 1 / 3),
    )
    write_i2b2([foreign.case_lines("a", NOTE, [lines])], tmp_path)
    (file,) = tmp_path.rglob("a.xml")
    kept = [
        row
        for row in file.read_text(encoding="utf-8").split("\n")
        if not row.startswith("<?occurrent")
    ]
    found = foreign.events("i2b2", write(tmp_path / "s-text_only-1", "\n".join(kept)), NOTE)
    assert [e.time for e in found] == [1.5, None, 1 / 3]
    assert [(e.mention, e.polarity) for e in found] == [
        ("Fever", "present"),
        ("chest pain", "absent"),
        ('\\"CT\\"', "present"),
    ]
