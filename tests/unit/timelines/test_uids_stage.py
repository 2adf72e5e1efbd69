"""Stage 2: identifiers are drawn with a seed, redrawn on collision; mentions are escaped once."""

from __future__ import annotations

import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timelines.domain import InvariantError, TaggedSpan
from timelines.pipeline.uids import CAPACITY, assign_uids, draw_uid, escape_mention, uid_rng, unescape_mention


class Drawn(Random):
    """A generator that draws the given numbers in order."""

    def __init__(self, *numbers: int) -> None:
        super().__init__(0)
        self._numbers = iter(numbers)

    def randrange(self, *args: int, **kwargs: int) -> int:  # type: ignore[override]
        return next(self._numbers)


def spans(n: int) -> list[TaggedSpan]:
    return [TaggedSpan(i, i + 1, f"event {i}") for i in range(n)]


def test_a_collision_within_the_case_is_drawn_again():
    assert assign_uids(spans(3), rng=Drawn(10, 10, 65535, 10, 65535, 0)).uids == ("000a", "ffff", "0000")


def test_the_same_note_and_seed_give_the_same_identifiers():
    first = assign_uids(spans(300), rng=uid_rng(0, "abc"))
    assert first == assign_uids(spans(300), rng=uid_rng(0, "abc"))
    assert first.uids != assign_uids(spans(300), rng=uid_rng(1, "abc")).uids
    assert first.uids != assign_uids(spans(300), rng=uid_rng(0, "abd")).uids


def test_every_identifier_of_a_case_can_be_drawn_and_no_more():
    taken = {f"{n:04x}" for n in range(CAPACITY)} - {"0f0f"}
    assert draw_uid(Drawn(1, 2, 0x0F0F), taken) == "0f0f"
    with pytest.raises(InvariantError, match="at most 65536"):
        draw_uid(Random(0), taken | {"0f0f"})


@given(st.integers(0, 2000), st.integers())
def test_identifiers_are_four_lower_case_hex_digits_and_unique(n, seed):
    uids = assign_uids(spans(n), rng=Random(seed)).uids
    assert len(set(uids)) == n
    assert all(re.fullmatch("[0-9a-f]{4}", uid) for uid in uids)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_escaping_is_undone_exactly_apart_from_white_space(mention):
    escaped = escape_mention(mention)
    assert unescape_mention(escaped) == " ".join(mention.split())
    assert "\n" not in escaped
    assert not re.search(r'(?<!\\)(?:\\\\)*[|"]', escaped)
