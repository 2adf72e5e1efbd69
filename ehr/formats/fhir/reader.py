"""FHIR R4: Bundles and bulk exports.

The first reading finds the stays and the names of locations, medications and specimens. The second
one makes rows and notes. A time is the clock time of the place where it was written: the offset
that it carries is cut off, and no time is shifted. No Django here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from ehr.formats.fhir.blocks import Gathered
from ehr.formats.fhir.elements import SHAPE_ERRORS, Fault, find_codes
from ehr.formats.fhir.files import FhirFile, Piece, find_files, parse_piece, read_pieces
from ehr.formats.fhir.notes import find_encounters, has_text, read_note, read_service_time
from ehr.formats.fhir.rows import READERS, read_death, read_gender, read_part, read_stay
from ehr.formats.fhir.scan import READ, Scan, explain, scan_files
from ehr.formats.fhir.stays import OUTSIDE, Stays
from ehr.formats.fhir.texts import Places
from ehr.formats.fhir.times import NEVER, Moment
from ehr.formats.fhir.validation import find_fault, find_type_fault, is_sampled
from ehr.formats.limits import DEFAULT_LIMITS, Limits
from ehr.formats.stream import (
    EncounterList,
    NoteBlock,
    StreamBlock,
    StreamFile,
    name_choice,
    reject_absent,
)

#: Refused resources of a file that the slow R4 models see.
MOST_EXPLAINED = 20_000
#: A resource that was never true, or was withdrawn.
WITHDRAWN = ("entered-in-error", "cancelled")
SAMPLED = "not valid R4, found in a sample; the rows are imported"


class Fhir:
    """A `StreamSource` over a file or a folder.

    `chosen`: only these cases; None: all.
    """

    def __init__(
        self, path: Path, chosen: Collection[str] | None = None, limits: Limits = DEFAULT_LIMITS
    ) -> None:
        """Raises FormatError if there is no file of FHIR resources."""
        self._files, self._logs = find_files(path)
        self._root = path if path.is_dir() else path.parent
        self._chosen = None if chosen is None else frozenset(chosen)
        self._limits = limits

    @property
    def identity(self) -> str:
        """Which cases were chosen."""
        return name_choice("fhir", self._chosen)

    def encounters(self) -> EncounterList:
        """Return the stays in the order of the files."""
        scan, stays = self._scan, self._stays
        rejections = (*scan.rejections, *stays.rejections)
        known = {e.case_id for e in stays.encounters} | {r.case_id for r in rejections}
        return EncounterList(
            stays.encounters,
            (*rejections, *reject_absent(self._chosen, known, "Encounter")),
            tuple(scan.refused.values()),
            unread_files=(*self._logs, *(file.name for file in scan.unread)),
        )

    def files(self) -> Sequence[StreamFile]:
        """The files that can be read and have resources of a known type."""
        left_out = {*self._scan.refused, *self._scan.unread}
        return [
            StreamFile(f.name, f.path, partial(self._blocks, f), entries=f in self._scan.bundles)
            for f in self._files
            if f not in left_out
        ]

    def _blocks(self, file: FhirFile) -> Iterator[StreamBlock | NoteBlock]:
        """The rows and notes of one file. Raises WrongFile."""
        gathered = Gathered()
        counts: Counter[str] = Counter()
        for piece in read_pieces(file, self._limits):
            self._read(piece, file, gathered, counts)
            if gathered.is_full:
                yield from gathered.blocks()
                gathered = Gathered()
        yield from gathered.blocks()

    def _read(self, piece: Piece, file: FhirFile, gathered: Gathered, counts: Counter[str]) -> None:
        """Add one resource to the block, or its rejection."""
        note = False
        try:
            resource, _ = parse_piece(piece)
        except ValueError as error:
            gathered.offer(note=False)
            rejection = file.reject(piece, "", str(error))
            gathered.reject(piece.number, rejection, note=False)
            return
        if resource is None:
            gathered.offer(note=False)
            return
        number = counts[resource["resourceType"]]
        counts[resource["resourceType"]] += 1
        try:
            note = has_text(resource)
            self._take(resource, piece.number, file, gathered, note=note)
        except (Fault, *SHAPE_ERRORS) as error:
            counts["refused"] += 1
            model = counts["refused"] <= MOST_EXPLAINED
            path, reason = explain(error, resource, model=model)
            rejection = file.reject(piece, path, reason)
            gathered.reject(piece.number, rejection, note=note)
        else:
            # The contents of types that are not read do not matter.
            check = find_fault if resource["resourceType"] in READ else find_type_fault
            if is_sampled(number) and (fault := check(resource)):
                rejection = file.reject(piece, fault[0], f"{fault[1]}: {SAMPLED}")
                gathered.reject(piece.number, rejection, note=note)
        gathered.offer(note=note)

    def _take(
        self,
        resource: dict[str, Any],
        number: int,
        file: FhirFile,
        gathered: Gathered,
        *,
        note: bool,
    ) -> None:
        """Add the rows or the note of a resource. Raises Fault, SHAPE_ERRORS."""
        type = resource["resourceType"]
        stays, names = self._stays, self._scan.names
        if type == "Encounter":
            place = stays.find_visit(file, number)
            if place != OUTSIDE:
                read = read_part if resource.get("partOf") else read_stay
                gathered.add_facts(read(resource, names), type, place, number)
        elif type == "Patient":
            if subject := self._scan.subjects.get((file.name, number)):
                self._take_patient(resource, subject, number, gathered)
        elif (note or type in READERS) and not _is_withdrawn(resource):
            named = self._find_named(resource)
            if named == OUTSIDE:
                return
            if note:
                self._take_note(resource, named, number, file, gathered)
                return
            facts = READERS[type](resource, names)
            times = (fact.moment for fact in facts if fact.moment.time)
            place = self._find_timed(resource, next(times, NEVER)) if named is None else named
            if place != OUTSIDE:
                gathered.add_facts(facts, type, place, number)

    def _take_note(
        self,
        resource: dict[str, Any],
        named: int | None,
        number: int,
        file: FhirFile,
        gathered: Gathered,
    ) -> None:
        """Add a note to its stay, named or found by the time of the care."""
        place = self._find_timed(resource, read_service_time(resource)) if named is None else named
        if place != OUTSIDE:
            places = Places(self._scan.names, (file.path.parent, self._root))
            gathered.add_note(read_note(resource, places, self._limits), place, number)

    def _take_patient(
        self, resource: dict[str, Any], subject: str, number: int, gathered: Gathered
    ) -> None:
        """Add gender and death to the stays of a patient."""
        for place in self._stays.places_of(subject):
            gathered.add_facts(read_gender(resource), "Patient", place, number)
        for fact in read_death(resource):
            place = self._stays.find_by_time(subject, fact.moment)
            if place != OUTSIDE:
                gathered.add_facts([fact], "Patient", place, number)

    def _find_named(self, resource: dict[str, Any]) -> int | None:
        """Return the place of the encounter that a resource names."""
        subject = self._stays.subject_of(resource.get("subject"))
        references, field = find_encounters(resource)
        if len(references) == 1:
            return self._stays.find(references[0], field, subject)
        places = {self._stays.find(r, field, subject) for r in references} - {None}
        if len(places) > 1:
            raise Fault(field, "names encounters of several stays")
        return places.pop() if places else None

    def _find_timed(self, resource: dict[str, Any], moment: Moment) -> int:
        subject = self._stays.subject_of(resource.get("subject"))
        return self._stays.find_by_time(subject, moment)

    @cached_property
    def _scan(self) -> Scan:
        return scan_files(self._files, self._limits)

    @cached_property
    def _stays(self) -> Stays:
        return Stays(self._scan.visits, self._scan.patients, self._chosen, self._scan.faulty)


def _is_withdrawn(resource: dict[str, Any]) -> bool:
    """Say if a resource was withdrawn, or reports what did not happen."""
    if resource["resourceType"] == "Condition":
        return WITHDRAWN[0] in find_codes(resource.get("verificationStatus"))
    status = resource.get("status")
    cancels = resource["resourceType"] in ("Observation", "DiagnosticReport")
    return status == WITHDRAWN[0] or (status == WITHDRAWN[1] and cancels)
