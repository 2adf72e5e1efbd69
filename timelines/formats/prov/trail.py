"""The audit trail of one occurrence, as a PROV-JSON document.

Entities are values (note, span, occurrence, estimates, queries, candidates, rows), activities the
stages that made them, the agent is the run's tools.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from timelines.domain import Entry, SourceRow, cited_as
from timelines.formats.prov.document import ProvDocument
from timelines.pipeline.provenance import Chain

AGENT = "tools"


@dataclass(frozen=True)
class TrailRun:
    """The facts of a run's case that its trails share.

    `calls`: figures of the stages that asked a language model, for the whole case.
    """

    run: str
    source: str
    case_id: str
    note_sha256: str
    tools: Mapping[str, str]
    code_revision: str
    calls: Mapping[str, Mapping[str, float | None]]


def make_trail(chain: Chain, run: TrailRun, *, with_note_text: bool) -> ProvDocument:
    """Return the document of one occurrence."""
    trail = _Trail(run, chain.occurrence.uid)
    o = chain.occurrence
    trail.document.add(
        "entity", "note", "occurrent:Note", {"case_id": run.case_id, "sha256": run.note_sha256}
    )
    words = chain.quote if with_note_text else None
    trail.add("span", "Span", "tag", {"start": o.start, "end": o.end, "text": words})
    trail.derive("span", "note")
    facts = {"uid4": o.uid, "mention": o.mention, "polarity": o.polarity.value}
    trail.add("occurrence", "Occurrence", "uids", {**facts, "lane": o.lane.value})
    trail.derive("occurrence", "span")
    trail.add("z0", "Estimate", "infer", _estimate(chain.text_only))
    trail.derive("z0", "occurrence")
    _add_search(trail, chain)
    _add_revisions(trail, chain)
    return trail.document


class _Trail:
    """The document, and the names in it that belong to the occurrence."""

    def __init__(self, run: TrailRun, uid: str) -> None:
        self.document = ProvDocument(run.run, run.case_id)
        self._run, self._uid = run, uid
        agent = {"source": run.source, "code_revision": run.code_revision, **run.tools}
        self.document.add("agent", AGENT, "prov:SoftwareAgent", agent)

    def _name(self, name: str) -> str:
        """Return the full name; notes and rows are shared by the case."""
        return name if name == "note" or name.startswith("row/") else f"{self._uid}/{name}"

    def add(self, name: str, kind: str, stage: str, attributes: Mapping[str, Any]) -> None:
        """Add an entity, the stage that made it, and the stage's tools."""
        self.document.add("entity", self._name(name), f"occurrent:{kind}", attributes)
        figures = {"run": self._run.run, **self._run.calls.get(stage, {})}
        self.document.add("activity", f"stage/{stage}", "occurrent:Stage", figures)
        self.document.relate("wasGeneratedBy", self._name(name), f"stage/{stage}")
        self.document.relate("wasAssociatedWith", f"stage/{stage}", AGENT)

    def derive(self, name: str, source: str, **attributes: Any) -> None:
        self.document.relate("wasDerivedFrom", self._name(name), self._name(source), **attributes)


def _add_search(trail: _Trail, chain: Chain) -> None:
    """Add the queries, the series that they returned, and the rows of these."""
    for query in chain.queries:
        trail.add(f"query/{query.ordinal}", "Query", "retrieve", {"text": query.text})
        trail.derive(f"query/{query.ordinal}", "occurrence")
    for c in chain.candidates:
        name = f"candidate/{c.query}/{c.dense_rank}"
        scores = {
            "dense_rank": c.dense_rank,
            "dense_score": c.dense_score,
            "rerank_score": c.rerank_score,
        }
        found = {"series": c.event, **scores, "kept": c.kept, "fate": c.fate}
        trail.add(name, "Candidate", "retrieve", found)
        trail.derive(name, f"query/{c.query}")
    for row in (*(e.row for e in chain.evidence), *chain.other_rows):
        trail.add(f"row/{row.row_index}", "Row", "expand", _row(row))
    for e in chain.evidence:
        trail.derive(f"row/{e.row.row_index}", f"candidate/{e.query}/{e.dense_rank}")


def _add_revisions(trail: _Trail, chain: Chain) -> None:
    """Add the revised estimates; `link` says how a row was linked."""
    own = {e.row.row_index for e in chain.evidence}
    for alternative, entry in enumerate(chain.revised, start=1):
        name = f"z{alternative}"
        trail.add(name, "Estimate", "revise", _estimate(entry))
        trail.derive(name, "z0")
        for row in entry.adopted_rows:
            link = cited_as(entry.link, own=row in own)
            trail.derive(name, f"row/{row}", link=link.value if link else None)
        for row in entry.near_rows:
            trail.derive(name, f"row/{row}", link="near")


def _row(row: SourceRow) -> dict[str, Any]:
    return {
        "row_index": row.row_index,
        "event": row.event,
        "value": row.value,
        "unit": row.unit,
        "hours": row.time,
        "time_kind": row.time_kind.value,
    }


def _estimate(entry: Entry) -> dict[str, Any]:
    return {
        "time": entry.time,
        "lower": entry.lower,
        "upper": entry.upper,
        "known": None if entry.known is None else int(entry.known),
        "context": entry.context,
        "decided_by": entry.decided_by,
        "reason": entry.reason,
    }
