"""Measure the rules backbone on cases with a reference.

The cases are those of tests/data/quality and tests/data/styles.
"""

from __future__ import annotations

import csv
import gzip
import json
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ehr.presentation.rendering import retrieval_text
from ehr.schema import ROWS
from ehr.summarise import summarise
from llm_runtime.base import Vectors
from llm_runtime.calls.blocking import run_blocking
from llm_runtime.roles import ModelRoles
from tests.paths import DATA
from timelines.backbones.rules.backbone import rules_backbone
from timelines.domain import Anchor, Entry, Reconstruction, SourceRow, TimeKind, Window
from timelines.evaluation.concordance import concordance_ref
from timelines.evaluation.spans import match_spans
from timelines.pipeline.config import PipelineConfig
from timelines.pipeline.run import Case, Record, Tools, reconstruct

FOLDER = DATA / "quality"
STYLES = DATA / "styles"
#: Hours by which a bound may miss a reference that is rounded.
_ROUNDING = 0.02


@dataclass(frozen=True)
class Pair:
    """A reference occurrence and the backbone's result for it.

    The two spans share at least 0.4.
    """

    reference: Mapping[str, Any]
    text: Entry
    revised: Entry


@dataclass(frozen=True)
class QualityFigures:
    """Figures over cases; times in hours.

    `evidence_precision`: the share of citing occurrences that cite a row of the reference.
    `within`: the share with an error below max(3 h, 10 %). `coverage`: the share of text-only times
    whose bounds contain the reference; `stated_coverage`: of those that are `known`.
    """

    span_recall: float
    span_precision: float
    evidence_precision: float
    evidence_recall: float
    text_error: float
    revised_error: float
    text_mean_log: float
    revised_mean_log: float
    concordance: float
    text_within: float
    revised_within: float
    coverage: float
    stated_coverage: float
    #: Median width of closed bounds (hours).
    width: float


class _Search:
    """Cosine search over the summaries of one case."""

    def __init__(self, events: Sequence[str], vectors: Vectors) -> None:
        self.events, self.vectors = events, vectors

    def top_k(self, queries: Vectors, k: int) -> list[list[tuple[str, float]]]:
        found = []
        for scores in queries @ self.vectors.T:
            order = sorted(range(len(self.events)), key=lambda i: (-scores[i], self.events[i]))[:k]
            found.append([(self.events[i], float(scores[i])) for i in order])
        return found


def measure_cases(folders: Iterable[Path]) -> QualityFigures:
    """Measure the rules backbone on these cases (full variant, CPU models)."""
    tools = _tools()
    pairs: dict[str, list[Pair]] = {}
    references = tagged = 0
    for folder in folders:
        reference = [
            json.loads(line)
            for line in (folder / "reference.jsonl").read_text(encoding="utf-8").splitlines()
        ]
        case, record = _read(folder, tools)
        result = reconstruct(case, record, tools)
        pairs[folder.name] = _pair_rows(reference, result)
        references += len(reference)
        tagged += len(list(result.note.inventory))
    return _figures(pairs, references, tagged)


@cache
def reconstruct_case(folder: Path) -> Reconstruction:
    """Reconstruct one case with the rules backbone, once a process."""
    tools = _tools()
    return reconstruct(*_read(folder, tools), tools)


def _tools() -> Tools:
    roles = ModelRoles()
    return Tools(rules_backbone(), roles.embedder(), roles.reranker(), PipelineConfig())


