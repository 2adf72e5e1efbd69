"""Games of a reference timeline and its perturbed twin.

They are over the cases of the demonstration and of the quality tests.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache
from pathlib import Path

import pyarrow as pa

from adjudication.judging.input import Candidate, JudgeInput, judge_input
from adjudication.planting.twins import PlantedChange, plant
from ehr.schema import ROWS
from ehr.summarise import Series, summarise
from tests import paths
from timelines.domain import Anchor, Polarity, SourceRow, TimeKind

DEMO = sorted(f.parent for f in (paths.DEMO / "cohort").glob("*/reference.jsonl"))
QUALITY = sorted(f.parent for f in (paths.DATA / "quality").glob("*/reference.jsonl"))


@lru_cache(maxsize=32)
def read_case(folder: Path) -> tuple[str, Anchor, list[Candidate], list[Series], list[SourceRow]]:
    """Return note, admission, reference, summaries and rows of a stored case."""
    anchor = Anchor(
        datetime.fromisoformat(
            json.loads((folder / "encounter.json").read_text(encoding="utf-8"))["admitted_at"]
        )
    )
    lines = [
        json.loads(line)
        for line in (folder / "reference.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    reference = [
        Candidate(
            event=line["mention"],
            time=line["time"],
            uid=f"{i:04x}",
            polarity=Polarity(line["polarity"]),
            start=line["start"],
            end=line["end"],
            lower=line["lower"],
            upper=line["upper"],
            known=bool(line["known"]),
        )
        for i, line in enumerate(lines)
    ]
    with gzip.open(folder / "rows.csv.gz", "rt", encoding="utf-8", newline="") as text:
        rows = list(csv.DictReader(text))
    times = [datetime.fromisoformat(r["t"]) if r["t"] else None for r in rows]
    values = [_number(r["value"]) for r in rows]
    columns = {
        "row_index": list(range(len(rows))),
        "time": times,
        "result_time": [None] * len(rows),
        "event": [r["event"] for r in rows],
        "value": [r["value"] for r in rows],
        "numeric_value": values,
        "unit": [r["unit"] for r in rows],
        "source": [r["source"] for r in rows],
        "time_kind": [r["time_kind"] for r in rows],
    }
    source = [
        SourceRow(
            i,
            None if t is None else anchor.hours(t),
            r["event"],
            r["value"],
            r["unit"],
            r["source"],
            TimeKind(r["time_kind"]),
            v,
        )
        for i, (r, t, v) in enumerate(zip(rows, times, values, strict=True))
    ]
    note = (folder / "note.txt").read_text(encoding="utf-8")
    return (
        note,
        anchor,
        reference,
        list(summarise(pa.table(columns, schema=ROWS), untimed=True)),
        source,
    )


def game(
    folder: Path, seed: int, *, each: int = 3, with_uids: bool = True
) -> tuple[tuple[PlantedChange, ...], JudgeInput]:
    """Return the changes and the game of a case's reference and its twin.

    Without UIDs in the game, matching is by place and words.
    """
    note, anchor, reference, series, rows = read_case(folder)
    twin = plant(reference, seed=seed, each=each)
    given = judge_input(
        reference,
        list(twin.rows),
        note=note,
        anchor=anchor,
        seed=seed,
        series=series,
        rows=rows,
        uid_table=with_uids,
    )
    return twin.planted, given


def games(
    folders: list[Path], seeds: range
) -> Iterator[tuple[tuple[PlantedChange, ...], JudgeInput]]:
    for folder in folders:
        for seed in seeds:
            yield game(folder, seed)


def _number(value: str) -> float | None:
    try:
        return float(value)
    except ValueError:
        return None
