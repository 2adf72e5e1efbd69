"""The chain of decisions: hashes by hand, and every tampering reported."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudication.chain import BEGINNING, Break, Link, encode_canonical, find_breaks, link_hash


def chain(*payloads: dict[str, object]) -> list[Link]:
    links: list[Link] = []
    for sequence, payload in enumerate(payloads, start=1):
        before = links[-1].hash if links else BEGINNING
        links.append(Link(sequence, payload, before, link_hash(payload, before)))
    return links


def test_the_canonical_form_and_the_hash_are_what_anyone_can_recompute() -> None:
    payload = {"b": 1.5, "a": "Fièvre 😀", "c": None, "d": {"z": True, "y": [1, 2]}}
    written = '{"a":"Fièvre 😀","b":1.5,"c":null,"d":{"y":[1,2],"z":true}}'.encode()
    assert encode_canonical(payload) == written
    assert link_hash(payload, "ab" * 32) == hashlib.sha256(b"ab" * 32 + b"\n" + written).hexdigest()
    assert link_hash(payload, BEGINNING) == hashlib.sha256(b"\n" + written).hexdigest()


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_what_has_no_one_form_is_refused(wrong: float) -> None:
    with pytest.raises(ValueError):
        encode_canonical({"own_time": wrong})


def test_a_whole_chain_and_an_empty_one_hold() -> None:
    assert find_breaks(chain({"n": 1}, {"n": 2}, {"n": 3})) == []
    assert find_breaks([]) == []


def test_an_altered_link_is_found_where_it_stands_and_once() -> None:
    links = chain({"answer": "A"}, {"answer": "B"}, {"answer": "A"})
    links[1] = replace(links[1], payload={"answer": "A"})
    assert find_breaks(links) == [Break(2, "its content does not match its hash")]


def test_a_link_that_was_hashed_again_breaks_the_one_after_it() -> None:
    links = chain({"answer": "A"}, {"answer": "B"}, {"answer": "A"})
    forged = {"answer": "A"}
    links[1] = replace(links[1], payload=forged, hash=link_hash(forged, links[1].previous_hash))
    assert find_breaks(links) == [
        Break(3, "its previous hash is not the hash of the link before it")
    ]


def test_a_missing_link_is_found() -> None:
    links = chain({"n": 1}, {"n": 2}, {"n": 3})
    assert find_breaks([links[0], links[2]]) == [
        Break(3, "link 2 is missing"),
        Break(3, "its previous hash is not the hash of the link before it"),
    ]
    assert find_breaks(links[1:])[0] == Break(2, "link 1 is missing")


values = st.dictionaries(
    st.text(max_size=5),
    st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.text(max_size=8)),
    max_size=4,
)


@given(st.lists(values, min_size=1, max_size=6), st.data())
def test_any_change_of_any_payload_is_found(
    payloads: list[dict[str, object]], data: st.DataObject
) -> None:
    links = chain(*payloads)
    at = data.draw(st.integers(0, len(links) - 1))
    other = data.draw(
        values.filter(lambda value: encode_canonical(value) != encode_canonical(payloads[at]))
    )
    links[at] = replace(links[at], payload=other)
    assert [b.sequence for b in find_breaks(links)] == [at + 1]
