"""Observations and the conclusions of DiagnosticReports as rows."""

from __future__ import annotations

from ehr.formats.fhir.elements import (
    Resource,
    find_codes,
    find_profile,
    make_event,
    say_codes,
    say_concept,
    say_exact,
    say_number,
    say_quantity,
    say_text,
)
from ehr.formats.fhir.facts import Fact, read_choice
from ehr.formats.fhir.references import Names
from ehr.formats.fhir.times import NEVER, read_moment
from ehr.schema import TimeKind

#: The category of an Observation → the category of its events; "chart" for any other.
CATEGORIES = {"laboratory": "lab", "vital-signs": "vital"}
#: Profiles of MIMIC-IV on FHIR whose category is not the standard's.
PROFILES = {
    "mimic-observation-labevents": "lab",
    "mimic-observation-micro-test": "micro",
    "mimic-observation-micro-org": "micro",
    "mimic-observation-micro-susc": "micro",
    "mimic-observation-outputevents": "output",
}
#: A value that was removed to hide who the patient is.
MASK = "___"
SPECIMENS = ("lab", "micro")
#: Services of DiagnosticReports (HL7 table 0074).
LABORATORIES = {"LAB", "CH", "HM", "MB", "IMM", "SR", "TX", "VR", "BLB", "PAT", "SP", "CP", "GE"}
IMAGING = {"RAD", "IMG", "CT", "CUS", "NMR", "NMS", "OUS", "RUS", "RX", "VUS", "XRC", "imaging"}


def read_observation(resource: Resource, names: Names) -> list[Fact]:
    """Return a row for the value, and one for each component.

    An observation with components and no value has no row of its own.
    """
    profile = find_profile(resource)
    listed = find_codes(resource.get("category"))
    other = "lab" if resource.get("specimen") and not listed else "chart"
    category = PROFILES.get(profile) or next(
        (CATEGORIES[code] for code in CATEGORIES if code in listed), other
    )
    specimen = ""
    if category in SPECIMENS:
        specimen = names.name_of(resource.get("specimen"), "Specimen", resource)
    moment, _ = read_choice(resource, "effective")
    issued = read_moment(resource, "issued")
    kind = TimeKind.COLLECTION if category in SPECIMENS else TimeKind.CHARTED
    if moment is NEVER and issued.time:
        moment, kind = issued, TimeKind.RESULT
    facts = []
    components = resource.get("component") or ()
    value, unit = _read_value(resource)
    if value == MASK:
        value = _say_notes(resource) or MASK
    if resource.get("hasMember") and not value and category != "micro":
        return []  # a panel: its members are Observations of their own
    for part in (*(() if components and not value else (resource,)), *components):
        if part is not resource:
            value, unit = _read_value(part)
        code = part["code"]
        event = make_event(category, say_concept(code), specimen)
        facts.append(Fact(event, moment, kind, value, unit, issued, say_codes(code)))
    return facts


def read_report(resource: Resource, names: Names) -> list[Fact]:
    """Return the conclusion of a report without a text, if it has one."""
    conclusion = say_exact(resource.get("conclusion")) or ", ".join(
        filter(None, map(say_concept, resource.get("conclusionCode") or ()))
    )
    if not conclusion:
        return []
    listed = find_codes(resource.get("category"))
    category, kind = "chart", TimeKind.CHARTED
    if listed & (LABORATORIES | CATEGORIES.keys()):
        category, kind = "lab", TimeKind.COLLECTION
    elif listed & IMAGING:
        category, kind = "procedure", TimeKind.PERFORMED
    moment, _ = read_choice(resource, "effective")
    issued = read_moment(resource, "issued")
    if moment is NEVER and issued.time:
        moment, kind = issued, TimeKind.RESULT
    code = resource["code"]
    event = make_event(category, say_concept(code), "report")
    return [Fact(event, moment, kind, conclusion, "", issued, say_codes(code))]


def _read_value(part: Resource) -> tuple[str, str]:
    """Return (value, unit) of an Observation or component, as it states it."""
    if "valueQuantity" in part:
        return say_quantity(part["valueQuantity"])
    if "valueCodeableConcept" in part:
        return say_concept(part["valueCodeableConcept"]), ""
    for name in ("valueString", "valueDateTime", "valueTime"):
        if name in part:
            return say_exact(part[name]), ""
    if "valueInteger" in part:
        return say_number(part["valueInteger"]), ""
    if "valueBoolean" in part:
        return ("yes" if part["valueBoolean"] else "no"), ""
    if "valueRange" in part:
        return _say_pair(part["valueRange"], "low", "high", "-")
    if "valueRatio" in part:
        return _say_pair(part["valueRatio"], "numerator", "denominator", "/")
    if "valuePeriod" in part:
        period = part["valuePeriod"]
        return f"{say_text(period.get('start'))} - {say_text(period.get('end'))}", ""
    if "valueSampledData" in part:
        return say_text(part["valueSampledData"].get("data")), ""
    return _say_notes(part) or say_concept(part.get("dataAbsentReason")), ""


def _say_notes(part: Resource) -> str:
    return "; ".join(say_exact(note.get("text")) for note in part.get("note") or ())


def _say_pair(pair: Resource, first: str, second: str, between: str) -> tuple[str, str]:
    """Return both quantities and the unit of the first."""
    (one, unit), (two, other) = say_quantity(pair.get(first)), say_quantity(pair.get(second))
    return f"{one}{between}{two}", unit or other
