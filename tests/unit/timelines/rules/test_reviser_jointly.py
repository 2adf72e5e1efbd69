"""Occurrences are revised together.

Repeats go one to one, neighbours move, discharge is the recorded one.
"""

from dataclasses import replace
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timelines.backbones.rules.revision.propagate import Anchored, find_tie
from timelines.backbones.rules.revision.reviser import RuleReviser
from timelines.domain import (
    Anchor,
    Entry,
    Evidence,
    Expansion,
    Inventory,
    Occurrence,
    SourceRow,
    TaggedNote,
    TimeKind,
    Timeline,
    TimelineKind,
    Window,
)
from timelines.pipeline.revision import revise

WINDOW = Window(Anchor(datetime(2150, 1, 1)), 120.0)


def case(note: str, spans: list[str], times: list[float | None]) -> tuple[TaggedNote, Timeline]:
    occurrences, at = [], 0
    for i, span in enumerate(spans):
        at = note.index(span, at)
        occurrences.append(Occurrence(f"{i:04x}", i, span, at, at + len(span)))
        at += len(span)
    inventory = Inventory(tuple(occurrences))
    entries = [
        Entry(o.uid, t, None if t is None else t - 6, None if t is None else t + 6)
        for o, t in zip(occurrences, times, strict=True)
    ]
    return TaggedNote(note, inventory), Timeline.complete(
        inventory, entries, TimelineKind.TEXT_ONLY
    )


def row(
    uid: str,
    index: int,
    time: float,
    event: str,
    value: str = "",
    kind: TimeKind = TimeKind.COLLECTION,
) -> Evidence:
    numeric = float(value) if value else None
    return Evidence(
        uid,
        0,
        SourceRow(index, time, event, value, time_kind=kind, numeric_value=numeric),
        1,
        0.9,
        0.9,
    )


def test_two_doses_told_apart_do_not_share_one_row() -> None:
    note, text = case(
        "Furosemide 10 mg was given. A second furosemide dose followed.",
        ["Furosemide 10 mg was given", "second furosemide dose"],
        [59.0, 65.0],
    )
    rows = [
        row(uid, i, t, "med:furosemide (lasix):start", kind=TimeKind.ADMINISTRATION)
        for uid in ("0000", "0001")
        for i, t in ((1, 60.0), (2, 67.0))
    ]
    (timeline,) = revise(RuleReviser(), note, text, Expansion(tuple(rows)), WINDOW, alternatives=1)
    assert [e.adopted_rows for e in timeline] == [(1,), (2,)]


@pytest.mark.parametrize(("context", "moved"), [(("0000",), 14.0), ((), 10.0)])
def test_an_occurrence_without_rows_moves_with_its_neighbour(
    context: tuple[str, ...], moved: float
) -> None:
    note, text = case(
        "Lactate was 4.1 and he looked mottled.",
        ["Lactate was 4.1", "looked mottled"],
        [10.0, 10.0],
    )
    mottled = replace(text.by_uid["0001"], context=context, decided_by="narrative")
    text = Timeline.complete(note.inventory, [text.by_uid["0000"], mottled], TimelineKind.TEXT_ONLY)
    rows = [row("0000", 1, 14.0, "lab:lactate:blood", "4.1")]
    (timeline,) = revise(RuleReviser(), note, text, Expansion(tuple(rows)), WINDOW, alternatives=1)
    assert [e.time for e in timeline] == [14.0, moved]
    assert (timeline.entries[1].lower, timeline.entries[1].upper) == (moved - 6.0, moved + 6.0)
    assert timeline.entries[1].adopted_rows == ()
    assert timeline.entries[1].context == context


def test_history_does_not_move() -> None:
    note, text = case(
        "Stroke two years ago. Lactate was 4.1.",
        ["Stroke two years ago", "Lactate was 4.1"],
        [-17520.0, 10.0],
    )
    rows = [row("0001", 1, 14.0, "lab:lactate:blood", "4.1")]
    (timeline,) = revise(RuleReviser(), note, text, Expansion(tuple(rows)), WINDOW, alternatives=1)
    assert timeline.entries[0].time == -17520.0


