"""Where a model thinks: nowhere, by itself, or in its answer.

One switch decides prompts, schemas and the tokens of an answer, so no model is asked to think
twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llm_runtime.base import ProviderError, Thinking

TEMPLATE = "chat_template_kwargs"
#: Switches of chat templates that turn a model's own thinking on or off.
_SWITCHES = ("enable_thinking", "thinking")
_EFFORT = "reasoning_effort"


def choose_thinking(
    thinking: str | None, reasoning: int, extra: Mapping[str, Any] | None = None
) -> Thinking:
    """Return where the model thinks.

    Without a setting it is nowhere for 0 tokens, by itself if `extra` turns that on, and else in
    the answer. Raises ProviderError for an unknown value and for settings that contradict each
    other.
    """
    if type(reasoning) is not int or reasoning < 0:
        raise ProviderError("reasoning must be a whole number of 0 or more")
    native = _native_switch(extra or {})
    if thinking is None:
        if not reasoning:
            return Thinking.NONE
        return Thinking.NATIVE if native else Thinking.ANSWER
    if thinking not in tuple(Thinking):
        raise ProviderError(f"thinking must be one of {', '.join(Thinking)}")
    chosen = Thinking(thinking)
    if chosen is not Thinking.NONE and not reasoning:
        raise ProviderError(f"thinking is {chosen}, but reasoning is 0 tokens: set it above 0")
    if native is not None and native != (chosen is Thinking.NATIVE):
        raise ProviderError(
            f"thinking is {chosen}, but extra turns the model's own thinking"
            f" {'on' if native else 'off'}: change one of them"
        )
    return chosen


def thinking_tokens(thinking: Thinking, reasoning: int) -> dict[str, int]:
    """Return the fields `reasoning` and `native` of `Limits`."""
    return {
        "reasoning": reasoning if thinking is Thinking.ANSWER else 0,
        "native": reasoning if thinking is Thinking.NATIVE else 0,
    }


def _native_switch(extra: Mapping[str, Any]) -> bool | None:
    """Whether `extra` turns the model's own thinking on; None if unsaid."""
    template = extra.get(TEMPLATE)
    fields = {**extra, **(template if isinstance(template, Mapping) else {})}
    for name in _SWITCHES:
        if isinstance(fields.get(name), bool):
            return bool(fields[name])
    if isinstance(fields.get(_EFFORT), str):
        return bool(fields[_EFFORT] != "none")
    return None
