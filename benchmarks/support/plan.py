"""The arithmetic of a plan: costs of a row and a stay, many times."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.support.growth.stored import WHOLE

RESULTS = Path(__file__).resolve().parent.parent / "results"
#: Groups of tables that grow with the rows; the others grow with the notes.
OF_ROWS = ("rows", "series", "vectors")
#: Tables that an empty database has, too: they do not grow with a cohort.
OTHER = "other"
#: Stages that a language model does in the prompted backbone.
ASKED = ("tag", "infer", "revise")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """Of a stay: calls, and tokens read, of them cached, and written."""

    calls: float
    tokens_in: float
    tokens_cached: float
    tokens_out: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What a row and a stay cost: bytes, and seconds of processors."""

    row_bytes: Mapping[str, float]
    stay_bytes: Mapping[str, float]
    #: Import with series, vacuum and backup.
    row_seconds: Mapping[str, float]
    #: Each stage, then preparation, evaluation and judging.
    stay_seconds: Mapping[str, float]
    #: A backup's bytes for each byte of the database.
    backup_share: float
    tokens: Mapping[str, Tokens]


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What is planned, and with what."""

    notes: int
    rows: int
    backbone: str = "rules"
    workers: int = 8
    cards: int = 1
    reads: float = 8000.0
    writes: float = 1500.0
    #: Tokens that the model thinks in each call.
    thinking: float = 0.0
    backups: int = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Bytes, tokens, and seconds: of processors, cards and the clock."""

    disk: Mapping[str, float]
    cores: Mapping[str, float]
    tokens_in: float
    tokens_cached: float
    tokens_out: float
    card_seconds: float
    clock: Mapping[str, float]


def make_plan(costs: Costs, work: Workload) -> Plan:
    """Return the plan of the workload.

    An import is one process. Workers share the stages; with a language model the slower of workers
    and cards decides.
    """
    database = {name: size * work.rows for name, size in costs.row_bytes.items()}
    for name, size in costs.stay_bytes.items():
        database[name] = database.get(name, 0.0) + size * work.notes
    backups = work.backups * costs.backup_share * sum(database.values())
    cores = {name: seconds * work.rows for name, seconds in costs.row_seconds.items()}
    own = [n for n in costs.stay_seconds if not (work.backbone == "prompted" and n in ASKED)]
    cores |= {name: costs.stay_seconds[name] * work.notes for name in own}
    asked = list(costs.tokens.values()) if work.backbone == "prompted" else []
    read = work.notes * sum(t.tokens_in for t in asked)
    cached = work.notes * sum(t.tokens_cached for t in asked)
    written = work.notes * sum(t.tokens_out + t.calls * work.thinking for t in asked)
    cards = (read - cached) / work.reads + written / work.writes
    alone = {name: cores[name] for name in costs.row_seconds}
    shared = sum(cores[name] for name in own) / work.workers
    return Plan(
        disk={**database, "backups": backups},
        cores=cores,
        tokens_in=read,
        tokens_cached=cached,
        tokens_out=written,
        card_seconds=cards,
        clock={**alone, "stages": max(shared, cards / work.cards)},
    )


def load_costs() -> Costs:
    """Return the measured costs, of the largest study.

    Candidates and embedding are those of the largest study that has all of them.
    """
    studies = json.loads((RESULTS / "growth.json").read_text())
    tokens = json.loads((RESULTS / "tokens.json").read_text())
    costs = read_costs(studies[-1], tokens)
    whole = read_costs([study for study in studies if study["stays"] <= WHOLE][-1], tokens)
    return replace(
        costs,
        stay_bytes={**costs.stay_bytes, "candidates": whole.stay_bytes["candidates"]},
        stay_seconds={**costs.stay_seconds, "embedding": whole.stay_seconds["embedding"]},
    )


def read_costs(study: Mapping[str, Any], tokens: Mapping[str, Mapping[str, float]]) -> Costs:
    """Return the costs of one row and one stay of a measured study."""
    stays, rows, sizes = study["stays"], study["rows"], study["bytes"]["all"]
    costs, stages = study["costs"], study["stages"]
    seconds = {
        name: _cpu(cost) / stages["stays"] for name, cost in stages.items() if name != "stays"
    }
    for name in ("preparation of a run", "evaluation"):
        seconds[name] = _cpu(costs[name]) / stays
    if "embedding of one stay" in costs:
        seconds["embedding"] = _cpu(costs["embedding of one stay"])
    seconds["judging"] = _cpu(costs["judging"]) / study["judged"]
    return Costs(
        row_bytes={name: sizes[name] / rows for name in OF_ROWS},
        stay_bytes={
            name: size / stays for name, size in sizes.items() if name not in (*OF_ROWS, OTHER)
        },
        row_seconds={name: _cpu(costs[name]) / rows for name in ("import", "vacuum", "backup")},
        stay_seconds=seconds,
        backup_share=study["backup_bytes"] / sum(sizes.values()),
        tokens={role: Tokens(**counts) for role, counts in tokens.items()},
    )


def _cpu(cost: Mapping[str, float]) -> float:
    return cost["client"] + cost["server"]
