"""Stage 6's validator rejects and never repairs."""

from datetime import datetime

import pytest

from timelines.domain import (
    Anchor,
    Entry,
    Evidence,
    Inventory,
    Occurrence,
    SourceRow,
    TaggedNote,
    Timeline,
    TimelineKind,
    Window,
)
from timelines.pipeline.revision import ProposedEntry, RevisionRejected, revise, validate_revision

A, B = "0a1b", "a5d3"
INVENTORY = Inventory(
    (Occurrence(A, 0, "lactate 4.1", 0, 5), Occurrence(B, 1, "norepinephrine", 6, 9))
)
GOOD = [ProposedEntry(B, 3, 2, 4, True, (A,), mention="norepinephrine"), ProposedEntry(A, None)]


def reasons(proposals: list[list[ProposedEntry]], alternatives: int = 1) -> tuple[str, ...]:
    with pytest.raises(RevisionRejected) as error:
        validate_revision(INVENTORY, proposals, alternatives)
    return error.value.reasons


def test_good_alternatives_become_timelines_in_inventory_order() -> None:
    first, second = validate_revision(INVENTORY, [GOOD, list(reversed(GOOD))], 2)
    assert [e.uid for e in first] == [A, B] == [e.uid for e in second]
    assert (first.kind, first.alternative, second.alternative) == (TimelineKind.REVISED, 1, 2)
    assert first.by_uid[B] == Entry(B, 3, 2, 4, True, (A,))


@pytest.mark.parametrize("count", [0, 1, 3])
def test_wrong_number_of_alternatives(count: int) -> None:
    assert reasons([GOOD] * count, 2) == (f"{count} alternatives, exactly 2 are asked for",)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([GOOD[0]], f"timeline 1: missing UID {A}"),
        ([*GOOD, ProposedEntry(A, 5)], f"timeline 1: UID {A} occurs 2 times"),
        ([*GOOD, ProposedEntry("ffff", 5)], "timeline 1: unknown UID ffff"),
        (
            [GOOD[0], ProposedEntry(A, 1, mention="Lactate 4.1")],
            f"timeline 1: UID {A}: changed mention",
        ),
        (
            [GOOD[0], ProposedEntry(A, 1, 2, 3)],
            f"timeline 1: UID {A}: lower bound 2 is after the time 1",
        ),
        (
            [GOOD[0], ProposedEntry(A, 1, context=("ffff",))],
            f"timeline 1: UID {A}: unknown context UID ffff",
        ),
        (
            [GOOD[0], ProposedEntry(A, 1, context=(B, B))],
            f"timeline 1: UID {A}: context UIDs must be distinct others",
        ),
    ],
)
def test_each_broken_rule_is_a_reason(rows: list[ProposedEntry], reason: str) -> None:
    assert reasons([rows]) == (reason,)


def test_all_faults_of_all_alternatives_are_reported_together() -> None:
    assert reasons([[GOOD[0]], [GOOD[1]]], 2) == (
        f"timeline 1: missing UID {A}",
        f"timeline 2: missing UID {B}",
    )


class FixedReviser:
    def __init__(self, *timelines: Timeline) -> None:
        self.timelines = timelines

    def revise(self, *_: object) -> tuple[Timeline, ...]:
        return self.timelines


def test_a_time_may_rest_only_on_rows_given_for_that_uid() -> None:
    note = TaggedNote("lactate norepi", INVENTORY)
    text = Timeline.complete(INVENTORY, [Entry(A, 1), Entry(B, 2)], TimelineKind.TEXT_ONLY)
    window = Window(Anchor(datetime(2150, 1, 1)), 100.0)
    evidence = [Evidence(A, 0, SourceRow(7, 1.5, "lab:lactate:blood", "4.1"), 1, 0.5, 0.5)]
    adopted = Timeline.complete(
        INVENTORY, [Entry(A, 1.5, adopted_rows=(7,)), Entry(B, 2)], TimelineKind.REVISED
    )
    assert revise(FixedReviser(adopted), note, text, evidence, window, alternatives=1) == (adopted,)
    borrowed = Timeline.complete(
        INVENTORY, [Entry(A, 1.5), Entry(B, 1.5, adopted_rows=(7,))], TimelineKind.REVISED
    )
    with pytest.raises(
        RevisionRejected, match=f"UID {B}: adopted row 7 was not among its evidence"
    ):
        revise(FixedReviser(borrowed), note, text, evidence, window, alternatives=1)
