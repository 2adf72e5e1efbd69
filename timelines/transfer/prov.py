"""PROV-style audit trail: one JSON object for each occurrence of a run.

It says from what each value was derived. Entities are values (span, occurrence, estimates, queries,
series, rows), activities the stages that made them, the agent is the run's tools. Names follow
PROV-JSON (`wasDerivedFrom`, `wasGeneratedBy`, `wasAssociatedWith`); a relation is a list of pairs
or triples.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ehr.models import Encounter
from timelines.domain import Entry, TimelineKind, cited_as
from timelines.formats.files import replace_file
from timelines.models import CaseRun, Stage, StageRun
from timelines.pipeline.provenance import Chain, chains
from timelines.runs.calls import spent_by_stage
from timelines.runs.storage import checked_text, load_reconstruction
from timelines.transfer.lines import Selection, chosen_timelines


def write_prov(
    cases: Iterable[Encounter], wanted: Selection, out: Path, *, with_note_text: bool
) -> int:
    """Write one object for each occurrence of each chosen run.

    Returns how many. Raises NoteChanged.
    """
    count = 0
    with replace_file(out) as part, part.open("w", encoding="utf-8", newline="\n") as file:
        for encounter in cases:
            for case_run in _case_runs(encounter, wanted):
                assert case_run.inventory is not None
                note = case_run.inventory.note
                spent = spent_by_stage(StageRun.objects.filter(case_run=case_run))
                calls = {one.stage: one.spent.figures() for one in spent}
                for chain in chains(load_reconstruction(case_run, checked_text(note))):
                    trail = _trail(
                        chain, case_run, note.sha256, calls, with_note_text=with_note_text
                    )
                    file.write(json.dumps(trail, ensure_ascii=False) + "\n")
                    count += 1
    return count


def _case_runs(encounter: Encounter, wanted: Selection) -> list[CaseRun]:
    ids = {
        t.case_run_id
        for t in chosen_timelines(encounter, wanted)
        if t.kind == TimelineKind.TEXT_ONLY and t.case_run_id is not None
    }
    found = CaseRun.objects.filter(pk__in=ids, inventory__isnull=False).select_related(
        "run", "encounter", "inventory__note"
    )
    return list(found.order_by("run__source"))


def _trail(
    chain: Chain,
    case_run: CaseRun,
    note_sha256: str,
    calls: Mapping[str, Mapping[str, float | None]],
    *,
    with_note_text: bool,
) -> dict[str, Any]:
    """Return the audit trail of one occurrence.

    `calls` are the figures of the stages that asked a language model, for the whole case.
    """
    run, o = case_run.run, chain.occurrence
    entity: dict[str, Any] = {
        "note": {"sha256": note_sha256},
        "span": {
            "start": o.start,
            "end": o.end,
            **({"text": chain.quote} if with_note_text else {}),
        },
        "occurrence": {
            "uid4": o.uid,
            "mention": o.mention,
            "polarity": o.polarity.value,
            "lane": o.lane.value,
        },
        "z0": _estimate(chain.text_only),
    }
    made: list[tuple[str, str]] = [
        ("span", Stage.TAG),
        ("occurrence", Stage.UIDS),
        ("z0", Stage.INFER),
    ]
    derived: list[tuple[str, str]] = [
        ("span", "note"),
        ("occurrence", "span"),
        ("z0", "occurrence"),
    ]
    for query in chain.queries:
        name = f"query/{query.ordinal}"
        entity[name] = {"text": query.text}
        made.append((name, Stage.RETRIEVE))
        derived.append((name, "occurrence"))
    for c in chain.candidates:
        name = f"candidate/{c.query}/{c.dense_rank}"
        scores = {
            "dense_rank": c.dense_rank,
            "dense_score": c.dense_score,
            "rerank_score": c.rerank_score,
        }
        entity[name] = {"series": c.event, **scores, "kept": c.kept, "fate": c.fate}
        made.append((name, Stage.RETRIEVE))
        derived.append((name, f"query/{c.query}"))
    for row in (*(e.row for e in chain.evidence), *chain.other_rows):
        name = f"row/{row.row_index}"
        entity[name] = {
            "event": row.event,
            "value": row.value,
            "unit": row.unit,
            "hours": row.time,
            "time_kind": row.time_kind.value,
        }
        made.append((name, Stage.EXPAND))
    derived += [
        (f"row/{e.row.row_index}", f"candidate/{e.query}/{e.dense_rank}") for e in chain.evidence
    ]
    own = {e.row.row_index for e in chain.evidence}
    for alternative, entry in enumerate(chain.revised, start=1):
        name = f"z{alternative}"
        links = {str(row): cited_as(entry.link, own=row in own) for row in entry.adopted_rows}
        entity[name] = {**_estimate(entry), "links": links}
        made.append((name, Stage.REVISE))
        derived += [(name, "z0"), *((name, f"row/{row}") for row in entry.adopted_rows)]
        derived += [(name, f"row/{row}") for row in entry.near_rows]
    return {
        "case_id": case_run.encounter.case_id,
        "run": run.public_id,
        "agent": {**run.tools, "code_revision": run.code_revision},
        "entity": entity,
        "activity": {
            stage: {
                "run": run.public_id,
                **({"model_calls": calls[stage]} if stage in calls else {}),
            }
            for stage in dict.fromkeys(stage for _, stage in made)
        },
        "wasGeneratedBy": made,
        "wasDerivedFrom": derived,
        "wasAssociatedWith": [
            (stage, run.source) for stage in dict.fromkeys(stage for _, stage in made)
        ],
    }


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
