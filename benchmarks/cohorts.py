"""Measure how fast a window is evaluated: `python -m benchmarks.cohorts`.

100,000 stays of 150 occurrences, 60 % of them with bounds. The window has four concepts, which are
3 % of the occurrences, and events inside an event. The goal is 5 s for the statuses, their deciding
facts and the exact settling of open stays. The peer is the same task in plain Polars on the times
alone: no bounds, no uncertainty, no facts that decide; the goal is a ratio of at most 10. ACES
runs the part that it can say on 2,000 stays, for comparison with ours on the same.
"""

from __future__ import annotations

import argparse
import logging
import tempfile
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import numpy as np
import polars as pl

from cohorts.engine.aces.importing import read_aces
from cohorts.engine.language import Window, find_concepts
from cohorts.engine.members import evaluate
from cohorts.engine.reading import read_window
from cohorts.engine.shares import share

GOAL_SECONDS, GOAL_RATIO = 5.0, 10.0
OCCURRENCES, BOUNDED, ACES_STAYS = 150, 0.6, 2_000
NAMES = ["haemorrhage", "reversal", "anticoagulant", "transfer", *(f"c{n}" for n in range(60))]
#: How many of a stay's 150 occurrences are of each of the first four concepts.
RATES = (1.3, 1.0, 1.8, 0.3)
WINDOW = """
name: Reversal within 6 h of the first haemorrhage, no anticoagulant in between
anchor: {concept: haemorrhage, which: first}
where:
  - {stay: age, at least: 18}
  - event: reversal
    within: 0 h to 6 h after anchor
    as: given
    where:
      - {no: anticoagulant, between: anchor and given}
  - {no: transfer}
"""
TASK = """
predicates:
  haemorrhage: {code: haemorrhage}
  reversal: {code: reversal}
  anticoagulant: {code: anticoagulant}
trigger: haemorrhage
windows:
  soon:
    start: trigger
    end: start + 6h
    start_inclusive: true
    end_inclusive: true
    has:
      reversal: (1, None)
      anticoagulant: (None, 0)
"""


def main() -> int:
    """Print times and ratios; return 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stays", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    window = read_window(WINDOW, concepts=NAMES)
    facts, stays = make_cohort(options.stays)
    ours = time_best(lambda: evaluate(window, facts, stays), options.repeat)
    plain = time_best(lambda: run_plain(facts, stays), options.repeat)
    found = evaluate(window, facts, stays)
    print(f"{options.stays:,} stays, {facts.height:,} occurrences", count_statuses(found))
    print(f"not settled: {(~found['exact']).sum()}")
    print(f"evaluate {ours:.2f} s (goal {GOAL_SECONDS}), Polars on times {plain:.2f} s,", end=" ")
    print(f"ratio {ours / plain:.1f} (goal {GOAL_RATIO})")
    compare_members(window, facts, stays)
    time_shares(window, facts, stays, found)
    compare_aces()
    return int(ours > GOAL_SECONDS or ours / plain > GOAL_RATIO)


def make_cohort(count: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return random facts and stays."""
    rng = np.random.default_rng(17)
    size = count * OCCURRENCES
    others = (OCCURRENCES - sum(RATES)) / (len(NAMES) - len(RATES))
    weights = np.array([*RATES, *[others] * (len(NAMES) - len(RATES))]) / OCCURRENCES
    point = np.round(rng.uniform(-6, 120, size), 2)
    wide = np.where(rng.random(size) < BOUNDED, 1.0, 0.0)
    facts = pl.DataFrame(
        {
            "stay": np.repeat(np.arange(count), OCCURRENCES),
            "concept": pl.Series(NAMES).gather(rng.choice(len(NAMES), size, p=weights)),
            "fact": np.arange(size),
            "ordinal": np.tile(np.arange(OCCURRENCES, dtype=np.int32), count),
            "lower": point - np.round(wide * rng.exponential(3, size), 2),
            "upper": point + np.round(wide * rng.exponential(3, size), 2),
            "point": point,
            "value": pl.Series([None], dtype=pl.Float64).new_from_index(0, size),
        }
    )
    stays = pl.DataFrame(
        {
            "stay": np.arange(count),
            "discharge": np.full(count, 120.0),
            "age": rng.integers(10, 95, count).astype(float),
            "sex": pl.Series(["F", "M"]).gather(rng.integers(0, 2, count)),
            "length": np.full(count, 120.0),
            "unit": pl.Series(["MICU"]).new_from_index(0, count),
            "disposition": pl.Series(["home"]).new_from_index(0, count),
        }
    )
    return facts, stays


