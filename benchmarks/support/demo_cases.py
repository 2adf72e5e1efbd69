"""The demo's cases reconstructed without a database.

The rules backbone and the models of the CPU reconstruct them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from ehr.formats.cases import read_case
from ehr.presentation.rendering import retrieval_text
from ehr.summarise import summarise
from llm_runtime.base import Embedder, Vectors
from llm_runtime.calls.blocking import run_blocking
from llm_runtime.roles import ModelRoles
from timelines.backbones.rules.backbone import rules_backbone
from timelines.domain import Anchor, Reconstruction, SourceRow, TimeKind, Window
from timelines.pipeline.config import PipelineConfig
from timelines.pipeline.run import Case, Record, Tools, reconstruct


def reconstruct_cases(folders: Sequence[Path]) -> list[Reconstruction]:
    """Each case through all stages; seconds a case."""
    roles = ModelRoles()
    tools = Tools(rules_backbone(), roles.embedder(), roles.reranker(), PipelineConfig())
    return [reconstruct(*read_record(folder, tools.embedder), tools) for folder in folders]


class _Search:
    """Cosine search over the summaries of one case."""

    def __init__(self, events: Sequence[str], vectors: Vectors) -> None:
        self.events, self.vectors = events, vectors

    def top_k(self, queries: Vectors, k: int) -> list[list[tuple[str, float]]]:
        scores = queries @ self.vectors.T
        return [
            [(self.events[i], float(row[i])) for i in np.argsort(-row, kind="stable")[:k]]
            for row in scores
        ]


def read_record(folder: Path, embedder: Embedder) -> tuple[Case, Record]:
    """Return the note of a demo case, and its record with vectors."""
    found = read_case(folder)
    assert found.encounter is not None, folder
    assert found.rows is not None, folder
    anchor = Anchor(found.encounter.admitted_at)
    left = found.encounter.discharged_at
    rows = _source_rows(found.rows, anchor)
    series = list(summarise(found.rows))
    summaries = {s.event: retrieval_text(s) for s in series}
    search = _Search(
        list(summaries),
        np.asarray(run_blocking(embedder.embed_documents(list(summaries.values())))),
    )
    record = Record(summaries, {s.event: [rows[i] for i in s.row_indices] for s in series}, search)
    return Case(
        found.notes[0].text, Window(anchor, None if left is None else anchor.hours(left))
    ), record


def _source_rows(rows: pa.Table, anchor: Anchor) -> dict[int, SourceRow]:
    """row index → row, its time in hours."""
    return {
        r["row_index"]: SourceRow(
            r["row_index"],
            None if r["time"] is None else anchor.hours(r["time"]),
            r["event"],
            r["value"],
            r["unit"],
            r["source"],
            TimeKind(r["time_kind"]),
            r["numeric_value"],
        )
        for r in rows.to_pylist()
    }
