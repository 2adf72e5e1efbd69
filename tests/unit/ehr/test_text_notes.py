"""Notes in files of their own: names, index, time zero, several notes."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ehr.formats.base import FormatError, WrongFile
from ehr.formats.cases import digest, read_case
from ehr.formats.columns import clock_times
from ehr.formats.csv.reader import PlainRows
from ehr.formats.note_files import NoteName, read_name_in_stay
from ehr.formats.stated import StatedAdmission, find_admission
from ehr.formats.stream import NoteBlock, StreamSource
from ehr.formats.text import TextNotes
from tests.worlds.ehr_cases import ROWS, write_case

Notes = list[tuple[str, datetime | None, str, str]]


def write(folder: Path, **files: str) -> Path:
    """Write notes; `index` is the index."""
    for name, text in files.items():
        path = folder / ("index.csv" if name == "index" else f"{name}.txt")
        path.write_bytes(text.encode())
    return folder


def read(source: StreamSource) -> Notes:
    """Return (case, written at, kind, text) of each note, in order of storing."""
    cases = [e.case_id for e in source.encounters().encounters]
    blocks = [b for file in source.files() if file.notes for b in file.blocks()]
    notes = [(p, n) for b in blocks if isinstance(b, NoteBlock) for p, _, n in b.notes]
    return [(cases[place], n.charted_at, n.kind, n.text) for place, n in notes]


def faults(source: TextNotes) -> list[tuple[str, int | None, str]]:
    found = source.encounters()
    return [(r.file, r.line, r.field) for r in (*found.rejections, *found.refused)]


def test_both_stays_of_a_file_that_the_index_names_twice_are_named(tmp_path):
    index = "file,case_id,admitted_at\na.txt,one,2050-01-01\na.txt,two,2050-01-01\n"
    source = TextNotes(write(tmp_path, a="A note.", index=index))
    found = source.encounters()
    assert found.encounters == ()
    assert [(r.case_id, r.line, r.reason) for r in found.rejections] == [
        ("one", 2, "the file appears again in line 3"),
        ("two", 3, "the file appears twice"),
    ]


@pytest.mark.parametrize(
    ("files", "zero"),
    [
        # The admission, wherever the index gives it.
        (["a.txt,a,,,", "b.txt,a,2050-01-01,ed note,2050-01-02T08:00"], ("2050-01-02 08:00", "admission")),
        # The first note that is no discharge summary.
        (["a.txt,a,2049-01-01,,", "b.txt,a,2050-01-03 09:00Z,consult,"], ("2050-01-03 09:00", "presentation")),
        # A discharge summary is written at the end of a stay.
        (["a.txt,a,2050-01-05 09:00,,", "b.txt,a,,consult,"], None),
    ],
)  # fmt: skip
def test_time_zero_of_a_stay(tmp_path, files, zero):
    header = "file,case_id,written_at,kind,admitted_at\n"
    write(tmp_path, a="one", b="two", index=header + "\n".join(files) + "\n")
    source = TextNotes(tmp_path)
    found = source.encounters()
    if zero is None:
        assert found.encounters == ()
        assert "no time of admission" in found.refused[0].reason
        return
    (stay,) = found.encounters
    assert (stay.admitted_at.isoformat(" ", "minutes"), stay.anchor) == zero
    assert faults(source) == []
    assert next(kind for _, _, kind, _ in read(source)) == "discharge summary"


@pytest.mark.parametrize(
    ("line", "at", "day_only"),
    [
        ("Admission date: 1 March 2150", "2150-03-01T00:00", True),
        ("Date of Admission:  2150-03-01 18:22", "2150-03-01T18:22", False),
        ("ADMITTED: March 1st, 2150 at 06:05", "2150-03-01T06:05", False),
        ("Admitted on 01-Mar-2150", "2150-03-01T00:00", True),
        ("Admission Date: 13/3/2150   Discharge Date: 15/3/2150", "2150-03-13T00:00", True),
        ("Admission Date: 3/13/2150", "2150-03-13T00:00", True),
        ("Admission Date: 1.3.2150", "2150-03-01T00:00", True),
        ("Admission Date: 3/5/2150", None, True),
        ("Admission date: 31 February 2150", None, True),
        ("She was admitted on 1 March 2150.", None, True),
        ("Admission date: ___", None, True),
    ],
)
def test_the_admission_that_a_note_states(line, at, day_only):
    found = find_admission(f"DISCHARGE SUMMARY\n\n{line}\nDischarge date: 9 March 2150\n")
    expected = None if at is None else StatedAdmission(datetime.fromisoformat(at), day_only)
    assert found == expected


def test_time_zero_that_a_note_states(tmp_path):
    stated = "Admission date: 1 March 2150\n"
    write(
        tmp_path,
        **{"a": stated, "a__2150-03-02T07-45__progress_note": "Melena.", "b": "Fell."},
        **{"c": stated, "c__2150-03-02__consult": "Admission date: 2 March 2150"},
    )
    source = TextNotes(tmp_path)
    day, differing = source.encounters().encounters
    assert (day.case_id, day.admitted_at, day.anchor) == ("a", datetime(2150, 3, 1), "admission")
    assert day.zero == "the day that a note states, at 00:00"
    # Notes that state different days give none: the first note does.
    assert (differing.admitted_at, differing.anchor) == (datetime(2150, 3, 2), "presentation")
    assert faults(source) == [("note/b.txt", None, "")]


def test_names_give_case_time_and_kind(tmp_path):
    write(
        tmp_path,
        **{"x_1__20500101__ED_note": "1", "x_1__2050-01-02T08-30__Consult": "2", "x_1": "3"},
        **{"y__20500230__consult": "4", "y__20500201__consult": "5", "z__20500101": "6"},
    )
    source = TextNotes(tmp_path)
    assert read(source) == [
        ("x_1", None, "discharge summary", "3"),
        ("x_1", datetime(2050, 1, 1), "ed note", "1"),
        ("x_1", datetime(2050, 1, 2, 8, 30), "consult", "2"),
    ]
    # The 30th of February refuses its whole stay; a lone discharge summary has no time zero.
    assert [name for name, *_ in faults(source)] == [
        "note/y__20500230__consult.txt",
        "note/z__20500101.txt",
    ]


def test_a_folder_for_each_stay(tmp_path):
    for stay in ("4711", "4712"):
        (tmp_path / stay).mkdir()
    write(tmp_path / "4711", **{"progress": "Melena.", "2150-03-05__discharge_summary": "Home."})
    write(tmp_path / "4711", **{"2150-03-01T18-30": "Admission date: 1 March 2150 18:22"})
    write(tmp_path / "4712", progress="No admission.")
    source = TextNotes(tmp_path)
    assert read(source) == [
        (
            "4711",
            datetime(2150, 3, 1, 18, 30),
            "discharge summary",
            "Admission date: 1 March 2150 18:22",
        ),
        ("4711", datetime(2150, 3, 5), "discharge summary", "Home."),
        ("4711", None, "progress note", "Melena."),
    ]
    assert [e.admitted_at for e in source.encounters().encounters] == [datetime(2150, 3, 1, 18, 22)]
    assert faults(source) == [("note/4712/progress.txt", None, "")]
    assert {file.name for file in source.files()} >= {"note/4711/progress.txt"}


@pytest.mark.parametrize(
    ("name", "kind", "day"),
    [
        ("progress", "progress note", None),
        ("progress_2", "progress note", None),
        ("summary", "discharge summary", None),
        ("2050-01-02__Discharge", "discharge summary", 2),
        ("2050-01-02", "discharge summary", 2),
        ("ED note", "ed note", None),
    ],
)
def test_the_name_of_a_note_in_the_folder_of_its_stay(tmp_path, name, kind, day):
    said = read_name_in_stay(tmp_path / "4711" / f"{name}.txt")
    written = None if day is None else datetime(2050, 1, day)
    assert said == NoteName("4711", written, kind)


def test_a_pattern_of_ones_own(tmp_path):
    write(tmp_path, **{"note-7-of-20500101-0830": "1", "other": "2"})
    source = TextNotes(tmp_path, pattern="note-{case}-of-{admitted}.txt")
    (stay,) = source.encounters().encounters
    assert (stay.case_id, stay.admitted_at) == ("7", datetime(2050, 1, 1, 8, 30))
    assert faults(source) == [("note/other.txt", None, "")]
    for pattern in ("{time}", "{case}{case}", "{case}_{who}"):
        with pytest.raises(FormatError, match="pattern"):
            TextNotes(tmp_path, pattern=pattern)


GOOD = "file,case_id,written_at,kind,admitted_at,discharged_at\na.txt,a,,,2050-01-01,\n"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("b.txt,b,soon,,2050-01-01,\n", [("index.csv", 3, "written_at")]),
        ("b.txt,b,,,,2050-13-01\n", [("index.csv", 3, "discharged_at")]),
        ("c.txt,b,,,2050-01-01,\n", [("index.csv", 3, "file"), ("note/b.txt", None, "")]),
        (
            "a.txt,b,,,2050-01-01,\n",
            [("index.csv", 2, "file"), ("index.csv", 3, "file"), ("note/b.txt", None, "")],
        ),
        ("../a.txt,b,,,2050-01-01,\n", [("index.csv", 3, "file"), ("note/b.txt", None, "")]),
        ("b.txt,a,,,2050-01-02,\n", [("index.csv", 3, "admitted_at")]),
        ("b.txt,b,,,2050-01-02,2050-01-01\n", [("index.csv", 3, "discharged_at")]),
        (f"b.txt,b,,{'x' * 41},2050-01-02,\n", [("index.csv", 3, "kind")]),
        (f"b.txt,{'b' * 101},,,2050-01-02,\n", [("index.csv", 3, "case_id")]),
        ("", [("note/b.txt", None, "")]),
    ],
)
def test_a_fault_of_the_index_is_named_and_refuses_its_stay(tmp_path, lines, expected):
    write(tmp_path, a="one", b="two", index=GOOD + lines)
    source = TextNotes(tmp_path)
    assert faults(source) == expected
    cases = [e.case_id for e in source.encounters().encounters]
    named = {c for line in lines.splitlines() for c in (line.split(",")[1],)}
    # The file of another stay makes both stays doubtful.
    assert cases == ([] if "a" in named or lines.startswith("a.txt") else ["a"])


@pytest.mark.parametrize("line", ["b.txt,b,,\n", "b.txt,,,,,\n"])
def test_a_line_of_an_unknown_stay_refuses_the_index(tmp_path, line):
    write(tmp_path, a="one", b="two", index=GOOD + line)
    with pytest.raises(WrongFile) as caught:
        TextNotes(tmp_path).encounters()
    assert (caught.value.rejection.file, caught.value.rejection.line) == ("index.csv", 3)


@pytest.mark.parametrize(
    "content", [b"", b"\xef\xbb\xbf \n", b"caf\xe9", b"a\n\x00", b"x" * 1_000_001]
)
def test_a_note_that_cannot_be_read_refuses_its_stay(tmp_path, content):
    write(tmp_path, a="one", a2="x", index=GOOD + "a2.txt,a,,consult,,\n")
    (tmp_path / "a2.txt").write_bytes(content)
    source = TextNotes(tmp_path)
    assert source.files() == []
    assert [name for name, *_ in faults(source)] == ["note/a2.txt"]


def test_several_notes_of_a_plain_case_and_a_case_without_rows(tmp_path):
    (tmp_path / "a.csv").write_text(ROWS)
    write(
        tmp_path,
        a="summary",
        **{"a__2150-01-01T09-00__consult": "consult", "b__2150-01-01": "only a note", "c": "lost"},
    )
    (tmp_path / "encounters.csv").write_text("case_id,admitted_at\nb,2150-01-01T08:00:00-05:00\n")
    source = PlainRows(tmp_path)
    found = source.encounters()
    assert [(e.case_id, e.admitted_at) for e in found.encounters] == [
        ("a", datetime(2150, 1, 1, 8)),
        ("b", datetime(2150, 1, 1, 8)),
    ]
    assert [r.file for r in found.refused] == ["note/c.txt"]
    assert read(source) == [
        ("a", None, "discharge summary", "summary"),
        ("a", datetime(2150, 1, 1, 9), "consult", "consult"),
        ("b", datetime(2150, 1, 1), "discharge summary", "only a note"),
    ]


def test_several_notes_of_a_case_folder_and_no_rows(tmp_path):
    folder = write_case(tmp_path, admitted_at="2150-01-01T08:00:00+01:00")
    (folder / "rows.csv").unlink()
    before = digest(folder)
    (folder / "notes").mkdir()
    (folder / "notes" / "2150-01-01T09-00__consult.txt").write_text("A consult.")
    assert digest(folder) != before
    case = read_case(folder)
    assert case.rejections == ()
    assert case.encounter is not None
    assert case.encounter.admitted_at == datetime(2150, 1, 1, 8)
    assert case.rows is not None
    assert len(case.rows) == 0
    assert [(n.kind, n.charted_at) for n in case.notes] == [
        ("discharge summary", None),
        ("consult", datetime(2150, 1, 1, 9)),
    ]


@pytest.mark.parametrize(
    ("name", "text", "named"),
    [
        ("rows.csv.bak", ROWS, "rows.csv.bak"),
        ("rows.tsv", ROWS, "rows.tsv"),
        ("notes/x.txt", "A note.", "notes/x.txt"),
        ("notes/2150-02-30.txt", "A note.", "notes/2150-02-30.txt"),
        ("notes/2150-01-01.doc", "A note.", "notes/2150-01-01.doc"),
        ("notes/2150-01-01.txt", " ", "notes/2150-01-01.txt"),
        ("notes/2150-01-01.txt", "Lactate 4.1, then 2.0.", "notes/2150-01-01.txt"),
    ],
)
def test_a_case_folder_is_never_read_in_part(tmp_path, name, text, named):
    folder = write_case(tmp_path)
    (folder / "rows.csv").unlink()
    (folder / "notes").mkdir()
    (folder / name).write_text(text)
    case = read_case(folder)
    assert case.encounter is None
    assert [r.file for r in case.rejections] == [f"c1/{named}"]


OFFSETS = st.sampled_from(["Z", "+01:00", "-0530", "+14", " +00:00"])


@given(st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)), OFFSETS, st.sampled_from("T "))
def test_an_offset_gives_the_clock_on_the_wall(time, offset, between):
    text = time.isoformat(between)
    times, wrong = clock_times(pa.array([text, text + offset]))
    assert times.to_pylist() == [time, time]
    assert not any(wrong.to_pylist())


@pytest.mark.parametrize(
    "text", ["2150-01-01Z", "2150-01-01+01:00", "2150-01-01T08:00+25:00", "2150-01-01T08:00 CET"]
)
def test_another_ending_is_no_offset(text):
    _, wrong = clock_times(pa.array([text]))
    assert wrong.to_pylist() == [True]


def test_names_in_capitals_are_notes(tmp_path):
    (tmp_path / "A__2050-01-02T08-00__ED NOTE.TXT").write_text("Fell.")
    assert read(TextNotes(tmp_path)) == [("A", datetime(2050, 1, 2, 8), "ed note", "Fell.")]