def run_plain(facts: pl.DataFrame, stays: pl.DataFrame) -> pl.DataFrame:
    """Return the members by times alone, as one would write it in Polars."""
    chosen = facts.lazy().filter(pl.col("concept").is_in(NAMES[:4]))
    chosen = chosen.select("stay", "concept", "point", "ordinal").collect().lazy()
    first, given, between, out = (chosen.filter(pl.col("concept") == name) for name in NAMES[:4])
    anchors = first.group_by("stay").agg(start=pl.col("point").min())
    soon = given.join(anchors, on="stay").filter(
        (pl.col("point") - pl.col("start")).is_between(0, 6)
    )
    soon = soon.with_row_index("pair")
    broken = soon.join(between.select("stay", at="point"), on="stay").filter(
        (pl.col("at") > pl.col("start")) & (pl.col("at") < pl.col("point"))
    )
    kept = soon.join(broken, on="pair", how="anti")
    adults = stays.lazy().filter(pl.col("age") >= 18)
    members = adults.join(kept, on="stay", how="semi").join(out, on="stay", how="anti")
    return members.select("stay").collect()


def compare_members(window: Window, facts: pl.DataFrame, stays: pl.DataFrame) -> None:
    """Check that both find the same members if every time is exact."""
    exact = facts.with_columns(lower="point", upper="point")
    found = evaluate(window, exact, stays).filter(pl.col("status") == "yes")
    assert set(found["stay"]) == set(run_plain(facts, stays)["stay"])
    print(f"members by times alone: {found.height:,}, the same by both")


def time_shares(
    window: Window, facts: pl.DataFrame, stays: pl.DataFrame, found: pl.DataFrame
) -> None:
    """Print how long the shares of the uncertain stays take."""
    some = found.filter(pl.col("status") == "uncertain")["stay"].head(1_000).to_list()
    chosen = facts.filter(pl.col("concept").is_in(find_concepts(window)))
    taken = time_best(lambda: share(window, chosen, stays, some), 1)
    print(f"shares of {len(some):,} uncertain stays, 1,024 samples each: {taken:.2f} s")


def compare_aces() -> None:
    """Print how long ACES and our engine take for a task that both can say."""
    from aces.config import TaskExtractorConfig
    from aces.predicates import get_predicates_df
    from aces.query import query
    from omegaconf import DictConfig

    logging.disable(logging.WARNING)
    facts, stays = make_cohort(ACES_STAYS)
    exact = facts.with_columns(lower="point", upper="point")
    window = read_aces(TASK, codes={name: [name] for name in NAMES}, name="task").window
    with tempfile.TemporaryDirectory() as folder:
        data, task = Path(folder) / "0.parquet", Path(folder) / "task.yaml"
        write_meds(facts, data)
        task.write_text(TASK, encoding="utf-8")
        config = TaskExtractorConfig.load(task)
        source = DictConfig({"path": str(data), "standard": "meds", "ts_format": None})
        theirs = time_best(lambda: query(config, get_predicates_df(config, source)), 1)
        members = set(query(config, get_predicates_df(config, source))["subject_id"])
    ours = time_best(lambda: evaluate(window, exact, stays), 3)
    found = evaluate(window, exact, stays).filter(pl.col("status") == "yes")
    assert set(found["stay"]) == members
    print(f"{ACES_STAYS:,} stays: ACES {theirs:.2f} s, ours {ours:.3f} s", end=", ")
    print(f"the same {len(members)} members")


def write_meds(facts: pl.DataFrame, path: Path) -> None:
    """Write the times as a MEDS table, a stay as a subject."""
    microseconds = (pl.col("point") * 3.6e9).round().cast(pl.Int64)
    table = facts.select(
        pl.col("stay").alias("subject_id"),
        (pl.lit(datetime(2150, 1, 1)) + pl.duration(microseconds=microseconds)).alias("time"),
        pl.col("concept").alias("code"),
        pl.col("value").cast(pl.Float32).alias("numeric_value"),
    )
    table.sort("subject_id", "time").write_parquet(path)


def count_statuses(found: pl.DataFrame) -> str:
    """Return how many stays have each status."""
    counts = dict(found["status"].value_counts().iter_rows())
    return ", ".join(f"{name} {counts.get(name, 0):,}" for name in ("yes", "uncertain", "no"))


def time_best(work: Callable[[], object], repeat: int) -> float:
    """Return the least seconds of several runs."""
    taken = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return min(taken)


if __name__ == "__main__":
    raise SystemExit(main())
