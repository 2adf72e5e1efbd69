"""The first reading of an export: stays, patients, names, damage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from ehr.formats.base import Rejection, WrongFile
from ehr.formats.fhir.elements import SHAPE_ERRORS, Fault, say_codes, say_text
from ehr.formats.fhir.files import FhirFile, parse_piece, read_pieces
from ehr.formats.fhir.references import CODES, Names, find_keys, say_name
from ehr.formats.fhir.rows import READERS
from ehr.formats.fhir.validation import find_fault
from ehr.formats.fhir.visits import SUBJECT, Visit, find_identifier, read_visit
from ehr.formats.limits import Limits

NAMED = ("Location", "Medication", "Specimen")
READ = {*READERS, *NAMED, "Encounter", "Patient", "Binary", "DocumentReference"}


@dataclass
class Scan:
    """What the first reading found.

    `patients` is key → subject key, `subjects` the subject key of each Patient by its place in the
    files (a Patient that appears again has none), `faulty` the keys of rejected Encounters.
    """

    names: Names = field(default_factory=Names)
    visits: list[Visit] = field(default_factory=list)
    patients: dict[str, str] = field(default_factory=dict)
    subjects: dict[tuple[str, int], str] = field(default_factory=dict)
    faulty: list[str] = field(default_factory=list)
    rejections: list[Rejection] = field(default_factory=list)
    refused: dict[FhirFile, Rejection] = field(default_factory=dict)
    bundles: set[FhirFile] = field(default_factory=set)
    unread: list[FhirFile] = field(default_factory=list)


def scan_files(files: Sequence[FhirFile], limits: Limits) -> Scan:
    """Read every file to its end; a damaged one is refused as a whole."""
    scan = Scan()
    for file in files:
        visits, rejections, patients = list[Visit](), list[Rejection](), list[Any]()
        types: Counter[str] = Counter()
        bundles = False
        try:
            for piece in read_pieces(file, limits):
                try:
                    resource, address = parse_piece(piece)
                except ValueError:
                    types["Encounter"] += 1  # the second reading rejects it
                    continue
                bundles = bundles or piece.entry
                if resource is None:
                    continue
                type = resource["resourceType"]
                types[type] += 1
                if type == "Patient":
                    patients.append((resource, address, piece.number))
                elif type == "Encounter":
                    try:
                        visits.append(read_visit(resource, address, file, piece))
                    except (Fault, *SHAPE_ERRORS) as error:
                        rejections.append(file.reject(piece, *explain(error, resource)))
                        scan.faulty += _find_keys(resource, address)
                elif type in NAMED or type == "Binary":
                    _add_name(scan.names, resource, address)
        except WrongFile as error:
            scan.refused[file] = error.rejection
            continue
        if bundles:
            scan.bundles.add(file)
        scan.visits += visits
        scan.rejections += rejections
        for resource, address, number in patients:
            _add_patient(scan, resource, address, (file.name, number))
        if not types.keys() & READ:
            scan.unread.append(file)
    return scan


def explain(error: Exception, resource: dict[str, Any], *, model: bool = True) -> tuple[str, str]:
    """Return (JSON path, reason) of why a resource cannot be read.

    With `model` the R4 models are asked, too.
    """
    found = find_fault(resource) if model else None
    if not isinstance(error, Fault):
        return found or ("", "an element has another type than FHIR gives it")
    if found is None or found[0] == error.field:
        return error.field, error.reason
    return error.field, f"{error.reason}; not valid R4 at {found[0] or 'its root'}: {found[1]}"


def _find_keys(resource: dict[str, Any], address: str) -> list[str]:
    try:
        return find_keys(resource, address)
    except SHAPE_ERRORS:
        return []


def _add_name(names: Names, resource: dict[str, Any], address: str) -> None:
    """Store the name of a resource, or what a Binary contains.

    A resource of another shape has no name; the second reading says so if it makes rows.
    """
    try:
        if resource["resourceType"] == "Binary":
            kept = {"contentType": resource.get("contentType"), "data": resource["data"]}
            text = orjson.dumps(kept).decode()
        else:
            text = say_name(resource)
        codes = say_codes(resource.get("code")) if resource["resourceType"] == "Medication" else ""
        for key in find_keys(resource, address):
            names.add(key, text)
            if codes:
                names.add(CODES + key, codes)
    except SHAPE_ERRORS:
        return


def _add_patient(
    scan: Scan, resource: dict[str, Any], address: str, place: tuple[str, int]
) -> None:
    """Register the keys of a patient; the second reading reports a bad shape."""
    try:
        subject = find_identifier(resource, SUBJECT) or say_text(resource.get("id"))
        keys = find_keys(resource, address)
    except SHAPE_ERRORS:
        return
    subject = subject or address
    if not any(key in scan.patients for key in keys):
        scan.subjects[place] = subject
    for key in keys:
        scan.patients.setdefault(key, subject)
