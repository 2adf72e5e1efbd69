"""Medications as rows: ordered, dispensed, given."""

from __future__ import annotations

from ehr.formats.fhir.elements import (
    Resource,
    find_profile,
    make_event,
    say_codes,
    say_concept,
    say_exact,
    say_quantity,
    say_text,
)
from ehr.formats.fhir.facts import Fact, read_choice, read_inside
from ehr.formats.fhir.references import Names
from ehr.formats.fhir.times import Moment, read_moment, read_period
from ehr.schema import TimeKind

#: The status of an administration → the act of its event.
ACTS = {"not-done": "not given", "on-hold": "on hold", "stopped": "stopped", "unknown": ""}
GIVEN = "administered"
MIMIC_GIVEN = "mimic-medication-administration"


def read_administration(resource: Resource, names: Names) -> list[Fact]:
    """Return one row, or the start and the end of a period."""
    name, codes = _read_name(resource, names)
    dosage = resource.get("dosage") or {}
    dose, rate = say_quantity(dosage.get("dose")), say_quantity(dosage.get("rateQuantity"))
    start, end = read_choice(resource, "effective")
    act = ACTS.get(say_text(resource["status"]), GIVEN)
    # MIMIC-IV on FHIR calls every dose completed; its method says which were not given.
    if find_profile(resource) == MIMIC_GIVEN:
        act = say_concept(dosage.get("method"))
    kind = TimeKind.ADMINISTRATION
    if end.time is None or act not in (GIVEN, "stopped"):
        return [Fact(make_event("med", name, act), start, kind, *dose, codes=codes)]
    return [
        Fact(
            make_event("med", name, "start"), start, kind, *(rate if rate[0] else dose), codes=codes
        ),
        Fact(make_event("med", name, "end"), end, kind, *dose, codes=codes),
    ]


def read_request(resource: Resource, names: Names) -> list[Fact]:
    """Return when a medication was ordered, and from when and until when."""
    name, codes = _read_name(resource, names)
    asked = (resource.get("dosageInstruction") or [{}])[0]
    amounts = (asked.get("doseAndRate") or [{}])[0]
    value, unit = say_quantity(amounts.get("doseQuantity"))
    unit = " ".join(filter(None, (unit, say_concept(asked.get("route")))))
    value = value or say_exact(asked.get("text"))
    if resource.get("doNotPerform"):
        moment = read_moment(resource, "authoredOn")
        return [_order(name, "do not give", moment, value, unit, codes)]
    start, end = read_inside(resource, "dispenseRequest", read_period, "validityPeriod")
    written = read_moment(resource, "authoredOn")
    acts: list[tuple[str, Moment]] = [("stop", end)] if end.time else []
    if start.time is None:
        acts.insert(0, ("start", written))
    else:
        acts = [*([("ordered", written)] if written.time else []), ("start", start), *acts]
    return [_order(name, act, moment, value, unit, codes) for act, moment in acts]


def read_dispense(resource: Resource, names: Names) -> list[Fact]:
    """Return when a medication was handed over; nobody gave it then."""
    name, codes = _read_name(resource, names)
    given = read_moment(resource, "whenHandedOver")
    moment = given if given.time else read_moment(resource, "whenPrepared")
    event = make_event("order", name, "dispensed")
    quantity = say_quantity(resource.get("quantity"))
    return [Fact(event, moment, TimeKind.ADMINISTRATIVE, *quantity, codes=codes)]


def _order(name: str, act: str, moment: Moment, value: str, unit: str, codes: str) -> Fact:
    return Fact(make_event("order", name, act), moment, TimeKind.ORDER, value, unit, codes=codes)


def _read_name(resource: Resource, names: Names) -> tuple[str, str]:
    """Return (name, codes) of the medication."""
    if "medicationReference" in resource:
        reference = resource["medicationReference"]
        name = names.name_of(reference, "Medication", resource)
        return name, names.codes_of(reference, "Medication", resource)
    concept = resource.get("medicationCodeableConcept")
    return say_concept(concept), say_codes(concept)
