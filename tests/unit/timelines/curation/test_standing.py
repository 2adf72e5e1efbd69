"""Which corrections count: table cases, and any log read slowly."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timelines.curation.standing import Kind, Mark, Standing, find_standing

ANNA, BORIS, ADMIN = 1, 2, 3


def at(number: int, person: int, time: float) -> Mark:
    return Mark(number, person, Kind.TIME, time)


def settled(number: int, of: Mark | None) -> Mark:
    if of is None:
        return Mark(number, ADMIN, Kind.BASE, settles=True)
    return replace(of, number=number, person=ADMIN, settles=True)


def undo(number: int, of: int) -> Mark:
    return Mark(number, ANNA, Kind.UNDO, undoes=of)


FIVE, SIX, BORIS_FIVE = at(1, ANNA, 5.0), at(2, BORIS, 6.0), at(2, BORIS, 5.004)
CASES = {
    "nothing": ([], Standing()),
    "one": ([FIVE], Standing(FIVE, (FIVE,))),
    "corrected again": ([FIVE, at(2, ANNA, 7.0)], Standing(at(2, ANNA, 7.0), (at(2, ANNA, 7.0),))),
    "second undone": ([FIVE, at(2, ANNA, 7.0), undo(3, 2)], Standing(FIVE, (FIVE,))),
    "all undone": ([FIVE, undo(2, 1)], Standing()),
    "agree to the minute": ([FIVE, BORIS_FIVE], Standing(BORIS_FIVE, (FIVE, BORIS_FIVE))),
    "differ": ([FIVE, SIX], Standing(None, (FIVE, SIX), disputed=True)),
    "one of two undone": ([FIVE, SIX, undo(3, 1)], Standing(SIX, (SIX,))),
    "settled": ([FIVE, SIX, settled(3, SIX)], Standing(settled(3, SIX), (settled(3, SIX),))),
    "base stays": ([FIVE, SIX, settled(3, None)], Standing(None, (settled(3, None),))),
    "settlement undone": (
        [FIVE, SIX, settled(3, SIX), undo(4, 3)],
        Standing(None, (FIVE, SIX), disputed=True),
    ),
    "agrees after settlement": (
        [FIVE, SIX, settled(3, SIX), at(4, ANNA, 6.0)],
        Standing(settled(3, SIX), (settled(3, SIX), at(4, ANNA, 6.0))),
    ),
    "differs after settlement": (
        [FIVE, SIX, settled(3, SIX), at(4, ANNA, 8.0)],
        Standing(settled(3, SIX), (settled(3, SIX), at(4, ANNA, 8.0)), disputed=True),
    ),
    "not placed and not happened differ": (
        [Mark(1, ANNA, Kind.NOT_PLACED), Mark(2, BORIS, Kind.NOT_HAPPENED)],
        Standing(
            None,
            (Mark(1, ANNA, Kind.NOT_PLACED), Mark(2, BORIS, Kind.NOT_HAPPENED)),
            disputed=True,
        ),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_counts(name):
    log, standing = CASES[name]
    assert find_standing(log) == standing


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["time", "not_placed", "not_happened", "undo", "settle", "settle_base"]),
        st.integers(1, 3),
        st.integers(0, 3),
    ),
    max_size=14,
)


def build_log(steps: list[tuple[str, int, int]]) -> list[Mark]:
    """Return a log that the actions could store: each row is undone once."""
    log: list[Mark] = []
    for step, person, value in steps:
        number = len(log) + 1
        undone = {m.undoes for m in log}
        able = [m for m in log if m.kind is not Kind.UNDO and m.number not in undone]
        if step == "undo" and able:
            of = able[value % len(able)]
            log.append(Mark(number, person, Kind.UNDO, undoes=of.number))
        elif step == "settle_base":
            log.append(settled(number, None))
        elif step == "settle" and (said := [m for m in able if not m.settles]):
            log.append(settled(number, said[value % len(said)]))
        elif step in ("time", "not_placed", "not_happened"):
            time = float(value) if step == "time" else None
            log.append(Mark(number, person, Kind(step), time))
    return log


def read_slowly(log: list[Mark]) -> tuple[tuple[Kind, float | None] | None, bool]:
    """Return (what counts, disputed), reading the log for each question."""

    def is_live(mark: Mark) -> bool:
        return mark.kind is not Kind.UNDO and all(m.undoes != mark.number for m in log)

    ruling: Mark | None = None
    for mark in log:
        if is_live(mark) and mark.settles:
            ruling = mark
    said = []
    for person in sorted({m.person for m in log}):
        own = [m for m in log if m.person == person and is_live(m) and not m.settles]
        if own and (ruling is None or own[-1].number > ruling.number):
            said.append(own[-1])
    values = {(m.kind, m.time) for m in said}
    if ruling is not None:
        value = None if ruling.kind is Kind.BASE else (ruling.kind, ruling.time)
        return value, bool(values - {(ruling.kind, ruling.time)})
    if len(values) == 1:
        return values.pop(), False
    return None, len(values) > 1


@given(STEPS)
def test_any_log_is_read_as_a_slow_reading_does(steps):
    log = build_log(steps)
    found = find_standing(log)
    applied = found.applied and (found.applied.kind, found.applied.time)
    assert (applied, found.disputed) == read_slowly(log)
