"""Lookups of MIMIC-IV.

Small dictionary tables are in memory; the doses of emar_detail, too many for that, are on disk.
"""

from __future__ import annotations

import tempfile
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ehr.formats.base import Rejection, WrongFile
from ehr.formats.columns import HIDDEN
from ehr.formats.delimited import TextBlock, read_csv_blocks
from ehr.formats.limits import DEFAULT_LIMITS, Limits

Finder = Callable[[str], Path | None]
DETAIL = "hosp/emar_detail"
#: name → (file, columns of the key, column of the text).
SMALL = {
    "hosp/d_labitems:label": ("hosp/d_labitems", ("itemid",), "label"),
    "hosp/d_labitems:fluid": ("hosp/d_labitems", ("itemid",), "fluid"),
    "icu/d_items:label": ("icu/d_items", ("itemid",), "label"),
    "hosp/d_icd_diagnoses": ("hosp/d_icd_diagnoses", ("icd_version", "icd_code"), "long_title"),
    "hosp/d_icd_procedures": ("hosp/d_icd_procedures", ("icd_version", "icd_code"), "long_title"),
}
#: Subjects (numbers) that share a file of doses. The published files are in order of subject, so a
#: block needs one or two files.
SUBJECTS_A_BUCKET = 40_000
BUCKETS_IN_MEMORY = 4