def test_discharge_takes_the_recorded_time() -> None:
    note, text = case(
        "She was discharged home on apixaban.", ["discharged home", "apixaban"], [140.0, 140.0]
    )
    (timeline,) = revise(RuleReviser(), note, text, Expansion(()), WINDOW, alternatives=1)
    assert [e.time for e in timeline] == [120.0, 120.0]
    assert {e.decided_by for e in timeline} == {"rules: discharge time"}


def test_without_a_recorded_discharge_the_text_time_stands() -> None:
    note, text = case("She was discharged home.", ["discharged home"], [140.0])
    (timeline,) = revise(
        RuleReviser(), note, text, Expansion(()), Window(WINDOW.anchor), alternatives=1
    )
    assert timeline.entries[0].time == 140.0


def test_alternatives_are_real_and_exactly_as_many_as_asked() -> None:
    note, text = case("Furosemide was given.", ["Furosemide was given"], [10.0])
    rows = [
        row("0000", i, t, "med:furosemide (lasix):start", kind=TimeKind.ADMINISTRATION)
        for i, t in ((1, 10.0), (2, 11.0))
    ]
    timelines = revise(RuleReviser(), note, text, Expansion(tuple(rows)), WINDOW, alternatives=5)
    assert [t.alternative for t in timelines] == [1, 2, 3, 4, 5]
    assert [t.entries[0].adopted_rows for t in timelines[:2]] == [(1,), (2,)]


@given(
    times=st.lists(st.none() | st.floats(-1e5, 1e5), min_size=3, max_size=3),
    rows=st.lists(
        st.tuples(st.integers(0, 2), st.floats(-100, 400), st.sampled_from(["", "4.1", "2.0"])),
        max_size=9,
    ),
    alternatives=st.integers(1, 4),
)
def test_whatever_the_evidence_the_result_is_complete_and_consistent(
    times: list[float | None], rows: list[tuple[int, float, str]], alternatives: int
) -> None:
    note, text = case(
        "Lactate 4.1, then fever, then discharged home.",
        ["Lactate 4.1", "fever", "discharged home"],
        times,
    )
    evidence = [row(f"{o:04x}", i, t, "lab:lactate:blood", v) for i, (o, t, v) in enumerate(rows)]
    timelines = revise(
        RuleReviser(), note, text, Expansion(tuple(evidence)), WINDOW, alternatives=alternatives
    )
    assert len(timelines) == alternatives
    assert all([e.uid for e in t] == list(note.inventory.uids) for t in timelines)


@pytest.mark.parametrize(
    ("way", "context", "moved"),
    [
        ("narrative", (), None),
        ("relative", ("x",), None),
        ("relative", ("b", "a"), "b"),
        # the first tie with a row decides
        ("narrative", ("x", "a", "b"), "a"),
        # a row a day away corrects only its own occurrence
        ("event", ("far", "a"), None),
        # a stated time does not move
        ("clock", ("a",), None),
        # findings of one moment share the middle shift
        ("section", (), "a"),
    ],
)
def test_an_occurrence_moves_with_what_it_is_tied_to(
    way: str, context: tuple[str, ...], moved: str | None
) -> None:
    anchors = [
        Anchored("a", 10.0, 12.0),
        Anchored("b", 10.0, 8.5),
        Anchored("c", 10.0, 13.0),
        Anchored("d", 11.0, 16.0),
        Anchored("far", 10.5, 34.0),
    ]
    entry = Entry("0000", 10.0, 9.0, 11.0, False, context, way, "")
    tie = find_tie(entry, {a.uid: a for a in anchors})
    assert (tie.uid if tie else None) == moved


def test_what_moves_with_an_examination_keeps_at_most_five_contexts() -> None:
    words = ["Lactate was 4.1", "mottled", "pale", "cold", "slow", "weak", "dry"]
    note, text = case("; ".join(words) + ".", words, [10.0] * 7)
    others = tuple(f"{i:04x}" for i in range(2, 7))
    entries = [replace(e, decided_by="section") for e in text.entries]
    entries[1] = replace(entries[1], context=others)
    examined = Timeline.complete(note.inventory, entries, TimelineKind.TEXT_ONLY)
    rows = (row("0000", 1, 14.0, "lab:lactate:blood", "4.1"),)
    (timeline,) = revise(RuleReviser(), note, examined, Expansion(rows), WINDOW, alternatives=1)
    moved = timeline.by_uid["0001"]
    assert moved.time == 14.0
    assert moved.context == ("0000", *others[:4])
