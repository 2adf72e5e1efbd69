"""Errors of a call, one class for each reaction of the caller.

Messages never contain prompt or answer text.
"""

from __future__ import annotations

from collections.abc import Sequence

from llm_runtime.base import ProviderError


class ModelError(ProviderError):
    """No usable reply.

    Subclasses say whether waiting, shrinking or giving up is the remedy.
    """


class Unavailable(ModelError):
    """The server gave no reply; later it may answer.

    Unreachable, broken off, too slow or too busy (connect, timeout, 429, 5xx).
    """

    retryable = True
    #: A job that meets it waits and uses up none of its attempts (`jobs.actions.fail`).
    outage = True


class Pending(ModelError):
    """The answer comes from outside, by files, and is not there yet.

    See `llm_runtime.exchange`. The request stays stored.
    """

    retryable = True
    outage = True
    #: A job that meets it waits however long it takes.
    patient = True


class TooLarge(ModelError):
    """The request is too large and a smaller one may succeed.

    The caller splits its batch or cuts by the fixed order.
    """


class PromptTooLong(TooLarge):
    """Prompt and answer do not fit the model's context."""


class SchemaRefused(TooLarge):
    """The server cannot compile the JSON schema.

    It is too large, or has a keyword that the server does not know.
    """


class Truncated(TooLarge):
    """The answer was cut at max_tokens.

    `finish_reason` is "length", or the server clamped max_tokens silently.
    """


class RequestRefused(ModelError):
    """The server refuses the request for good.

    Unknown model, bad key, malformed field.
    """


class AnswerRejected(ValueError):
    """A validator refused an answer.

    `reasons` say what to do better, are shown to the model, and never quote patient text.
    """

    log_safe = True

    def __init__(self, reasons: Sequence[str]) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = tuple(reasons)


class AttemptsExhausted(ModelError):
    """Every attempt of the fixed policy was refused.

    `reasons` of each, in order.
    """

    def __init__(self, what: str, reasons: Sequence[Sequence[str]]) -> None:
        attempts = "; ".join(
            f"attempt {n}: {', '.join(given[:5])}" for n, given in enumerate(reasons, start=1)
        )
        super().__init__(f"{what}: no valid answer in {len(reasons)} attempts ({attempts})")
        self.reasons = tuple(tuple(given) for given in reasons)
