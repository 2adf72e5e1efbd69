"""Columns of identifiers: what a text becomes does not depend on others."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ehr.formats.columns import BAD_ID, NO_ID, parse_ids

IDS = {
    "": NO_ID,
    "0": 0,
    "123": 123,
    "123.0": 123,
    "007": 7,
    "9" * 18: 10**18 - 1,
    str(10**18): BAD_ID,
    str(2**62): BAD_ID,
    str(2**70): BAD_ID,
    "-1": BAD_ID,
    "1.5": BAD_ID,
    "1e3": BAD_ID,
    "x": BAD_ID,
}


def read(texts: list[str]) -> list[int]:
    return parse_ids(pa.chunked_array([pa.array(texts, pa.string())])).tolist()


@pytest.mark.parametrize(("text", "number"), IDS.items())
def test_an_identifier(text: str, number: int) -> None:
    assert read([text]) == [number]


@given(st.lists(st.sampled_from(list(IDS)), min_size=1))
def test_an_identifier_is_the_same_whatever_is_beside_it(texts: list[str]) -> None:
    assert read(texts) == [IDS[text] for text in texts]
