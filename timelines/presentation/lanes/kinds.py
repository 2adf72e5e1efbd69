"""The lanes of the case page, and which one an occurrence is on.

The note's kinds (`timelines.domain.Lane`) have no vital signs and file many measurements under
findings. Here the mention and its evidence decide: "BP 212/108" is a vital sign, "leukocytosis"
that cites a laboratory row is a laboratory result.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum

from timelines.backbones.rules.querying.vocabulary import Concept, Kind
from timelines.domain import Lane


class ShownLane(StrEnum):
    """A lane of the case page, in order from the top."""

    COURSE = "course"
    FINDING = "finding"
    LAB = "lab"
    VITAL = "vital"
    MEDICATION = "medication"
    PROCEDURE = "procedure"
    PLAN = "plan"
    HISTORY = "history"

    @property
    def label(self) -> str:
        return _LABELS[self]


_LABELS = {
    ShownLane.COURSE: "Patient course",
    ShownLane.FINDING: "Symptoms, findings",
    ShownLane.LAB: "Labs",
    ShownLane.VITAL: "Vitals",
    ShownLane.MEDICATION: "Medications",
    ShownLane.PROCEDURE: "Procedures, lines",
    ShownLane.PLAN: "Plans",
    ShownLane.HISTORY: "History",
}
_SAME = {
    Lane.TRANSFER: ShownLane.COURSE,
    Lane.FINDING: ShownLane.FINDING,
    Lane.LAB: ShownLane.LAB,
    Lane.MEDICATION: ShownLane.MEDICATION,
    Lane.PROCEDURE: ShownLane.PROCEDURE,
    Lane.PLAN: ShownLane.PLAN,
    Lane.HISTORY: ShownLane.HISTORY,
}
#: Measurements of the bedside, by their names in the vocabulary.
VITALS = frozenset(
    {
        "temperature", "heart rate", "systolic pressure", "blood pressure", "mean pressure", "diastolic pressure", "orthostatics",
        "respiratory rate", "oxygen saturation", "intracranial pressure", "central venous pressure", "pulmonary artery pressure",
        "wedge pressure", "cardiac output", "stroke volume", "svr", "fio2", "oxygen flow", "peep", "tidal volume", "pressure support",
        "plateau pressure", "peak pressure", "mean airway pressure", "minute ventilation", "end-tidal co2", "gcs", "pain", "weight",
        "urine output", "chest tube output", "drain output", "csf drainage",
    }
)  # fmt: skip
#: Scores and examinations of the bedside: they stay among symptoms and findings.
_EXAMINED = frozenset(
    {
        "height", "orientation", "sedation scale", "delirium", "ciwa", "hallucinations", "strength", "pupils", "assist control",
        "vital capacity", "bipap settings", "cooling", "stool output", "ostomy output", "gastric output", "blood loss", "bladder scan",
        "ultrafiltration", "qtc", "pacer settings", "headache", "nausea", "dyspnea assessment", "swallowing", "epidural infusion",
        "braden", "secretions", "wound size", "shivering", "train of four", "filter pressures", "transmembrane pressure",
        "bladder pressure",
    }
)  # fmt: skip


def measured_lane(concept: Concept) -> ShownLane | None:
    """Return the lane of a measurement; None for anything else."""
    if concept.kind is not Kind.MEASUREMENT or concept.name in _EXAMINED:
        return None
    return ShownLane.VITAL if concept.name in VITALS else ShownLane.LAB


def is_given(lane: Lane, cited: Collection[str]) -> bool:
    """Return whether the rows that a time cites are of a drug alone.

    A tagger may read "the insulin drip came off" as a transfer.
    """
    mistaken = lane in (Lane.FINDING, Lane.LAB, Lane.TRANSFER)
    return mistaken and bool(cited) and all(e.startswith(("med:", "order:")) for e in cited)


def shown_lane(
    lane: Lane, concept: Concept | None, *, measured: bool, cited: Collection[str]
) -> ShownLane:
    """Return the lane that an occurrence is drawn on.

    `concept` is its subject; `measured`: the mention names it with a number, so that "chest
    pressure" is no blood pressure. `cited` are the event names of the rows that its time cites.
    """
    found = None if concept is None else measured_lane(concept)
    if lane not in (Lane.FINDING, Lane.LAB) or found is None:
        return _SAME[lane]
    if lane is Lane.LAB:
        return found
    return found if measured or _of_category(cited, found) else ShownLane.FINDING


def _of_category(events: Collection[str], lane: ShownLane) -> bool:
    category = "lab:" if lane is ShownLane.LAB else "chart:"
    return any(event.startswith(category) for event in events)
