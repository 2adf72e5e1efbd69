"""Large formats on damaged files: they yield blocks that fit the contract, or say which file, line and field is at fault."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ehr.formats.base import FormatError, WrongFile
from ehr.formats.csv import PlainRows
from ehr.formats.meds import Meds
from ehr.formats.mimic_iv import MimicIV
from ehr.formats.stream import NoteBlock, StreamSource
from ehr.schema import ROWS

# A row that is both ragged and not UTF-8 fails inside Arrow's own handler; the file is refused all the same.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

DATA = Path(__file__).parents[2] / "data" / "ehr"
MIMIC_FILES = sorted(str(p.relative_to(DATA / "mimic_iv")) for p in (DATA / "mimic_iv").rglob("*.csv*"))
PIECES = st.one_of(
    st.binary(min_size=1, max_size=12),
    st.sampled_from(
        [b'"', b"\n", b"\r", b",", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"2150-02-30 25:61:00", b"1e999", b"-9" * 12, b"9" * 30]
    ),
)
#: (where, how many bytes go, what comes in their place); where is a share of the file.
EDITS = st.lists(st.tuples(st.floats(0, 1), st.sampled_from([0, 1, 3, 40, 4000]), st.one_of(st.just(b""), PIECES)), min_size=1, max_size=4)


def damaged(content: bytes, edits: list[tuple[float, int, bytes]]) -> bytes:
    """The bytes after the edits, one after the other."""
    for share, removed, put in edits:
        at = int(share * len(content))
        content = content[:at] + put + content[at + removed :]
    return content


@contextmanager
def copy_of(source: Path) -> Iterator[Path]:
    """A copy that a test may damage."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(shutil.copytree(source, Path(folder) / "copy"))


def read_through(source: StreamSource) -> None:
    """Read everything as the import does; what is given must fit the contract, what is rejected must say where and why."""
    listed = source.encounters()
    rejections = [*listed.rejections, *listed.refused]
    assert len({e.case_id for e in listed.encounters}) == len(listed.encounters)
    for e in listed.encounters:
        assert 0 < len(e.case_id) <= 100
        assert len(e.title) <= 500
        assert len(e.subject_key) <= 100
        assert "\x00" not in e.case_id + e.title + e.subject_key
    for file in source.files():
        try:
            for block in file.blocks():
                rejections += block.rejections
                assert block.left_out >= 0
                if isinstance(block, NoteBlock):
                    continue
                assert block.rows.schema.names == [name for name in ROWS.names if name != "row_index"]
                assert len(block.encounters) == len(block.rows)
                assert (np.asarray(block.encounters) < len(listed.encounters)).all()
                assert not block.rows["event"].null_count
                assert "\x00" not in "".join(block.rows["event"].to_pylist() + block.rows["value"].to_pylist())
                block.rows["time"].to_pylist()
        except WrongFile as error:
            rejections.append(error.rejection)
    for rejection in rejections:
        assert rejection.file
        assert rejection.reason
        assert rejection.line is None or rejection.line >= 1


def reads_or_says_why(open_source, path: Path) -> None:
    with suppress(FormatError, WrongFile):
        read_through(open_source(path))


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(MIMIC_FILES), EDITS)
def test_a_damaged_table_of_mimic_iv(name, edits):
    with copy_of(DATA / "mimic_iv") as root:
        (root / name).write_bytes(damaged((root / name).read_bytes(), edits))
        reads_or_says_why(MimicIV, root)


@settings(max_examples=40, deadline=None)
@given(EDITS)
@example([(0.7610446192075455, 1, b"\x80")])  # a column's name that is no UTF-8
def test_a_damaged_shard_of_meds(edits):
    with copy_of(DATA / "meds") as root:
        (root / "shard.parquet").write_bytes(damaged((root / "shard.parquet").read_bytes(), edits))
        reads_or_says_why(Meds, root)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(["a.csv", "a.txt", "b.parquet", "encounters.csv"]), EDITS)
def test_damaged_plain_files(name, edits):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "a.csv").write_text(
            't,event,value,unit\n2150-01-01T08:00:00,lab:na:blood,140,mEq/L\n2150-01-01T09:00:00,note:x:,"two\nlines",\n'
        )
        (root / "a.txt").write_text("A note.")
        pq.write_table(pa.table({"t": ["2150-01-01 09:00"], "event": ["lab:k:"], "value": [4.5]}), root / "b.parquet")
        (root / "encounters.csv").write_text("case_id,admitted_at,discharged_at\na,2150-01-01T08:00:00,2150-01-03T08:00:00\n")
        (root / name).write_bytes(damaged((root / name).read_bytes(), edits))
        reads_or_says_why(PlainRows, root)


TIMES = st.one_of(st.none(), st.integers(-(2**62), 2**62), st.integers(0, 10**13))
CODES = st.one_of(
    st.sampled_from(
        ["HOSPITAL_ADMISSION//URGENT", "HOSPITAL_DISCHARGE//HOME", "ED_REGISTRATION", "LAB//50813//mmol/L", "MEDS_BIRTH", "//", ""]
    ),
    st.none(),
    st.text(max_size=6),
)
FACTS = st.tuples(
    st.one_of(st.none(), st.integers(-3, 3)), TIMES, CODES, st.one_of(st.none(), st.floats()), st.one_of(st.none(), st.text(max_size=4))
)


@settings(max_examples=40, deadline=None)
@given(st.lists(FACTS, min_size=1, max_size=12), st.sampled_from(["us", "ns", "s"]), st.booleans())
def test_a_sound_shard_with_any_facts(facts, unit, described):
    with tempfile.TemporaryDirectory() as folder:
        columns = list(zip(*facts, strict=True))
        types = [pa.int64(), pa.timestamp(unit), pa.string(), pa.float32(), pa.string()]
        names = ["subject_id", "time", "code", "numeric_value", "text_value"]
        limit = {"us": 1, "ns": 1, "s": 10**6}[unit]
        columns[1] = tuple(None if t is None else t // limit for t in columns[1])
        table = pa.table({n: pa.array(c, t) for n, c, t in zip(names, columns, types, strict=True)})
        (Path(folder) / "data").mkdir()
        (Path(folder) / "metadata").mkdir()
        pq.write_table(table, Path(folder) / "data" / "0.parquet")
        if described:
            (Path(folder) / "metadata" / "codes.parquet").write_bytes(b"PAR1 cut short")
        reads_or_says_why(Meds, Path(folder))


def test_the_undamaged_data_is_read_whole():
    for source in (MimicIV(DATA / "mimic_iv"), Meds(DATA / "meds")):
        read_through(source)
        assert source.encounters().encounters
        assert all(isinstance(e.admitted_at, datetime) for e in source.encounters().encounters)
