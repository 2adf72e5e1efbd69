"""Mutated inputs of every format raise no exception.

Every line is stored or named. A failure prints its seed.
"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pytest

from tests.import_fuzz.balance import read_outcome
from tests.import_fuzz.mutations import mutate
from tests.import_fuzz.worlds import WORLDS
from tests.marks import deep

#: Mutations of each format in `make test`, and those that `make test-deep` adds.
MUTATIONS, MORE = 40, 60
BASE_SEED = 20_260


def check(format: str, seed: int) -> bool:
    """Build the input, mutate it and compare; return True if any was read.

    A failure prints the seed to repeat it.
    """
    chance = random.Random(f"{format} {seed}")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "input"
        WORLDS[format](root)
        what = mutate(root, chance)
        try:
            rows, _, _ = read_outcome(format, root)
        except Exception as error:
            raise AssertionError(f"{format}, seed {seed} ({what}): {error!r}") from error
    return bool(rows)


@pytest.mark.parametrize("format", WORLDS)
def test_the_valid_input_is_taken_whole(format, tmp_path):
    WORLDS[format](tmp_path / "input")
    rows, notes, rejected = read_outcome(format, tmp_path / "input")
    without = {"cases": {"four"}, "csv": {"e"}, "text": {"a", "b", "c"}}
    assert {case for case, count in rows.items() if not count} == without.get(format, set())
    assert notes == {"cases": 6, "csv": 3, "mimic_iv": 1, "fhir": 7, "omop": 3, "text": 4}.get(
        format, 0
    )
    assert rejected == {"mimic_iv": 2}.get(format, 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "count"), [(BASE_SEED, MUTATIONS), *deep((BASE_SEED + MUTATIONS, MORE))]
)
@pytest.mark.parametrize("format", WORLDS)
def test_mutated_inputs(format, first, count):
    taken = [check(format, first + i) for i in range(count)]
    assert sum(taken) > count / 2, "most mutations touch one case or file; the others must be read"


@pytest.mark.deep
@pytest.mark.parametrize("format", WORLDS)
def test_fresh_mutations(format):
    base = random.SystemRandom().randrange(1 << 40)
    print(f"base seed {base}")
    for i in range(50 * (MUTATIONS + MORE)):
        check(format, base + i)
