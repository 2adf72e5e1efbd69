"""How far the object of a step is, from the object itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from adjudication.judge_runs.progress import count_games
from adjudication.models import JudgeRun, Packet, PlantedRecall, RecipeStep
from jobs.models import JobState
from timelines.case_state import CaseState
from timelines.models import Evaluation, Run
from timelines.runs.progress import count_runs, find_run_state

State = RecipeStep.State
#: (state of the step, why it did not end well)
Outcome = tuple[State, str]
GONE = "What this step had made was deleted."
_OF_JOB: Mapping[str, State] = {
    JobState.SUCCEEDED: State.DONE,
    JobState.FAILED: State.FAILED,
    JobState.CANCELLED: State.CANCELLED,
}


def find_outcome(step: RecipeStep) -> Outcome:
    """Return the state of what the step has made."""
    return _FINDERS[RecipeStep.Kind(step.kind)](step.made)


def _find_run(public_id: str) -> Outcome:
    run = Run.objects.filter(public_id=public_id).first()
    if run is None:
        return State.FAILED, GONE
    counts = count_runs([run])[run.pk]
    state = find_run_state(run, counts)
    if state is CaseState.CANCELLED:
        return State.CANCELLED, ""
    if counts.active or not counts.total:
        return State.RUNNING, ""
    if state is CaseState.DONE:
        return State.DONE, ""
    failed = counts.by_case.get(CaseState.FAILED, 0)
    if counts.by_case.get(CaseState.DONE, 0):
        # The other cases are there, and what follows says how many it counts.
        return State.DONE, f"Failed in {failed} of {counts.cases} cases."
    return State.FAILED, f"Failed in {failed} of {counts.cases} cases."


def _find_judge(public_id: str) -> Outcome:
    run = JudgeRun.objects.filter(public_id=public_id).first()
    if run is None:
        return State.FAILED, GONE
    counts = count_games([run])[run.pk]
    if counts.under_way or not counts.total:
        return State.RUNNING, ""
    if counts.judged:
        missing = counts.total - counts.judged
        return State.DONE, f"{missing} of {counts.total} games not judged." if missing else ""
    return State.FAILED, "No game was judged."


def _find_packet(public_id: str) -> Outcome:
    there = Packet.objects.filter(public_id=public_id).exists()
    return (State.DONE, "") if there else (State.FAILED, GONE)


def _find_job(kind: type[Evaluation] | type[PlantedRecall]) -> Callable[[str], Outcome]:
    def find(public_id: str) -> Outcome:
        job = kind.objects.filter(public_id=public_id).first()
        if job is None:
            return State.FAILED, GONE
        state = _OF_JOB.get(job.state, State.RUNNING)
        return state, "; ".join(job.reasons) if state is State.FAILED else ""

    return find


_FINDERS: Mapping[RecipeStep.Kind, Callable[[str], Outcome]] = {
    RecipeStep.Kind.RUN: _find_run,
    RecipeStep.Kind.EVALUATION: _find_job(Evaluation),
    RecipeStep.Kind.JUDGE: _find_judge,
    RecipeStep.Kind.PLANTED: _find_job(PlantedRecall),
    RecipeStep.Kind.PACKET: _find_packet,
}
