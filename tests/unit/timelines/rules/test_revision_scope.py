"""Places in a note where an occurrence may have rows.

Some occurrences never move; a row before arrival counts only under conditions.
"""

from __future__ import annotations

from datetime import datetime

import pytest

from timelines.backbones.rules.querying.reading import Reading, read_note
from timelines.backbones.rules.revision.match import REACH_ACT, Match
from timelines.backbones.rules.revision.reviser import RuleReviser
from timelines.backbones.rules.revision.scope import compute_reach, may_have_rows
from timelines.domain import (
    Anchor,
    Entry,
    Evidence,
    Expansion,
    Inventory,
    Lane,
    Occurrence,
    SourceRow,
    TaggedNote,
    TimeKind,
    Timeline,
    TimelineKind,
    Window,
)


def _note(text: str, *spans: str) -> TaggedNote:
    found = [
        Occurrence(
            f"{i:04x}", i, span, text.index(span), text.index(span) + len(span), lane=Lane.FINDING
        )
        for i, span in enumerate(spans)
    ]
    return TaggedNote(text, Inventory(tuple(found)))


def _reading(text: str, span: str) -> Reading:
    (reading,) = read_note(_note(text, span)).values()
    return reading


def test_intubated_in_an_examination_is_a_state_not_the_placement() -> None:
    entry = Entry("0000", 2.0, 0.0, 6.0)
    assert not may_have_rows(
        _reading("PHYSICAL EXAM ON ADMISSION:\nIntubated, icteric.\n", "Intubated"), entry
    )
    assert may_have_rows(_reading("HOSPITAL COURSE:\nIntubated for fatigue.\n", "Intubated"), entry)


@pytest.mark.parametrize(("time", "hours"), [(-5.0, 1.5), (0.5, 1.5), (1.5, REACH_ACT)])
def test_what_led_to_the_admission_believes_only_near_rows(time: float, hours: float) -> None:
    reading = _reading(
        "HISTORY OF PRESENT ILLNESS:\nNorepinephrine was started.\n", "Norepinephrine was started"
    )
    assert (
        compute_reach(
            Match(0.1, REACH_ACT, "same drug"),
            reading,
            Entry("0000", time, time, time),
            unique=False,
        )
        == hours
    )


@pytest.mark.parametrize(
    ("rule", "known", "far"),
    [("narrative", False, True), ("clock", True, False), ("day", False, False)],
)
def test_the_only_such_row_of_the_record_is_believed_however_far_when_no_time_was_told(
    rule: str, known: bool, far: bool
) -> None:
    reading = _reading("HOSPITAL COURSE:\nReticulocytes 0.7.\n", "Reticulocytes 0.7")
    entry = Entry("0000", 110.0, 100.0, 125.0, known=known, decided_by=rule)
    assert (
        compute_reach(Match(0.0, REACH_ACT, "same value", exact=True), reading, entry, unique=True)
        > 200
    ) is far


def test_a_static_state_stays_at_0_beside_a_moved_neighbour() -> None:
    note = _note("HOSPITAL COURSE:\nDiabetes. Sodium 128 was found.\n", "Diabetes", "Sodium 128")
    text = Timeline.complete(
        note.inventory,
        [
            Entry("0000", 0.0, None, 0.0, decided_by="static"),
            Entry("0001", 1.0, 0.0, 2.0, decided_by="narrative"),
        ],
        TimelineKind.TEXT_ONLY,
    )
    row = SourceRow(
        7, 5.0, "lab:sodium:blood", "128", "mEq/L", "labevents", TimeKind.COLLECTION, 128.0
    )
    window = Window(Anchor(datetime(2150, 1, 1)), 100.0)
    (revised,) = RuleReviser().revise(
        note, text, Expansion((Evidence("0001", 0, row, 1, 0.9, 0.9),)), window, 1
    )
    assert [entry.time for entry in revised] == [0.0, 5.0]
