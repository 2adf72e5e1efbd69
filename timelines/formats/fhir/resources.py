"""Map one occurrence to one FHIR R4 resource.

| occurrence | resource |
|---|---|
| of a relative | FamilyMemberHistory: it did not happen to the patient |
| planned, or of the lane plan | MedicationRequest or ServiceRequest, intent plan |
| medication given in the stay | MedicationAdministration |
| other medication | MedicationStatement: a note reports it, and no act is at hand |
| procedure | Procedure |
| transfer | Procedure of the category administrative |
| history | Condition |
| lab, finding, anything else | Observation |

What the note denies is not done, not taken, refuted or absent.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from timelines.domain import Anchor, Lane, Polarity, TimelineKind
from timelines.formats.fhir import codes
from timelines.formats.fhir.times import choose_time, say_point
from timelines.formats.fhir.values import FhirStay
from timelines.formats.lines import Line
from timelines.pipeline.uids import unescape_mention
from timelines.presentation.status import find_status

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_ENDS = (":stop", ":end")
_NUMBER = re.compile(r"-?(0|[1-9]\d{0,15})(\.\d{1,15})?")
Resource = dict[str, Any]


def make_resource(line: Line, stay: FhirStay, patient: str, encounter: str) -> Resource:
    """Return the resource of one occurrence, without its id.

    `patient` and `encounter` are references. The time in hours is an extension of each resource.
    """
    anchor = Anchor(stay.admitted_at)
    kind = _choose(line, stay, anchor)
    made = _MAKERS[kind](line, anchor)
    subject = "patient" if kind == "FamilyMemberHistory" else "subject"
    visit = {"MedicationAdministration": "context", "MedicationStatement": "context"}
    links = {subject: {"reference": patient}}
    if kind != "FamilyMemberHistory":
        links[visit.get(kind, "encounter")] = {"reference": encounter}
    return {"resourceType": kind, "extension": [_hours(line)], **made, **links}


def clean_text(text: str) -> str:
    """Return text as a FHIR string: without control characters, not empty."""
    return _CONTROL.sub(" ", text).strip() or "?"


def _choose(line: Line, stay: FhirStay, anchor: Anchor) -> str:
    if line.polarity == Polarity.FAMILY:
        return "FamilyMemberHistory"
    if line.polarity == Polarity.PLANNED or line.lane == Lane.PLAN:
        return "MedicationRequest" if line.lane == Lane.MEDICATION else "ServiceRequest"
    if line.lane == Lane.MEDICATION:
        placed = say_point(line, anchor) is not None
        return (
            "MedicationAdministration"
            if placed and (_is_given(line) or _is_inside(line, stay, anchor))
            else "MedicationStatement"
        )
    if line.lane in (Lane.PROCEDURE, Lane.TRANSFER):
        return "Procedure"
    return "Condition" if line.lane == Lane.HISTORY else "Observation"


def _is_given(line: Line) -> bool:
    return any(row.time_kind == "administration" for row in line.evidence)


def _is_inside(line: Line, stay: FhirStay, anchor: Anchor) -> bool:
    """Return whether the time is in the stay."""
    end = None if stay.discharged_at is None else anchor.hours(stay.discharged_at)
    return line.time is not None and line.time >= 0 and (end is None or line.time <= end)


def _observation(line: Line, anchor: Anchor) -> Resource:
    made: Resource = {"status": "final", "code": _words(line)}
    if line.lane == Lane.LAB:
        made["category"] = [codes.LABORATORY]
    if line.polarity == Polarity.ABSENT:
        made["valueCodeableConcept"] = codes.ABSENT
    elif line.lane == Lane.FINDING:
        made["valueCodeableConcept"] = codes.PRESENT
    elif line.lane == Lane.LAB:
        made |= _quantity(line)
    return made | choose_time(line, anchor, "effective")


def _quantity(line: Line) -> Resource:
    """Return the value of the only row that the time rests on."""
    if len(line.evidence) != 1 or not _NUMBER.fullmatch(line.evidence[0].value):
        return {}
    row = line.evidence[0]
    quantity: Resource = {"value": float(row.value)}
    return {"valueQuantity": quantity | ({"unit": clean_text(row.unit)} if row.unit else {})}


def _administration(line: Line, anchor: Anchor) -> Resource:
    ends = bool(line.evidence) and all(row.event.endswith(_ENDS) for row in line.evidence)
    status = "not-done" if line.polarity == Polarity.ABSENT else "stopped" if ends else "completed"
    return {
        "status": status,
        "medicationCodeableConcept": _words(line),
        **choose_time(line, anchor, "effective"),
    }


def _statement(line: Line, anchor: Anchor) -> Resource:
    return {
        "status": "not-taken" if line.polarity == Polarity.ABSENT else "unknown",
        "medicationCodeableConcept": _words(line),
        **choose_time(line, anchor, "effective"),
    }


def _procedure(line: Line, anchor: Anchor) -> Resource:
    made: Resource = {
        "status": "not-done" if line.polarity == Polarity.ABSENT else "completed",
        "code": _words(line),
    }
    if line.lane == Lane.TRANSFER:
        made["category"] = codes.TRANSFER
    return made | choose_time(line, anchor, "performed")


def _condition(line: Line, anchor: Anchor) -> Resource:
    if line.polarity != Polarity.ABSENT:
        return {
            "verificationStatus": codes.CONFIRMED,
            "code": _words(line),
            **choose_time(line, anchor, "onset", imprecise=True),
        }
    # What never was has no onset: the time is when it was denied.
    when = say_point(line, anchor)
    return {
        "verificationStatus": codes.REFUTED,
        "code": _words(line),
        **({"recordedDate": when} if when else {}),
    }


def _request(line: Line, anchor: Anchor) -> Resource:
    """Return a plan. Its time is when it was made."""
    name = "medicationCodeableConcept" if line.lane == Lane.MEDICATION else "code"
    when = say_point(line, anchor)
    return {
        "status": "unknown",
        "intent": "plan",
        **({"doNotPerform": True} if line.polarity == Polarity.ABSENT else {}),
        name: _words(line),
        **({"authoredOn": when} if when else {}),
    }


def _relative(line: Line, anchor: Anchor) -> Resource:
    return {
        "status": "completed",
        "relationship": codes.RELATIVE,
        "condition": [{"code": _words(line)}],
    }


_MAKERS: dict[str, Callable[[Line, Anchor], Resource]] = {
    "Observation": _observation,
    "MedicationAdministration": _administration,
    "MedicationStatement": _statement,
    "MedicationRequest": _request,
    "ServiceRequest": _request,
    "Procedure": _procedure,
    "Condition": _condition,
    "FamilyMemberHistory": _relative,
}


def _words(line: Line) -> Resource:
    return {"text": clean_text(unescape_mention(line.mention))}


def _hours(line: Line) -> Resource:
    """Return the extension with time and bounds in hours, and their basis."""
    status = find_status(
        line.time, known=line.known, kind=TimelineKind(line.kind), cited_rows=line.rows
    )
    hours = {"time": line.time, "lower": line.lower, "upper": line.upper}
    parts: list[Resource] = [
        {"url": name, "valueDecimal": value} for name, value in hours.items() if value is not None
    ]
    return {
        "url": codes.TIME,
        "extension": [*parts, {"url": "basis", "valueCode": status.value}],
    }
