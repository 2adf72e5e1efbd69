"""`encounters.csv[.gz]` with the admission times of plain-row files.

Its name may be in capitals. A line with a fault rejects its case; no faulty line is skipped.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pyarrow.compute as pc

from ehr.formats.base import (
    LONGEST_CASE_ID,
    LONGEST_TITLE,
    EncounterRecord,
    Rejection,
    WrongFile,
    describe_fault,
    safe_name,
)
from ehr.formats.columns import clock_times
from ehr.formats.delimited import TextBlock, read_csv_blocks
from ehr.formats.limits import Limits

STEM = "encounters"
ENCOUNTERS = f"{STEM}.csv"
LISTINGS = (ENCOUNTERS, f"{ENCOUNTERS}.gz")
REQUIRED = ("case_id", "admitted_at")
TIMES = ("admitted_at", "discharged_at")
TEXTS = {"title": LONGEST_TITLE, "subject_key": LONGEST_CASE_ID}


@dataclass(frozen=True)
class Listing:
    """The content of the file.

    `refused` are cases with faulty lines; `unassigned` is the first line that names no case of the
    folder.
    """

    records: dict[str, EncounterRecord]
    refused: frozenset[str]
    rejections: tuple[Rejection, ...]
    unassigned: int | None


def find_listing(folder: Path) -> Path:
    """Return the folder's file of encounters; it may not exist.

    Raises WrongFile for two files, and for one that is in another format: without it, cases would
    begin at another time.
    """
    named = sorted(p for p in folder.iterdir() if p.name.lower().startswith(f"{STEM}."))
    tables = [p for p in named if p.name.lower() in (*LISTINGS, f"{STEM}.parquet")]
    if len(tables) > 1:
        raise WrongFile(Rejection(safe_name(tables[1]), "the encounters are there twice"))
    listing = next(iter([*tables, *named]), folder / ENCOUNTERS)
    if listing.name.lower() not in LISTINGS:
        reason = f"the encounters are not read from this file; expected: {', '.join(LISTINGS)}"
        raise WrongFile(Rejection(safe_name(listing), reason))
    return listing


def is_listing(path: Path) -> bool:
    """Return True for a file of encounters, by its name."""
    return path.name.lower() in LISTINGS


def read_listing(path: Path, known: Collection[str], limits: Limits) -> Listing:
    """Read the file; without a file, the listing is empty.

    `known` are the cases that have rows or notes. Raises WrongFile.
    """
    name = safe_name(path)
    records: dict[str, EncounterRecord] = {}
    refused: set[str] = set()
    rejections: list[Rejection] = []
    unassigned: list[int] = []
    if reason := describe_fault(path):
        raise WrongFile(Rejection(name, reason))
    if path.is_file():
        for block in read_csv_blocks(
            path, name, REQUIRED, ("discharged_at", *TEXTS), limits=limits, closed=True
        ):
            rejections += block.rejections
            unassigned += [r.line for r in block.rejections if r.line and r.line > 1]
            for line, case, record, faults in _lines(block):
                same = record is not None and records.get(case) == record
                if case not in known:
                    faults = [("case_id", "no file of rows and no note is of this case")]
                    unassigned.append(line)
                elif case in records or case in refused:
                    faults = [("case_id", "the case appears twice")]
                if faults and not same:
                    refused.add(case)
                elif not faults and record is not None:
                    records[case] = record
                rejections += [
                    Rejection(name, reason, line, field, case_id=_id(case))
                    for field, reason in faults
                ]
    return Listing(
        {case: record for case, record in records.items() if case not in refused},
        frozenset(refused),
        tuple(rejections),
        min(unassigned, default=None),
    )


def _lines(
    block: TextBlock,
) -> Iterator[tuple[int, str, EncounterRecord | None, list[tuple[str, str]]]]:
    """Yield (line, case, encounter, faults) of each row.

    The encounter is None if there are faults.
    """
    columns = {
        name: pc.utf8_trim_whitespace(block.columns[name]) for name in block.columns.column_names
    }
    times = {
        name: [part.to_pylist() for part in clock_times(columns[name])]
        for name in TIMES
        if name in columns
    }
    texts = {name: column.to_pylist() for name, column in columns.items()}
    for i, case in enumerate(texts["case_id"]):
        at: dict[str, datetime | None] = {name: values[i] for name, (values, _) in times.items()}
        text = {name: texts[name][i] if name in texts else "" for name in TEXTS}
        faults = [
            (name, "not a date and time like 2150-01-31T08:30:00")
            for name, (_, wrong) in times.items()
            if wrong[i]
        ]
        faults += [
            (name, f"longer than {longest} characters")
            for name, longest in TEXTS.items()
            if len(text[name]) > longest
        ]
        faults += [
            (name, "has characters that cannot be shown")
            for name in TEXTS
            if not text[name].isprintable()
        ]
        admitted, discharged = at["admitted_at"], at.get("discharged_at")
        if admitted is None and not faults:
            faults.append(("admitted_at", "the time of admission is missing"))
        if admitted is not None and discharged is not None and discharged < admitted:
            faults.append(("discharged_at", "before the admission"))
        record = (
            EncounterRecord(
                case, admitted, discharged, text["title"], subject_key=text["subject_key"]
            )
            if admitted
            else None
        )
        yield block.line(i), case, None if faults else record, faults


def _id(case: str) -> str:
    return case[:LONGEST_CASE_ID].replace("\x00", "\\0")
