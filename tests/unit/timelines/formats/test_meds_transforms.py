"""Stages of MEDS-Transforms run over the exported MEDS."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from tests.unit.timelines.formats.cohorts import bare_case
from tests.unit.timelines.formats.foreign_cases import case_lines
from timelines.formats.meds.writer import subject_id, write_meds

NOTE = "😀 Fever, then ceftriaxone."
PIPELINE = """
input_dir: {folder}/meds
output_dir: {folder}/out
description: Subjects with at least three events, and how often each code occurs.
stages:
  - filter_subjects:
      min_events_per_subject: 3
  - aggregate_code_metadata:
      aggregations: ["code/n_occurrences", "code/n_subjects"]
"""


def test_subjects_are_filtered_and_codes_are_counted(tmp_path: Path) -> None:
    (line,) = bare_case("1", NOTE, (2, 7)).lines
    cases = []
    for number in range(1, 7):
        lines = [
            replace(line, uid4=f"{n:04x}", lane="medication" if n % 2 else "finding", time=float(n))
            for n in range(number)
        ]
        cases.append(case_lines(str(number), NOTE, [tuple(lines)]))
    cases.sort(key=lambda case: subject_id(case.encounter))
    write_meds(cases, tmp_path / "meds", dataset="d", created=datetime(2026, 1, 1, tzinfo=UTC))
    pipeline = tmp_path / "pipeline.yaml"
    pipeline.write_text(PIPELINE.format(folder=tmp_path), encoding="utf-8")
    for stage in ("filter_subjects", "aggregate_code_metadata"):
        run(pipeline, stage)
    (shard,) = (tmp_path / "out" / "data").glob("*.parquet")
    kept = Counter(pl.read_parquet(shard)["subject_id"].to_list())
    # Stays with one and two occurrences are left out; a subject is a number of its case id.
    assert sorted(kept.values()) == [3, 4, 5, 6]
    # Codes are counted in the subjects of the export's training split.
    splits = pl.read_parquet(tmp_path / "meds" / "metadata" / "subject_splits.parquet")
    train = splits.filter(pl.col("split") == "train")["subject_id"].to_list()
    sizes = [kept[subject] for subject in train if subject in kept]
    assert sizes
    codes = pl.read_parquet(tmp_path / "out" / "metadata" / "codes.parquet")
    counted = {row[0]: row[1:3] for row in codes.iter_rows()}
    assert counted == {
        "OCCURRENCE//FINDING//PRESENT": (sum((n + 1) // 2 for n in sizes), len(sizes)),
        "OCCURRENCE//MEDICATION//PRESENT": (sum(n // 2 for n in sizes), len(sizes)),
    }


def run(pipeline: Path, stage: str) -> None:
    """Run one stage; its faults end the process."""
    script = Path(sys.executable).with_name("MEDS_transform-stage")
    done = subprocess.run(
        [script, pipeline, stage], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
