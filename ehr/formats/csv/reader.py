"""Plain rows: one file, or a folder of them with one file for each case.

A file has `t,event,value[,unit,source,time_kind]` (.csv, .csv.gz or .parquet). `<case>.txt` and
`<case>__TIME__KIND.txt` in the same folder are its notes (`ehr.formats.note_files`).
`encounters.csv[.gz]` (case_id, admitted_at[, discharged_at, title, subject_key]) has the times of
admission; a case that it names may have notes only. A case that it does not name is anchored at its
earliest row, its first documented presentation (protocol section 1). No Django here.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from ehr.formats.base import (
    PAPERS,
    EncounterRecord,
    FormatError,
    Rejection,
    WrongFile,
    describe_case_id,
    describe_fault,
    safe_name,
)
from ehr.formats.csv.encounters import ENCOUNTERS, Listing, find_listing, is_listing, read_listing
from ehr.formats.limits import DEFAULT_LIMITS, Limits
from ehr.formats.note_files import (
    DEFAULT_PATTERNS,
    NoteName,
    is_note,
    make_note,
    make_patterns,
    order_key,
    read_note,
)
from ehr.formats.row_files import OWN_NAMES, SUFFIXES, read_rows
from ehr.formats.stream import (
    EncounterList,
    NoteBlock,
    StreamBlock,
    StreamFile,
    reject_absent,
)

NAMES = make_patterns(*DEFAULT_PATTERNS)


class PlainRows:
    """A `StreamSource` over a file or a folder.

    `chosen`: only these cases; None: all. `columns`: the files' names of our columns.
    """

    def __init__(
        self,
        path: Path,
        chosen: Collection[str] | None = None,
        limits: Limits = DEFAULT_LIMITS,
        columns: Mapping[str, str] = OWN_NAMES,
    ) -> None:
        """Raises FormatError if there is no file of rows."""
        self._columns = columns
        entries = sorted(path.iterdir()) if path.is_dir() else [path]
        files = [entry for entry in entries if entry.is_file()]
        self._unreadable = [
            Rejection(safe_name(entry), reason)
            for entry in entries
            if (parse_case_id(entry) or is_note(entry)) and (reason := describe_fault(entry))
        ]
        files = [file for file in files if not is_listing(file)]
        self._rows = [file for file in files if parse_case_id(file)]
        self._others = [file for file in files if not parse_case_id(file)]
        self._notes = {
            file: NAMES.read(file) or NoteName(file.stem)
            for file in self._others
            if is_note(file) and not file.name.startswith(PAPERS)
        }
        self._folder = path if path.is_dir() else path.parent
        self._chosen = None if chosen is None else frozenset(chosen)
        self._limits = limits
        if not self._rows and not (self._notes and any(is_listing(e) for e in entries)):
            raise FormatError(
                f"{path} has no file of rows. Expected: {', '.join(SUFFIXES)}, one file a case."
            )

    @property
    def identity(self) -> str:
        """Each case has a file of its own; names of columns decide what it is."""
        if not self._columns:
            return "csv"
        names = json.dumps(sorted(self._columns.items()))
        return f"csv {hashlib.sha256(names.encode()).hexdigest()}"

    def encounters(self) -> EncounterList:
        """Return the cases in order of name.

        Raises WrongFile if encounters.csv cannot be read.
        """
        return self._encounter_list

    def files(self) -> Sequence[StreamFile]:
        """One file of rows a case, then the notes: discharge summaries first."""
        places = {e.case_id: i for i, e in enumerate(self._encounter_list.encounters)}
        rows = {parse_case_id(file): file for file in self._rows}
        notes = sorted(self._notes.items(), key=lambda n: (n[1].case, order_key(n[1]), n[0].name))
        return [
            *(
                StreamFile(
                    rows[c].name, rows[c], partial(self._blocks, place, rows[c]), place=place
                )
                for c, place in places.items()
                if c in rows
            ),
            *(
                StreamFile(
                    f"note/{p.name}",
                    p,
                    partial(self._note, places[said.case], p, said),
                    place=places[said.case],
                    notes=True,
                )
                for p, said in notes
                if said.case in places
            ),
        ]

    def _blocks(self, place: int, file: Path) -> Iterator[StreamBlock]:
        for block in read_rows(file, file.name, self._limits, self._columns):
            places = np.full(len(block.rows), place, np.int64)
            yield StreamBlock(
                block.rows.drop_columns(["row_index"]),
                places,
                block.lines,
                block.offered,
                block.rejections,
            )

    def _note(self, place: int, path: Path, said: NoteName) -> Iterator[NoteBlock]:
        name = f"note/{path.name}"
        if said.fault:
            raise WrongFile(Rejection(name, said.fault))
        text = read_note(path, name, self._limits)
        yield NoteBlock(((place, 1, make_note(text, said)),), 1)

    @cached_property
    def _encounter_list(self) -> EncounterList:
        wanted = [
            file
            for file in self._rows
            if self._chosen is None or parse_case_id(file) in self._chosen
        ]
        cases = {parse_case_id(file) for file in self._rows}
        noted = {said.case for said in self._notes.values()}
        listing = read_listing(find_listing(self._folder), cases | noted, self._limits)
        times = Counter(parse_case_id(file) for file in self._rows)
        found = [self._encounter(file, times[parse_case_id(file)], listing) for file in wanted]
        # Cases with notes only begin when encounters.csv says.
        found += [
            listing.records[case]
            for case in sorted(noted - cases)
            if case in listing.records and (self._chosen is None or case in self._chosen)
        ]
        refused = [
            *(e for e in found if isinstance(e, Rejection)),
            *self._unreadable,
            *reject_absent(self._chosen, cases | (noted & listing.records.keys()), "--cases"),
            *self._orphan_notes(cases | listing.records.keys() | listing.refused),
        ]
        unread = (
            safe_name(f)
            for f in self._others
            if not is_note(f) and not f.name.startswith((".", *PAPERS))
        )
        return EncounterList(
            tuple(e for e in found if isinstance(e, EncounterRecord)),
            listing.rejections,
            tuple(refused),
            unread_files=tuple(unread),
            separate=True,
        )

    def _encounter(
        self, file: Path, times: int, listing: Listing
    ) -> EncounterRecord | Rejection | None:
        """Return the case of a file, or a rejection if it cannot be read.

        Returns None if encounters.csv has rejected the case already.
        """
        case, name = parse_case_id(file), safe_name(file)
        if reason := describe_case_id(case):
            return Rejection(name, f"the file's name is {reason}")
        if times > 1:
            return Rejection(name, "two files of rows are of this case", case_id=case)
        if case in listing.refused:
            return None
        if case not in listing.records and listing.unassigned:
            reason = (
                f"{ENCOUNTERS} does not name this case, and its line {listing.unassigned} names no"
                " case that is here"
            )
            return Rejection(name, reason, case_id=case)
        try:
            starts = [
                pc.min(block.rows["time"]).as_py()
                for block in read_rows(file, name, self._limits, self._columns)
            ]
        except WrongFile as error:
            return error.rejection
        except OSError as error:
            return Rejection(name, f"the file cannot be read: {error.strerror}", case_id=case)
        if case in listing.records:
            return listing.records[case]
        earliest = min(filter(None, starts), default=None)
        if earliest is None:
            return Rejection(
                name,
                "no row has a time, and encounters.csv does not say when the case was admitted",
                case_id=case,
            )
        return EncounterRecord(case, earliest, anchor="presentation")

    def _orphan_notes(self, known: Collection[str]) -> Iterator[Rejection]:
        """Notes of cases that are not there."""
        for file, said in self._notes.items():
            if self._chosen is None and said.case not in known:
                reason = f"no file of rows has the name of this note, nor does {ENCOUNTERS}"
                yield Rejection(f"note/{safe_name(file)}", reason)


def parse_case_id(file: Path) -> str:
    """The case a file of rows belongs to, by its name; "" for any other file."""
    return next(
        (file.name.removesuffix(suffix) for suffix in SUFFIXES if file.name.endswith(suffix)), ""
    )
