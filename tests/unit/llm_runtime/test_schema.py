"""Faults of pydantic models name fields and quote nothing.

A model's grammar accepts what the model accepts.
"""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import Strict as Typed
from pydantic import ValidationError

from llm_runtime.schema import FaultMessage, Strict, Thoughts, faults, grammar

SECRET = "Denies chest pain"


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Part(Strict):
    size: float
    name: str | None


class Whole(Strict):
    reasoning: Thoughts = None
    colour: Annotated[Colour, Typed(False)]
    count: Annotated[int | None, FaultMessage("is neither a number nor null")]
    part: Part
    parts: list[Part]


GOOD: dict[str, Any] = {
    "colour": "red",
    "count": 3,
    "part": {"size": 1, "name": None},
    "parts": [{"size": 2.5, "name": "b"}],
}


def list_faults(value: object) -> list[str]:
    with pytest.raises(ValidationError) as refused:
        Whole.model_validate(value)
    return [str(fault) for fault in faults(refused.value)]


def test_a_good_value_is_read_without_conversion() -> None:
    whole = Whole.model_validate(GOOD)
    assert (whole.colour, whole.count, whole.parts[0].size) == (Colour.RED, 3, 2.5)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, ["is not an object"]),
        ({**GOOD, "colour": "green"}, ["colour is none of red, blue"]),
        ({**GOOD, "colour": ["red"]}, ["colour is none of red, blue"]),
        ({**GOOD, "count": True}, ["count is neither a number nor null"]),
        ({**GOOD, "count": 3.0}, ["count is neither a number nor null"]),
        ({**GOOD, "count": "3"}, ["count is neither a number nor null"]),
        ({**GOOD, "part": 4}, ["part is not an object"]),
        ({**GOOD, "parts": {}}, ["parts is not a list"]),
        ({**GOOD, "part": {"size": 1, "name": 7}}, ["part.name is not a text"]),
        ({**GOOD, "parts": [GOOD["part"], {"size": 1}]}, ["parts[1] missing name"]),
        ({"part": GOOD["part"]}, ["missing colour, count, parts"]),
        ({**GOOD, SECRET: 1, "b": 2}, ["2 keys that were not asked for"]),
    ],
)
def test_each_fault_names_its_field(value: object, words: list[str]) -> None:
    assert list_faults(value) == words


@pytest.mark.parametrize("size", [True, "1", float("nan"), float("inf"), 10**400, None])
def test_a_number_is_finite_and_neither_a_text_nor_a_boolean(size: object) -> None:
    assert [
        fault.split()[0] for fault in list_faults({**GOOD, "part": {"size": size, "name": ""}})
    ] == ["part.size"]


@given(st.sampled_from(list(GOOD)), st.integers(0, 3))
def test_no_fault_quotes_the_input(field: str, depth: int) -> None:
    odd: object = SECRET
    for _ in range(depth):
        odd = {SECRET: odd}
    for value in ({**GOOD, field: odd}, {**GOOD, field: [odd]}, {**GOOD, "parts": [odd]}, odd):
        assert not any("chest" in fault for fault in list_faults(value))


def test_the_grammar_takes_what_the_model_takes_and_every_field_is_required() -> None:
    rules = Draft202012Validator(grammar(Whole, 0))
    assert rules.is_valid(json.loads(json.dumps(GOOD)))
    for name in GOOD:
        assert not rules.is_valid({k: v for k, v in GOOD.items() if k != name})
    assert not rules.is_valid({**GOOD, "more": 1})
    assert not rules.is_valid({**GOOD, "colour": "green"})
    assert not rules.is_valid({**GOOD, "parts": [{"size": 1}]})


def test_a_model_that_thinks_writes_its_reasoning_first() -> None:
    assert grammar(Whole)["required"] == ["reasoning", *GOOD]
    assert grammar(Whole)["properties"]["reasoning"] == {"type": "string"}
    assert grammar(Whole, 0)["required"] == list(GOOD)


def test_a_narrower_rule_takes_the_place_of_a_fields_own() -> None:
    narrow = grammar(Whole, colour={"enum": ["blue"]})
    assert narrow["properties"]["colour"] == {"enum": ["blue"]}
    assert list(narrow["properties"]) == ["reasoning", *GOOD]
    assert grammar(Whole)["properties"]["colour"] == {"enum": ["red", "blue"]}
