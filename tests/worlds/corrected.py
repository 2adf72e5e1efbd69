"""A reconstructed case that two clinicians and an admin correct."""

from __future__ import annotations

from dataclasses import dataclass

from accounts.models import Role, Study, User
from ehr.models import Dataset, Encounter, SourceRow
from tests import factories
from timelines.domain import Lane, TimelineKind
from timelines.models import Entry, Occurrence, Timeline

NOTE = (
    "Admitted with fever. Vancomycin was given about an hour and a half after admission. "
    "A head CT showed a bleed. Discharged home."
)


@dataclass(frozen=True)
class CorrectedWorld:
    """The people, the case and its timelines."""

    study: Study
    dataset: Dataset
    anna: User
    boris: User
    admin: User
    encounter: Encounter
    text: Timeline
    base: Timeline
    fever: Occurrence
    vancomycin: Occurrence
    scan: Occurrence
    rows: tuple[SourceRow, ...]

    @property
    def people(self) -> tuple[User, User, User]:
        return self.anna, self.boris, self.admin


def make_corrected_world(study: Study | None = None, *, case_id: str = "") -> CorrectedWorld:
    """A sealed run of one case: text-only and revised times, and rows."""
    study = study or factories.make_study()
    dataset = factories.make_dataset(study)
    encounter = factories.make_encounter(dataset, case_id=case_id)
    run = factories.make_run(dataset, label="first")
    inventory = factories.make_inventory(factories.make_note(encounter, NOTE), run)
    fever = factories.make_occurrence(inventory, "fever")
    vancomycin = factories.make_occurrence(inventory, "Vancomycin", lane=Lane.MEDICATION)
    scan = factories.make_occurrence(inventory, "head CT", lane=Lane.PROCEDURE)
    case_run = factories.make_case_run(run, encounter, inventory)
    rows = (
        factories.make_row(encounter, "med:vancomycin:start", 1.5, value="1", unit="g"),
        factories.make_row(encounter, "med:vancomycin:start", 6.25, value="1", unit="g"),
        factories.make_row(encounter, "procedure:ct head:start", 2.25, time_kind="performed"),
    )
    factories.make_series(
        encounter, "med:vancomycin:start", rows[:2], summary="vancomycin 1 g given"
    )
    factories.make_series(encounter, "procedure:ct head:start", rows[2:], summary="head CT done")
    text = factories.make_timeline(
        inventory, {fever: -6.0, vancomycin: 1.5, scan: None}, case_run=case_run
    )
    base = factories.make_timeline(
        inventory,
        [
            Entry(occurrence=fever, time=-6.0, known=True, decided_by="rule"),
            Entry(occurrence=vancomycin, time=1.5, lower=1.0, upper=2.0, decided_by="rule"),
            Entry(occurrence=scan, time=None, decided_by="rule", context=[fever.uid4]),
        ],
        kind=TimelineKind.REVISED,
        case_run=case_run,
    )
    factories.seal(inventory)
    for occurrence in (fever, vancomycin, scan):
        occurrence.inventory.refresh_from_db()
    return CorrectedWorld(
        study,
        dataset,
        factories.make_user(study, Role.CLINICIAN, username="anna"),
        factories.make_user(study, Role.CLINICIAN, username="boris"),
        factories.make_user(study, Role.ADMIN, username="chief"),
        encounter,
        text,
        base,
        fever,
        vancomycin,
        scan,
        rows,
    )
