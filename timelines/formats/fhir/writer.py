"""Write a timeline of one stay as a FHIR R4 Bundle.

It is a collection: Patient, Encounter, the program that made it, and for each occurrence a
resource (`timelines.formats.fhir.resources`) with its Provenance. Ids are opaque and the same for
the same timeline.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

from timelines.formats.fhir import codes
from timelines.formats.fhir.provenance import make_provenance
from timelines.formats.fhir.resources import clean_text, make_resource
from timelines.formats.fhir.times import say_instant
from timelines.formats.fhir.values import FhirStay, FhirTimeline, make_uuid
from timelines.formats.lines import Line


def write_fhir(
    lines: Sequence[Line], stay: FhirStay, timeline: FhirTimeline, *, with_note_text: bool
) -> bytes:
    """Return the validated Bundle as JSON.

    Raises ValueError if the FHIR library finds a fault.
    """
    shown = lines if with_note_text else [replace(line, span_text=None) for line in lines]
    bundle = make_bundle(shown, stay, timeline)
    # R4B is R4 for every resource that is written here.
    import_module("fhir.resources.R4B.bundle").Bundle.model_validate(bundle)
    return (json.dumps(bundle, ensure_ascii=False, indent=1) + "\n").encode()


def make_bundle(lines: Sequence[Line], stay: FhirStay, timeline: FhirTimeline) -> dict[str, Any]:
    """Return the Bundle, not validated."""
    return {
        "resourceType": "Bundle",
        "type": "collection",
        "identifier": {"system": codes.TIMELINE, "value": timeline.id},
        "timestamp": timeline.recorded,
        "entry": [
            {
                "fullUrl": f"urn:uuid:{made['id']}",
                "resource": {"resourceType": made["resourceType"], **made},
            }
            for made in _resources(lines, stay, timeline)
        ],
    }


def _resources(
    lines: Sequence[Line], stay: FhirStay, timeline: FhirTimeline
) -> Iterator[dict[str, Any]]:
    patient, encounter = make_uuid("patient", stay.patient), make_uuid("stay", stay.id)
    device = None if timeline.is_person else make_uuid("device", timeline.maker, timeline.version)
    yield {
        "resourceType": "Patient",
        "id": str(patient),
        "identifier": [{"system": codes.PATIENT, "value": stay.patient}],
    }
    yield {
        "resourceType": "Encounter",
        "id": str(encounter),
        "identifier": [{"system": codes.STAY, "value": stay.id}],
        "status": "unknown" if stay.discharged_at is None else "finished",
        "class": codes.INPATIENT,
        "subject": _refer(patient),
        "period": {
            "start": say_instant(stay.admitted_at),
            **({"end": say_instant(stay.discharged_at)} if stay.discharged_at else {}),
        },
    }
    if device is not None:
        yield {
            "resourceType": "Device",
            "id": str(device),
            "deviceName": [{"name": clean_text(timeline.maker), "type": "user-friendly-name"}],
            **({"version": [{"value": clean_text(timeline.version)}]} if timeline.version else {}),
        }
    for number, line in enumerate(lines):
        # Lines of a timeline without identifiers have their place instead.
        key = line.uid4 or f"line-{number}"
        target = make_uuid("occurrence", timeline.id, key)
        yield {
            "id": str(target),
            "identifier": [{"system": codes.UID, "value": f"{timeline.id}/{key}"}],
            **make_resource(line, stay, f"urn:uuid:{patient}", f"urn:uuid:{encounter}"),
        }
        agent = None if device is None else f"urn:uuid:{device}"
        yield {
            "id": str(make_uuid("provenance", timeline.id, key)),
            **make_provenance(line, f"urn:uuid:{target}", agent, stay, timeline),
        }


def _refer(to: object) -> dict[str, str]:
    return {"reference": f"urn:uuid:{to}"}
