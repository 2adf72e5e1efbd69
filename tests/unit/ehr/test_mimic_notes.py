"""Every file of note/ of MIMIC-IV is read, or named as not read."""

from __future__ import annotations

import gzip
import shutil
from datetime import datetime
from pathlib import Path

import pytest

from ehr.formats.mimic_iv.reader import MimicIV
from ehr.formats.stream import NoteBlock
from tests.paths import DATA

HEAD = "note_id,subject_id,hadm_id,note_type,note_seq,charttime,storetime,text\n"
STAY = "20338077"
REPORT = "r1,10007928,20338077,RR,1,2129-04-06 02:00:00,,CT head.\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return Path(shutil.copytree(DATA / "ehr" / "mimic_iv", tmp_path / "m"))


def find_notes(root: Path, name: str) -> tuple[list[tuple[str, str, str, str]], list[int | None]]:
    """Return ((stay, kind, time, text) of each note, lines of rejections)."""
    source = MimicIV(root)
    (file,) = (f for f in source.files() if f.name == name)
    blocks = [block for block in file.blocks() if isinstance(block, NoteBlock)]
    stays = source.encounters().encounters
    notes = [
        (stays[place].case_id, note.kind, str(note.charted_at), note.text)
        for block in blocks
        for place, _, note in block.notes
    ]
    return notes, [r.line for block in blocks for r in block.rejections]


def test_radiology_and_files_like_it_are_notes_of_their_kinds(root):
    packed = gzip.compress((HEAD + REPORT).encode())
    (root / "note" / "radiology.csv.gz").write_bytes(packed)
    (root / "note" / "Progress_Note.csv").write_text(HEAD + REPORT)
    time = str(datetime(2129, 4, 6, 2))
    assert find_notes(root, "note/radiology") == (
        [(STAY, "radiology report", time, "CT head.")],
        [],
    )
    assert find_notes(root, "note/Progress_Note")[0] == [(STAY, "progress note", time, "CT head.")]
    assert len(find_notes(root, "note/discharge")[0]) == 1


def test_a_report_without_an_admission_belongs_to_the_stay_at_its_time(root):
    lines = (
        "r1,10007928,,RR,1,2129-04-06 02:00:00,,Inside.\n"
        "r2,10007928,,RR,2,2130-01-01 02:00:00,,After.\n"
        "r3,10007928,,RR,3,,,Without a time.\n"
    )
    (root / "note" / "radiology.csv").write_text(HEAD + lines)
    (root / "note" / "other.csv").write_text(HEAD + lines)
    notes, refused = find_notes(root, "note/radiology")
    assert [(stay, text) for stay, _, _, text in notes] == [(STAY, "Inside.")]
    assert refused == [4]
    assert find_notes(root, "note/other") == ([], [2, 3, 4])


def test_files_that_are_not_read_are_named(root):
    (root / "note" / "radiology_detail.csv").write_text("note_id,field_name\n")
    (root / "hosp" / "patients.csv.gz").write_bytes(gzip.compress(b"subject_id\n"))
    listed = MimicIV(root).encounters()
    assert listed.unread_files == ("hosp/patients.csv.gz", "note/radiology_detail.csv")
    assert "note/radiology" in listed.missing_files
