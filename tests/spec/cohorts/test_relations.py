"""Every row of the table of relations, evaluated."""

from __future__ import annotations

from pathlib import Path

import pytest

from cohorts.engine.members import evaluate
from cohorts.engine.reading import read_window
from cohorts.engine.values import Fact, make_facts, make_stays
from cohorts.engine.writing import write_window
from tests.spec.table import read_table

ROWS = read_table(Path(__file__).with_name("relations.md"))
CONCEPTS = ["a", "b", "c"]
STAY = {
    "stay": 1,
    "discharge": 48.0,
    "age": 40.0,
    "sex": "F",
    "unit": "MICU",
    "disposition": "home",
}


def read_fact(text: str, ordinal: int) -> Fact:
    concept, hours, *value = text.split()
    known = float(value[0].removeprefix("=")) if value else None
    if ".." not in hours:
        return Fact(1, concept, float(hours), value=known, ordinal=ordinal)
    lower, upper = (None if end == "?" else float(end) for end in hours.split(".."))
    return Fact(1, concept, None, lower, upper, known, ordinal)


@pytest.mark.parametrize("row", ROWS, ids=[f"{n}: {row['why']}" for n, row in enumerate(ROWS, 1)])
def test_the_status_is_that_of_the_table(row):
    text = f"name: table\nanchor: {row['anchor']}\nwhere: [{row['criterion']}]\n"
    window = read_window(text, concepts=CONCEPTS)
    facts = [read_fact(part.strip(), n) for n, part in enumerate(row["facts"].split(";"))]
    found = evaluate(window, make_facts(facts), make_stays([STAY]))
    assert found["status"].to_list() == [row["status"]]
    assert read_window(write_window(window), concepts=CONCEPTS) == window


def test_the_table_has_every_status_and_relation():
    criteria = " ".join(row["criterion"] for row in ROWS)
    assert {row["status"] for row in ROWS} == {"yes", "no", "uncertain"}
    for key in ("within", "before", "after", "between", "during", "which: first", "which: last",
                "nth", "at least", "at most", "no:", "not:", "any:", "all:", "value", "stay"):  # fmt: skip
        assert key in criteria
