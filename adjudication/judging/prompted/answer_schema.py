"""The JSON schema of a judge's answer to one game. No Django.

It expresses as much of protocol section 4 as a grammar can. Each type of finding is the grammar of
`FindingAnswer` with narrower fields: only the sides, verdicts and relations that are legal for it,
and on each side only the row numbers, words and times of that timeline. The validator checks
quotes, citations and which values go together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from adjudication.domain import FindingType, Relation, Verdict
from adjudication.judging.answers import N_A, FindingAnswer, Findings
from adjudication.judging.input import CandidateRow, JudgeInput
from llm_runtime.schema import Schema, grammar

_NULL: Schema = {"type": "null"}
_PARTS = ("row", "event", "time")
_TWO_SIDED = (FindingType.VALUE, FindingType.TIMING)
_ONE_SIDED_VERDICTS = (Verdict.A, Verdict.B, Verdict.UNCLEAR)


def answer_schema(given: JudgeInput, thinking: int) -> Schema:
    """Return the schema of `{"reasoning", "findings": [...]}`.

    Every field of a finding is required. No reasoning if `thinking` is 0 tokens.
    """
    shapes = list(_shapes(bool(given.a_rows), bool(given.b_rows)))
    findings: Schema = {"items": {"anyOf": shapes}} if shapes else {"maxItems": 0}
    return {
        **grammar(Findings, thinking, findings={"type": "array", **findings}),
        "$defs": {**_side("a", given.a_rows), **_side("b", given.b_rows)},
    }


def _shapes(a: bool, b: bool) -> Iterator[Schema]:
    """Yield one schema per kind of finding; `a`, `b`: has that timeline rows?"""
    related = _build_enum(Relation)
    if a and b:
        yield _finding(_TWO_SIDED, Verdict, "ab")
        yield _finding([FindingType.SHARED_UNSUPPORTED], [Verdict.NEITHER], "ab")
    if a:
        yield _finding([FindingType.A_ONLY], _ONE_SIDED_VERDICTS, "a", related)
        yield _finding([FindingType.DUPLICATE], Verdict, "a")
    if b:
        yield _finding([FindingType.B_ONLY], _ONE_SIDED_VERDICTS, "b", related)
        yield _finding([FindingType.DUPLICATE], Verdict, "b")


def _finding(
    types: Sequence[FindingType],
    verdicts: Sequence[Verdict] | type[Verdict],
    sides: str,
    relation: Schema = _NULL,
) -> Schema:
    narrowed: dict[str, Schema] = {
        f"{side}_{part}": {"$ref": f"#/$defs/{side}_{part}"} if side in sides else _NULL
        for side in "ab"
        for part in _PARTS
    }
    return grammar(
        FindingAnswer,
        **narrowed,
        type=_build_enum(types),
        verdict=_build_enum(verdicts),
        relation=relation,
    )


def _side(side: str, rows: Sequence[CandidateRow]) -> dict[str, Schema]:
    """Return the numbers, words and times that a timeline has."""
    if not rows:
        return {}
    parts: dict[str, list[Any]] = {
        "row": [r.row for r in rows],
        "event": [r.event for r in rows],
        "time": [N_A if r.time is None else r.time for r in rows],
    }
    return {f"{side}_{part}": _build_enum(dict.fromkeys(values)) for part, values in parts.items()}


def _build_enum(values: Any) -> Schema:
    return {"enum": list(values)}
