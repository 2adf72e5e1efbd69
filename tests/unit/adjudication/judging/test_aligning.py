"""Two timelines as one list, each row once, in order of time.

Identifiers come before spans before words.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from adjudication.judging.aligning import MatchReason, PlacedRow, align_rows


def row(
    entry: int,
    mention: str,
    time: float | None = 0.0,
    uid: str | None = None,
    span: tuple[int, int] | None = None,
) -> PlacedRow:
    start, end = span or (None, None)
    return PlacedRow(entry=entry, mention=mention, time=time, uid=uid, start=start, end=end)


def pairs(first, second, *, shared_uids=False):
    return {
        (r.first and r.first.entry, r.second and r.second.entry): r.how
        for r in align_rows(first, second, shared_uids=shared_uids)
    }


def test_a_shared_identifier_outweighs_words_and_spans():
    first = [row(1, "fever", uid="aaaa", span=(0, 5)), row(2, "cough", uid="bbbb", span=(10, 15))]
    second = [
        row(11, "cough", uid="aaaa", span=(10, 15)),
        row(12, "fever", uid="bbbb", span=(0, 5)),
    ]
    assert pairs(first, second, shared_uids=True) == {
        (1, 11): MatchReason.UID,
        (2, 12): MatchReason.UID,
    }
    assert pairs(first, second) == {(1, 12): MatchReason.SPAN, (2, 11): MatchReason.SPAN}, (
        "of two inventories a UID means nothing"
    )


def test_spans_need_an_overlap_of_two_fifths():
    # 4 of 10 characters shared is exactly 0.4; 3 of 11 is less.
    assert pairs([row(1, "x", span=(0, 10))], [row(2, "y", span=(0, 4))]) == {
        (1, 2): MatchReason.SPAN
    }
    assert pairs([row(1, "x", span=(0, 10))], [row(2, "y", span=(7, 11))]) == {
        (1, None): None,
        (None, 2): None,
    }


def test_the_same_words_are_paired_in_their_order_whatever_case_and_spaces():
    first = [row(1, "Fever"), row(2, "fever"), row(3, "fever")]
    second = [row(11, "fever"), row(12, "FEVER ")]
    assert pairs(first, second) == {
        (1, 11): MatchReason.WORDS,
        (2, 12): MatchReason.WORDS,
        (3, None): None,
    }


def test_nearly_the_same_words_come_last_and_below_a_tenth():
    # One letter of twelve is 0.083; one of nine is 0.111.
    assert pairs([row(1, "andexanet 40")], [row(2, "andexanet 41")]) == {(1, 2): MatchReason.NEAR}
    assert pairs([row(1, "lactate 4")], [row(2, "lactate 5")]) == {(1, None): None, (None, 2): None}


def test_rows_stand_by_the_earlier_of_their_times_and_unplaced_ones_last():
    first = [row(1, "late", 30.0), row(2, "never", None), row(3, "both", 20.0)]
    second = [row(11, "both", -5.0), row(12, "alone", 10.0)]
    order = [(r.either.mention, r.times) for r in align_rows(first, second, shared_uids=False)]
    assert order == [("both", [20.0, -5.0]), ("alone", [10.0]), ("late", [30.0]), ("never", [])]


_ROWS = st.lists(
    st.tuples(
        st.sampled_from(["fever", "Fever", "cough", "cough at night", "rash"]),
        st.none() | st.floats(-100, 100),
        st.none() | st.tuples(st.integers(0, 20), st.integers(1, 6)),
    ),
    max_size=8,
)


@given(_ROWS, _ROWS)
def test_every_row_of_both_stands_there_once(ours, theirs):
    def rows(specs, base):
        return [
            row(base + n, m, t, None, s and (s[0], s[0] + s[1]))
            for n, (m, t, s) in enumerate(specs)
        ]

    first, second = rows(ours, 0), rows(theirs, 100)
    found = align_rows(first, second, shared_uids=False)
    assert sorted(r.first.entry for r in found if r.first) == [r.entry for r in first]
    assert sorted(r.second.entry for r in found if r.second) == [r.entry for r in second]
    assert all((r.how is not None) == (r.first is not None and r.second is not None) for r in found)
