"""Faults of large formats by hand: rejections, their places, the rest."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ehr.formats.base import WrongFile
from ehr.formats.meds.reader import Meds
from ehr.formats.mimic_iv.reader import MimicIV
from ehr.formats.stream import StreamBlock
from tests.paths import DATA

MIMIC = DATA / "ehr" / "mimic_iv"
ADMIT, LEAVE, LAB = "HOSPITAL_ADMISSION//URGENT", "HOSPITAL_DISCHARGE//HOME", "LAB//50813//mmol/L"


def day(number: int) -> datetime:
    return datetime(2150, 1, number, 6)


def shard(
    folder: Path,
    rows: list[tuple],
    numbers: Sequence[float | None] = (),
    texts: Sequence[str | None] = (),
) -> Meds:
    """A data set of (subject_id, time, code, hadm_id) rows.

    `numbers` and `texts` are those of the last rows.
    """
    subjects, times, codes, admissions = zip(*rows, strict=True)
    columns = {
        "subject_id": pa.array(subjects, pa.int64()),
        "time": pa.array(times, pa.timestamp("us")),
        "code": pa.array(codes, pa.string()),
        "numeric_value": pa.array([*[None] * (len(rows) - len(numbers)), *numbers], pa.float32()),
        "text_value": pa.array([*[None] * (len(rows) - len(texts)), *texts], pa.string()),
        "hadm_id": pa.array(admissions, pa.string()),
    }
    pq.write_table(pa.table(columns), folder / "0.parquet")
    return Meds(folder)


def read_blocks(source: Meds) -> tuple[list[str], list[tuple[int | None, str]]]:
    """(events, (line, field) of each rejection) of the one shard."""
    (file,) = source.files()
    blocks = [block for block in file.blocks() if isinstance(block, StreamBlock)]
    return [e for b in blocks for e in b.rows["event"].to_pylist()], [
        (r.line, r.field) for b in blocks for r in b.rejections
    ]


def test_rows_without_subject_code_or_a_day_of_the_calendar_are_named(tmp_path):
    beyond = 200_000 * 365 * 86_400 * 1_000_000
    rows = [
        (1, day(1), ADMIT, None),
        (None, day(2), LAB, None),
        (1, day(2), "", None),
        (1, beyond, LAB, None),
        (1, day(2), LAB, None),
    ]
    source = shard(tmp_path, rows)
    assert [e.case_id for e in source.encounters().encounters] == ["1-1"]
    events, rejected = read_blocks(source)
    assert events == ["admission:urgent:", "lab:50813:"]
    assert sorted(rejected) == [(3, "subject_id"), (4, "code"), (5, "time")]


def test_an_admission_that_is_told_twice_is_one_stay(tmp_path):
    rows = [
        (1, day(1), ADMIT, "77"),
        (1, day(2), "HOSPITAL_ADMISSION//EMERGENCY", "77"),
        (1, day(3), LAB, "77"),
        (1, day(5), LEAVE, "77"),
    ]
    source = shard(tmp_path, rows)
    (stay,) = source.encounters().encounters
    assert (stay.case_id, stay.admitted_at, stay.discharged_at) == ("77", day(1), day(5))
    assert len(read_blocks(source)[0]) == 4


def test_an_admission_of_two_subjects_is_named(tmp_path):
    listed = shard(tmp_path, [(1, day(1), ADMIT, "77"), (2, day(2), ADMIT, "77")]).encounters()
    assert [(e.case_id, e.subject_key) for e in listed.encounters] == [("77", "1")]
    assert [(r.field, r.case_id) for r in listed.rejections] == [("hadm_id", "77")]


@pytest.mark.parametrize(
    ("number", "text", "value", "stored"),
    [
        (7.5, "___", "7.5", 7.5),
        (7.5, None, "7.5", 7.5),
        (7.5, "HIGH", "HIGH", 7.5),
        (7.5, "8", "8", 7.5),
        (7.1, "7.10", "7.10", 7.1),
        (None, "8", "8", 8.0),
        (None, "HIGH", "HIGH", None),
        (None, "___", "___", None),
        (float("nan"), "___", "___", None),
        (float("nan"), "8", "8", 8.0),
        (float("nan"), None, "nan", None),
        (float("inf"), None, "inf", None),
        (None, None, "", None),
    ],
)
def test_a_number_beside_a_text_is_not_lost(tmp_path, number, text, value, stored):
    source = shard(tmp_path, [(1, day(1), ADMIT, None), (1, day(2), LAB, None)], [number], [text])
    (file,) = source.files()
    (block,) = (block for block in file.blocks() if isinstance(block, StreamBlock))
    row = block.rows.to_pylist()[1]
    assert (row["value"], row["numeric_value"]) == (value, stored)
    assert block.rejections == ()


def test_an_infinite_number_beside_a_text_is_named(tmp_path):
    rows = [(1, day(1), ADMIT, None), (1, day(2), LAB, None)]
    events, rejected = read_blocks(shard(tmp_path, rows, [float("-inf")], ["HIGH"]))
    assert (len(events), rejected) == (1, [(3, "numeric_value")])


def test_a_damaged_dictionary_of_codes_is_named(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "metadata").mkdir()
    (tmp_path / "metadata" / "codes.parquet").write_bytes(b"PAR1 cut short")
    shard(tmp_path / "data", [(1, day(1), ADMIT, None)])
    with pytest.raises(WrongFile) as caught:
        read_blocks(Meds(tmp_path))
    assert caught.value.rejection.file == "metadata/codes.parquet"


@pytest.mark.parametrize("number", ["9" * 30, "12a", "\u0663", ""])
def test_an_admission_without_a_usable_number_is_named(tmp_path, number):
    root, _ = add_second_admission(tmp_path, number)
    listed = MimicIV(root).encounters()
    assert [(r.line, r.field) for r in listed.rejections] == [(3, "hadm_id")]
    assert len(listed.encounters) == 1


def test_an_admission_that_stands_twice_is_named_and_the_first_stays(tmp_path):
    root, first = add_second_admission(tmp_path, None)
    listed = MimicIV(root).encounters()
    assert [e.case_id for e in listed.encounters] == [first]
    assert [(r.line, r.reason) for r in listed.rejections] == [(3, "the admission appears twice")]


def add_second_admission(folder: Path, number: str | None) -> tuple[Path, str]:
    """Return the excerpt with a second admission, and the first one's number.

    `number` is the second one's (None: the same).
    """
    root = Path(shutil.copytree(MIMIC, folder / "copy"))
    path = root / "hosp" / "admissions.csv"
    header, first = path.read_text().splitlines()[:2]
    fields = first.split(",")
    at = header.split(",").index("hadm_id")
    own = fields[at]
    fields[at] = own if number is None else number
    path.write_text("\n".join([header, first, ",".join(fields), ""]))
    return root, own
