"""States at an hour, and policies of an export: tables derived by hand."""

from __future__ import annotations

import pytest

from cohorts.asof.states import Basis, Doubt, Passed, Policy, State, Times, passes, state_at

#: (point, lower, upper, documented) → the state at hour 6.
STATES = [
    ((4.0, None, None, 5.0), State.KNOWN),  # exact, charted before the hour
    ((4.0, None, None, 6.0), State.KNOWN),  # documented at the hour itself
    ((6.0, None, None, 6.0), State.KNOWN),  # happened at the hour itself
    ((4.0, None, None, 6.1), State.LATER),
    ((4.0, None, None, 90.0), State.LATER),  # only the discharge summary says it
    ((4.0, None, None, None), State.LATER),  # never documented with a time
    ((7.0, None, None, 5.0), State.NOT_YET),  # ordered before it happened
    ((7.0, None, None, 90.0), State.NOT_YET),
    ((7.0, 6.1, 9.0, 5.0), State.NOT_YET),
    ((4.0, 2.0, 6.0, 5.0), State.KNOWN),  # the latest bound is the hour
    ((4.0, 2.0, 6.1, 5.0), State.UNCERTAIN),
    ((7.0, 6.0, 9.0, 5.0), State.UNCERTAIN),  # the earliest bound is the hour
    ((4.0, 2.0, None, 5.0), State.UNCERTAIN),  # open to the right
    ((4.0, None, 5.0, 5.0), State.KNOWN),  # open to the left
    ((8.0, None, 9.0, 5.0), State.UNCERTAIN),
    ((8.0, 7.0, None, 5.0), State.NOT_YET),
    ((None, None, None, 5.0), State.UNCERTAIN),  # no time at all
    ((None, 7.0, None, 5.0), State.NOT_YET),
    ((None, None, 5.0, 5.0), State.KNOWN),
    ((-2.0, None, None, 0.5), State.KNOWN),  # before admission
]


@pytest.mark.parametrize(("times", "state"), STATES)
def test_the_state_at_hour_six(times, state):
    assert state_at(Times(*times), 6.0) is state


EARLY = Times(4.0, 2.0, 5.0, 5.5, 3.0)
SPREAD = Times(4.0, 2.0, 9.0, 5.0, 3.0)
LATE_POINT = Times(8.0, 2.0, 9.0, 5.0, 3.0)
UNWRITTEN = Times(4.0, 2.0, 5.0, 7.0, 3.0)
AHEAD = Times(8.0, 7.0, 9.0, 1.0, 3.0)
TIMELESS = Times(None, None, None, 5.0, 3.0)
IN, FLAGGED, OUT = Passed.IN, Passed.FLAGGED, Passed.OUT
#: By basis and doubt: what passes at hour 6 of the six above, in this order.
POLICIES = {
    (Basis.POINT, Doubt.KEEP): (IN, IN, OUT, IN, OUT, OUT),
    (Basis.POINT, Doubt.DROP): (IN, OUT, OUT, IN, OUT, OUT),
    (Basis.POINT, Doubt.FLAG): (IN, FLAGGED, OUT, IN, OUT, OUT),
    (Basis.LATEST, Doubt.KEEP): (IN, OUT, OUT, IN, OUT, OUT),
    (Basis.LATEST, Doubt.DROP): (IN, OUT, OUT, IN, OUT, OUT),
    (Basis.LATEST, Doubt.FLAG): (IN, OUT, OUT, IN, OUT, OUT),
    (Basis.DOCUMENTED, Doubt.KEEP): (IN, IN, IN, OUT, OUT, IN),
    (Basis.DOCUMENTED, Doubt.DROP): (IN, OUT, OUT, OUT, OUT, OUT),
    (Basis.DOCUMENTED, Doubt.FLAG): (IN, FLAGGED, FLAGGED, OUT, OUT, FLAGGED),
}


@pytest.mark.parametrize(("chosen", "passed"), POLICIES.items())
def test_what_a_policy_lets_through(chosen, passed):
    every = (EARLY, SPREAD, LATE_POINT, UNWRITTEN, AHEAD, TIMELESS)
    policy = Policy(*chosen)
    assert tuple(passes(policy, times, 6.0) for times in every) == passed


@pytest.mark.parametrize(
    ("noted", "left_out", "passed"),
    [(6.0, True, IN), (6.1, True, OUT), (None, True, OUT), (6.1, False, IN), (None, False, IN)],
)
def test_notes_written_later_are_left_out(noted, left_out, passed):
    policy = Policy(Basis.POINT, Doubt.DROP, left_out)
    assert passes(policy, Times(4.0, None, None, 5.0, noted), 6.0) is passed


def test_a_policy_says_itself():
    words = Policy(Basis.LATEST, Doubt.FLAG).words
    assert "its latest bound is not after the hour" in words
    assert "kept and flagged in the column reason" in words
    assert "notes written after the hour are left out" in words
