"""The table of transitions is complete, closed, and as in the docs."""

import pytest

from jobs import state_diagram
from jobs.errors import JobCancelled, LostLease, PermanentFailure, describe_error
from jobs.models import JobState
from jobs.states import FINAL, TRANSITIONS, InvalidTransition, next_state, sources


def test_the_table_has_exactly_the_states_of_the_database():
    assert set(TRANSITIONS) == set(JobState.values)
    assert {target for ways in TRANSITIONS.values() for target in ways.values()} <= set(TRANSITIONS)


@pytest.mark.parametrize(
    ("state", "happening", "target"),
    [
        ("blocked", "release", "queued"),
        ("queued", "claim", "running"),
        ("running", "reclaim", "running"),
        ("running", "finish", "succeeded"),
        ("running", "requeue", "queued"),
        ("running", "fail", "failed"),
        ("running", "stop", "cancelled"),
        ("failed", "retry", "queued"),
        ("cancelled", "retry", "queued"),
    ],
)
def test_what_leads_where(state, happening, target):
    assert next_state(state, happening) == target


@pytest.mark.parametrize(
    ("state", "happening"),
    [
        ("succeeded", "retry"),
        ("queued", "finish"),
        ("blocked", "claim"),
        ("cancelled", "claim"),
        ("lost", "claim"),
    ],
)
def test_an_invalid_transition_raises_and_says_which(state, happening):
    with pytest.raises(InvalidTransition) as caught:
        next_state(state, happening)
    assert (caught.value.state, caught.value.happening) == (state, happening)
    assert str(caught.value) == f"a job that is {state} cannot {happening}"


def test_a_success_is_final_and_only_a_person_revives_the_other_endings():
    assert TRANSITIONS["succeeded"] == {}
    assert {word for state in FINAL for word in TRANSITIONS[state]} == {"retry", "retry_later"}


def test_sources_are_the_states_in_which_something_may_happen():
    assert sources("retry") == ["failed", "cancelled"]
    assert sources("cancel") == ["blocked", "queued"]
    with pytest.raises(KeyError):
        sources("explode")


def test_every_state_can_be_reached_from_a_new_job():
    reached, todo = set(), ["blocked"]
    while todo:
        state = todo.pop()
        if state not in reached:
            reached.add(state)
            todo += TRANSITIONS[state].values()
    assert reached == set(TRANSITIONS)


def test_the_diagram_in_the_docs_is_the_table():
    assert state_diagram.PAGE.read_text(encoding="utf-8") == state_diagram.render()


def test_a_reason_never_repeats_a_message_that_nobody_vouched_for():
    assert describe_error(ValueError("Mr. Canary, 71, weakness")) == "ValueError"
    assert (
        describe_error(PermanentFailure("the note is empty"))
        == "PermanentFailure: the note is empty"
    )
    assert describe_error(LostLease()) == "LostLease"
    assert (
        describe_error(JobCancelled("cancelled on request")) == "JobCancelled: cancelled on request"
    )
