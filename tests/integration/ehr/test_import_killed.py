"""A killed import goes on after its last block and doubles nothing.

The command is killed while it stores a large table, then run again.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from accounts.models import Study
from config.env import BASE_DIR
from ehr.models import Encounter, ImportedPart, SourceRow
from tests.paths import DATA

MIMIC = DATA / "ehr" / "mimic_iv"
ROWS = 600_000


def large_mimic(root: Path) -> None:
    """The excerpt with many charted rows."""
    shutil.copytree(MIMIC, root)
    line = "10007928,20338077,1,2,2129-04-06 00:{:02}:00,2129-04-06 00:35:00,220045,{},112,bpm,0\n"
    with (root / "icu" / "chartevents.csv").open("a") as file:
        file.writelines(line.format(i % 60, i) for i in range(ROWS))


def large_fhir(root: Path) -> None:
    """One stay with many Observations."""
    root.mkdir()
    stay = {
        "resourceType": "Encounter",
        "id": "s1",
        "status": "finished",
        "class": {"code": "IMP"},
        "subject": {"reference": "Patient/p1"},
        "period": {"start": "2150-01-01T08:00:00Z", "end": "2150-01-05T10:00:00Z"},
    }
    (root / "Encounter.ndjson").write_text(json.dumps(stay) + "\n")
    with (root / "Observation.ndjson").open("w") as file:
        for i in range(ROWS):
            row = {
                "resourceType": "Observation",
                "id": str(i),
                "status": "final",
                "code": {"text": "Heart rate"},
                "subject": {"reference": "Patient/p1"},
                "encounter": {"reference": "Encounter/s1"},
                "effectiveDateTime": f"2150-01-02T00:{i % 60:02}:00Z",
                "valueQuantity": {"value": i, "unit": "/min"},
            }
            file.write(json.dumps(row) + "\n")


def large_omop(root: Path) -> None:
    """One visit with many measurements."""
    root.mkdir()
    (root / "visit_occurrence.csv").write_text(
        "visit_occurrence_id,person_id,visit_concept_id,visit_start_date,visit_start_datetime,"
        "visit_end_date,visit_end_datetime\n"
        "1,1,9201,2150-01-01,2150-01-01 08:00:00,2150-01-05,2150-01-05 10:00:00\n"
    )
    with (root / "measurement.csv").open("w") as file:
        file.write(
            "measurement_id,person_id,measurement_concept_id,measurement_date,"
            "measurement_datetime,value_as_number,visit_occurrence_id,measurement_source_value\n"
        )
        file.writelines(
            f"{i},1,0,2150-01-02,2150-01-02 00:{i % 60:02}:00,{i},1,HR\n" for i in range(ROWS)
        )


#: Format, what makes its folder, the large file, how the source of its rows begins, and how many
#: rows the file has before.
CASES = [
    ("mimic_iv", large_mimic, "icu/chartevents", "chartevents", 2),
    ("fhir", large_fhir, "Observation", "Observation", 0),
    ("omop", large_omop, "measurement", "measurement", 0),
]


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("format", "make", "table", "source", "before"), CASES, ids=[c[0] for c in CASES]
)
def test_a_killed_import_goes_on_after_its_last_block(
    tmp_path: Path,
    process_environment: Mapping[str, str],
    format: str,
    make: Callable[[Path], None],
    table: str,
    source: str,
    before: int,
) -> None:
    make(tmp_path / "m")
    arguments = [f"--format={format}", f"--path={tmp_path / 'm'}", "--name=cohort"]
    arguments += ["--study=imports", *(["--cases=20338077"] if format == "mimic_iv" else [])]
    Study.objects.get_or_create(name="imports")
    command = [sys.executable, "manage.py", "import_dataset", *arguments]
    process = subprocess.Popen(
        command,
        cwd=BASE_DIR,
        env=process_environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 600
    while (
        not ImportedPart.objects.filter(key__startswith=table, key__contains="#").exists()
        and process.poll() is None
        and time.monotonic() < deadline
    ):
        time.sleep(0.01)
    assert process.poll() is None, "the import ended before it could be killed"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert 0 < SourceRow.objects.count() < ROWS
    subprocess.run(command, cwd=BASE_DIR, env=process_environment, capture_output=True, check=False)
    rows = SourceRow.objects.filter(source__startswith=source).order_by("row_index")
    values = list(rows.values_list("value", flat=True))[before:]
    assert [int(float(value)) for value in values] == list(range(ROWS))
    assert Encounter.objects.get().row_count == SourceRow.objects.count()
    assert not ImportedPart.objects.filter(key__contains="#").exists()
