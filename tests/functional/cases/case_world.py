"""The small case of the case page's tests.

A haemorrhage on an anticoagulant, with characters that pages get wrong. The text places the
reversal agent at +1.5 h; its administration row at +6.5 h moves it. One span is inside another, two
overlap, one occurrence has no time. Note, mention, event name, value and reason have markup that
must stay text.
"""

from __future__ import annotations

from dataclasses import dataclass

from accounts.models import Role, Study, User
from ehr.models import Encounter, Note
from tests import factories
from tests.worlds.kept import build_once
from timelines.domain import Lane, Polarity, TimelineKind
from timelines.models import Entry, Inventory, Occurrence, Timeline

MARKUP = '<img src=x onerror="window.hit=1"><script>window.hit=1</script>{{ 7|add:1 }} &amp; \';--'
NOTE = (
    "HISTORY OF PRESENT ILLNESS:\r\n"
    "🫀 Fell at home three days before arrival on apixaban (last dose the night before).\r\n"
    "\tDenied headache. e\u0301tat stable. שלום.\r\n"
    f"Triage wrote: {MARKUP}\r\n\r\n"
    "HOSPITAL COURSE:\r\n"
    "Head CT showed a large left thalamic hemorrhage with intraventricular extension. Andexanet alfa was given soon after arrival. "
    "A second head CT the next morning was stable. Diet was advanced as tolerated. "
) + "She remained in the unit under close observation. " * 30


@dataclass(frozen=True)
class World:
    """The stored case and who may see it."""

    study: Study
    clinician: User
    encounter: Encounter
    note: Note
    occurrences: dict[str, Occurrence]
    text_only: Timeline
    revised: Timeline
    second: Timeline
    reference: Timeline

    @property
    def address(self) -> str:
        return f"/cases/{self.encounter.public_id}/"

    def uid(self, name: str) -> str:
        return self.occurrences[name].uid4


#: name: phrase, lane, text-only hours, revised hours
_OCCURRENCES: dict[str, tuple[str, Lane, float | None, float | None]] = {
    "fall": ("Fell at home", Lane.HISTORY, -72.0, -72.0),
    "apixaban": ("apixaban (last dose the night before)", Lane.MEDICATION, -14.0, -14.0),
    "dose": ("last dose", Lane.MEDICATION, -14.0, -14.0),
    "headache": ("Denied headache", Lane.FINDING, 0.0, 0.0),
    "markup": (MARKUP, Lane.FINDING, 0.0, 0.0),
    "ct": ("Head CT showed a large left thalamic hemorrhage", Lane.PROCEDURE, 1.0, 1.1),
    "bleed": ("left thalamic hemorrhage with intraventricular extension", Lane.FINDING, 1.0, 1.1),
    "andexanet": ("Andexanet alfa was given", Lane.MEDICATION, 1.5, 6.5),
    "second ct": ("second head CT the next morning", Lane.PROCEDURE, 18.0, 18.0),
    "diet": ("Diet was advanced", Lane.PLAN, None, None),
}


@build_once
def build_world() -> World:
    """Store everything.

    The run has two alternatives, and the reference agrees with the first.
    """
    study = factories.make_study()
    clinician = factories.make_user(study, Role.CLINICIAN)
    encounter = factories.make_encounter(
        factories.make_dataset(study), title="Intracerebral haemorrhage on an anticoagulant"
    )
    note = factories.make_note(encounter, NOTE)
    run = factories.make_run(encounter.dataset)
    inventory, occurrences = _inventory(note, run)
    case_run = factories.make_case_run(run, encounter, inventory)
    row = factories.make_row(
        encounter, "med:andexanet alfa:start", 6.5, value=f"400 {MARKUP}", unit="mg"
    )
    other = factories.make_row(encounter, f"order:{MARKUP}:start", 1.2, time_kind="order")
    query = factories.make_query(
        case_run, occurrences["andexanet"], "andexanet alfa reversal agent administration"
    )
    kept = factories.make_candidate(
        query,
        factories.make_series(encounter, row.event, [row]),
        fate="among the best three of its query",
    )
    factories.make_candidate(
        query,
        factories.make_series(encounter, other.event, [other]),
        rank=2,
        kept=False,
        rerank=0.01,
        fate=f"below 0.05 {MARKUP}",
    )
    factories.make_evidence(kept, row)
    text = [_entry(o, _OCCURRENCES[name][2]) for name, o in occurrences.items()]
    text[7].context = [occurrences["ct"].uid4, occurrences["fall"].uid4]
    text_only = factories.make_timeline(inventory, text, case_run=case_run)
    revised, second = (
        _make_revision(inventory, occurrences, case_run, row.row_index, n) for n in (1, 2)
    )
    factories.seal(inventory)
    return World(
        study, clinician, encounter, note, occurrences, text_only, revised, second, _reference(note)
    )


def _inventory(note: Note, run: object = None) -> tuple[Inventory, dict[str, Occurrence]]:
    inventory = factories.make_inventory(note, run)  # type: ignore[arg-type]  # None makes a reference
    first = 0xA000 if run else 0xB000
    made = {
        name: factories.make_occurrence(
            inventory,
            phrase,
            lane=lane,
            uid4=f"{first + n:04x}",
            polarity=Polarity.ABSENT if name == "headache" else Polarity.PRESENT,
        )
        for n, (name, (phrase, lane, _, _)) in enumerate(_OCCURRENCES.items())
    }
    return inventory, made


def _entry(occurrence: Occurrence, hours: float | None, **more: object) -> Entry:
    known = occurrence.mention.startswith("Fell")
    bounds = {"lower": -96.0, "upper": -48.0} if known else {}
    return Entry(
        occurrence=occurrence,
        time=hours,
        known=known,
        **{"decided_by": "rules 1.0 / relative-day", **bounds, **more},
    )


def _make_revision(
    inventory: Inventory,
    occurrences: dict[str, Occurrence],
    case_run: object,
    row: int,
    alternative: int,
) -> Timeline:
    entries = []
    for name, occurrence in occurrences.items():
        hours = _OCCURRENCES[name][3]
        if name == "andexanet" and alternative == 1:
            reason = f"The administration row is this very dose {MARKUP}"
            entries.append(
                _entry(
                    occurrence,
                    hours,
                    adopted_rows=[row],
                    decided_by="rules 1.0 / adopt-row",
                    reason=reason,
                )
            )
        else:
            entries.append(
                _entry(
                    occurrence,
                    _OCCURRENCES[name][2] if alternative == 2 else hours,
                    decided_by="rules 1.0 / keep-text",
                )
            )
    kind = TimelineKind.REVISED
    return factories.make_timeline(
        inventory,
        entries,
        kind=kind,
        case_run=case_run,  # type: ignore[arg-type]
        alternative=alternative,
    )


def _reference(note: Note) -> Timeline:
    inventory, occurrences = _inventory(note)
    entries = [
        _entry(o, _OCCURRENCES[name][3], decided_by="author") for name, o in occurrences.items()
    ]
    timeline = factories.make_timeline(inventory, entries, kind=TimelineKind.REFERENCE)
    factories.seal(inventory)
    return timeline
