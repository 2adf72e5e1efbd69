"""The states of a packet and of a review, and their generated page."""

from __future__ import annotations

import pytest

from adjudication import state_diagram
from adjudication.states import (
    InvalidTransition,
    next_assignment_state,
    next_packet_state,
)


@pytest.mark.parametrize(
    ("state", "happening", "leads_to"),
    [
        ("draft", "open", "open"),
        ("open", "close", "closed"),
        ("draft", "close", None),
        ("closed", "open", None),
        ("open", "open", None),
    ],
)
def test_a_packet_goes_one_way(state, happening, leads_to):
    if leads_to is None:
        with pytest.raises(InvalidTransition, match=f"a packet that is {state} cannot {happening}"):
            next_packet_state(state, happening)
    else:
        assert next_packet_state(state, happening) == leads_to


@pytest.mark.parametrize(
    ("state", "happening", "leads_to"),
    [
        ("working", "sign", "signed"),
        ("signed", "unsign", "working"),
        ("signed", "withdraw", "withdrawn"),
        ("withdrawn", "assign", "working"),
        ("signed", "sign", None),
        ("withdrawn", "sign", None),
        ("working", "unsign", None),
    ],
)
def test_a_review_is_signed_and_unsigned(state, happening, leads_to):
    if leads_to is None:
        with pytest.raises(InvalidTransition):
            next_assignment_state(state, happening)
    else:
        assert next_assignment_state(state, happening) == leads_to


def test_the_page_of_states_is_the_generated_one():
    assert state_diagram.PAGE.read_text(encoding="utf-8") == state_diagram.render()
