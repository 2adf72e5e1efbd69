import pytest

from timelines.case_state import CaseState, case_state


@pytest.mark.parametrize(
    ("stages", "state"),
    [
        ([], CaseState.NONE),
        (["queued", "blocked"], CaseState.WAITING),
        (["succeeded", "queued", "blocked"], CaseState.WAITING),
        (["succeeded", "running", "blocked"], CaseState.RUNNING),
        (["succeeded", "succeeded"], CaseState.DONE),
        (["succeeded", "failed", "cancelled"], CaseState.FAILED),
        (["succeeded", "cancelled", "running"], CaseState.CANCELLED),
    ],
)
def test_the_state_of_a_case_follows_from_its_stages(stages, state):
    assert case_state(stages) is state
