"""Each resource as rows: event, time, value, unit and kind of time.

There is a function for each resource type. docs/reference/fhir-import.md has the same as a table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ehr.formats.columns import DATE_ONLY
from ehr.formats.fhir.elements import (
    Resource,
    find_codes,
    find_profile,
    make_event,
    say_codes,
    say_concept,
    say_text,
)
from ehr.formats.fhir.facts import Fact, read_choice, read_inside
from ehr.formats.fhir.medications import read_administration, read_dispense, read_request
from ehr.formats.fhir.observations import read_observation, read_report
from ehr.formats.fhir.references import Names
from ehr.formats.fhir.times import NEVER, Moment, read_moment, read_period
from ehr.schema import TimeKind

ADMINISTRATIVE = TimeKind.ADMINISTRATIVE
#: Classes of Encounters (HL7 v3 ActCode) whose display is often missing.
CLASSES = {
    "AMB": "ambulatory",
    "EMER": "emergency",
    "IMP": "inpatient encounter",
    "ACUTE": "inpatient acute",
    "NONAC": "inpatient non-acute",
    "OBSENC": "observation encounter",
    "PRENC": "pre-admission",
    "SS": "short stay",
    "HH": "home health",
    "VR": "virtual",
}
ICU = "/identifier/encounter-icu"
#: Billed procedures of MIMIC-IV have a day; the hour of their time is midnight.
BILLED = "mimic-procedure"


def read_stay(resource: Resource, names: Names) -> list[Fact]:
    """Return admission, wards, service and discharge."""
    start, end = read_period(resource, "period")
    hospital = resource.get("hospitalization") or {}
    name = _class(resource)
    facts = [_administrative("admission", name, "", start)] if name else []
    if source := say_concept(hospital.get("admitSource")):
        facts.append(_administrative("admission", source, "", start))
    if service := say_concept(resource.get("serviceType")):
        facts.append(_administrative("service", service, "", start))
    for place, since, _ in _locations(resource, names):
        facts.append(_administrative("transfer", place, "", since))
    if end.time:
        left = say_concept(hospital.get("dischargeDisposition"))
        facts.append(_administrative("admission", "discharge", left, end))
    return facts


def read_part(resource: Resource, names: Names) -> list[Fact]:
    """Return the two ends of an Encounter that is part of a stay."""
    start, end = read_period(resource, "period")
    if say_text((resource.get("class") or {}).get("code")) == "EMER":
        visit = (("ed registration", start), ("ed out", end))
        return [_administrative("admission", n, "", at) for n, at in visit if at.time]
    systems = (say_text(i.get("system")) for i in resource.get("identifier") or ())
    category = "icu" if any(s.endswith(ICU) for s in systems) else "transfer"
    places = _locations(resource, names) or [(_class(resource) or "encounter", start, end)]
    ends = ((places[0][0], "in", start), (places[-1][0], "out", end))
    return [_administrative(category, name, act, at) for name, act, at in ends if at.time]


def read_condition(resource: Resource, names: Names) -> list[Fact]:
    """Return when a diagnosis was recorded, began and ended."""
    code = resource.get("code") or {}
    name, codes = say_concept(code), say_codes(code)
    denied = "refuted" in find_codes(resource.get("verificationStatus"))
    act = "refuted" if denied else ""
    recorded = read_moment(resource, "recordedDate")
    onset, _ = read_choice(resource, "onset")
    abated, _ = read_choice(resource, "abatement")
    found = [(act, recorded, TimeKind.CHARTED)] if recorded.time else []
    if onset.time and onset != recorded:
        found.append(("onset", onset, TimeKind.UNKNOWN))
    if abated.time:
        found.append(("abatement", abated, TimeKind.UNKNOWN))
    value = next((say_text(c.get("code")) for c in code.get("coding") or ()), "")
    return [
        Fact(make_event("diagnosis", name, act), moment, kind, value, codes=codes)
        for act, moment, kind in found or [(act, NEVER, TimeKind.UNKNOWN)]
    ]


def read_procedure(resource: Resource, names: Names) -> list[Fact]:
    """Return when a procedure was done: once, or its start and end."""
    code = resource.get("code") or {}
    name, codes = say_concept(code), say_codes(code)
    start, end = read_choice(resource, "performed")
    if find_profile(resource) == BILLED:
        value = next((say_text(c.get("code")) for c in code.get("coding") or ()), "")
        event = make_event("procedure", name, "billed")
        return [Fact(event, start, ADMINISTRATIVE, value, DATE_ONLY, codes=codes)]
    status = say_text(resource["status"])
    act = {"not-done": "not done", "preparation": "prepared"}.get(status, "")
    ends = [("start", start), ("end", end)] if end.time and not act else [(act, start)]
    return [
        Fact(make_event("procedure", name, act), moment, TimeKind.PERFORMED, codes=codes)
        for act, moment in ends
    ]


def read_service_request(resource: Resource, names: Names) -> list[Fact]:
    """Return when something was ordered, and for when."""
    name, codes = say_concept(resource.get("code")), say_codes(resource.get("code"))
    act = "do not perform" if resource.get("doNotPerform") else "start"
    value, written = say_text(resource["status"]), read_moment(resource, "authoredOn")
    planned, _ = read_choice(resource, "occurrence")
    acts = [(act, written)] if written.time or not planned.time else []
    acts += [("planned", planned)] if planned.time else []
    return [
        Fact(make_event("order", name, act), moment, TimeKind.ORDER, value, codes=codes)
        for act, moment in acts
    ]


def read_specimen(resource: Resource, names: Names) -> list[Fact]:
    """Return when a specimen was taken."""
    start, _ = read_inside(resource, "collection", read_choice, "collected")
    name, codes = say_concept(resource.get("type")), say_codes(resource.get("type"))
    named = "specimen" in name.lower() or "sample" in name.lower()
    event = make_event("lab", name if named else f"{name} specimen".strip(), "collected")
    return [Fact(event, start, TimeKind.COLLECTION, codes=codes)]


def read_gender(resource: Resource) -> list[Fact]:
    """Return the patient's gender, a row of each of the stays."""
    gender = say_text(resource.get("gender"))
    return [Fact("patient:gender:", NEVER, TimeKind.UNKNOWN, gender)] if gender else []


