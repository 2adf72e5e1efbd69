"""Finished timelines of small cases, for the tests of exports."""

from __future__ import annotations

from dataclasses import dataclass

from ehr.models import Dataset
from tests import factories
from timelines.domain import Lane, Polarity, TimelineKind
from timelines.models import CaseRun, Entry, Run, Stage, StageRun

NOTE = "=Fever 😀 since Monday.\r\nNo chest\r\npain. Ceftriaxone given."


@dataclass
class World:
    dataset: Dataset
    case_run: CaseRun


def make_exported_world() -> World:
    """One finished case run (text-only and revised) and a sealed reference."""
    dataset = factories.make_dataset(name="cohort")
    return World(dataset, make_finished_case(factories.make_run(dataset), "20001"))


def make_finished_case(run: Run, case_id: str) -> CaseRun:
    """Add a finished case to a run, with a sealed reference."""
    encounter = factories.make_encounter(run.dataset, case_id=case_id)
    note = factories.make_note(encounter, NOTE)
    inventory = factories.make_inventory(note, run)
    fever = factories.make_occurrence(inventory, "=Fever 😀", mention="=Fever", uid4="0a1b")
    pain = factories.make_occurrence(
        inventory, "chest\r\npain", mention="chest pain", uid4="0a1c", polarity=Polarity.ABSENT
    )
    drug = factories.make_occurrence(
        inventory, "Ceftriaxone", mention="ceftriaxone", uid4="0a1d", lane=Lane.MEDICATION
    )
    factories.seal(inventory)
    case_run = factories.make_case_run(run, encounter, inventory)
    for stage in Stage:
        StageRun.objects.create(case_run=case_run, stage=stage, state="succeeded")
    rows = [factories.make_row(encounter, "med:ceftriaxone:start", 4.25, value="2", unit="g")]
    rows.append(factories.make_row(encounter, "chart:late:", 500.0))
    series = factories.make_series(encounter, "med:ceftriaxone:start", rows[:1])
    candidate = factories.make_candidate(
        factories.make_query(case_run, drug, "ceftriaxone start"), series, rerank=0.75
    )
    factories.make_evidence(candidate, rows[0])
    text = [
        Entry(occurrence=fever, time=-72.0, lower=-96.0, upper=-48.0, known=True, context=["0a1d"])
    ]
    text += [Entry(occurrence=pain, time=None, upper=0.0), Entry(occurrence=drug, time=1.0)]
    factories.make_timeline(inventory, text, case_run=case_run)
    moved = [Entry(occurrence=fever, time=-72.0), Entry(occurrence=pain, time=None)]
    moved += [
        Entry(occurrence=drug, time=4.25, lower=4.25, upper=4.25, known=True, adopted_rows=[0])
    ]
    factories.make_timeline(inventory, moved, kind=TimelineKind.REVISED, case_run=case_run)
    authored = factories.make_inventory(note)
    mine = factories.make_occurrence(
        authored, "Ceftriaxone", mention="ceftriaxone given", uid4="ffff"
    )
    factories.make_timeline(
        authored,
        [Entry(occurrence=mine, time=4.0, adopted_rows=[0, 1])],
        kind=TimelineKind.REFERENCE,
    )
    factories.seal(authored)
    return case_run
