"""Audit trails of runs: a PROV-JSON document for each occurrence."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ehr.models import Encounter
from timelines.domain import TimelineKind
from timelines.formats.files import replace_file
from timelines.formats.prov.trail import TrailRun, make_trail
from timelines.models import CaseRun, StageRun
from timelines.pipeline.provenance import chains
from timelines.runs.calls import spent_by_stage
from timelines.runs.storage import checked_text, load_reconstruction
from timelines.transfer.lines import Selection, chosen_timelines


def write_prov(
    cases: Iterable[Encounter], wanted: Selection, out: Path, *, with_note_text: bool
) -> int:
    """Write one document for each occurrence of each chosen run.

    Returns how many. Raises NoteChanged.
    """
    count = 0
    with replace_file(out) as part, part.open("w", encoding="utf-8", newline="\n") as file:
        for encounter in cases:
            for case_run in _case_runs(encounter, wanted):
                assert case_run.inventory is not None
                note = case_run.inventory.note
                facts = _trail_run(case_run, note.sha256)
                for chain in chains(load_reconstruction(case_run, checked_text(note))):
                    file.write(make_trail(chain, facts, with_note_text=with_note_text).dump())
                    file.write("\n")
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


def _trail_run(case_run: CaseRun, note_sha256: str) -> TrailRun:
    run = case_run.run
    spent = spent_by_stage(StageRun.objects.filter(case_run=case_run))
    return TrailRun(
        run=run.public_id,
        source=run.source,
        case_id=case_run.encounter.case_id,
        note_sha256=note_sha256,
        tools=run.tools,
        code_revision=run.code_revision,
        calls={one.stage: one.spent.figures() for one in spent},
    )
