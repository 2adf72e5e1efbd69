"""Read Encounters: the facts that make a stay, or a part of one."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from ehr.formats.base import LONGEST_CASE_ID, LONGEST_TITLE, Rejection
from ehr.formats.fhir.elements import Fault, Resource, say_concept, say_text
from ehr.formats.fhir.files import FhirFile, Piece
from ehr.formats.fhir.references import find_keys, parse_reference
from ehr.formats.fhir.times import Moment, read_period

#: The identifiers under which MIMIC-IV on FHIR has the numbers of MIMIC-IV.
ADMISSION = re.compile(r".*mimic.*/identifier/encounter-hosp")
SUBJECT = re.compile(r".*mimic.*/identifier/patient")
#: Encounters that did not happen.
NO_STAY = ("planned", "cancelled", "entered-in-error")
#: Encounters that go on until their discharge is recorded.
ONGOING = ("arrived", "triaged", "in-progress", "onleave")


@dataclass(frozen=True, slots=True)
class Visit:
    """An Encounter of the input, with its place in the files."""

    file: FhirFile
    piece: Piece
    keys: tuple[str, ...]
    case_id: str
    subject: str
    part_of: str
    happened: bool
    ongoing: bool
    start: Moment
    end: Moment
    title: str

    def reject(self, field: str, reason: str) -> Rejection:
        found = self.file.reject(self.piece, field, reason)
        return Rejection(found.file, reason, found.line, found.field, case_id=self.case_id)


def read_visit(resource: Resource, address: str, file: FhirFile, piece: Piece) -> Visit:
    """Return the facts of an Encounter. Raises Fault, SHAPE_ERRORS."""
    keys = find_keys(resource, address)
    id = say_text(resource.get("id")) or address.removeprefix("urn:uuid:")
    case_id = find_identifier(resource, ADMISSION) or id
    if not case_id:
        raise Fault("id", "missing")
    if len(case_id) > LONGEST_CASE_ID or not case_id.isprintable():
        raise Fault("id", f"longer than {LONGEST_CASE_ID} characters, or not printable")
    start, end = read_period(resource, "period")
    reasons = (say_concept(r) for r in (*resource.get("type", ()), *resource.get("reasonCode", ())))
    return Visit(
        file,
        replace(piece, data=None),
        tuple(keys),
        case_id,
        parse_reference(resource.get("subject"), "Patient"),
        parse_reference(resource.get("partOf"), "Encounter"),
        say_text(resource.get("status")) not in NO_STAY,
        say_text(resource.get("status")) in ONGOING,
        start,
        end,
        "".join(c for c in ", ".join(filter(None, reasons)) if c.isprintable())[:LONGEST_TITLE],
    )


def find_identifier(resource: Resource, system: re.Pattern[str]) -> str:
    """Return the value of the identifier of a system, "" without one."""
    for identifier in resource.get("identifier") or ():
        if system.fullmatch(say_text(identifier.get("system"))):
            return say_text(identifier.get("value"))
    return ""
