"""Notes only: a folder of `.txt` files, several for a stay.

`index.csv[.gz]` names the stay, time and kind of each file, and may give the admission; without it,
the names of the files do (`ehr.formats.note_files`), or those of folders, one for each stay. One rule for time zero: the admission, else
the one that a note states (`ehr.formats.stated`), else the first written time of a note that is no
discharge summary, else the stay is refused. A fault refuses its whole stay. No Django here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path

from ehr.formats.base import (
    LONGEST_CASE_ID,
    PAPERS,
    EncounterRecord,
    FormatError,
    Rejection,
    WrongFile,
    describe_case_id,
    describe_fault,
    safe_name,
)
from ehr.formats.limits import DEFAULT_LIMITS, Limits
from ehr.formats.note_files import (
    DISCHARGE_SUMMARY,
    SUFFIX,
    NoteName,
    is_note,
    list_notes,
    list_stay_folders,
    make_case_patterns,
    make_note,
    order_key,
    read_name_in_stay,
    read_note,
)
from ehr.formats.note_index import Stay, find_index, is_index, read_index
from ehr.formats.stated import StatedAdmission, find_admission
from ehr.formats.stream import EncounterList, NoteBlock, StreamFile, reject_absent

NO_ADMISSION = (
    "no time of admission: give admitted_at in index.csv, or a pattern with {admitted} if the files'"
    " names have it, or a line like “Admission date: 1 March 2150” in a note; the time of a discharge"
    " summary is no time zero"
)


class TextNotes:
    """A `StreamSource` over a folder.

    `chosen`: only these cases; None: all. `pattern` is that of the files' names.
    """

    def __init__(
        self,
        path: Path,
        chosen: Collection[str] | None = None,
        limits: Limits = DEFAULT_LIMITS,
        pattern: str = "",
    ) -> None:
        """Raises FormatError if there is no note, or for a bad pattern."""
        self._folder, self._limits = path, limits
        self._chosen = None if chosen is None else frozenset(chosen)
        self._pattern = pattern
        self._patterns = make_case_patterns(pattern)
        entries = sorted(path.iterdir()) if path.is_dir() else []
        entries = [e for e in entries if not e.name.startswith((".", *PAPERS))]
        self._notes = {e.name: e for e in entries if is_note(e)}
        self._stays = list_stay_folders(path) if path.is_dir() else []
        self._notes |= {f"{f.name}/{n.name}": n for f in self._stays for n in list_notes(f)}
        self._others = [
            e for e in entries if not is_note(e) and not is_index(e) and e not in self._stays
        ]
        if not self._notes:
            raise FormatError(f"{path} has no {SUFFIX} file. The text format is a folder of notes.")

    @property
    def identity(self) -> str:
        """Each note has a file of its own; the pattern decides what it is."""
        return f"text {hashlib.sha256(self._pattern.encode()).hexdigest()}"

    def encounters(self) -> EncounterList:
        """Return the stays in order of case. Raises WrongFile."""
        return self._listed[0]

    def files(self) -> Sequence[StreamFile]:
        """Return the notes: those of a stay together, discharge summaries first."""
        found = []
        for place, notes in enumerate(self._listed[1]):
            for path, said in notes:
                name = self._name(path)
                blocks = partial(self._blocks, place, path, said)
                # The index may say other things of an unchanged file.
                found.append(
                    StreamFile(name, path, blocks, place=place, notes=True, said=repr(said))
                )
        return found

    def _blocks(self, place: int, path: Path, said: NoteName) -> Iterator[NoteBlock]:
        text = read_note(path, self._name(path), self._limits)
        yield NoteBlock(((place, 1, make_note(text, said)),), 1)

    def _name(self, path: Path) -> str:
        """Return how a note is named in reports; with the folder of its stay."""
        inner = f"{safe_name(path.parent)}/" if path.parent in self._stays else ""
        return f"note/{inner}{safe_name(path)}"

    def _read_name(self, path: Path) -> NoteName | None:
        in_stay = path.parent in self._stays
        return read_name_in_stay(path) if in_stay else self._patterns.read(path)

    @cached_property
    def _listed(self) -> tuple[EncounterList, list[list[tuple[Path, NoteName]]]]:
        index = find_index(self._folder)
        refused: list[Rejection] = []
        if index is None:
            rejections: tuple[Rejection, ...] = ()
            stays, faulty = self._read_names(refused)
        else:
            listing = read_index(index, self._notes, self._limits)
            stays, faulty, rejections = listing.stays, set(listing.refused), listing.rejections
            unnamed = f"{safe_name(index)} does not name this note"
            refused += [
                Rejection(self._name(path), describe_fault(path) or unnamed)
                for name, path in self._notes.items()
                if name not in listing.named and self._chosen is None
            ]
        encounters, notes = [], []
        for case in sorted(stays):
            if case in faulty or (self._chosen is not None and case not in self._chosen):
                continue
            stay = stays[case]
            faults = [*self._find_faults(case, stay)]
            encounter = None if faults else self._make_encounter(case, stay)
            if encounter is None and not faults:
                first = stay.notes[0][0]
                faults = [Rejection(self._name(first), NO_ADMISSION, case_id=case)]
            if encounter is None or faults:
                refused += faults
                continue
            encounters.append(encounter)
            notes.append(sorted(stay.notes, key=lambda note: (order_key(note[1]), note[0].name)))
        refused += reject_absent(self._chosen, set(stays) | faulty, "--cases")
        unread = tuple(safe_name(path) for path in self._others)
        return (
            EncounterList(
                tuple(encounters), rejections, tuple(refused), unread_files=unread, separate=True
            ),
            notes,
        )

    def _read_names(self, refused: list[Rejection]) -> tuple[dict[str, Stay], set[str]]:
        """Return the stays by the names of the files, and the faulty ones."""
        stays: dict[str, Stay] = {}
        faulty: set[str] = set()
        for path in self._notes.values():
            name = self._name(path)
            said = self._read_name(path)
            if said is None:
                refused.append(Rejection(name, "the file's name does not follow the pattern"))
                continue
            stay = stays.setdefault(said.case, Stay(admitted_at=said.admitted_at))
            fault = said.fault
            if not fault and said.admitted_at != stay.admitted_at:
                fault = "the names of this case's files give different times of admission"
            if fault:
                refused.append(Rejection(name, fault, case_id=said.case[:LONGEST_CASE_ID]))
                faulty.add(said.case)
            stay.notes.append((path, said))
        return stays, faulty

    def _find_faults(self, case: str, stay: Stay) -> Iterator[Rejection]:
        """Yield the reasons why the stay cannot be taken whole."""
        case_id = case[:LONGEST_CASE_ID]
        if reason := describe_case_id(case):
            first = self._name(stay.notes[0][0])
            yield Rejection(first, f"the file's name has {reason}", case_id=case_id)
        for path, _ in stay.notes:
            name = self._name(path)
            try:
                if reason := describe_fault(path):
                    raise WrongFile(Rejection(name, reason))
                read_note(path, name, self._limits)
            except WrongFile as error:
                yield replace(error.rejection, case_id=case_id)
            except OSError as error:
                yield Rejection(name, f"the file cannot be read: {error.strerror}", case_id=case_id)

    def _make_encounter(self, case: str, stay: Stay) -> EncounterRecord | None:
        """Return the stay with its time zero, None if nothing gives one."""
        left = stay.discharged_at
        texts = {"title": stay.title, "subject_key": stay.subject_key}
        if stay.admitted_at is not None:
            return EncounterRecord(case, stay.admitted_at, left, **texts)
        if (stated := self._find_stated(stay)) and (left is None or stated.at <= left):
            return EncounterRecord(case, stated.at, left, zero=_describe(stated), **texts)
        written = [
            said.written_at
            for _, said in stay.notes
            if said.written_at is not None and said.kind != DISCHARGE_SUMMARY
        ]
        if not written or (left is not None and left < min(written)):
            return None
        zero = "the time of the first note"
        return EncounterRecord(case, min(written), left, anchor="presentation", zero=zero, **texts)

    def _find_stated(self, stay: Stay) -> StatedAdmission | None:
        """Return the admission that notes state; None if they differ.

        Of one day, an hour says more than the day alone.
        """
        texts = (read_note(path, self._name(path), self._limits) for path, _ in stay.notes)
        found = [said for text in texts if (said := find_admission(text))]
        hours = {said.at for said in found if not said.day_only}
        if len({said.at.date() for said in found}) != 1 or len(hours) > 1:
            return None
        return min(found, key=lambda said: said.day_only)


def _describe(stated: StatedAdmission) -> str:
    return "the day that a note states, at 00:00" if stated.day_only else "stated in a note"
