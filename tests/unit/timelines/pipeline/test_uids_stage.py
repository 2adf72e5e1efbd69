"""Stage 2: identifiers are drawn with a seed, redrawn on collision.

Mentions are escaped once.
"""

from __future__ import annotations

import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timelines.domain import Inventory, TaggedSpan
from timelines.pipeline.uids import (
    CAPACITY,
    Identity,
    InUse,
    UidsUsedUp,
    assign_uids,
    draw_uid,
    escape_mention,
    find_identities,
    uid_rng,
    unescape_mention,
)


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
    assert assign_uids(spans(3), rng=Drawn(10, 10, 65535, 10, 65535, 0)).uids == (
        "000a",
        "ffff",
        "0000",
    )


def make_inventory(
    seed: int, sha256: str, tagged: list[TaggedSpan], in_use: InUse | None = None
) -> Inventory:
    return assign_uids(tagged, rng=uid_rng(seed, sha256, find_identities(tagged)), in_use=in_use)


def test_the_same_note_spans_and_seed_give_the_same_identifiers():
    first = make_inventory(0, "abc", spans(300))
    assert first == make_inventory(0, "abc", spans(300))
    assert first.uids != make_inventory(1, "abc", spans(300)).uids
    assert first.uids != make_inventory(0, "abd", spans(300)).uids
    assert first.uids[:299] != make_inventory(0, "abc", spans(299)).uids, (
        "two taggings of one note do not draw one sequence"
    )


def test_every_identifier_of_a_note_can_be_drawn_and_no_more():
    taken = {f"{n:04x}" for n in range(CAPACITY)} - {"0f0f"}
    assert draw_uid(Drawn(1, 2, 0x0F0F), taken) == "0f0f"
    assert draw_uid(Unlucky(0), taken) == "0f0f"
    with pytest.raises(UidsUsedUp, match=r"no free UID.* 65,536") as raised:
        draw_uid(Random(0), taken | {"0f0f"})
    assert raised.value.retryable is False


class Unlucky(Random):
    """A generator that draws one taken number again and again."""

    def randrange(self, *args: int, **kwargs: int) -> int:  # type: ignore[override]
        return 1


class Narrow(Random):
    """A generator that draws few numbers, so that inventories meet."""

    def randrange(self, *args: int, **kwargs: int) -> int:  # type: ignore[override]
        return super().randrange(64)


TAGGED = st.builds(
    lambda start, length, word: TaggedSpan(start, start + length, word),
    st.integers(0, 6),
    st.integers(1, 2),
    st.sampled_from("ab"),
)


@given(
    st.lists(
        st.tuples(st.lists(TAGGED, max_size=8, unique=True), st.integers(0, 2), st.booleans()),
        max_size=8,
    )
)
def test_no_two_inventories_of_a_note_use_a_uid_for_different_occurrences(taggings):
    meaning: dict[str, Identity] = {}
    in_use: dict[str, Identity | None] = {}
    stored: dict[tuple[tuple[TaggedSpan, ...], int], tuple[str, ...]] = {}
    for tagged, seed, authored in taggings:
        # A person's draft takes only identifiers that nobody has used yet (authoring/edits.py).
        others = dict.fromkeys(in_use) if authored else in_use
        inventory = assign_uids(tagged, rng=Narrow(f"{seed}{tagged}"), in_use=others)
        assert len(set(inventory.uids)) == len(tagged)
        for o in inventory:
            assert meaning.setdefault(o.uid, (o.start, o.end, o.mention)) == (
                o.start,
                o.end,
                o.mention,
            )
            assert in_use.get(o.uid, "free") is not None, (
                "the UIDs of a person's draft are nobody else's"
            )
        if not authored:
            assert stored.setdefault((tuple(tagged), seed), inventory.uids) == inventory.uids, (
                "a repeated run keeps its identifiers"
            )
        in_use |= {
            o.uid: None if authored else (o.start, o.end, o.mention)
            for o in inventory
            if in_use.get(o.uid, "") is not None
        }


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
