"""The states and transitions of a packet and of a review. No Django."""

from __future__ import annotations

from collections.abc import Mapping

#: state → {action: next state}.
PACKET_TRANSITIONS: Mapping[str, Mapping[str, str]] = {
    "draft": {"open": "open"},
    "open": {"close": "closed"},
    "closed": {},
}

#: The state of one reviewer in an open packet.
ASSIGNMENT_TRANSITIONS: Mapping[str, Mapping[str, str]] = {
    "working": {"sign": "signed", "withdraw": "withdrawn"},
    "signed": {"unsign": "working", "withdraw": "withdrawn"},
    "withdrawn": {"assign": "working"},
}


class InvalidTransition(Exception):
    """A transition that the state does not allow.

    The message has two words of the tables above.
    """

    log_safe = True

    def __init__(self, what: str, state: str, happening: str) -> None:
        super().__init__(f"{what} that is {state} cannot {happening}")
        self.state = state
        self.happening = happening


def next_packet_state(state: str, happening: str) -> str:
    """Return the state after `happening`; raise InvalidTransition if illegal."""
    return _next(PACKET_TRANSITIONS, "a packet", state, happening)


def next_assignment_state(state: str, happening: str) -> str:
    """Return a reviewer's state after `happening`, as `next_packet_state`."""
    return _next(ASSIGNMENT_TRANSITIONS, "a review", state, happening)


def _next(table: Mapping[str, Mapping[str, str]], what: str, state: str, happening: str) -> str:
    try:
        return table[state][happening]
    except KeyError:
        raise InvalidTransition(what, state, happening) from None
