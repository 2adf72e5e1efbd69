"""MEDS shards of any facts fit the contract, or have a rejection.

The rejection has file, line and field.
"""

from __future__ import annotations

import tempfile
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from ehr.formats.base import FormatError, WrongFile
from ehr.formats.meds.reader import Meds
from ehr.formats.mimic_iv.reader import MimicIV
from ehr.formats.stream import NoteBlock, StreamSource
from ehr.schema import ROWS
from tests.paths import DATA

EHR = DATA / "ehr"


def read_through(source: StreamSource) -> None:
    """Read everything as the import does, and check it.

    Blocks must fit the contract; rejections must say where and why.
    """
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
                assert block.rows.schema.names == [
                    name for name in ROWS.names if name != "row_index"
                ]
                assert len(block.encounters) == len(block.rows)
                assert (np.asarray(block.encounters) < len(listed.encounters)).all()
                assert not block.rows["event"].null_count
                assert "\x00" not in "".join(
                    block.rows["event"].to_pylist() + block.rows["value"].to_pylist()
                )
                block.rows["time"].to_pylist()
        except WrongFile as error:
            rejections.append(error.rejection)
    for rejection in rejections:
        assert rejection.file
        assert rejection.reason
        assert rejection.line is None or rejection.line >= 1


def check_reading(open_source, path: Path) -> None:
    with suppress(FormatError, WrongFile):
        read_through(open_source(path))


TIMES = st.one_of(st.none(), st.integers(-(2**62), 2**62), st.integers(0, 10**13))
CODES = st.one_of(
    st.sampled_from(
        [
            "HOSPITAL_ADMISSION//URGENT",
            "HOSPITAL_DISCHARGE//HOME",
            "ED_REGISTRATION",
            "LAB//50813//mmol/L",
            "MEDS_BIRTH",
            "//",
            "",
        ]
    ),
    st.none(),
    st.text(max_size=6),
)
FACTS = st.tuples(
    st.one_of(st.none(), st.integers(-3, 3)),
    TIMES,
    CODES,
    st.one_of(st.none(), st.floats()),
    st.one_of(st.none(), st.text(max_size=4)),
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
        check_reading(Meds, Path(folder))


def test_the_undamaged_data_is_read_whole():
    for source in (MimicIV(EHR / "mimic_iv"), Meds(EHR / "meds")):
        read_through(source)
        assert source.encounters().encounters
        assert all(isinstance(e.admitted_at, datetime) for e in source.encounters().encounters)
