"""Write Parquet and MEDS.

They are written in row groups, so that memory does not grow with the cohort.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Any

from timelines.domain import Anchor, Lane, Polarity
from timelines.formats import dictionary
from timelines.formats.files import replace_file
from timelines.formats.lines import CaseLines, Line, Stay, line_values
from timelines.formats.table_schema import write_schema

ROW_GROUP = 20_000
MEDS_VERSION = "0.4.1"


def write_parquet(cases: Iterable[CaseLines], out: Path, *, with_note_text: bool) -> int:
    """Write a Parquet table and its schema next to it.

    Returns how many rows.
    """
    rows = (
        line_values(line, with_note_text=with_note_text) for case in cases for line in case.lines
    )
    with replace_file(out) as part:
        count = _write(rows, _table_schema(with_note_text=with_note_text), part)
    write_schema(out, with_note_text=with_note_text)
    return count


def write_meds(cases: Iterable[CaseLines], out: Path, *, dataset: str, created: datetime) -> int:
    """Write a MEDS dataset; return how many rows.

    data/0.parquet sorted by subject and time, codes and dataset metadata. `cases` come in order of
    `subject_id`. Times are naive: the record's own clock.
    """
    rows = (
        row
        for _, group in groupby(cases, key=lambda c: subject_id(c.encounter))
        for row in _meds_rows(list(group))
    )
    with replace_file(out / "data" / "0.parquet") as part:
        count = _write(rows, _meds_schema(), part)
    pa, pq = import_module("pyarrow"), import_module("pyarrow.parquet")
    codes = [
        {"code": _code(lane, p), "description": f"{lane} ({p})", "parent_codes": []}
        for lane in Lane
        for p in Polarity
    ]
    schema = pa.schema(
        [
            ("code", pa.string()),
            ("description", pa.string()),
            ("parent_codes", pa.list_(pa.string())),
        ]
    )
    with replace_file(out / "metadata" / "codes.parquet") as part:
        pq.write_table(pa.Table.from_pylist(codes, schema=schema), part)
    metadata = {
        "dataset_name": dataset,
        "etl_name": "occurrent",
        "meds_version": MEDS_VERSION,
        "created_at": created.isoformat(),
    }
    with replace_file(out / "metadata" / "dataset.json") as part:
        part.write_text(json.dumps(metadata, indent=1), encoding="utf-8")
    return count


def subject_id(encounter: Stay) -> int:
    """Return the record's number of the person, or else of the case.

    A name that is not a number gives 63 bits of its digest.
    """
    key = encounter.subject_key or encounter.case_id
    if key.isascii() and key.isdigit() and int(key) < 2**63:
        return int(key)
    return int.from_bytes(hashlib.sha256(key.encode("utf-8")).digest()[:8], "big") >> 1


def _meds_rows(cases: list[CaseLines]) -> Iterator[dict[str, Any]]:
    """Return all occurrences of one subject.

    Those without a time come first, then by time.
    """
    rows = [
        _meds_row(case.encounter, line, n)
        for case in cases
        for timeline in case.timelines
        for n, line in enumerate(timeline)
    ]
    yield from sorted(rows, key=lambda r: (r["time"] is not None, r["time"] or datetime.min))


def _meds_row(encounter: Stay, line: Line, ordinal: int) -> dict[str, Any]:
    return {
        "subject_id": subject_id(encounter),
        "time": None if line.time is None else Anchor(encounter.admitted_at).clock(line.time),
        "code": _code(line.lane, line.polarity),
        "numeric_value": None,
        "text_value": line.mention,
        "case_id": line.case_id,
        "source": line.source,
        "kind": line.kind,
        "alternative": line.alternative,
        "uid4": line.uid4,
        "hours": line.time,
        "lower": line.lower,
        "upper": line.upper,
        "known": line.known,
        "start": line.start,
        "end": line.end,
        "ordinal": ordinal,
        "context": list(line.context),
        "rows": list(line.rows),
        "near_rows": list(line.near_rows),
        "reason": line.reason,
        "decided_by": line.decided_by,
        "confidence": line.confidence,
    }


def _code(lane: str, polarity: str) -> str:
    return f"OCCURRENCE//{(lane or Lane.FINDING).upper()}//{(polarity or Polarity.PRESENT).upper()}"


def _write(rows: Iterable[dict[str, Any]], schema: Any, path: Path) -> int:
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
    evidence = pa.struct([(f.name, _type(f.type)) for f in dictionary.EVIDENCE_FIELDS])
    listed = dictionary.fields(with_note_text=with_note_text)
    return pa.schema(
        [
            (f.name, pa.list_(evidence) if f.type == "list<struct>" else _type(f.type))
            for f in listed
        ]
    )


def _meds_schema() -> Any:
    pa = import_module("pyarrow")
    fields = [
        ("subject_id", "int64"),
        ("time", "timestamp[us]"),
        ("code", "string"),
        ("numeric_value", "float"),
        ("text_value", "large_string"),
        ("case_id", "string"),
        ("source", "string"),
        ("kind", "string"),
        ("alternative", "int32"),
        ("uid4", "string"),
        ("hours", "double"),
        ("lower", "double"),
        ("upper", "double"),
        ("known", "bool"),
        ("start", "int32"),
        ("end", "int32"),
        ("ordinal", "int32"),
        ("context", "list<string>"),
        ("rows", "list<int32>"),
        ("near_rows", "list<int32>"),
        ("reason", "large_string"),
        ("decided_by", "string"),
        ("confidence", "double"),
    ]
    return pa.schema([(name, _type(kind)) for name, kind in fields])


def _type(name: str) -> Any:
    pa = import_module("pyarrow")
    if name.startswith("list<"):
        return pa.list_(pa.type_for_alias(name.removeprefix("list<").removesuffix(">")))
    return pa.timestamp("us") if name == "timestamp[us]" else pa.type_for_alias(name)
