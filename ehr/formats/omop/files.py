"""Find the files of OMOP tables, and read them as blocks of text columns.

A table is a CSV file, gzipped or not, or a Parquet file. Names of files and columns may be in
capitals.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ehr.formats.base import PAPERS, Rejection, WrongFile, describe_fault, safe_name
from ehr.formats.columns import Text
from ehr.formats.delimited import TextBlock, header_names, read_csv_blocks
from ehr.formats.limits import Limits
from ehr.formats.parquet import column_names, convert_column, read_batches
from ehr.schema import CLOCK

SUFFIXES = (".csv", ".csv.gz", ".parquet")
BATCH_ROWS = 50_000
#: Tables of the CDM that are not read.
OTHER_TABLES = (
    "attribute_definition", "care_site", "cdm_source", "cohort", "cohort_attribute",
    "cohort_definition", "concept_ancestor", "concept_class", "concept_relationship",
    "concept_synonym", "condition_era", "cost", "device_exposure", "domain", "dose_era", "drug_era",
    "drug_strength", "episode", "episode_event", "fact_relationship", "location", "metadata",
    "note_nlp", "observation_period", "payer_plan_period", "provider", "relationship",
    "source_to_concept_map", "vocabulary",
)  # fmt: skip
#: A day written 20500131.
COMPACT_DAY = r"^(\d{4})(\d{2})(\d{2})($|[T ])"
#: Some databases write seven digits of a second, or nine.
LONG_FRACTION = r"(\.\d{6})0+($|[Z+-])"


def find_files(root: Path, table: str) -> list[Path]:
    """Return the files of a table; more than one is a fault."""
    names = {f"{table}{suffix}" for suffix in SUFFIXES}
    found = sorted(path for path in root.iterdir() if path.name.lower() in names)
    return [path for path in found if path.is_file() or describe_fault(path)]


def find_unread(root: Path, tables: Collection[str]) -> Iterator[str]:
    """Yield the names of files that are no tables of the CDM."""
    known = {f"{table}{suffix}" for table in (*tables, *OTHER_TABLES) for suffix in SUFFIXES}
    for path in sorted(root.iterdir()):
        if path.name.lower() not in known and not path.name.startswith((".", *PAPERS)):
            yield safe_name(path)


def find_file(root: Path, table: str) -> Path | None:
    """Return the file of a table, None without one. Raises WrongFile."""
    paths = find_files(root, table)
    if len(paths) > 1:
        raise WrongFile(
            Rejection(safe_name(paths[1]), f"the table {table} is there twice; remove a file")
        )
    if paths and (reason := describe_fault(paths[0])):
        raise WrongFile(Rejection(safe_name(paths[0]), reason))
    return paths[0] if paths else None


def find_columns(path: Path, name: str) -> dict[str, str]:
    """Return name in lower case → name in the file.

    Raises WrongFile if two names differ only in capitals.
    """
    parquet = path.suffix.lower() == ".parquet"
    names = column_names(path, name) if parquet else sorted(header_names(path))
    columns: dict[str, str] = {}
    for column in names:
        if columns.setdefault(column.lower(), column) != column:
            raise WrongFile(
                Rejection(name, f"the column {column.lower()} appears twice", 1, column.lower())
            )
    return columns


def read_blocks(
    path: Path, required: Sequence[str], optional: Sequence[str], limits: Limits
) -> Iterator[TextBlock]:
    """Yield blocks with these columns, in lower case and not trimmed.

    A missing optional column is empty. A "line" of a Parquet file is its row's number, counted from
    2 as in a CSV file with a header. Raises WrongFile.
    """
    name = safe_name(path)
    there = find_columns(path, name)
    read = _read_parquet if path.suffix.lower() == ".parquet" else _read_csv
    for block in read(path, name, required, optional, there, limits):
        columns = block.columns
        empty = pa.chunked_array([pa.repeat("", len(block))])
        for column in (*required, *optional):
            if column not in columns.column_names:
                columns = columns.append_column(column, empty)
        yield replace(block, columns=columns)


def clean_columns(block: TextBlock) -> dict[str, Text]:
    """Return the columns trimmed, with days and times as ISO 8601."""
    columns: dict[str, Text] = {}
    for name in block.columns.column_names:
        text = pc.utf8_trim_whitespace(block.columns[name])
        if name.endswith(("_date", "_datetime")):
            text = pc.replace_substring_regex(text, COMPACT_DAY, r"\1-\2-\3\4")
            text = pc.replace_substring_regex(text, LONG_FRACTION, r"\1\2")
        columns[name] = text
    return columns


def _read_csv(
    path: Path,
    name: str,
    required: Sequence[str],
    optional: Sequence[str],
    there: dict[str, str],
    limits: Limits,
) -> Iterator[TextBlock]:
    actual = [there.get(column, column) for column in required]
    more = [there[column] for column in optional if column in there]
    for block in read_csv_blocks(path, name, actual, more, limits=limits):
        names = [column.lower() for column in block.columns.column_names]
        yield replace(block, columns=block.columns.rename_columns(names))


def _read_parquet(
    path: Path,
    name: str,
    required: Sequence[str],
    optional: Sequence[str],
    there: dict[str, str],
    limits: Limits,
) -> Iterator[TextBlock]:
    for column in required:
        if column not in there:
            raise WrongFile(Rejection(name, f"the column {column} is missing", field=column))
    wanted = [column for column in (*required, *optional) if column in there]
    start = 0
    actual = [there[column] for column in wanted]
    for batch in read_batches(path, name, actual, BATCH_ROWS, limits):
        positions = np.arange(start, start + batch.num_rows)
        start += batch.num_rows
        columns = {c: convert_column(batch, there[c], _to_text, name) for c in wanted}
        yield TextBlock(pa.table(columns), positions, positions + 2, batch.num_rows)


def _to_text(values: pa.Array) -> pa.Array:
    """Return values as text, "" for null; decimals lose zeros at the end."""
    kind = values.type
    if pa.types.is_timestamp(kind) and kind.tz is None:
        values = values.cast(CLOCK)
    text = pc.fill_null(values.cast(pa.string()), "")
    if pa.types.is_decimal(kind):
        text = pc.replace_substring_regex(text, r"(\.\d*?)0+$", r"\1")
        text = pc.replace_substring_regex(text, r"\.$", "")
    return text
