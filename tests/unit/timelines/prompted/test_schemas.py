"""What the schemas of all stages and baselines have in common."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from llm_runtime.schema import REASONING, grammar
from timelines.backbones.baselines.tkw2_answers import (
    CentralEvents,
    attached_answer,
    offsets_answer,
    times_answer,
)
from timelines.backbones.prompted.query_writer import query_answer
from timelines.backbones.prompted.reviser import revision_schema
from timelines.backbones.prompted.tagger import quote_schema
from timelines.backbones.prompted.timer import entries_schema
from timelines.pipeline.config import PipelineConfig

UIDS = ("0a1b", "77de", "c0de")
#: Stage → its schema, by the tokens of thinking in the answer.
SCHEMAS: dict[str, Callable[[int], dict[str, Any]]] = {
    "tag": lambda thinking: quote_schema(3, thinking),
    "infer": lambda thinking: entries_schema(UIDS, UIDS, thinking),
    "revise": lambda thinking: revision_schema(UIDS, UIDS, 3, thinking, printed=8),
    "revise_published": lambda thinking: revision_schema(UIDS, UIDS, 3, thinking),
    "tkw2_central": lambda thinking: grammar(CentralEvents, thinking),
    "tkw2_offsets": lambda thinking: grammar(offsets_answer(3), thinking),
    "tkw2_times": lambda thinking: grammar(times_answer(3, 1), thinking),
    "tkw2_attach": lambda thinking: grammar(attached_answer(3), thinking),
}


def names(schema: object) -> set[str]:
    """Return the names of all objects within a schema."""
    if isinstance(schema, dict):
        return set(schema).union(*(names(value) for value in schema.values()))
    return set().union(*(names(value) for value in schema)) if isinstance(schema, list) else set()


@pytest.mark.parametrize("stage", SCHEMAS)
def test_a_model_thinks_in_its_answer_only_if_the_switch_says_so(stage: str) -> None:
    schema = SCHEMAS[stage]
    assert names(schema(4000)) & set(REASONING)
    assert not names(schema(0)) & set(REASONING)
    assert next(iter(schema(4000)["properties"])) in REASONING, "thinking comes before the answer"


@pytest.mark.parametrize("stage", SCHEMAS)
def test_no_text_has_a_greatest_length(stage: str) -> None:
    """A grammar that ends a sentence cuts it in the middle of a word."""
    assert "maxLength" not in names(SCHEMAS[stage](4000))


def test_queries_have_neither_thinking_nor_a_greatest_length() -> None:
    schema = grammar(query_answer(UIDS, PipelineConfig()))
    assert not names(schema) & {"maxLength", *REASONING}
    assert set(UIDS) < names(schema), json.dumps(schema)
