"""ACES, over the exported MEDS, finds the members of the same window."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import meds
import polars as pl

from cohorts.engine.aces.importing import read_aces
from cohorts.engine.members import evaluate
from cohorts.engine.values import Fact, make_facts, make_stays
from tests.unit.cohorts.test_aces_members import run_aces
from tests.unit.timelines.formats.cohorts import bare_case
from tests.unit.timelines.formats.foreign_cases import case_lines
from timelines.formats.lines import CaseLines
from timelines.formats.meds.writer import subject_id, write_meds

NOTE = "😀 Fever, then ceftriaxone."
CODES = {
    "fever": ["OCCURRENCE//FINDING//PRESENT"],
    "drug": ["OCCURRENCE//MEDICATION//PRESENT"],
}
TASK = """
predicates:
  fever: {code: OCCURRENCE//FINDING//PRESENT}
  drug: {code: OCCURRENCE//MEDICATION//PRESENT}
trigger: fever
windows:
  soon:
    start: trigger
    end: start + 6h
    start_inclusive: true
    end_inclusive: true
    has:
      drug: (1, None)
"""


def make_case(number: int, rng: random.Random) -> tuple[CaseLines, list[Fact]]:
    """Return a stay with up to six occurrences, and the same as facts."""
    (line,) = bare_case(str(number), NOTE, (2, 7)).lines
    lines, facts = [], []
    for n in range(rng.randint(1, 6)):
        lane, concept = rng.choice([("finding", "fever"), ("medication", "drug")])
        # Denied occurrences have another code and are no facts.
        polarity = rng.choice(["present", "present", "absent"])
        time = rng.randint(0, 40) / 2
        lines.append(replace(line, uid4=f"{n:04x}", lane=lane, polarity=polarity, time=time))
        if polarity == "present":
            facts.append(Fact(number, concept, time, ordinal=n))
    return case_lines(str(number), NOTE, [tuple(lines)]), facts


def test_the_export_has_the_members_of_the_window(tmp_path: Path) -> None:
    rng = random.Random(17)
    made = [make_case(number, rng) for number in range(1, 121)]
    cases = sorted((case for case, _ in made), key=lambda case: subject_id(case.encounter))
    write_meds(cases, tmp_path / "meds", dataset="d", created=datetime(2026, 1, 1, tzinfo=UTC))
    window = read_aces(TASK, codes=CODES, name="drug within 6 h of fever").window
    found = evaluate(
        window,
        make_facts(fact for _, facts in made for fact in facts),
        make_stays({"stay": number} for number in range(1, 121)),
    )
    members = set(found.filter(pl.col("status") == "yes")["stay"])
    assert 20 < len(members) < 100
    subjects = {subject_id(case.encounter): int(case.encounter.case_id) for case, _ in made}
    shards = tmp_path / "meds" / meds.data_subdirectory
    (shard,) = shards.rglob("*.parquet")
    assert {subjects[subject] for subject in run_aces(TASK, shard)} == members
