"""The admissions of MIMIC-IV as encounters.

A line with a fault is a rejected admission, never one with other times.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pyarrow.compute as pc

from ehr.formats.base import LONGEST_CASE_ID, LONGEST_TITLE, EncounterRecord, Rejection
from ehr.formats.columns import clock_times
from ehr.formats.delimited import TextBlock, read_csv_blocks
from ehr.formats.limits import Limits

ADMISSIONS = "hosp/admissions"
#: The form of identifiers of subjects and admissions.
ID = re.compile(r"[0-9]{1,18}")
TIMES = ("admittime", "dischtime", "edregtime")
TEXTS = ("subject_id", "hadm_id", "admission_type", "admission_location")


@dataclass(frozen=True)
class Admissions:
    """Encounters in file order, their start times, and the rejected lines.

    The start is the registration, or else the admission.
    """

    encounters: tuple[EncounterRecord, ...]
    registered: tuple[datetime, ...]
    rejections: tuple[Rejection, ...]


def read_admissions(path: Path, chosen: frozenset[str] | None, limits: Limits) -> Admissions:
    """Return the table, or its chosen admissions. Raises WrongFile."""
    encounters: list[EncounterRecord] = []
    registered: list[datetime] = []
    rejections: list[Rejection] = []
    known: set[int] = set()
    for block in read_csv_blocks(path, ADMISSIONS, (*TEXTS, *TIMES), limits=limits):
        rejections += block.rejections
        for i, row in enumerate(_rows(block)):
            if chosen is not None and row.text["hadm_id"] not in chosen:
                continue
            fault = row.fault(known)
            if fault:
                case_id = row.text["hadm_id"].replace("\x00", "\\0")[:LONGEST_CASE_ID]
                rejections.append(
                    Rejection(ADMISSIONS, fault[1], block.line(i), fault[0], case_id=case_id)
                )
                continue
            admitted = row.time["admittime"]
            assert admitted is not None
            known.add(int(row.text["hadm_id"]))
            subject, title = row.text["subject_id"], row.title
            encounters.append(
                EncounterRecord(
                    row.text["hadm_id"], admitted, row.time["dischtime"], title, subject_key=subject
                )
            )
            registered.append(min(row.time["edregtime"] or admitted, admitted))
    return Admissions(tuple(encounters), tuple(registered), tuple(rejections))


@dataclass(frozen=True)
class _Row:
    text: dict[str, str]
    time: dict[str, datetime | None]
    wrong: tuple[str, ...]

    @property
    def title(self) -> str:
        return ", ".join(
            filter(None, (self.text["admission_type"], self.text["admission_location"]))
        )

    def fault(self, known: set[int]) -> tuple[str, str] | None:
        """Return (field, reason) of the first fault.

        `known` are the admissions before this one.
        """
        for name in ("subject_id", "hadm_id"):
            if not ID.fullmatch(self.text[name]):
                return name, "not a number"
        if int(self.text["hadm_id"]) in known:
            return "hadm_id", "the admission appears twice"
        if self.wrong:
            return self.wrong[0], "not a date and time"
        admitted, discharged = self.time["admittime"], self.time["dischtime"]
        if admitted is None:
            return "admittime", "the time of admission is missing"
        if discharged is not None and discharged < admitted:
            return "dischtime", "before the admission"
        if len(self.title) > LONGEST_TITLE or "\x00" in self.title:
            return (
                "admission_type",
                f"longer than {LONGEST_TITLE} characters, or with a NUL character",
            )
        return None


def _rows(block: TextBlock) -> Iterator[_Row]:
    columns = {c: pc.utf8_trim_whitespace(block.columns[c]) for c in block.columns.column_names}
    texts = {c: columns[c].to_pylist() for c in TEXTS}
    times = {c: [part.to_pylist() for part in clock_times(columns[c])] for c in TIMES}
    for i in range(len(block)):
        wrong = tuple(c for c in TIMES if times[c][1][i])
        yield _Row({c: texts[c][i] for c in TEXTS}, {c: times[c][0][i] for c in TIMES}, wrong)
