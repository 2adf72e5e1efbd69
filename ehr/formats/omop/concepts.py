"""Names of concepts: the table `concept` if it is there.

A full vocabulary has millions of concepts. They are in memory as columns, about 60 bytes each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ehr.formats.base import Rejection, WrongFile, safe_name
from ehr.formats.columns import Text, parse_ids
from ehr.formats.limits import Limits
from ehr.formats.omop.athena import has_tabs, read_tab_blocks
from ehr.formats.omop.files import clean_columns, read_blocks
from ehr.formats.stream import Ints

CONCEPT = "concept"
REQUIRED = ("concept_id", "concept_name")
OPTIONAL = ("concept_code", "concept_class_id", "vocabulary_id")
#: The class of measurements at the bedside in LOINC; laboratory tests are of another.
BEDSIDE = "Clinical Observation"
UNITS = "UCUM"


@dataclass(frozen=True)
class Concepts:
    """Look up the text of each identifier; "" for one that is unknown."""

    ids: Ints
    names: pa.ChunkedArray
    #: Units and their codes, parallel.
    unit_ids: Ints
    unit_codes: pa.ChunkedArray
    bedside: Ints

    def name(self, ids: Text) -> Text:
        """Return the name of each concept."""
        if not len(self.ids):
            return pa.chunked_array([pa.repeat("", len(ids))])
        numbers = parse_ids(ids)
        at = np.clip(np.searchsorted(self.ids, numbers), 0, len(self.ids) - 1)
        known = pa.array((self.ids[at] == numbers) & (numbers > 0))
        return pc.if_else(known, self.names.take(pa.array(at)), "")

    def unit(self, ids: Text) -> Text:
        """Return the code of each unit (mg/dL), else its name."""
        at = pc.index_in(pa.array(parse_ids(ids)), value_set=pa.array(self.unit_ids))
        codes = pc.fill_null(self.unit_codes.take(at), "")
        return pc.if_else(pc.equal(codes, ""), self.name(ids), codes)

    def is_bedside(self, ids: Text) -> pa.Array:
        """Return True for measurements that are no laboratory tests."""
        return pa.array(np.isin(parse_ids(ids), self.bedside))


def read_concepts(path: Path | None, limits: Limits) -> Concepts:
    """Return the table; without a file nothing has a name.

    Raises WrongFile at the first faulty line: without it, events would get other names.
    """
    tables = list(_read_all(path, limits)) if path else []
    if not tables:
        none = np.zeros(0, np.int64)
        nothing = pa.chunked_array([], pa.string())
        return Concepts(none, nothing, none, nothing, none)
    columns = pa.concat_tables(table for table, _ in tables)
    ids = parse_ids(columns["concept_id"])
    order = np.argsort(ids, kind="stable")
    twice = np.flatnonzero(np.diff(ids[order]) == 0)
    if len(twice) and path:
        lines = np.concatenate([lines for _, lines in tables])
        first, again = lines[order[twice[0]]], lines[order[twice[0] + 1]]
        reason = f"the concept of line {first} appears again"
        raise WrongFile(Rejection(safe_name(path), reason, int(again), "concept_id"))
    units = columns.filter(pc.equal(columns["vocabulary_id"], UNITS))
    bedside = np.flatnonzero(pc.equal(columns["concept_class_id"], BEDSIDE).to_numpy())
    return Concepts(
        ids[order],
        columns["concept_name"].take(pa.array(order)),
        parse_ids(units["concept_id"]),
        units["concept_code"],
        ids[bedside],
    )


def _read_all(path: Path, limits: Limits) -> Iterator[tuple[pa.Table, Ints]]:
    """Yield columns and lines of each block. Raises WrongFile."""
    name = safe_name(path)
    blocks = (
        read_tab_blocks(path, (*REQUIRED, *OPTIONAL), limits)
        if has_tabs(path)
        else read_blocks(path, REQUIRED, OPTIONAL, limits)
    )
    for block in blocks:
        if block.rejections:
            raise WrongFile(block.rejections[0])
        columns = pa.table(clean_columns(block))
        faults = (
            ("concept_id", "not a number", pa.array(parse_ids(columns["concept_id"]) < 0)),
            *(
                (c, "the text has a NUL character", pc.match_substring(columns[c], "\x00"))
                for c in columns.column_names
            ),
        )
        for field, reason, mask in faults:
            at = pc.index(mask, True).as_py()
            if at >= 0:
                raise WrongFile(Rejection(name, reason, block.line(at), field))
        yield columns, block.lines
