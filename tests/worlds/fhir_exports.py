"""Small FHIR exports: one stay with everything, and MIMIC-IV on FHIR.

`write_mimic` writes an excerpt of MIMIC-IV as the project MIMIC-IV on FHIR does: its profiles,
identifiers, references and elements are those of the SQL in github.com/kind-lab/mimic-fhir.
"""

from __future__ import annotations

import base64
import csv
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_OID, uuid5

SITE = "http://mimic.mit.edu/fhir/mimic"
#: The database's clock is that of Boston; the offset of a summer day.
OFFSET = "-04:00"
Json = dict[str, Any]


def concept(text: str, code: str = "", system: str = "http://loinc.org") -> Json:
    """Return a concept in words, with a code if there is one."""
    return {"text": text, **({"coding": [{"system": system, "code": code}]} if code else {})}


def encode(text: str | bytes) -> str:
    return base64.b64encode(text.encode() if isinstance(text, str) else text).decode()


def make_stay(name: str = "one", *, day: str = "2150-01-01", ended: bool = True) -> list[Json]:
    """Return a patient with a stay and a resource of every type that is read."""
    patient = {"reference": f"Patient/p-{name}"}
    stay = {"subject": patient, "encounter": {"reference": f"Encounter/{name}"}}
    given = {"subject": patient, "context": {"reference": f"Encounter/{name}"}}
    heparin = {"medicationReference": {"reference": "Medication/heparin"}}

    def at(clock: str) -> str:
        return f"{day}T{clock}:00+02:00"

    dose = {"value": 80, "unit": "mg"}
    lab = {"coding": [{"code": "laboratory"}]}
    attachment = {"contentType": "text/plain", "data": encode(f"Note of {name}.\nDischarged.")}
    return [
        {"resourceType": "Patient", "id": f"p-{name}", "gender": "female"},
        {
            "resourceType": "Encounter",
            "id": name,
            "status": "finished",
            "class": {"code": "IMP"},
            "subject": patient,
            "period": {"start": at("08:00"), **({"end": at("20:00")} if ended else {})},
            "location": [{"location": {"reference": "Location/ward"}}],
            "hospitalization": {"dischargeDisposition": concept("Home")},
        },
        {
            "resourceType": "Encounter",
            "id": f"{name}-icu",
            "status": "finished",
            "class": {"code": "ACUTE"},
            "subject": patient,
            "partOf": {"reference": f"Encounter/{name}"},
            "period": {"start": at("09:00"), "end": at("12:00")},
        },
        {
            "resourceType": "DocumentReference",
            "status": "current",
            "type": concept("Summary", "18842-5"),
            "subject": patient,
            "date": at("19:00"),
            "content": [{"attachment": attachment}],
            "context": {"encounter": [{"reference": f"Encounter/{name}"}]},
        },
        {
            "resourceType": "DiagnosticReport",
            "status": "final",
            "code": concept("CT of the head", "18748-4"),
            **stay,
            "issued": at("11:00"),
            "presentedForm": [{"contentType": "text/html", "data": encode(f"<p>No bleed, {name}")}],
        },
        {
            "resourceType": "Observation",
            "id": f"lactate-{name}",
            "status": "final",
            "category": [lab],
            "code": concept("Lactate", "2524-7"),
            **stay,
            "effectiveDateTime": at("10:00"),
            "issued": at("10:40"),
            "valueQuantity": {"value": 4.1, "unit": "mmol/L"},
            "specimen": {"reference": "Specimen/blood"},
        },
        {
            "resourceType": "Observation",
            "id": f"pressure-{name}",
            "status": "final",
            "category": [{"coding": [{"code": "vital-signs"}]}],
            "code": concept("Blood pressure", "85354-9"),
            "subject": patient,
            "effectiveDateTime": at("10:05"),
            "component": [
                {"code": concept("Systolic", "8480-6"), "valueQuantity": {"value": 120}},
                {"code": concept("Diastolic", "8462-4"), "valueQuantity": {"value": 70}},
            ],
        },
        {
            "resourceType": "MedicationRequest",
            "status": "active",
            "intent": "order",
            **heparin,
            **stay,
        }
        | {"authoredOn": at("09:30")},
        {"resourceType": "MedicationAdministration", "status": "completed", **heparin, **given}
        | {"effectiveDateTime": at("09:45"), "dosage": {"dose": dose}},
        {"resourceType": "MedicationDispense", "status": "completed", **heparin, **given}
        | {"whenHandedOver": at("09:40"), "quantity": dose},
        {"resourceType": "Condition", "code": concept("Sepsis", "A41.9"), **stay}
        | {"recordedDate": at("09:10")},
        {"resourceType": "Procedure", "status": "completed", "code": concept("Intubation"), **stay}
        | {"performedPeriod": {"start": at("09:20"), "end": at("09:25")}},
        {"resourceType": "ServiceRequest", "status": "active", "intent": "order", **stay}
        | {"code": concept("Chest x-ray"), "authoredOn": at("09:15")},
        {"resourceType": "Specimen", "id": "blood", "type": concept("Blood"), "subject": patient}
        | {"collection": {"collectedDateTime": at("10:00")}},
        {"resourceType": "Location", "id": "ward", "name": "Medical Ward"},
        {"resourceType": "Medication", "id": "heparin", "code": concept("Heparin", "5224")},
    ]


