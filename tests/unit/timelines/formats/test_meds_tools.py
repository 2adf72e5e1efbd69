"""MEDS' own schemas accept the export, and meds_reader reads it."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import meds
import meds_reader
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings

from tests.unit.timelines.formats.cohorts import bare_case, cohorts
from tests.unit.timelines.formats.foreign_cases import ADMITTED, case_lines
from timelines.formats.lines import CaseLines
from timelines.formats.meds.writer import subject_id, write_meds

CREATED = datetime(2026, 1, 1, tzinfo=UTC)
NOTE = "😀 Fever, then ceftriaxone."


def write(cases: list[CaseLines], out: Path) -> None:
    ordered = sorted(cases, key=lambda case: subject_id(case.encounter))
    write_meds(ordered, out, dataset="d", created=CREATED)


@pytest.mark.slow
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(cases=cohorts())
def test_the_schemas_of_meds_accept_every_file(cases: list[CaseLines]) -> None:
    with TemporaryDirectory() as folder:
        out = Path(folder)
        write(cases, out)
        data = pq.read_table(out / "data" / "0.parquet")
        splits = pq.read_table(out / meds.subject_splits_filepath)
        codes = pq.read_table(out / meds.code_metadata_filepath)
        metadata = json.loads((out / meds.dataset_metadata_filepath).read_text())
    meds.DataSchema.validate(data)
    meds.SubjectSplitSchema.validate(splits)
    meds.CodeMetadataSchema.validate(codes)
    meds.DatasetMetadataSchema.validate(metadata)
    subjects = data["subject_id"].to_pylist()
    assert subjects == sorted(subjects)
    assert splits["subject_id"].to_pylist() == sorted(set(subjects))
    assert set(data["code"].to_pylist()) <= set(codes["code"].to_pylist())


def run(script: str, *arguments: Path | str) -> str:
    """Run a script of meds_reader; its faults end the process."""
    command = [Path(sys.executable).with_name(script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_meds_reader_has_every_value_of_the_export(tmp_path: Path) -> None:
    (fever,) = bare_case("7", NOTE, (2, 7)).lines
    drug = replace(
        fever,
        uid4="0001",
        lane="medication",
        time=4.5,
        known=None,
        context=("0000",),
        rows=(3, 14),
        reason="row 😀",
        decided_by="rules",
    )
    other = bare_case("9", NOTE, (2, 7))
    write([case_lines("7", NOTE, [(fever, drug)]), other], tmp_path / "meds")
    stored = tmp_path / "stored"
    run("meds_reader_convert", tmp_path / "meds", stored, "--num_threads", "1")
    assert "passed" in run("meds_reader_verify", tmp_path / "meds", stored)
    with meds_reader.SubjectDatabase(str(stored)) as database:
        assert set(database) == {7, 9}
        first, second = database[7].events
        assert (first.time, first.known, first.rows) == (None, 0, None)
        assert (second.code, second.rows) == ("OCCURRENCE//MEDICATION//PRESENT", "3 14")
        assert (second.context, second.reason, second.known) == ("0000", "row 😀", None)
        assert (second.hours, second.time) == (4.5, ADMITTED + timedelta(hours=4.5))


def test_a_subject_has_the_same_split_in_every_export(tmp_path: Path) -> None:
    cases = [bare_case(str(n), NOTE, (2, 7)) for n in range(200)]
    write(cases, tmp_path / "all")
    write(cases[::3], tmp_path / "some")
    whole, part = (
        {row["subject_id"]: row["split"] for row in pq.read_table(path).to_pylist()}
        for path in (tmp_path / name / meds.subject_splits_filepath for name in ("all", "some"))
    )
    assert part.items() <= whole.items()
    counts = [list(whole.values()).count(name) for name in ("train", "tuning", "held_out")]
    assert sum(counts) == len(cases)
    assert min(counts) > 5
    assert counts[0] > 2 * (counts[1] + counts[2])
