"""Measure how fast FHIR is imported: `python -m benchmarks.fhir`.

A bulk export of Observations (with and without components) and stays is compared with two
yardsticks: reading the same JSON with orjson and nothing else, and COPY of the very rows that came
out of the import, from memory, into the same table. The goal is 20,000 resources a second. The
largest memory of the import is shown for a small and the full export: it must not grow with it.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import orjson

from benchmarks.ingest import peak_megabytes, time_copy, time_import
from benchmarks.support.database import private_database

GOAL = 20_000
STAYS = 100
CODES = 60
LOINC = "http://loinc.org"


def main() -> int:
    """Print the rates and the ratios; return 1 if the goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--resources", type=int, default=200_000)
    count = parser.parse_args().resources
    with tempfile.TemporaryDirectory() as folder, private_database():
        small = write_export(Path(folder) / "small", count // 10)
        full = write_export(Path(folder) / "full", count)
        time_import(small, "warm", "fhir")
        memory = peak_megabytes()
        computing = time.process_time()
        seconds = time_import(full, "full", "fhir")
        computing = time.process_time() - computing
        print(
            f"largest memory: {memory:.0f} MB after {count // 10:,} resources,"
            f" {peak_megabytes():.0f} MB after {count:,}"
        )
        parsing = time_parsing(full)
        rows, copying = time_copy("full", "fhir")
    rate = count / seconds
    print(f"import: {rate:,.0f} resources/s (goal {GOAL:,}), {rows / seconds:,.0f} rows/s")
    print(f"        {count / computing:,.0f} resources for each second of this process's CPU time")
    print(f"JSON:   {count / parsing:,.0f} resources/s, ratio {parsing / seconds:.2f}")
    print(f"COPY:   {rows / copying:,.0f} rows/s, ratio {copying / seconds:.2f}")
    return int(rate < GOAL)


def write_export(root: Path, count: int) -> Path:
    """Write a bulk export with that many Observations."""
    random = np.random.default_rng(11)
    root.mkdir()
    _write(root / "Encounter.ndjson", map(_encounter, range(STAYS)))
    stays, codes = random.integers(0, STAYS, count), random.integers(0, CODES, count)
    values = random.normal(90, 20, count).round(1)
    moments = np.datetime_as_string(
        np.datetime64("2150-01-01T08:00:00")
        + random.integers(0, 864_000, count).astype("timedelta64[s]")
    )
    facts = zip(stays.tolist(), codes.tolist(), values.tolist(), moments.tolist(), strict=True)
    _write(root / "Observation.ndjson", (_observation(i, *fact) for i, fact in enumerate(facts)))
    return root


def time_parsing(root: Path) -> float:
    """Return the seconds of reading every line as JSON."""
    started = time.perf_counter()
    for path in sorted(root.glob("*.ndjson")):
        with path.open("rb") as file:
            for line in file:
                orjson.loads(line)
    return time.perf_counter() - started


def _write(path: Path, resources: Iterable[dict[str, object]]) -> None:
    with path.open("wb") as file:
        file.writelines(orjson.dumps(resource) + b"\n" for resource in resources)


def _encounter(i: int) -> dict[str, object]:
    return {
        "resourceType": "Encounter",
        "id": f"stay-{i}",
        "status": "finished",
        "class": {"code": "IMP"},
        "subject": {"reference": f"Patient/patient-{i}"},
        "period": {"start": "2150-01-01T08:00:00+02:00", "end": "2150-01-11T08:00:00+02:00"},
    }


def _observation(i: int, stay: int, code: int, value: float, moment: str) -> dict[str, object]:
    """Return a laboratory value; every tenth is a pressure with components."""
    quantity = {"value": value, "unit": "mmol/L", "system": "http://unitsofmeasure.org"}
    made: dict[str, object] = {
        "resourceType": "Observation",
        "id": f"observation-{i}",
        "status": "final",
        "category": [
            {
                "coding": [
                    {
                        "system": "http://terminology.hl7.org/CodeSystem/observation-category",
                        "code": "vital-signs" if i % 10 == 0 else "laboratory",
                    }
                ]
            }
        ],
        "code": {"coding": [{"system": LOINC, "code": f"{code}-1", "display": f"Analyte {code}"}]},
        "subject": {"reference": f"Patient/patient-{stay}"},
        "encounter": {"reference": f"Encounter/stay-{stay}"},
        "effectiveDateTime": f"{moment}+02:00",
        "issued": f"{moment}.123+02:00",
    }
    if i % 10:
        return {**made, "valueQuantity": quantity}
    names = ("Systolic blood pressure", "Diastolic blood pressure")
    parts = [{"code": {"text": name}, "valueQuantity": quantity} for name in names]
    return {**made, "component": parts}


if __name__ == "__main__":
    raise SystemExit(main())
