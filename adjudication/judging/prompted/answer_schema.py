"""The JSON schema of a judge's answer to one game: as much of protocol section 4 as a grammar can
hold. No Django here.

Each type of finding is an object of its own shape: with the sides, verdicts and relations that are
legal for it, and on each side no other row numbers, words and times than that timeline has. Which
of them belong together, quotes and citations are left to the validator.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from adjudication.domain import FindingType, Grounding, Relation, Verdict
from adjudication.judging.input import CandidateRow, JudgeInput
from adjudication.judging.validation import FIELDS, N_A
from llm_runtime.structured import object_schema, reasoned
from timelines.domain import Polarity

#: Characters of a reason, which is one short line.
REASON_LENGTH = 300
Schema = dict[str, Any]
_NULL: Schema = {"type": "null"}
_TEXT: Schema = {"type": ["string", "null"]}
_PARTS = ("row", "event", "time")
_TWO_SIDED = (FindingType.VALUE, FindingType.TIMING)
_ONE_SIDED_VERDICTS = (Verdict.A, Verdict.B, Verdict.UNCLEAR)


def answer_schema(given: JudgeInput, thinking: int) -> Schema:
    """`{"reasoning", "findings": [...]}`, every field of a finding required; no reasoning where
    `thinking` is 0 tokens.
    """
    shapes = list(_shapes(bool(given.a_rows), bool(given.b_rows)))
    findings: Schema = (
        {"type": "array", "items": {"anyOf": shapes}}
        if shapes
        else {"type": "array", "maxItems": 0}
    )
    schema = object_schema(reasoned({"findings": findings}, "reasoning", thinking))
    return {**schema, "$defs": {**_side("a", given.a_rows), **_side("b", given.b_rows)}}


def _shapes(a: bool, b: bool) -> Iterator[Schema]:
    """One schema a kind of finding; `a`, `b`: whether that timeline has rows at all."""
    if a and b:
        yield _finding(_TWO_SIDED, Verdict, a=True, b=True)
        yield _finding([FindingType.SHARED_UNSUPPORTED], [Verdict.NEITHER], a=True, b=True)
    if a:
        yield _finding(
            [FindingType.A_ONLY], _ONE_SIDED_VERDICTS, a=True, relation=_one_of([*Relation])
        )
        yield _finding([FindingType.DUPLICATE], Verdict, a=True)
    if b:
        yield _finding(
            [FindingType.B_ONLY], _ONE_SIDED_VERDICTS, b=True, relation=_one_of([*Relation])
        )
        yield _finding([FindingType.DUPLICATE], Verdict, b=True)


def _finding(
    types: Sequence[FindingType],
    verdicts: Sequence[Verdict] | type[Verdict],
    *,
    a: bool = False,
    b: bool = False,
    relation: Schema = _NULL,
) -> Schema:
    sides = {
        f"{side}_{part}": _ref(side, part) if present else _NULL
        for side, present in (("a", a), ("b", b))
        for part in _PARTS
    }
    fields: dict[str, Schema] = {
        "type": _one_of(types),
        **sides,
        "note_evidence": _TEXT,
        "table_evidence": _TEXT,
        "grounding": _one_of([*Grounding]),
        "polarity": _one_of([*Polarity]),
        "relation": relation,
        "verdict": _one_of([*verdicts]),
        "reason": {"type": "string", "minLength": 1, "maxLength": REASON_LENGTH},
    }
    return object_schema({name: fields[name] for name in FIELDS})


def _side(side: str, rows: Sequence[CandidateRow]) -> dict[str, Schema]:
    """The numbers, words and times that stand in a timeline."""
    parts: dict[str, list[Any]] = {
        "row": [r.row for r in rows],
        "event": [r.event for r in rows],
        "time": [N_A if r.time is None else r.time for r in rows],
    }
    return (
        {f"{side}_{part}": _one_of(list(dict.fromkeys(values))) for part, values in parts.items()}
        if rows
        else {}
    )


def _ref(side: str, part: str) -> Schema:
    return {"$ref": f"#/$defs/{side}_{part}"}


def _one_of(values: Sequence[Any]) -> Schema:
    return {"enum": list(values)}
