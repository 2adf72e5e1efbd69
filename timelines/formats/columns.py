"""Parquet in row groups: memory does not grow with the cohort."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from timelines.formats import dictionary
from timelines.formats.files import replace_file
from timelines.formats.lines import CaseLines, line_values
from timelines.formats.table_schema import write_schema

ROW_GROUP = 20_000


def write_parquet(cases: Iterable[CaseLines], out: Path, *, with_note_text: bool) -> int:
    """Write a Parquet table and its schema next to it.

    Returns how many rows.
    """
    rows = (
        line_values(line, with_note_text=with_note_text) for case in cases for line in case.lines
    )
    with replace_file(out) as part:
        count = write_rows(rows, _table_schema(with_note_text=with_note_text), part)
    write_schema(out, with_note_text=with_note_text)
    return count


def write_rows(rows: Iterable[dict[str, Any]], schema: Any, path: Path) -> int:
    """Write rows with their Arrow schema; return how many."""
    pa, pq = import_module("pyarrow"), import_module("pyarrow.parquet")
    count = 0
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for block in _blocks(rows):
            writer.write_table(pa.Table.from_pylist(block, schema=schema))
            count += len(block)
    return count


def _blocks(rows: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    block: list[dict[str, Any]] = []
    for row in rows:
        block.append(row)
        if len(block) == ROW_GROUP:
            yield block
            block = []
    if block:
        yield block


def _table_schema(*, with_note_text: bool) -> Any:
    pa = import_module("pyarrow")
    evidence = pa.struct([(f.name, arrow_type(f.type)) for f in dictionary.EVIDENCE_FIELDS])
    listed = dictionary.fields(with_note_text=with_note_text)
    return pa.schema(
        [
            (f.name, pa.list_(evidence) if f.type == "list<struct>" else arrow_type(f.type))
            for f in listed
        ]
    )


def arrow_type(name: str) -> Any:
    """Return the Arrow type of a column by its documented name."""
    pa = import_module("pyarrow")
    if name.startswith("list<"):
        return pa.list_(pa.type_for_alias(name.removeprefix("list<").removesuffix(">")))
    return pa.timestamp("us") if name == "timestamp[us]" else pa.type_for_alias(name)