def write_bundle(path: Path, resources: list[Json], *, indent: int | None = None) -> None:
    """Write a collection."""
    entries = [
        {"fullUrl": uuid5(NAMESPACE_OID, f"{path.name} {i}").urn, "resource": resource}
        for i, resource in enumerate(resources)
    ]
    bundle = {"resourceType": "Bundle", "type": "collection", "entry": entries}
    _write(path, json.dumps(bundle, indent=indent))


def write_lines(path: Path, resources: list[Json]) -> None:
    """Write NDJSON, gzipped if the name ends so."""
    _write(path, "".join(json.dumps(resource) + "\n" for resource in resources))


def write_bulk(root: Path, resources: list[Json], *, suffix: str = ".ndjson") -> None:
    """Write a file for each resource type."""
    root.mkdir(parents=True, exist_ok=True)
    for type in sorted({r["resourceType"] for r in resources}):
        of_type = [r for r in resources if r["resourceType"] == type]
        write_lines(root / f"{type}.000{suffix}", of_type)


def _write(path: Path, text: str) -> None:
    data = text.encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


# MIMIC-IV on FHIR.


def write_mimic(root: Path, source: Path) -> None:
    """Write the tables of an excerpt of MIMIC-IV as its FHIR project does."""
    labels = {row["itemid"]: row for row in _read(source, "hosp/d_labitems")}
    items = {row["itemid"]: row["label"] for row in _read(source, "icu/d_items")}
    titles = {
        (row["icd_code"], row["icd_version"]): row["long_title"]
        for row in _read(source, "hosp/d_icd_diagnoses")
    }
    made = {
        "MimicPatient": [
            {"id": _id("Patient", subject), "identifier": [_identifier("patient", subject)]}
            for subject in sorted({row["subject_id"] for row in _read(source, "hosp/admissions")})
        ],
        "MimicEncounter": [_stay(row) for row in _read(source, "hosp/admissions")],
        "MimicEncounterICU": [_icu_stay(row) for row in _read(source, "icu/icustays")],
        "MimicLocation": [
            {"id": _id("Location", row["first_careunit"]), "name": row["first_careunit"]}
            for row in _read(source, "icu/icustays")
        ],
        "MimicSpecimenLab": [
            _specimen(row, labels)
            for row in _read(source, "hosp/labevents")
            if row["itemid"] in labels
        ],
        "MimicObservationLabevents": [_lab(row, labels) for row in _read(source, "hosp/labevents")],
        "MimicObservationOutputevents": [
            _charted(row, items, "outputevents") for row in _read(source, "icu/outputevents")
        ],
        "MimicCondition": [_diagnosis(row, titles) for row in _read(source, "hosp/diagnoses_icd")],
        "MimicMedicationAdministrationICU": [
            _infusion(row, items) for row in _read(source, "icu/inputevents")
        ],
    }
    kinds = {"MimicEncounterICU": "Encounter", "MimicSpecimenLab": "Specimen"}
    for name, resources in made.items():
        type = kinds.get(name) or next(
            t
            for t in ("Patient", "Encounter", "Location", "Observation", "Condition", "Medication")
            if name.startswith(f"Mimic{t}")
        )
        type = "MedicationAdministration" if type == "Medication" else type
        lines = [{"resourceType": type, **_strip(resource)} for resource in resources]
        write_lines(root / f"{name}.ndjson.gz", list({line["id"]: line for line in lines}.values()))


def _read(source: Path, name: str) -> Iterator[dict[str, str]]:
    with (source / f"{name}.csv").open(newline="") as file:
        yield from csv.DictReader(file)


def _id(kind: str, *parts: str) -> str:
    return str(uuid5(NAMESPACE_OID, "-".join(("MIMIC-IV", kind, *parts))))


def _identifier(kind: str, value: str) -> Json:
    return {"system": f"{SITE}/identifier/{kind}", "value": value}


def _profile(name: str) -> Json:
    return {"meta": {"profile": [f"{SITE}/StructureDefinition/mimic-{name}"]}}


def _subject(row: dict[str, str]) -> Json:
    return {"subject": {"reference": f"Patient/{_id('Patient', row['subject_id'])}"}}


def _in_stay(row: dict[str, str], field: str) -> Json:
    """Return the reference to the stay; null if the row names none."""
    if not row["hadm_id"]:
        return {}
    return {field: {"reference": f"Encounter/{_id('Encounter', row['hadm_id'])}"}}


def _time(text: str) -> str | None:
    return text.strip().replace(" ", "T") + OFFSET if text.strip() else None


def _coded(system: str, code: str, display: str | None = None) -> Json:
    coding = {"system": f"{SITE}/CodeSystem/{system}", "code": code, "display": display}
    return {"coding": [coding]}


