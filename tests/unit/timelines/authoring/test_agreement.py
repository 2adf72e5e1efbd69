"""Agreement of two authors, worked out by hand."""

from hypothesis import given
from hypothesis import strategies as st

from timelines.drafts.agreement import Agreement, Authored, agreement


def one(
    uid: str,
    mention: str,
    span: tuple[int, int] | None,
    time: float | None,
    polarity: str = "present",
) -> Authored:
    start, end = span or (None, None)
    return Authored(uid, mention, start, end, polarity, time)


ANA = [
    one("a001", "fever", (0, 10), -72),
    one("a002", "fall", (20, 30), -2),
    one("a003", "CT head", (40, 50), 1),
    one("a004", "warfarin stopped", (60, 70), None),
    one("a005", "fell at home", (90, 100), 5),
]
BEN = [
    one("b001", "high temperature", (0, 8), -60),
    one("b002", "fall", (20, 30), 0.5, "absent"),
    one("b003", "head CT", (45, 55), 3),
    one("b004", "warfarin stop", (60, 70), -24),
    one("b005", "Fall at home", (200, 212), 9),
]


def test_spans_pair_first_then_names():
    found = agreement(ANA, BEN)
    # CT: (40, 50) and (45, 55) share 5 of 15 code points, below 0.4; names "ct head" and "head ct"
    # are far apart. fell/fall at home: spans apart, one letter of twelve differs: 0.083 < 0.1.
    assert [(p.first.uid, p.second.uid, p.how) for p in found.pairs] == [
        ("a001", "b001", "span"),
        ("a002", "b002", "span"),
        ("a004", "b004", "span"),
        ("a005", "b005", "name"),
    ]
    assert [o.uid for o in found.only_first] == ["a003"]
    assert [o.uid for o in found.only_second] == ["b003"]
    assert found.shared == 8 / 10


def test_times_of_the_pairs():
    found = agreement(ANA, BEN)
    assert [p.difference for p in found.pairs] == [12, 2.5, None, 4]
    # Tolerances: max(3, 7.2) = 7.2 for −72/−60; 3 for −2/0.5; 3 for 5/9.
    assert [p.within for p in found.pairs] == [False, True, False, False]
    assert found.within_tolerance == 1 / 3
    assert found.median_difference == 4
    assert found.differences == [2.5, 4, 12]
    assert (found.one_na, found.polarity_differs) == (1, 1)
    assert dict(found.shares) == {"1 hour": 0, "1 day": 1, "1 week": 1, "1 month": 1, "1 year": 1}
    assert found.concordance == 1, "both say fever, fall, fall at home in this order"


def test_two_not_applicable_agree():
    found = agreement([one("a001", "rash", (0, 4), None)], [one("b001", "rash", (0, 4), None)])
    assert found.pairs[0].within is True
    assert (found.within_tolerance, found.median_difference, found.concordance) == (
        None,
        None,
        None,
    )


def test_nothing_gives_no_figures():
    assert agreement([], []) == Agreement((), (), ())
    assert agreement([], []).shared is None
    assert agreement(ANA, []).shared == 0


SIDES = st.lists(
    st.builds(
        lambda n, start, length, time, mention: one(
            f"{n:04x}", mention, (start, start + length), time
        ),
        st.integers(0, 0xFFFF),
        st.integers(0, 60),
        st.integers(1, 12),
        st.none() | st.floats(-1000, 1000),
        st.text("abc", min_size=1, max_size=6),
    ),
    max_size=8,
)


@given(SIDES)
def test_an_author_agrees_with_themselves(side):
    found = agreement(side, side)
    assert len(found.pairs) == len(side)
    assert all(p.how == "span" and p.closeness == 1 for p in found.pairs)


@given(SIDES, SIDES)
def test_everything_is_paired_once_or_left_over_once(first, second):
    found = agreement(first, second)
    assert len(found.pairs) + len(found.only_first) == len(first)
    assert len(found.pairs) + len(found.only_second) == len(second)
