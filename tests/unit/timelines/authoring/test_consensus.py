"""Taking over what two authors agree on."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from timelines.drafts.agreement import Authored, agreement
from timelines.drafts.consensus import give_contexts, list_items, take_over
from timelines.evaluation.strata import within_tolerance


def one(uid: str, start: int, time: float | None, **values: object) -> Authored:
    return Authored(uid, f"word {start}", start, start + 8, "present", time, **values)  # type: ignore[arg-type]


ANA = [
    one("a001", 0, -72.0, rows=(4,), known=True),
    one("a002", 20, 10.0, lower=9.0, upper=12.0, rows=(2,), context=("a001", "a003")),
    one("a003", 40, None),
    one("a004", 60, 5.0),
    one("a005", 80, 1.0),
]
BEN = [
    one("b001", 0, -72.0, rows=(4, 1), known=True),
    one("b002", 20, 11.0),
    one("b003", 40, None, known=True),
    one("b004", 60, 50.0),
]


def test_agreeing_pairs_are_taken_over_and_the_others_left():
    items = list_items(agreement(ANA, BEN))
    assert [(i.key, i.agrees) for i in items] == [
        ("a001-b001", True),
        ("a002-b002", True),
        ("a003-b003", True),
        ("a004-b004", False),
        ("a005-none", False),
    ]
    same, near, neither = (take_over(i) for i in items[:3])
    assert (same.time, same.lower, same.upper, same.known, same.rows) == (
        -72.0,
        None,
        None,
        True,
        (1, 4),
    )
    assert (near.time, near.lower, near.upper, near.known) == (10.5, 9.0, 12.0, False)
    assert (neither.time, neither.lower, neither.upper, neither.known) == (None, None, None, False)


def test_contexts_name_the_same_items_in_their_new_uids():
    items = list_items(agreement(ANA, BEN))
    taken = [(items[0], take_over(items[0]), "c001"), (items[1], ANA[1], "c002")]
    assert give_contexts(taken) == [(), ("c001",)], "a003 was not taken"


times = st.none() | st.floats(-2000, 2000)
occurrences = st.builds(
    lambda n, length, time, low, high, known, polarity: (
        n * 20,
        length,
        polarity,
        time,
        None if time is None or low is None else time - low,
        None if time is None or high is None else time + high,
        known,
    ),
    st.integers(0, 8),
    st.integers(1, 18),
    times,
    st.none() | st.floats(0, 50),
    st.none() | st.floats(0, 50),
    st.booleans(),
    st.sampled_from(["present", "absent"]),
)


def timeline(name: str, found: list[tuple]) -> list[Authored]:
    return [
        Authored(
            f"{name}{n:03x}",
            f"word {start}",
            start,
            start + length,
            polarity,
            time,
            low,
            high,
            known,
        )
        for n, (start, length, polarity, time, low, high, known) in enumerate(found)
    ]


authored = st.lists(occurrences, max_size=6, unique_by=lambda o: o[0])


@given(authored, authored)
def test_neither_author_comes_first(first, second):
    ana, ben = timeline("a", first), timeline("b", second)
    items, mirrored = list_items(agreement(ana, ben)), list_items(agreement(ben, ana))
    assert len({i.key for i in items}) == len(items)
    for author, side in ((ana, "first"), (ben, "second")):
        listed = [getattr(i, side).uid for i in items if getattr(i, side)]
        assert sorted(listed) == [o.uid for o in author], "every occurrence is in one item"

    taken = {i.key: take_over(i) for i in items if i.agrees}
    swapped = {"-".join(reversed(i.key.split("-"))): take_over(i) for i in mirrored if i.agrees}
    assert taken == swapped
    for item in items:
        if not item.agrees:
            continue
        found, (a, b) = taken[item.key], item.sides
        assert a.polarity == b.polarity == found.polarity
        if a.time is None or b.time is None:
            assert a.time is b.time is found.time is None
            continue
        assert within_tolerance(a.time, b.time)
        assert found.time is not None
        assert min(a.time, b.time) <= found.time <= max(a.time, b.time)
        if a.time != b.time:
            assert found.lower is not None
            assert found.upper is not None
        for side in item.sides:
            for hours in (side.time, side.lower, side.upper):
                if found.lower is not None and found.upper is not None and hours is not None:
                    assert found.lower <= hours <= found.upper