def _read(folder: Path, tools: Tools) -> tuple[Case, Record]:
    encounter = json.loads((folder / "encounter.json").read_text(encoding="utf-8"))
    anchor = Anchor(datetime.fromisoformat(encounter["admitted_at"]))
    with gzip.open(folder / "rows.csv.gz", "rt", encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    series = list(summarise(_table(rows)))
    summaries = {s.event: retrieval_text(s) for s in series}
    by_event = {s.event: [_source_row(i, rows[i], anchor) for i in s.row_indices] for s in series}
    vectors = np.asarray(run_blocking(tools.embedder.embed_documents(list(summaries.values()))))
    window = Window(anchor, anchor.hours(datetime.fromisoformat(encounter["discharged_at"])))
    note = (folder / "note.txt").read_text(encoding="utf-8")
    return Case(note, window), Record(summaries, by_event, _Search(list(summaries), vectors))


def _table(every: Sequence[Mapping[str, str]]) -> pa.Table:
    """Rows with a time, under their index among all."""
    rows = [r for r in every if r["t"]]
    columns = {
        "row_index": [i for i, r in enumerate(every) if r["t"]],
        "time": [datetime.fromisoformat(r["t"]) for r in rows],
        "result_time": [None] * len(rows),
        "event": [r["event"] for r in rows],
        "value": [r["value"] for r in rows],
        "numeric_value": [_number(r["value"]) for r in rows],
        "unit": [r["unit"] for r in rows],
        "source": [r["source"] for r in rows],
        "time_kind": [r["time_kind"] for r in rows],
    }
    return pa.table(columns, schema=ROWS)


def _source_row(index: int, row: Mapping[str, str], anchor: Anchor) -> SourceRow:
    time = anchor.hours(datetime.fromisoformat(row["t"]))
    kind = TimeKind(row["time_kind"])
    return SourceRow(
        index,
        time,
        row["event"],
        row["value"],
        row["unit"],
        row["source"],
        kind,
        _number(row["value"]),
    )


def _number(value: str) -> float | None:
    try:
        return float(value)
    except ValueError:
        return None


def _pair_rows(reference: Sequence[Mapping[str, Any]], result: Reconstruction) -> list[Pair]:
    inventory = list(result.note.inventory)
    spans = [None if o.start is None or o.end is None else (o.start, o.end) for o in inventory]
    matches = match_spans([(r["start"], r["end"]) for r in reference], spans)
    text, revised = result.text_only.by_uid, result.revised[0].by_uid
    return [
        Pair(reference[r], text[inventory[p].uid], revised[inventory[p].uid]) for r, p, _ in matches
    ]


def _figures(pairs: Mapping[str, Sequence[Pair]], references: int, tagged: int) -> QualityFigures:
    every = [p for found in pairs.values() for p in found]
    cited = [p for p in every if p.revised.adopted_rows]
    right = [p for p in cited if set(p.revised.adopted_rows) & set(p.reference["rows"])]
    timed = [p for p in every if p.reference["time"] is not None and p.text.time is not None]
    errors: dict[str, list[float]] = defaultdict(list)
    near: dict[str, list[bool]] = defaultdict(list)
    for p in timed:
        truth = p.reference["time"]
        for name, entry in (("text", p.text), ("revised", p.revised)):
            if entry.time is not None:
                errors[name].append(abs(truth - entry.time))
                near[name].append(errors[name][-1] < max(3.0, 0.1 * abs(truth)))
    inside = [(p.text.known, _contains(p.text, p.reference["time"])) for p in timed]
    in_order = [_concordance(found) for found in pairs.values()]
    return QualityFigures(
        span_recall=len(every) / references,
        span_precision=len(every) / tagged,
        evidence_precision=len(right) / len(cited),
        evidence_recall=len(right) / sum(bool(p.reference["rows"]) for p in every),
        text_error=statistics.median(errors["text"]),
        revised_error=statistics.median(errors["revised"]),
        text_mean_log=float(np.mean(np.log1p(errors["text"]))),
        revised_mean_log=float(np.mean(np.log1p(errors["revised"]))),
        concordance=statistics.median(in_order),
        text_within=float(np.mean(near["text"])),
        revised_within=float(np.mean(near["revised"])),
        coverage=float(np.mean([c for _, c in inside])),
        stated_coverage=float(np.mean([c for known, c in inside if known])),
        width=statistics.median(
            p.text.upper - p.text.lower
            for p in timed
            if p.text.lower is not None and p.text.upper is not None
        ),
    )


def _contains(entry: Entry, truth: float) -> bool:
    low = entry.lower is None or entry.lower <= truth + _ROUNDING
    return low and (entry.upper is None or truth - _ROUNDING <= entry.upper)


def _concordance(pairs: Sequence[Pair]) -> float:
    timed = [
        (p.reference["time"], p.revised.time)
        for p in pairs
        if p.reference["time"] is not None and p.revised.time is not None
    ]
    value = concordance_ref([r for r, _ in timed], [t for _, t in timed])
    assert value is not None
    return value
