"""MEDS: one measurement for each occurrence of each timeline.

All columns are leaves and none is a truth value: meds_reader stores only numbers and text, and no
text as null. Lists are text with spaces between the items. Times are naive: the record's own clock.
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
from timelines.formats.columns import arrow_type, write_rows
from timelines.formats.files import replace_file
from timelines.formats.lines import CaseLines, Line, Stay

MEDS_VERSION = "0.4.1"
#: MEDS' names of splits, by the last digit of a digest of the subject.
SPLITS = ("train",) * 8 + ("tuning", "held_out")
DATA = (
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
    ("known", "int32"),
    ("start", "int32"),
    ("end", "int32"),
    ("ordinal", "int32"),
    ("context", "string"),
    ("rows", "large_string"),
    ("near_rows", "large_string"),
    ("reason", "large_string"),
    ("decided_by", "string"),
    ("confidence", "double"),
)
SUBJECTS = (("subject_id", "int64"), ("split", "string"))
CODES = (("code", "string"), ("description", "string"), ("parent_codes", "list<string>"))


def write_meds(cases: Iterable[CaseLines], out: Path, *, dataset: str, created: datetime) -> int:
    """Write a MEDS dataset; return how many rows.

    `data/0.parquet` is sorted by subject and time. `metadata` has the codes, the splits and the
    dataset. `cases` come in order of `subject_id`.
    """
    subjects: list[int] = []
    with replace_file(out / "data" / "0.parquet") as part:
        count = write_rows(_rows(cases, subjects), _schema(DATA), part)
    _write_table(out, "subject_splits", SUBJECTS, map(_split, subjects))
    codes = ((lane, polarity) for lane in Lane for polarity in Polarity)
    _write_table(out, "codes", CODES, (_describe(lane, polarity) for lane, polarity in codes))
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


def _split(subject: int) -> dict[str, Any]:
    """Return the split of a subject, the same one in every export."""
    digest = hashlib.sha256(str(subject).encode("ascii")).digest()
    return {"subject_id": subject, "split": SPLITS[digest[0] % len(SPLITS)]}


def _describe(lane: str, polarity: str) -> dict[str, Any]:
    code = _code(lane, polarity)
    return {"code": code, "description": f"{lane} ({polarity})", "parent_codes": []}


def _rows(cases: Iterable[CaseLines], subjects: list[int]) -> Iterator[dict[str, Any]]:
    """Yield the rows of all subjects, and add each subject to the list."""
    for subject, group in groupby(cases, key=lambda case: subject_id(case.encounter)):
        if rows := _subject_rows(list(group)):
            subjects.append(subject)
            yield from rows


def _subject_rows(cases: list[CaseLines]) -> list[dict[str, Any]]:
    """Return all occurrences of one subject.

    Those without a time come first, then by time.
    """
    rows = [
        _row(case.encounter, line, n)
        for case in cases
        for timeline in case.timelines
        for n, line in enumerate(timeline)
    ]
    return sorted(rows, key=lambda r: (r["time"] is not None, r["time"] or datetime.min))


def _row(encounter: Stay, line: Line, ordinal: int) -> dict[str, Any]:
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
        "known": None if line.known is None else int(line.known),
        "start": line.start,
        "end": line.end,
        "ordinal": ordinal,
        "context": _join(line.context),
        "rows": _join(line.rows),
        "near_rows": _join(line.near_rows),
        "reason": line.reason or None,
        "decided_by": line.decided_by or None,
        "confidence": line.confidence,
    }


def _join(items: tuple[object, ...]) -> str | None:
    return " ".join(map(str, items)) or None


def _code(lane: str, polarity: str) -> str:
    return f"OCCURRENCE//{(lane or Lane.FINDING).upper()}//{(polarity or Polarity.PRESENT).upper()}"


def _write_table(
    out: Path, name: str, columns: Iterable[tuple[str, str]], rows: Iterable[dict[str, Any]]
) -> None:
    with replace_file(out / "metadata" / f"{name}.parquet") as part:
        write_rows(rows, _schema(columns), part)


def _schema(columns: Iterable[tuple[str, str]]) -> Any:
    pa = import_module("pyarrow")
    return pa.schema([(name, arrow_type(kind)) for name, kind in columns])
