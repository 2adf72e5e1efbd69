"""Notes of MEDS: texts of codes of notes, and a file beside the shards."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ehr.formats.base import WrongFile
from ehr.formats.mapping import parse_rules
from ehr.formats.meds.notes import NO_STAY, OUTSIDE, find_kind
from ehr.formats.meds.reader import Meds
from ehr.formats.stream import NoteBlock, StreamBlock

SCHEMA = pa.schema(
    [
        ("subject_id", pa.int64()),
        ("time", pa.timestamp("us")),
        ("code", pa.string()),
        ("text_value", pa.string()),
    ]
)
Row = tuple[int, int, str, str | None]
STAY: tuple[Row, ...] = (
    (1, 8, "HOSPITAL_ADMISSION//URGENT", None),
    (1, 9, "LAB//50813//mmol/L", "4.1"),
    (1, 20, "HOSPITAL_DISCHARGE//HOME", None),
)
NOTES: tuple[Row, ...] = (
    (1, 10, "NOTE//progress_note", " Slept well.\n"),
    (1, 11, "note//RR//1", "CT head."),
    (1, 19, "NOTE//DS", "Went home."),
    (1, 19, "NOTE//DS", None),
)


def write(root: Path, rows: tuple[Row, ...]) -> Path:
    """Write one shard with times on one day."""
    columns = [list(column) for column in zip(*rows, strict=True)]
    columns[1] = [datetime(2150, 1, 1, hour) for hour in columns[1]]
    arrays = [pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)]
    (root / "data").mkdir(exist_ok=True)
    pq.write_table(pa.table(arrays, schema=SCHEMA), root / "data" / "0.parquet")
    return root


def read(source: Meds) -> tuple[list[tuple[Any, ...]], list[str], list[tuple[Any, ...]], int]:
    """Return (notes, events of rows, rejections, lines left out)."""
    notes, events, refused, left_out = [], [], [], 0
    for file in source.files():
        for block in file.blocks():
            left_out += block.left_out
            refused += [(r.file, r.line, r.field, r.reason) for r in block.rejections]
            if isinstance(block, NoteBlock):
                notes += [
                    (place, n.kind, n.charted_at and n.charted_at.hour, n.text)
                    for place, _, n in block.notes
                ]
            else:
                assert isinstance(block, StreamBlock)
                events += block.rows["event"].to_pylist()
    return notes, events, refused, left_out


def test_texts_of_codes_of_notes_are_notes_as_they_are(tmp_path):
    notes, events, refused, left_out = read(Meds(write(tmp_path, (*STAY, *NOTES))))
    assert notes == [
        (0, "progress note", 10, " Slept well.\n"),
        (0, "radiology report", 11, "CT head."),
        (0, "discharge summary", 19, "Went home."),
    ]
    assert events[1] == "lab:50813:"
    assert events[3:] == ["note:ds:"], "a code without a text is a row"
    assert (refused, left_out) == ([], 0)


def test_a_map_of_codes_says_what_is_a_note(tmp_path):
    rows = (*STAY, (1, 10, "TEXT//Nursing", "Calm."), (1, 11, "NOTE//DS", "Went home."))
    rules = parse_rules("TEXT//* = note:{1}:\nNOTE//* = summary:{1}:\n")
    notes, events, _, _ = read(Meds(write(tmp_path, rows), rules=rules))
    assert notes == [(0, "nursing", 10, "Calm.")]
    assert events[-1] == "summary:ds:"


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("NOTE", "note"),
        ("NOTE//", "note"),
        ("Note//ED_Note//x", "ed note"),
        ("NOTES//DS", ""),
        ("LAB//NOTE", ""),
    ],
)
def test_the_second_part_of_a_code_is_the_kind(code, kind):
    assert find_kind(code) == kind


def test_a_note_outside_of_each_stay_is_named(tmp_path):
    root = write(tmp_path, (*STAY, (1, 21, "NOTE//DS", "Late."), (2, 9, "NOTE//DS", "Other.")))
    notes, _, refused, _ = read(Meds(root))
    assert notes == []
    assert refused == [("0.parquet", n, "hadm_id", OUTSIDE) for n in (5, 6)]


def test_a_file_beside_the_shards_has_notes(tmp_path):
    write(tmp_path, STAY)
    assert "notes" in Meds(tmp_path).encounters().missing_files
    (tmp_path / "notes.csv").write_text(
        "subject_id,time,kind,text,hadm_id\n"
        '1,2150-01-01 10:00:00,Progress Note,"Slept\nwell.",\n'
        "1,2150-01-03 10:00:00,DS,Went home.,1-1\n"
        "1,soon,DS,x,\n"
        "1,2150-01-01 10:00:00,DS,x,7\n"
        "x,2150-01-01 10:00:00,DS,x,\n"
        "2,2150-01-01 10:00:00,DS,x,1-1\n"
        "1,2150-01-01 10:00:00,DS, ,\n"
    )
    source = Meds(tmp_path)
    assert "notes" not in source.encounters().missing_files
    notes, _, refused, left_out = read(source)
    assert notes == [
        (0, "progress note", 10, "Slept\nwell."),
        (0, "discharge summary", 10, "Went home."),
    ]
    assert [(line, field) for _, line, field, _ in refused] == [
        (7, "subject_id"),
        (5, "time"),
        (6, "hadm_id"),
        (8, "subject_id"),
        (9, "text"),
    ]
    assert refused[2] == ("notes.csv", 6, "hadm_id", NO_STAY)
    assert left_out == 0


def test_notes_may_be_parquet_beside_shards_without_a_data_folder(tmp_path):
    write(tmp_path, STAY)
    (tmp_path / "data" / "0.parquet").rename(tmp_path / "0.parquet")
    (tmp_path / "data").rmdir()
    time = pa.array([datetime(2150, 1, 1, 10)], pa.timestamp("us"))
    columns = {"subject_id": [1], "time": time, "kind": ["ds"], "text": ["Went home."]}
    pq.write_table(pa.table(columns), tmp_path / "notes.parquet")
    assert read(Meds(tmp_path))[0] == [(0, "discharge summary", 10, "Went home.")]
    (tmp_path / "notes.csv").write_text("")
    with pytest.raises(WrongFile, match="twice"):
        read(Meds(tmp_path))
