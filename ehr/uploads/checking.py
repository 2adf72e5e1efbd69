"""Check files without an import: a preview, and every fault.

It reads everything once, as an import does. Timelines that come with a case are checked when it is
imported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ehr.formats.base import EncounterRecord, Rejection, WrongFile, describe_fault
from ehr.formats.cases import case_folders, read_case
from ehr.formats.limits import Limits
from ehr.formats.mapping import ImportMapping
from ehr.formats.stream import EncounterList, NoteBlock, StreamBlock, StreamFile, StreamSource
from ehr.ingest.cases import Progress
from ehr.ingest.sources import STREAMED
from ehr.ingest.steps import Steps
from ehr.schema import TimeKind
from ehr.uploads.reasons import ReasonFile
from ehr.uploads.samples import describe_names

FIRST_STAYS = 10
SHOWN_EVENTS = 40
SHOWN_FILES = 50
Event = tuple[str, str, str]


@dataclass
class Found:
    """What a check found; `as_values` is stored with its job."""

    stays: int = 0
    notes: int = 0
    rows: int = 0
    left_out: int = 0
    first: list[dict[str, Any]] = field(default_factory=list)
    events: Counter[Event] = field(default_factory=Counter)
    missing: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()

    def as_values(self, reasons: ReasonFile, names: list[dict[str, str]]) -> dict[str, Any]:
        """Return plain values for the page."""
        unknown = Counter({k: n for k, n in self.events.items() if k[1] == TimeKind.UNKNOWN})
        known = self.events - unknown
        return {
            "stays": self.stays,
            "notes": self.notes,
            "rows": self.rows,
            "left_out": self.left_out,
            "first": self.first,
            "events": _list_events(known),
            "event_count": len(known),
            "unknown": _list_events(unknown),
            "unknown_count": len(unknown),
            "unknown_rows": sum(unknown.values()),
            "missing": list(self.missing[:SHOWN_FILES]),
            "unread": list(self.unread[:SHOWN_FILES]),
            "faults": reasons.count,
            "first_faults": reasons.first,
            "names": names,
        }

    def add_rows(self, rows: pa.Table) -> None:
        """Count the rows of each event."""
        columns = ["event", "time_kind", "source"]
        counted = rows.group_by(columns).aggregate([([], "count_all")])
        for line in counted.to_pylist():
            self.events[tuple(line[c] for c in columns)] += line["count_all"]
        self.rows += len(rows)


def check_files(
    path: Path,
    format: str,
    mapping: ImportMapping,
    limits: Limits,
    reasons: ReasonFile,
    progress: Progress,
) -> dict[str, Any]:
    """Read the files as the import would. Raises FormatError."""
    found = Found()
    if format in STREAMED:
        _check_stream(STREAMED[format](path, None, limits, mapping), found, reasons, progress)
    else:
        _check_cases(path, limits, found, reasons, progress)
    return found.as_values(reasons, describe_names(path, format, mapping))


def _check_cases(
    path: Path, limits: Limits, found: Found, reasons: ReasonFile, progress: Progress
) -> None:
    folders = case_folders(path)
    progress(0, len(folders), "cases")
    for done, folder in enumerate(folders, start=1):
        case = read_case(folder, limits=limits)
        reasons.add(case.rejections)
        if case.encounter is not None and case.rows is not None:
            found.stays += 1
            found.notes += len(case.notes)
            if len(found.first) < FIRST_STAYS:
                counts = {"notes": len(case.notes), "rows": len(case.rows)}
                found.first.append(_describe_stay(case.encounter) | counts)
            found.add_rows(case.rows)
        progress(done, len(folders), "cases")


def _check_stream(
    source: StreamSource, found: Found, reasons: ReasonFile, progress: Progress
) -> None:
    try:
        listed = source.encounters()
    except WrongFile as error:
        reasons.add([error.rejection])
        return
    except OSError:
        reasons.add([Rejection("encounters", "the admissions cannot be read")])
        return
    reasons.add((*listed.refused, *listed.rejections))
    found.missing, found.unread = listed.missing_files, listed.unread_files
    found.stays = len(listed.encounters)
    _Reading(listed, found, reasons).run(Steps(progress, source.files()))


class _Reading:
    """The files of one source, counted by stay."""

    def __init__(self, listed: EncounterList, found: Found, reasons: ReasonFile) -> None:
        self._listed, self._found, self._reasons = listed, found, reasons
        self._rows = np.zeros(len(listed.encounters), np.int64)
        self._notes = np.zeros(len(listed.encounters), np.int64)

    def run(self, steps: Steps) -> None:
        """Read every file, then describe the first stays."""
        for file in steps.files:
            self._try(file, steps.report)
            steps.end(file)
        self._found.notes = int(self._notes.sum())
        self._found.first = [
            _describe_stay(stay) | {"notes": int(self._notes[i]), "rows": int(self._rows[i])}
            for i, stay in enumerate(self._listed.encounters[:FIRST_STAYS])
        ]
        steps.finish()

    def _try(self, file: StreamFile, report: Callable[[], None]) -> None:
        try:
            if reason := describe_fault(file.path):
                raise WrongFile(Rejection(file.name, reason))
            for block in file.blocks():
                report()
                self._count(block)
        except WrongFile as error:
            self._reasons.add([error.rejection])
        except OSError:
            self._reasons.add([Rejection(file.name, "the file cannot be read")])

    def _count(self, block: StreamBlock | NoteBlock) -> None:
        self._reasons.add(block.rejections)
        self._found.left_out += block.left_out
        if isinstance(block, NoteBlock):
            places = np.array([place for place, *_ in block.notes], np.int64)
            self._notes += np.bincount(places, minlength=len(self._notes))
            return
        self._rows += np.bincount(block.encounters, minlength=len(self._rows))
        self._found.add_rows(block.rows)


def _describe_stay(stay: EncounterRecord) -> dict[str, Any]:
    left = stay.discharged_at
    return {
        "case_id": stay.case_id,
        "title": stay.title,
        "admitted": stay.admitted_at.isoformat(" ", "minutes"),
        "zero": stay.zero,
        "discharged": left.isoformat(" ", "minutes") if left else "",
    }


def _list_events(events: Counter[Event]) -> list[dict[str, Any]]:
    """Return the commonest events first."""
    names = ("event", "kind", "source")
    return [
        dict(zip(names, event, strict=True)) | {"rows": count}
        for event, count in events.most_common(SHOWN_EVENTS)
    ]
