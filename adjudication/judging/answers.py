"""The definition of a finding as judges answer it. No Django.

The validator reads it, and the grammar for constrained decoding is generated from it (protocol
section 4, "Finding").
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field
from pydantic import Strict as Typed

from adjudication.domain import FindingPolarity, FindingType, Grounding, Relation, Verdict
from llm_runtime.schema import FaultMessage, Strict, Thoughts
from llm_runtime.structured import is_storable

N_A = "N/A"
NOT_ONE_ROW = f"not all of one row (number, text, whole hours or {N_A}), nor all null"


def _check_text(text: str) -> str:
    if not text.strip() or not is_storable(text):
        raise ValueError("no text")
    return text


Words = Annotated[str, AfterValidator(_check_text)]
Text = Annotated[Words | None, FaultMessage("is not a text or null that says something")]
Row = Annotated[int | None, FaultMessage(f"and its event and time are {NOT_ONE_ROW}")]
Time = Annotated[
    int | Literal["N/A"] | None, FaultMessage(f"and its row and event are {NOT_ONE_ROW}")
]


class FindingAnswer(Strict):
    """One finding, each field checked by its type.

    `adjudication.judging.validation` checks how the fields go together, and that rows, quotes and
    citations belong to the game.
    """

    type: Annotated[FindingType, Typed(False)]
    a_row: Row
    a_event: Text
    a_time: Time
    b_row: Row
    b_event: Text
    b_time: Time
    note_evidence: Text
    table_evidence: Text
    grounding: Annotated[Grounding, Typed(False)]
    polarity: Annotated[FindingPolarity, Typed(False)]
    relation: Annotated[
        Annotated[Relation, Typed(False)] | None,
        FaultMessage(f"is neither null nor one of {', '.join(Relation)}"),
    ]
    verdict: Annotated[Verdict, Typed(False)]
    reason: Annotated[
        Words,
        # No greatest length: it would cut the sentence of a model that is decoded by the grammar.
        Field(json_schema_extra={"minLength": 1}),
        FaultMessage("is not a text that says something"),
    ]


class Findings(Strict):
    """The answer of a model under a schema; the reasoning is not read."""

    reasoning: Thoughts = None
    findings: list[Any]
