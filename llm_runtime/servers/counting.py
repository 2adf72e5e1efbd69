"""What is counted of calls of models, by role and name in the settings."""

from __future__ import annotations

from jobs.metrics.counters import Counter, Histogram
from llm_runtime.calls.calling import Call

CALLS = Counter(
    "occurrent_model_calls_total",
    "Calls of language models. outcome is accepted, or why there is no valid answer.",
    ("role", "model", "outcome"),
)
CALL_SECONDS = Histogram(
    "occurrent_model_call_seconds", "Durations of calls of language models.", ("role", "model")
)
TOKENS = Counter(
    "occurrent_model_tokens_total",
    "Tokens of calls. direction is in, cached (a part of in) or out.",
    ("role", "model", "direction"),
)


def count_call(call: Call, outcome: str) -> None:
    """Count a call that was sent, with its reply if there is one."""
    CALLS.add(call.role, call.model, outcome)
    CALL_SECONDS.observe(call.role, call.model, seconds=call.seconds)
    if (reply := call.reply) is None:
        return
    tokens = {"in": reply.tokens_in, "cached": reply.tokens_cached, "out": reply.tokens_out}
    for direction, number in tokens.items():
        if number:
            TOKENS.add(call.role, call.model, direction, amount=number)
