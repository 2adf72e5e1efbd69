"""Every state of a job and every transition.

The module does not use Django: a notebook, the docs and the database actions read the same table.
"""

from __future__ import annotations

from collections.abc import Mapping

#: state -> {what happens: the state it leads to}.
TRANSITIONS: Mapping[str, Mapping[str, str]] = {
    "blocked": {"release": "queued", "cancel": "cancelled"},
    "queued": {"claim": "running", "cancel": "cancelled"},
    "running": {
        "reclaim": "running",  # the lease ran out and another worker takes over
        "request_cancel": "running",  # the worker is asked; it stops at its next check
        "finish": "succeeded",
        # a failure that may pass (after a backoff), or work given to other workers
        "requeue": "queued",
        "fail": "failed",
        "stop": "cancelled",  # the worker obeyed, or was lost after it was asked
    },
    "succeeded": {},
    "failed": {"retry": "queued", "retry_later": "blocked"},
    "cancelled": {"retry": "queued", "retry_later": "blocked"},
}

FINAL = frozenset(("succeeded", "failed", "cancelled"))


class InvalidTransition(Exception):
    """A transition that the job's state does not allow.

    The message has two words of the table above, never patient text.
    """

    log_safe = True

    def __init__(self, state: str, happening: str) -> None:
        super().__init__(f"a job that is {state} cannot {happening.replace('_', ' ')}")
        self.state = state
        self.happening = happening


def next_state(state: str, happening: str) -> str:
    """Return the state that `happening` leads to.

    Raises InvalidTransition if the table has no such transition.
    """
    try:
        return TRANSITIONS[state][happening]
    except KeyError:
        raise InvalidTransition(state, happening) from None


def sources(happening: str) -> list[str]:
    """Return the states that allow `happening`, in the table's order.

    Raises KeyError for an unknown word.
    """
    found = [state for state, ways in TRANSITIONS.items() if happening in ways]
    if not found:
        raise KeyError(happening)
    return found
