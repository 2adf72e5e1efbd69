"""Read the value from the text of a reply.

Reading is strict: an incorrect value is refused with its reasons, never corrected.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from llm_runtime.errors import AnswerRejected
from llm_runtime.prompts import Rendered
from llm_runtime.schema import faults

M = TypeVar("M", bound=BaseModel)
_THINK_END = re.compile(r"</think(?:ing)?\s*>", re.IGNORECASE)
_FENCE = re.compile(r"\A```[a-zA-Z]*[ \t]*\n(?P<body>.*)\n```\Z", re.DOTALL)
UNREASONED = (
    'Write no reasoning: leave out "reasoning" and "reasoning_summary" where the form above has'
    " them, and begin with what follows."
)
_ANSWER = re.compile(r"<answer>(?P<body>.*?)</answer>", re.DOTALL | re.IGNORECASE)


def answer_text(text: str) -> str:
    """Return the answer without the thinking that comes before it.

    A reasoning model writes `<think>…</think>`, sometimes without the first tag. Raises
    AnswerRejected if the thinking does not end.
    """
    ends = list(_THINK_END.finditer(text))
    if ends:
        return text[ends[-1].end() :].strip()
    if re.match(r"\s*<think", text, re.IGNORECASE):
        raise AnswerRejected(
            ["the answer ends within its thinking; write the answer after </think>"]
        )
    return text.strip()


def extract_answer(text: str) -> str:
    """Return the text between <answer> and </answer>.

    Raises AnswerRejected unless there is exactly one.
    """
    found = _ANSWER.findall(answer_text(text))
    if len(found) != 1:
        raise AnswerRejected(
            [
                f"there are {len(found)} blocks between <answer> and </answer>, there must be"
                " exactly one"
            ]
        )
    body: str = found[0].strip("\n")
    return body


def json_object(text: str) -> dict[str, Any]:
    """Return the one JSON object of a reply, which may be in a code fence.

    Raises AnswerRejected, also if a key occurs twice.
    """
    value = _json_value(text)
    if not isinstance(value, dict):
        raise AnswerRejected(["the answer must be one JSON object"])
    return value


def json_array(text: str) -> list[Any]:
    """Return the one JSON list of a reply, by the rules of `json_object`.

    Raises AnswerRejected.
    """
    value = _json_value(text)
    if not isinstance(value, list):
        raise AnswerRejected(["the answer must be one JSON list"])
    return value


def _json_value(text: str) -> Any:
    body = answer_text(text)
    fenced = _FENCE.match(body)
    twice: list[str] = []

    def build_object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            twice.append("a key occurs twice in one object")
        return found

    try:
        value = json.loads(
            fenced["body"] if fenced else body,
            object_pairs_hook=build_object,
            parse_constant=_no_constant,
        )
    except (
        ValueError,
        RecursionError,
    ) as error:  # a number of thousands of digits is a ValueError of another kind
        where = (
            f" at line {error.lineno}, column {error.colno}"
            if isinstance(error, json.JSONDecodeError)
            else ""
        )
        raise AnswerRejected([f"not valid JSON{where}"]) from None
    if twice:
        raise AnswerRejected(twice)
    return value


def parse_model(kind: type[M], value: object, what: str = "") -> M:
    """Return the value as the model of an answer.

    Raises AnswerRejected with every fault; `what` is written before each.
    """
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        where = f"{what}: " if what else ""
        raise AnswerRejected([f"{where}{fault}" for fault in faults(error)]) from None


def is_storable(text: str) -> bool:
    """Return whether a text can be stored.

    NUL and half surrogate pairs, which JSON can spell, cannot be stored in a database.
    """
    return "\x00" not in text and not any("\ud800" <= c <= "\udfff" for c in text)


def find_key_faults(value: Mapping[str, Any], wanted: Sequence[str], what: str) -> list[str]:
    """Return missing and unknown keys of an object, twenty names at most.

    Unknown keys are counted, not named.
    """
    missing = [key for key in wanted if key not in value]
    unknown = [key for key in value if key not in set(wanted)]
    faults = []
    if missing:
        faults.append(f"{what}: missing {', '.join(missing[:20])}")
    if unknown:
        # An unknown key is the model's text, possibly the note's: it is counted, not quoted.
        faults.append(f"{what}: {len(unknown)} keys that were not asked for")
    return faults


def object_schema(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON schema of an object with exactly these properties.

    All are required, in this order.
    """
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def add_reasoning(properties: Mapping[str, Any], name: str, tokens: int) -> dict[str, Any]:
    """Return properties that begin with a text field for the reasoning.

    The model can so think before it answers. With 0 tokens the field is left out: for models that
    think by themselves, and for those that do not think.
    """
    return {**({name: {"type": "string"}} if tokens else {}), **properties}


def set_reasoning(prompt: Rendered, tokens: int) -> Rendered:
    """Return the prompt; for 0 tokens, remark that it asks for no reasoning.

    The remark comes last, so that the beginning is the same for every model.
    """
    return prompt if tokens else append_words(prompt, UNREASONED)


def append_words(prompt: Rendered, words: str) -> Rendered:
    """The prompt with these words behind all others."""
    *before, last = prompt.messages
    return replace(prompt, messages=(*before, replace(last, content=f"{last.content}\n\n{words}")))


def _no_constant(name: str) -> float:
    raise AnswerRejected([f"{name} is not a number that JSON knows; use null for N/A"])
