"""ACES, over MEDS data made from the facts, finds the same members."""

from __future__ import annotations

import logging
import random
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from aces.config import TaskExtractorConfig
from aces.predicates import get_predicates_df
from aces.query import query
from omegaconf import DictConfig

from cohorts.engine.aces.exporting import write_aces
from cohorts.engine.aces.importing import read_aces
from cohorts.engine.members import evaluate
from cohorts.engine.values import Fact, make_facts, make_stays
from tests.marks import deep

CODES = {"fever": ["FEVER"], "culture": ["CULTURE"], "antibiotic": ["VANC", "CEFT"], "k": ["K"]}
ADMITTED = datetime(2150, 1, 1)
PREDICATES = """
predicates:
  fever: {code: FEVER}
  culture: {code: CULTURE}
  vanc: {code: VANC}
  ceft: {code: CEFT}
  antibiotic: {expr: "or(vanc, ceft)"}
  any_antibiotic: {code: {any: [CEFT, VANC]}}
  high_k: {code: K, value_min: 5, value_min_inclusive: false}
"""
#: The rest of each task, by what it shows.
TASKS = {
    "event in a closed window": """
trigger: fever
windows:
  soon:
    start: trigger
    end: start + 3h
    start_inclusive: true
    end_inclusive: true
    has:
      antibiotic: (1, None)
""",
    "open ends": """
trigger: fever
windows:
  soon:
    start: trigger
    end: start + 3h
    start_inclusive: false
    end_inclusive: false
    has:
      antibiotic: (1, None)
      culture: (None, 0)
""",
    "a window before and one after": """
trigger: culture
windows:
  before:
    start: end - 1 day
    end: trigger
    start_inclusive: true
    end_inclusive: false
    has:
      antibiotic: (None, 0)
  after:
    start: trigger
    end: start + 6h
    start_inclusive: false
    end_inclusive: true
    has:
      any_antibiotic: (2, 3)
""",
    "a window after a gap": """
trigger: fever
windows:
  gap:
    start: trigger
    end: start + 2h
    start_inclusive: false
    end_inclusive: true
    has:
      culture: (None, 0)
  target:
    start: gap.end
    end: start + 4 hours
    start_inclusive: false
    end_inclusive: true
    has:
      culture: (1, None)
""",
    "the trigger counts": """
trigger: fever
windows:
  again:
    start: trigger
    end: start + 5h
    start_inclusive: true
    end_inclusive: true
    has:
      fever: (2, 2)
""",
    "values": """
trigger: high_k
windows:
  next:
    start: trigger
    end: start + 4h
    start_inclusive: true
    end_inclusive: true
    has:
      high_k: (2, None)
      fever: (None, 1)
""",
    "from the start of the record": """
trigger: culture
windows:
  history:
    start: null
    end: trigger
    start_inclusive: true
    end_inclusive: false
    has:
      antibiotic: (1, None)
""",
    "to the end of the record": """
trigger: culture
windows:
  rest:
    start: trigger
    end: null
    start_inclusive: false
    end_inclusive: true
    has:
      antibiotic: (None, 0)
      fever: (1, None)
""",
    "from the start of the record into the stay": """
trigger: culture
windows:
  history:
    start: null
    end: trigger + 3h
    start_inclusive: true
    end_inclusive: true
    has:
      antibiotic: (1, None)
""",
    "from some hours on": """
trigger: culture
windows:
  rest:
    start: trigger + 3h
    end: null
    start_inclusive: true
    end_inclusive: true
    has:
      antibiotic: (1, None)
""",
    "the trigger alone": "trigger: high_k\n",
}


@pytest.mark.parametrize("seed", [0, *deep(*range(1, 6))])
@pytest.mark.parametrize("shown", TASKS)
def test_members_are_those_of_aces(shown, seed, tmp_path, caplog):
    facts = make_random_facts(random.Random(f"{shown} {seed}"))
    text = PREDICATES + TASKS[shown]
    window = read_aces(text, codes=CODES, name=shown).window
    stays = make_stays({"stay": stay} for stay in range(200))
    found = evaluate(window, make_facts(facts), stays)
    members = set(found.filter(pl.col("status") == "yes")["stay"])
    assert set(found["status"]) <= {"yes", "no"}
    assert 5 < len(members) < 195
    meds = write_meds(facts, tmp_path)
    with caplog.at_level(logging.ERROR):
        assert run_aces(text, meds) == members
        exported = write_aces(window, codes=CODES)
        assert run_aces(exported, meds) == members
    assert read_aces(exported, codes=CODES, name=shown).window == window


def make_random_facts(rng: random.Random) -> list[Fact]:
    """Facts at whole and half hours of one day, many at the same time."""
    return [
        Fact(stay, concept, rng.randint(0, 48) / 2, value=float(rng.randint(3, 7)), ordinal=n)
        for stay in range(200)
        for n in range(rng.randint(0, 16))
        for concept in [rng.choice(list(CODES))]
    ]


def write_meds(facts: list[Fact], folder: Path) -> Path:
    """Write the facts as a MEDS table, a stay as a subject."""
    rows = [
        {
            "subject_id": fact.stay,
            "time": ADMITTED + timedelta(hours=fact.time or 0),
            "code": CODES[fact.concept][n % len(CODES[fact.concept])],
            "numeric_value": fact.value,
        }
        for n, fact in enumerate(facts)
    ]
    path = folder / "0.parquet"
    pl.DataFrame(rows).sort("subject_id", "time").write_parquet(path)
    return path


def run_aces(text: str, meds: Path) -> set[int]:
    """Return the subjects that ACES finds."""
    path = meds.with_name("task.yaml")
    path.write_text(text, encoding="utf-8")
    config = TaskExtractorConfig.load(path)
    data = DictConfig({"path": str(meds), "standard": "meds", "ts_format": None})
    found = query(config, get_predicates_df(config, data))
    return set(found["subject_id"]) if found.height else set()