def read_death(resource: Resource) -> list[Fact]:
    """Return the patient's death, a row of the stay in which it happened."""
    died = read_moment(resource, "deceasedDateTime")
    return [_administrative("admission", "death", "", died)] if died.time else []


#: Resource type → its rows. Encounter, Patient and documents are read in other ways.
READERS: Mapping[str, Callable[[Resource, Names], list[Fact]]] = {
    "Observation": read_observation,
    "DiagnosticReport": read_report,
    "MedicationAdministration": read_administration,
    "MedicationRequest": read_request,
    "MedicationDispense": read_dispense,
    "Condition": read_condition,
    "Procedure": read_procedure,
    "ServiceRequest": read_service_request,
    "Specimen": read_specimen,
}


def _administrative(category: str, name: str, act: str, moment: Moment) -> Fact:
    return Fact(make_event(category, name, act), moment, ADMINISTRATIVE)


def _class(resource: Resource) -> str:
    """Return the class of an Encounter in words."""
    given = resource.get("class") or {}
    code = say_text(given.get("code"))
    return say_text(given.get("display")) or CLASSES.get(code, code)


def _locations(resource: Resource, names: Names) -> list[tuple[str, Moment, Moment]]:
    """Return (name, start, end) of each location.

    An only location without a time has the time of the Encounter.
    """
    listed = resource.get("location") or ()
    found = []
    for entry in listed:
        start, end = read_period(entry, "period")
        if len(listed) == 1 and start is NEVER:
            start, end = read_period(resource, "period")
        name = names.name_of(entry["location"], "Location", resource)
        if name:
            found.append((name, start, end))
    return found
