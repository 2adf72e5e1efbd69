"""Read `index.csv[.gz]` of a folder of notes.

It has the stay, time and kind of each file. A line with a fault refuses its case; if its case is
unknown, the whole index is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import pyarrow.compute as pc

from ehr.formats.base import (
    LONGEST_CASE_ID,
    LONGEST_TITLE,
    Rejection,
    WrongFile,
    describe_case_id,
    describe_fault,
    safe_name,
)
from ehr.formats.columns import clock_times
from ehr.formats.delimited import TextBlock, read_csv_blocks
from ehr.formats.limits import Limits
from ehr.formats.note_files import DISCHARGE_SUMMARY, LONGEST_KIND, NoteName, make_kind

STEM = "index"
NAMES = (f"{STEM}.csv", f"{STEM}.csv.gz")
REQUIRED = ("file", "case_id")
TIMES = ("written_at", "admitted_at", "discharged_at")
TEXTS = {"kind": LONGEST_KIND, "title": LONGEST_TITLE, "subject_key": LONGEST_CASE_ID}
#: Columns that are the same in every line of a case that has them.
OF_CASE = ("admitted_at", "discharged_at", "title", "subject_key")


@dataclass
class Stay:
    """The notes of one stay, and what is known of it."""

    admitted_at: datetime | None = None
    discharged_at: datetime | None = None
    title: str = ""
    subject_key: str = ""
    notes: list[tuple[Path, NoteName]] = field(default_factory=list)


@dataclass(frozen=True)
class Index:
    """The content of the file; `named` are the files that it names."""

    stays: dict[str, Stay]
    refused: frozenset[str]
    named: frozenset[str]
    rejections: tuple[Rejection, ...]


def is_index(path: Path) -> bool:
    """Return True for an index, by its name."""
    return path.name.lower() in NAMES


def find_index(folder: Path) -> Path | None:
    """Return the folder's index, None without one.

    Raises WrongFile for two files and for one in another format: without it, notes would be of
    other stays.
    """
    found = sorted(p for p in folder.iterdir() if p.name.lower().startswith(f"{STEM}."))
    found = [path for path in found if path.suffix.lower() != ".txt"]
    if len(found) > 1:
        raise WrongFile(Rejection(safe_name(found[1]), "the index is there twice"))
    if found and not is_index(found[0]):
        reason = f"the index is not read from this file; expected: {', '.join(NAMES)}"
        raise WrongFile(Rejection(safe_name(found[0]), reason))
    if found and (reason := describe_fault(found[0])):
        raise WrongFile(Rejection(safe_name(found[0]), reason))
    return found[0] if found else None


def read_index(path: Path, files: Mapping[str, Path], limits: Limits) -> Index:
    """Read the index of these files. Raises WrongFile."""
    name = safe_name(path)
    stays: dict[str, Stay] = {}
    refused: set[str] = set()
    named: dict[str, tuple[str, int]] = {}
    rejections: list[Rejection] = []
    for block in read_csv_blocks(
        path, name, REQUIRED, (*TIMES, *TEXTS), limits=limits, closed=True
    ):
        rejections += [r for r in block.rejections if r.line == 1]
        if lost := next((r for r in block.rejections if r.line and r.line > 1), None):
            raise WrongFile(lost)
        for line, row, faults in _lines(block):
            case, file = str(row["case_id"]), str(row["file"])
            if not case or "\x00" in case:
                raise WrongFile(Rejection(name, "the case_id is missing", line, "case_id"))
            if reason := describe_case_id(case):
                faults.append(("case_id", reason))
            stay = stays.setdefault(case, Stay())
            if file not in files:
                faults.append(("file", "no such file in the folder"))
            elif file in named:
                faults.append(("file", "the file appears twice"))
                other, before = named[file]
                if other not in (case, *refused):
                    reason = f"the file appears again in line {line}"
                    rejections.append(Rejection(name, reason, before, "file", case_id=other))
                refused.add(other)
            faults += _merge(stay, row)
            named.setdefault(file, (case, line))
            if faults:
                refused.add(case)
                case_id = case[:LONGEST_CASE_ID]
                rejections += [
                    Rejection(name, reason, line, column, case_id=case_id)
                    for column, reason in faults
                ]
            else:
                stay.notes.append((files[file], _make_name(row)))
    return Index(stays, frozenset(refused), frozenset(named), tuple(rejections))


def _merge(stay: Stay, row: dict[str, object]) -> Iterator[tuple[str, str]]:
    """Fill in the stay; yield (column, reason) if the line contradicts it."""
    for column in OF_CASE:
        known, value = getattr(stay, column), row[column]
        if value and known and value != known:
            yield column, "differs from an earlier line of the case"
        elif value:
            setattr(stay, column, value)
    if stay.admitted_at and stay.discharged_at and stay.discharged_at < stay.admitted_at:
        yield "discharged_at", "before the admission"


def _make_name(row: dict[str, object]) -> NoteName:
    written, kind = row["written_at"], str(row["kind"])
    assert written is None or isinstance(written, datetime)
    return NoteName(str(row["case_id"]), written, make_kind(kind) if kind else DISCHARGE_SUMMARY)


def _lines(
    block: TextBlock,
) -> Iterator[tuple[int, dict[str, object], list[tuple[str, str]]]]:
    """Yield (line, values, faults) of each row."""
    names = block.columns.column_names
    columns = {name: pc.utf8_trim_whitespace(block.columns[name]) for name in names}
    times = {c: clock_times(columns[c]) for c in TIMES if c in columns}
    for i in range(len(block)):
        row: dict[str, object] = {
            c: columns[c][i].as_py() if c in columns else "" for c in (*REQUIRED, *TEXTS)
        }
        row |= {c: times[c][0][i].as_py() if c in times else None for c in TIMES}
        faults = [
            (c, "not a date and time like 2150-01-31T08:30:00")
            for c, (_, wrong) in times.items()
            if wrong[i].as_py()
        ]
        for column, longest in TEXTS.items():
            text = str(row[column])
            if len(text) > longest or not text.isprintable():
                reason = f"longer than {longest} characters, or with unprintable ones"
                faults.append((column, reason))
        yield block.line(i), row, faults
