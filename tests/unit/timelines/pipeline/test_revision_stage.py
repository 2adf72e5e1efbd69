"""Stage 6's validator rejects and never repairs."""

from datetime import datetime

import pytest

from timelines.domain import (
    Anchor,
    Entry,
    Evidence,
    Expansion,
    Inventory,
    Occurrence,
    RowLink,
    SourceRow,
    TaggedNote,
    Timeline,
    TimelineKind,
    Window,
)
from timelines.pipeline.revision import (
    ProposedEntry,
    ProposedTimeline,
    RevisionRejected,
    citation_faults,
    revise,
    validate_revision,
)

A, B = "0a1b", "a5d3"
INVENTORY = Inventory(
    (Occurrence(A, 0, "lactate 4.1", 0, 5), Occurrence(B, 1, "norepinephrine", 6, 9))
)
GOOD = [ProposedEntry(B, 3, 2, 4, True, (A,), mention="norepinephrine"), ProposedEntry(A, None)]


def reasons(proposals: list[list[ProposedEntry]], alternatives: int = 1) -> tuple[str, ...]:
    with pytest.raises(RevisionRejected) as error:
        validate_revision(INVENTORY, list(map(ProposedTimeline, proposals)), alternatives)
    return error.value.reasons


def test_good_alternatives_become_timelines_in_inventory_order() -> None:
    first, second = validate_revision(
        INVENTORY,
        [ProposedTimeline(GOOD, "the likeliest"), ProposedTimeline(list(reversed(GOOD)))],
        2,
    )
    assert [e.uid for e in first] == [A, B] == [e.uid for e in second]
    assert (first.kind, first.alternative, second.alternative) == (TimelineKind.REVISED, 1, 2)
    assert first.by_uid[B] == Entry(B, 3, 2, 4, True, (A,))
    assert (first.reasoning, second.reasoning) == ("the likeliest", "")


@pytest.mark.parametrize("count", [0, 1, 3])
def test_wrong_number_of_alternatives(count: int) -> None:
    assert reasons([GOOD] * count, 2) == (f"{count} alternatives, exactly 2 are asked for",)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_fewer_timelines_are_enough_if_they_are_not_forced(count: int) -> None:
    found = validate_revision(INVENTORY, [ProposedTimeline(GOOD)] * count, 3, exactly=False)
    assert [t.alternative for t in found] == list(range(1, count + 1))


@pytest.mark.parametrize("count", [0, 4])
def test_none_and_too_many_timelines_are_rejected_also_if_they_are_not_forced(count: int) -> None:
    with pytest.raises(RevisionRejected) as error:
        validate_revision(INVENTORY, [ProposedTimeline(GOOD)] * count, 3, exactly=False)
    assert error.value.reasons == (f"{count} alternatives, from 1 to 3 are asked for",)


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


def test_a_time_may_rest_on_any_row_that_revision_saw_and_on_no_other() -> None:
    note = TaggedNote("lactate norepi", INVENTORY)
    text = Timeline.complete(INVENTORY, [Entry(A, 1), Entry(B, 2)], TimelineKind.TEXT_ONLY)
    window = Window(Anchor(datetime(2150, 1, 1)), 100.0)
    found = Expansion((Evidence(A, 0, SourceRow(7, 1.5, "lab:lactate:blood", "4.1"), 1, 0.5, 0.5),))
    for entries in (
        [Entry(A, 1.5, adopted_rows=(7,)), Entry(B, 2)],
        [Entry(A, 1.5), Entry(B, 1.5, adopted_rows=(7,), link=RowLink.CITED)],
    ):
        adopted = Timeline.complete(INVENTORY, entries, TimelineKind.REVISED)
        assert revise(FixedReviser(adopted), note, text, found, window, alternatives=1) == (
            adopted,
        )
    unseen = Timeline.complete(
        INVENTORY, [Entry(A, 1.5), Entry(B, 1.5, near_rows=(8,))], TimelineKind.REVISED
    )
    with pytest.raises(
        RevisionRejected, match=f"timeline 1: UID {B}: cites row 8, which revision did not see"
    ):
        revise(FixedReviser(unseen), note, text, found, window, alternatives=1)


SEEN = Expansion(
    (
        Evidence(A, 0, SourceRow(7, 1.5, "lab:lactate:blood", "4.1"), 1, 0.5, 0.5),
        Evidence(B, 0, SourceRow(8, 3.0, "med:norepinephrine:start"), 1, 0.5, 0.5),
    ),
    skeleton=(
        SourceRow(1, 0.0, "admission:hospital admission"),
        SourceRow(2, 9.0, "transfer:transfer:"),
    ),
)


@pytest.mark.parametrize(
    ("time", "rows", "fault"),
    [
        (1.5, (7,), ""),
        (1.52, (7,), ""),
        (1.48, (7,), ""),
        (1.53, (7,), "the time equals the hour of none of the rows that it cites"),
        (1.47, (7,), "the time equals the hour of none of the rows that it cites"),
        (3.0, (7, 8), ""),
        (3.0, (8,), ""),
        (0.0, (1,), ""),
        (9.0, (1, 2, 7), ""),
        (9.0, (1, 2, 7, 8), "cites 4 rows, at most 3"),
        (1.5, (99,), "cites row 99, which revision did not see"),
        (None, (7,), "cites rows for N/A"),
        (None, (), ""),
        (50.0, (), ""),
    ],
)
def test_cited_rows_were_seen_and_one_of_them_has_the_time(
    time: float | None, rows: tuple[int, ...], fault: str
) -> None:
    link = RowLink.CITED if rows else None
    found = citation_faults(Entry(A, time, adopted_rows=rows, link=link), SEEN)
    assert found == ([f"UID {A}: {fault}"] if fault else [])


@pytest.mark.parametrize("link", [RowLink.INFERRED, RowLink.MATCHED, None])
def test_a_link_that_no_model_wrote_may_be_of_another_hour(link: RowLink | None) -> None:
    """A rule dates "negative culture" by rows of several hours."""
    assert citation_faults(Entry(A, 40.0, adopted_rows=(1, 2, 7, 8), link=link), SEEN) == []
    assert citation_faults(Entry(A, 40.0, adopted_rows=(99,), link=link), SEEN) == [
        f"UID {A}: cites row 99, which revision did not see"
    ]
