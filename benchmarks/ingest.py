"""Measure how fast rows are imported: `python -m benchmarks.ingest`.

A million charted rows of MIMIC-IV are compared with COPY of the same rows. The import reads the
file, checks it, maps it to events, stores the rows and builds every series with its summary. The
yardstick is COPY of the very rows that came out of it, from memory, into the same table with the
same index, partitions and foreign key. The goal is half its rate. The largest memory of the import
is shown for a small and the full file: it must not grow with the file.
"""

from __future__ import annotations

import argparse
import io
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.support.database import private_database

GOAL = 0.5
ADMISSIONS = 100
ITEMS = 300
PIECE = 1 << 20


def main() -> int:
    """Print the rates and the ratio; return 1 if the goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    count = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as folder, private_database():
        small = write_mimic(Path(folder) / "small", count // 10)
        full = write_mimic(Path(folder) / "full", count)
        time_import(small, "warm")
        memory = peak_megabytes()
        seconds = time_import(full, "full")
        print(
            f"largest memory: {memory:.0f} MB after {count // 10:,} rows, {peak_megabytes():.0f} MB"
            f" after {count:,}"
        )
        rows, yardstick = time_copy("full")
        print(
            f"import: {rows / seconds:,.0f} rows/s ({rows:,} rows in {seconds:.1f} s, series"
            " included)"
        )
        print(f"COPY:   {rows / yardstick:,.0f} rows/s")
        ratio = yardstick / seconds
        print(f"ratio: {ratio:.2f} (goal {GOAL})")
    return 0 if ratio >= GOAL else 1


def write_mimic(root: Path, rows: int) -> Path:
    """Write a MIMIC-IV directory with that many charted rows.

    It has admissions and d_items too.
    """
    random = np.random.default_rng(11)
    for name in ("hosp", "icu"):
        (root / name).mkdir(parents=True)
    columns = "subject_id,hadm_id,admittime,dischtime,deathtime,admission_type,admission_location,discharge_location,edregtime,edouttime"
    stays = [
        f"{i},{20_000_000 + i},2150-01-01 08:00:00,2150-01-11 08:00:00,,URGENT,CLINIC,HOME,,"
        for i in range(ADMISSIONS)
    ]
    (root / "hosp" / "admissions.csv").write_text("\n".join([columns, *stays, ""]))
    items = [f"{220_000 + i},Charted observation {i},,chartevents,Routine" for i in range(ITEMS)]
    (root / "icu" / "d_items.csv").write_text(
        "\n".join(["itemid,label,abbreviation,linksto,category", *items, ""])
    )
    stay, item, value = (
        np.sort(random.integers(0, ADMISSIONS, rows)),
        random.integers(0, ITEMS, rows),
        random.normal(90, 20, rows).round(1),
    )
    moments = np.datetime_as_string(
        np.datetime64("2150-01-01T08:00:00")
        + random.integers(0, 864_000, rows).astype("timedelta64[s]")
    )
    with (root / "icu" / "chartevents.csv").open("w") as file:
        file.write(
            "subject_id,hadm_id,stay_id,caregiver_id,charttime,storetime,itemid,value,valuenum,valueuom,warning\n"
        )
        for s, t, i, v in zip(
            stay.tolist(), moments.tolist(), item.tolist(), value.tolist(), strict=True
        ):
            t = t.replace("T", " ")
            file.write(f"{s},{20_000_000 + s},{s},1,{t},{t},{220_000 + i},{v},{v},mmHg,0\n")
    return root


def time_import(path: Path, name: str, format: str = "mimic_iv") -> float:
    """Import the directory as a dataset of that name."""
    from accounts.models import Study
    from ehr.actions import import_dataset

    study, _ = Study.objects.get_or_create(name="benchmark")
    started = time.perf_counter()
    import_dataset(path=path, format=format, name=name, study=study, by=None)
    return time.perf_counter() - started


def time_copy(name: str, format: str = "mimic_iv") -> tuple[int, float]:
    """Return (rows, seconds) of a plain COPY of the dataset's rows.

    They go into the partition of a second dataset.
    """
    from django.db import connection, transaction

    from ehr.models import Dataset, Encounter
    from ehr.partitions import ensure_partition

    first = Dataset.objects.get(name=name)
    second = Dataset.objects.create(study=first.study, name="copied", format=format)
    ensure_partition(second.pk)
    stays = first.encounters.values_list("case_id", "admitted_at")
    Encounter.objects.bulk_create(
        Encounter(dataset=second, case_id=case_id, admitted_at=admitted)
        for case_id, admitted in stays
    )
    columns = 'row_index, "time", result_time, event, value, numeric_value, unit, source, time_kind'
    text = io.BytesIO()
    # Encounters have a unit, too.
    wanted = ", ".join(f"r.{column}" for column in columns.split(", "))
    with connection.cursor() as cursor:
        query = f"""SELECT {second.pk}, e2.id, {wanted} FROM ehr_sourcerow r JOIN ehr_encounter e1 ON e1.id = r.encounter_id
                    JOIN ehr_encounter e2 ON e2.case_id = e1.case_id AND e2.dataset_id = {second.pk} WHERE r.dataset_id = {first.pk}"""
        with cursor.copy(f"COPY ({query}) TO STDOUT") as copy:
            for piece in copy:
                text.write(piece)
        data = text.getbuffer()
        started = time.perf_counter()
        with (
            transaction.atomic(),
            cursor.copy(
                f"COPY ehr_sourcerow (dataset_id, encounter_id, {columns}) FROM STDIN"
            ) as copy,
        ):
            for start in range(0, len(data), PIECE):
                copy.write(data[start : start + PIECE])
        seconds = time.perf_counter() - started
        cursor.execute("SELECT count(*) FROM ehr_sourcerow WHERE dataset_id = %s", [second.pk])
        return cursor.fetchone()[0], seconds


def peak_megabytes() -> float:
    """The largest memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    raise SystemExit(main())
