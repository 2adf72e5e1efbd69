"""The chain behind each time of one timeline, for the export of a case.

Span → identifier → first estimate → queries → rows → time.
"""

from __future__ import annotations

from typing import Any

from timelines.domain import Entry
from timelines.formats.lines import Line, json_values
from timelines.models import CaseRun, Timeline
from timelines.pipeline.provenance import Chain, chains
from timelines.presentation.sentence import find_sentence
from timelines.runs.storage import checked_text, load_reconstruction


def load_chains(timeline: Timeline) -> dict[str, Chain]:
    """Return the chains of the timeline's run, by UID.

    Empty for a timeline without a run or without identifiers. Raises NoteChanged.
    """
    if timeline.case_run_id is None or timeline.inventory is None:
        return {}
    case_run = CaseRun.objects.select_related("run", "encounter").get(pk=timeline.case_run_id)
    result = load_reconstruction(case_run, checked_text(timeline.inventory.note))
    return {chain.occurrence.uid: chain for chain in chains(result)}


def chain_values(
    line: Line, chain: Chain | None, note: str | None, *, with_note_text: bool
) -> dict[str, Any]:
    """Return the columns of a line and its chain.

    A step that the timeline does not have is empty.
    """
    return {
        **json_values(line, with_note_text=with_note_text),
        "chain": {
            "span": _span(line, note if with_note_text else None),
            "uid4": line.uid4,
            "first_estimate": None if chain is None else _estimate(chain.text_only),
            "queries": [] if chain is None else _queries(chain),
            "rows": [] if chain is None else _rows(chain),
            "final": {"time": line.time, "lower": line.lower, "upper": line.upper}
            | {"rows": list(line.rows), "decided_by": line.decided_by},
        },
    }


def _span(line: Line, note: str | None) -> dict[str, Any] | None:
    if line.start is None or line.end is None:
        return None
    span: dict[str, Any] = {"start": line.start, "end": line.end}
    if note is None:
        return span
    found = find_sentence(note, line.start, line.end)
    return {**span, "sentence": f"{found.before}{found.span}{found.after}"}


def _estimate(entry: Entry) -> dict[str, Any]:
    return {
        "time": entry.time,
        "lower": entry.lower,
        "upper": entry.upper,
        "known": None if entry.known is None else int(entry.known),
        "context": list(entry.context),
        "decided_by": entry.decided_by,
        "reason": entry.reason,
    }


def _queries(chain: Chain) -> list[dict[str, Any]]:
    return [
        {
            "text": query.text,
            "series": [
                {
                    "event": c.event,
                    "dense_rank": c.dense_rank,
                    "dense_score": c.dense_score,
                    "rerank_score": c.rerank_score,
                    "kept": c.kept,
                    "fate": c.fate,
                }
                for c in chain.candidates
                if c.query == query.ordinal
            ],
        }
        for query in chain.queries
    ]


def _rows(chain: Chain) -> list[dict[str, Any]]:
    """Return the rows that reached the occurrence, and others it was timed by."""
    through = {e.row.row_index: e.query for e in reversed(chain.evidence)}
    rows = {row.row_index: row for row in (*(e.row for e in chain.evidence), *chain.other_rows)}
    return [
        {
            "row_index": index,
            "event": row.event,
            "value": row.value,
            "unit": row.unit,
            "hours": row.time,
            "time_kind": row.time_kind.value,
            "query": through.get(index),
        }
        for index, row in sorted(rows.items())
    ]
