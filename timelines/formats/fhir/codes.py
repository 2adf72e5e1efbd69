"""Codes and addresses of the exported FHIR resources."""

from __future__ import annotations

from typing import Any

_HL7 = "http://terminology.hl7.org/CodeSystem"
#: Extensions and identifiers of this project.
OURS = "urn:occurrent:fhir"
TIME = f"{OURS}:hours-from-admission"
DECIDED_BY = f"{OURS}:decided-by"
UID, NOTE, ROW = f"{OURS}:uid", f"{OURS}:note-span", f"{OURS}:row"
STAY, PATIENT, TIMELINE = f"{OURS}:stay", f"{OURS}:patient", f"{OURS}:timeline"


def concept(system: str, code: str, display: str) -> dict[str, Any]:
    """Return a coded concept."""
    return {"coding": [{"system": system, "code": code, "display": display}]}


PRESENT = concept("http://snomed.info/sct", "52101004", "Present")
ABSENT = concept("http://snomed.info/sct", "2667000", "Absent")
#: Patients are moved by acts of administration, not of treatment.
TRANSFER = concept("http://snomed.info/sct", "14734007", "Administrative procedure")
LABORATORY = concept(f"{_HL7}/observation-category", "laboratory", "Laboratory")
CONFIRMED = concept(f"{_HL7}/condition-ver-status", "confirmed", "Confirmed")
REFUTED = concept(f"{_HL7}/condition-ver-status", "refuted", "Refuted")
RELATIVE = concept(f"{_HL7}/v3-RoleCode", "FAMMEMB", "family member")
ASSEMBLER = concept(f"{_HL7}/provenance-participant-type", "assembler", "Assembler")
AUTHOR = concept(f"{_HL7}/provenance-participant-type", "author", "Author")
INPATIENT = {"system": f"{_HL7}/v3-ActCode", "code": "IMP", "display": "inpatient encounter"}
