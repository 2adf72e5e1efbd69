"""Groups of linked occurrences, and the one time of each.

Values are derived by hand.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from timelines.domain import (
    Entry,
    InvariantError,
    Inventory,
    NotePart,
    Occurrence,
    Polarity,
    RowLink,
    TaggedNote,
    Timeline,
)
from timelines.pipeline.linking.candidates import find_pairs
from timelines.pipeline.linking.grouping import choose_links, find_groups
from timelines.pipeline.linking.intervals import find_interval, overlap
from timelines.pipeline.linking.joining import join
from timelines.pipeline.linking.values import Decider, Link, Member, find_members, find_part

UIDS = ("000a", "000b", "000c")
A, B, C = UIDS
MEMBERS = {
    A: Member(A, "CT of the head", 0, "progress note written at 30.0 h", 30.0),
    B: Member(B, "head CT", 1, "progress note written at 54.0 h", 54.0),
    C: Member(C, "NCHCT", 2, "discharge summary", None),
}
PEOPLE = frozenset({"a person"})


def joined(*entries: Entry, people: frozenset[str] = PEOPLE):
    group = tuple(e.uid for e in entries)
    return join(Timeline(entries), (group,), MEMBERS, people=people)


def times(*entries: Entry) -> list[tuple[float | None, float | None, float | None]]:
    return [(e.time, e.lower, e.upper) for e in joined(*entries).timeline]


def test_the_entry_with_a_row_comes_first_and_keeps_its_time() -> None:
    row = Entry(B, 21.5, 21.0, 22.0, True, adopted_rows=(7,), link=RowLink.MATCHED, reason="a row")
    stated = Entry(A, 20.0, 18.0, 21.2, True, reason="stated")
    found = joined(stated, row)
    one, other = found.timeline.entries
    assert (one.time, one.lower, one.upper) == (21.5, 21.0, 22.0)
    assert (one.adopted_rows, one.link) == ((7,), RowLink.MATCHED)
    assert one.context == (B,)
    assert one.reason == (
        "same event as in the progress note written at 54.0 h (“head CT”), whose time rests on a"
        " row of the record; this note alone says 20.0 h"
    )
    assert other.reason == ("a row; also in the progress note written at 30.0 h (“CT of the head”)")
    assert found.own == {A: stated, B: row}


def test_without_a_row_a_stated_time_comes_first_then_narrow_bounds() -> None:
    wide = Entry(A, 20.0, 0.0, 40.0, known=True)
    narrow = Entry(B, 22.0, 21.0, 23.0, known=False)
    assert times(wide, narrow) == [(21.0, 21.0, 23.0)] * 2, "moved into the bounds of both"
    assert times(Entry(A, 20.0, 0.0, 40.0), narrow) == [(22.0, 21.0, 23.0)] * 2


def test_of_equal_bounds_the_note_written_soonest_after_the_event_decides() -> None:
    late = Entry(C, 24.0, 20.0, 28.0)
    assert (
        times(Entry(A, 22.0, 18.0, 26.0), Entry(B, 23.0, 19.0, 27.0), late)
        == [(22.0, 20.0, 26.0)] * 3
    ), "30 - 22 hours are fewer than 54 - 23"


def test_an_occurrence_without_a_time_takes_that_of_its_group() -> None:
    found = joined(Entry(A, None, reason="no words say when"), Entry(B, 22.0, 21.0, 23.0))
    assert found.timeline.entries[0].time == 22.0
    assert "which has a time; this note alone gives no time" in found.timeline.entries[0].reason
    apart = joined(Entry(A, None, 30.0, 40.0), Entry(B, 22.0, 21.0, 23.0))
    assert apart.timeline.entries[0] == Entry(A, None, 30.0, 40.0)
    nothing = joined(Entry(A, None), Entry(B, None))
    assert nothing.own == {}


def test_notes_that_cannot_agree_keep_their_times_and_both_say_so() -> None:
    one, other = Entry(A, 20.0, 19.0, 21.0, True), Entry(B, 44.0, 43.0, 45.5)
    found = joined(one, other)
    assert [(e.time, e.lower, e.upper) for e in found.timeline] == [
        (20.0, 19.0, 21.0),
        (44.0, 43.0, 45.5),
    ]
    assert found.timeline.entries[0].reason == (
        "the notes differ: the progress note written at 54.0 h (“head CT”) says 44.0 h, which"
        " cannot be the same time"
    )
    assert "(“CT of the head”) says 20.0 h" in found.timeline.entries[1].reason


def test_times_within_the_tolerance_are_one_even_if_their_bounds_exclude_each_other() -> None:
    row = Entry(A, 20.0, 19.5, 20.5, True, adopted_rows=(1,), link=RowLink.MATCHED)
    other = Entry(B, 22.9, 22.4, 23.4, True, adopted_rows=(2,), link=RowLink.MATCHED)
    assert times(row, other) == [(20.0, 19.5, 20.5)] * 2
    far = Entry(B, 23.1, 22.6, 23.6, True, adopted_rows=(2,), link=RowLink.MATCHED)
    assert times(row, far) == [(20.0, 19.5, 20.5), (23.1, 22.6, 23.6)]


def test_what_a_person_corrected_comes_before_a_row_and_is_not_replaced() -> None:
    row = Entry(A, 20.0, 19.5, 20.5, True, adopted_rows=(1,), link=RowLink.MATCHED)
    person = Entry(B, 21.0, decided_by="a person", reason="seen")
    assert times(row, person) == [(21.0, None, None)] * 2
    other = Entry(C, 22.0, decided_by="a person", reason="seen, too")
    assert times(row, person, other) == [(21.0, None, None)] * 2 + [(22.0, None, None)]
    gone = Entry(B, None, decided_by="a person", reason="did not happen")
    assert joined(row, gone).own == {}


def test_a_timeline_without_groups_is_the_same() -> None:
    timeline = Timeline((Entry(A, 1.0), Entry(B, 2.0)))
    found = join(timeline, (), MEMBERS)
    assert (found.timeline.entries, found.own) == (timeline.entries, {})


def link(first: str, second: str, strength: float) -> Link:
    return Link(first, second, "same", Decider.RULES, strength)


def test_the_strongest_links_form_groups_with_one_occurrence_of_each_note() -> None:
    parts = {"a": 0, "A": 0, "b": 1, "c": 2}
    links = [link("a", "b", 0.5), link("A", "b", 0.9), link("b", "c", 0.7), link("a", "c", 0.6)]
    chosen = choose_links(links, parts)
    assert [(x.first, x.second) for x in chosen] == [("A", "b"), ("b", "c")]
    assert find_groups([(x.first, x.second) for x in chosen], "aAbc") == (("A", "b", "c"),)
    closing = [link("a", "b", 0.9), link("b", "c", 0.8), link("a", "c", 0.7)]
    assert len(choose_links(closing, parts)) == 2, "the third would join what is joined"
    assert find_groups([], "aAbc") == ()


def test_a_link_is_between_two_and_has_a_reason() -> None:
    with pytest.raises(InvariantError, match="itself"):
        Link(A, A, "same")
    with pytest.raises(InvariantError, match="reason"):
        Link(A, B, "")


PARTS = (NotePart(10, 40, "progress note", 30.0), NotePart(60, 90, "discharge summary"))


@pytest.mark.parametrize(
    ("start", "part"), [(0, None), (10, 0), (39, 0), (40, None), (60, 1), (95, None), (None, None)]
)
def test_a_character_is_in_one_note_or_between_notes(start: int | None, part: int | None) -> None:
    assert find_part(PARTS, start) == part


@pytest.mark.parametrize(
    ("entry", "interval"),
    [
        (Entry(A, 5.0, 4.0, 6.0), (4.0, 6.0)),
        (Entry(A, 5.0, None, 6.0), (-np.inf, 6.0)),
        (Entry(A, 5.0), (2.0, 8.0)),
        (Entry(A, -100.0), (-110.0, -90.0)),
        (Entry(A, None), None),
    ],
)
def test_the_hours_in_which_an_entry_may_be(
    entry: Entry, interval: tuple[float, float] | None
) -> None:
    assert find_interval(entry) == interval
    assert overlap(entry, entry) is (interval is not None)


def tagged(*starts: int) -> TaggedNote:
    inventory = Inventory(
        tuple(Occurrence(f"{n:04x}", n, f"m{n}", at, at + 2) for n, at in enumerate(starts))
    )
    return TaggedNote("x" * 95, inventory, PARTS)


def test_candidates_are_similar_of_two_notes_and_at_one_time() -> None:
    note = tagged(12, 20, 62, 70)
    vectors = np.array([[1, 0], [0.6, 0.8], [1, 0], [0, 1]], dtype=np.float32)
    timeline = Timeline(
        (
            Entry("0000", 5.0, 4.0, 6.0),
            Entry("0001", 5.0, 4.0, 6.0),
            Entry("0002", 5.0, 0.0, 9.0),
            Entry("0003", 50.0, 49.0, 51.0),
        )
    )
    found = [(p.first, p.second) for p in find_pairs(note, timeline, vectors)]
    assert found == [("0000", "0002"), ("0001", "0002")], "not of one note, not on another day"
    assert find_pairs(note, timeline, vectors)[1].similarity == pytest.approx(0.6)
    assert find_members(note.inventory, PARTS)["0002"].note == "discharge summary"
    assert find_members(note.inventory, PARTS)["0000"].note == "progress note written at 30.0 h"


def test_a_plan_is_a_candidate_for_a_plan_alone() -> None:
    planned = (12, 62)
    occurrences = tuple(
        replace(o, polarity=Polarity.PLANNED if o.start in planned else Polarity.PRESENT)
        for o in tagged(12, 20, 62, 70).inventory
    )
    note = TaggedNote("x" * 95, Inventory(occurrences), PARTS)
    timeline = Timeline(tuple(Entry(o.uid, 5.0, 4.0, 6.0) for o in occurrences))
    found = find_pairs(note, timeline, np.ones((4, 1), dtype=np.float32))
    assert {(p.first, p.second) for p in found} == {("0000", "0002"), ("0001", "0003")}


def test_an_occurrence_between_notes_or_without_a_time_is_no_candidate() -> None:
    note = tagged(2, 12, 62)
    vectors = np.ones((3, 1), dtype=np.float32)
    timeline = Timeline((Entry("0000", 5.0), Entry("0001", None), Entry("0002", 5.0)))
    assert find_pairs(note, timeline, vectors) == ()