class Dictionaries:
    """Look up the text of each key by `dictionaries(name, keys)`.

    The text is "" if the file or the key is missing.
    """

    NAMES = (*dict.fromkeys(file for file, _, _ in SMALL.values()), DETAIL)

    def __init__(
        self, find: Finder, subjects: NDArray[np.int64] | None, limits: Limits = DEFAULT_LIMITS
    ) -> None:
        """Read the doses of `subjects` only (in order); None: of all."""
        self._find = find
        self._limits = limits
        self._subjects = subjects
        self._small: dict[str, tuple[pa.Array, pa.Array]] = {}

    def __call__(self, name: str, keys: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
        """Texts of the keys, in their order. Raises WrongFile."""
        if name.startswith(DETAIL):
            return self._doses(keys, name.partition(":")[2])
        known, texts = self._table(name)
        return pc.fill_null(texts.take(pc.index_in(keys, value_set=known)), "")

    def _table(self, name: str) -> tuple[pa.Array, pa.Array]:
        if name not in self._small:
            file, keys, text = SMALL[name]
            path = self._find(file)
            blocks = list(_read_all(path, file, (*keys, text), self._limits)) if path else []
            empty = pa.table({c: pa.array([], pa.string()) for c in (*keys, text)})
            columns = pa.concat_tables([empty, *(b.columns for b in blocks)])
            trimmed = [pc.utf8_trim_whitespace(columns[c]) for c in keys]
            known = pc.binary_join_element_wise(*trimmed, "/") if len(keys) > 1 else trimmed[0]
            _check_unique(known, blocks, file)
            self._small[name] = (
                known.combine_chunks(),
                pc.utf8_trim_whitespace(columns[text]).combine_chunks(),
            )
        return self._small[name]

    def _doses(self, keys: pa.ChunkedArray, column: str) -> pa.Array:
        if self._find(DETAIL) is None:
            return pa.repeat("", len(keys))
        result = np.full(len(keys), "", object)
        buckets = _parse_subjects(keys) // SUBJECTS_A_BUCKET
        for bucket in np.unique(buckets).tolist():
            mine = np.flatnonzero(buckets == bucket)
            table = self._detail_spill.load(bucket)
            if table is not None:
                found = table[column].take(
                    pc.index_in(keys.take(pa.array(mine)), value_set=table["emar_id"])
                )
                result[mine] = pc.fill_null(found, "").to_numpy(zero_copy_only=False)
        return pa.array(result, pa.string())

    @cached_property
    def _detail_spill(self) -> _Spill:
        path = self._find(DETAIL)
        assert path is not None
        spill = _Spill()
        for block in _read_all(
            path, DETAIL, ("emar_id", "dose_given", "dose_given_unit"), self._limits
        ):
            given = pc.invert(pc.is_in(block.columns["dose_given"], HIDDEN))
            rows = pa.table(
                {
                    "emar_id": block.columns["emar_id"],
                    "dose": block.columns["dose_given"],
                    "unit": block.columns["dose_given_unit"],
                }
            ).filter(given)
            subjects = _parse_subjects(rows["emar_id"])
            if self._subjects is not None:
                wanted = np.isin(subjects, self._subjects)
                rows, subjects = rows.filter(pa.array(wanted)), subjects[wanted]
            spill.add(rows, subjects // SUBJECTS_A_BUCKET)
        spill.close()
        return spill


def _read_all(path: Path, name: str, columns: Sequence[str], limits: Limits) -> Iterator[TextBlock]:
    """Yield the file's blocks.

    Raises WrongFile at the first faulty line: without it, events would get other names or doses.
    """
    for block in read_csv_blocks(path, name, columns, limits=limits):
        if block.rejections:
            raise WrongFile(block.rejections[0])
        for column in columns:
            nul = pc.index(pc.match_substring(block.columns[column], "\x00"), True).as_py()
            if nul >= 0:
                raise WrongFile(
                    Rejection(name, "the text has a NUL character", block.line(nul), column)
                )
        yield block


def _check_unique(keys: pa.ChunkedArray, blocks: Sequence[TextBlock], name: str) -> None:
    """Raises WrongFile if a key appears twice: either text would be a guess."""
    counts = pc.value_counts(keys)
    twice = counts.filter(pc.greater(counts.field("counts"), 1))
    if len(twice):
        lines = np.concatenate([block.lines for block in blocks])
        places = np.flatnonzero(pc.equal(keys, twice.field("values")[0]).to_numpy())
        raise WrongFile(
            Rejection(
                name, f"the key of line {lines[places[0]]} appears again", int(lines[places[1]])
            )
        )


class _Spill:
    """Tables on disk, one for each bucket; a few of them in memory.

    The files have no name, so that a killed import leaves nothing.
    """

    def __init__(self) -> None:
        self._files: dict[int, IO[bytes]] = {}
        self._writers: dict[int, pa.RecordBatchStreamWriter] = {}
        self._loaded: OrderedDict[int, pa.Table] = OrderedDict()

    def add(self, rows: pa.Table, buckets: NDArray[np.int64]) -> None:
        """Append rows to the files of their buckets."""
        for bucket in np.unique(buckets).tolist():
            if bucket not in self._writers:
                self._files[bucket] = tempfile.TemporaryFile()  # noqa: SIM115  # lives as long as the spill
                self._writers[bucket] = pa.ipc.new_stream(self._files[bucket], rows.schema)
            self._writers[bucket].write_table(rows.filter(pa.array(buckets == bucket)))

    def close(self) -> None:
        """No more rows come."""
        for writer in self._writers.values():
            writer.close()

    def load(self, bucket: int) -> pa.Table | None:
        """Return the rows of a bucket, None if it has none."""
        if bucket not in self._writers:
            return None
        if bucket not in self._loaded:
            self._files[bucket].seek(0)
            self._loaded[bucket] = pa.ipc.open_stream(self._files[bucket]).read_all()
            if len(self._loaded) > BUCKETS_IN_MEMORY:
                self._loaded.popitem(last=False)
        self._loaded.move_to_end(bucket)
        return self._loaded[bucket]


def _parse_subjects(emar_ids: pa.ChunkedArray) -> NDArray[np.int64]:
    """Return the subject's number at the beginning of each emar_id.

    An emar_id is like 10000032-10; anything else gives 0.
    """
    before = pc.replace_substring_regex(emar_ids, r"-.*$", "")
    digits = pc.if_else(
        pc.match_substring_regex(before, r"^\d{1,18}$"), before, pa.scalar(None, pa.string())
    )
    return pc.fill_null(digits.cast(pa.int64()), 0).to_numpy()