def _strip(value: Any) -> Any:
    """Leave out nulls, as jsonb_strip_nulls does."""
    if isinstance(value, dict):
        return {key: _strip(part) for key, part in value.items() if part is not None}
    return [_strip(part) for part in value] if isinstance(value, list) else value


def _stay(row: dict[str, str]) -> Json:
    return {
        "id": _id("Encounter", row["hadm_id"]),
        **_profile("encounter"),
        "identifier": [_identifier("encounter-hosp", row["hadm_id"])],
        "status": "finished",
        "class": {"code": "EMER", "display": "emergency"},
        **_subject(row),
        "period": {"start": _time(row["admittime"]), "end": _time(row["dischtime"])},
        "hospitalization": {
            "admitSource": _coded("mimic-admit-source", row["admission_location"]),
            "dischargeDisposition": _coded(
                "mimic-discharge-disposition", row["discharge_location"]
            ),
        },
    }


def _icu_stay(row: dict[str, str]) -> Json:
    place = {"reference": f"Location/{_id('Location', row['first_careunit'])}"}
    return {
        "id": _id("EncounterICU", row["stay_id"]),
        **_profile("encounter"),
        "identifier": [_identifier("encounter-icu", row["stay_id"])],
        "status": "finished",
        "class": {"code": "ACUTE"},
        **_subject(row),
        "period": {"start": _time(row["intime"]), "end": _time(row["outtime"])},
        "location": [{"location": place}],
        "partOf": _in_stay(row, "at")["at"],
    }


def _specimen(row: dict[str, str], labels: dict[str, dict[str, str]]) -> Json:
    return {
        "id": _id("SpecimenLab", row["specimen_id"]),
        **_profile("specimen"),
        "type": _coded("mimic-lab-fluid", labels[row["itemid"]]["fluid"]),
        **_subject(row),
        "collection": {"collectedDateTime": _time(row["charttime"])},
    }


def _lab(row: dict[str, str], labels: dict[str, dict[str, str]]) -> Json:
    unit, number = row["valueuom"] or None, row["valuenum"]
    known = labels.get(row["itemid"])
    return {
        "id": _id("ObservationLabevents", row["labevent_id"]),
        **_profile("observation-labevents"),
        "status": "final",
        "category": [{"coding": [{"code": "laboratory"}]}],
        "code": _coded("mimic-d-labitems", row["itemid"], known["label"] if known else None),
        **_subject(row),
        **_in_stay(row, "encounter"),
        "effectiveDateTime": _time(row["charttime"]),
        "issued": _time(row["storetime"]),
        "valueQuantity": {"value": float(number), "unit": unit, "code": unit} if number else None,
        "valueString": None if number else row["value"] or row["comments"] or None,
        "note": [{"text": row["comments"]}] if row["comments"] else None,
        "specimen": {"reference": f"Specimen/{_id('SpecimenLab', row['specimen_id'])}"}
        if known
        else None,
    }


def _charted(row: dict[str, str], items: dict[str, str], table: str) -> Json:
    return {
        "id": _id(f"Observation-{table}", row["stay_id"], row["charttime"], row["itemid"]),
        **_profile(f"observation-{table}"),
        "status": "final",
        "category": [_coded("mimic-observation-category", "Output")],
        "code": _coded("mimic-d-items", row["itemid"], items.get(row["itemid"])),
        **_subject(row),
        "encounter": {"reference": f"Encounter/{_id('EncounterICU', row['stay_id'])}"},
        "effectiveDateTime": _time(row["charttime"]),
        "issued": _time(row["storetime"]),
        "valueQuantity": {"value": float(row["value"]), "unit": row["valueuom"]},
    }


def _diagnosis(row: dict[str, str], titles: dict[tuple[str, str], str]) -> Json:
    return {
        "id": _id("Condition", row["hadm_id"], row["seq_num"], row["icd_code"]),
        **_profile("condition"),
        "code": _coded(
            "mimic-diagnosis-icd9",
            row["icd_code"],
            titles.get((row["icd_code"], row["icd_version"])),
        ),
        **_subject(row),
        **_in_stay(row, "encounter"),
    }


def _infusion(row: dict[str, str], items: dict[str, str]) -> Json:
    rate = {"value": float(row["rate"]), "unit": row["rateuom"]} if row["rate"] else None
    period = {"start": _time(row["starttime"]), "end": _time(row["endtime"])}
    return {
        "id": _id("MedicationAdministrationICU", row["stay_id"], row["orderid"], row["itemid"]),
        **_profile("medication-administration-icu"),
        "status": "completed",
        "medicationCodeableConcept": _coded(
            "mimic-medication-icu", row["itemid"], items.get(row["itemid"])
        ),
        **_subject(row),
        **_in_stay(row, "context"),
        "effectivePeriod": period if rate else None,
        "effectiveDateTime": None if rate else _time(row["endtime"]),
        "dosage": {
            "dose": {"value": float(row["amount"]), "unit": row["amountuom"]},
            "rateQuantity": rate,
        },
    }
