"""The state of a case, derived from the states of its stages.

`CaseRun.state` follows the same rule in the database
(`timelines/migrations/sql/counts.sql`).
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class CaseState(StrEnum):
    NONE = "none"
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def label(self) -> str:
        return _LABELS[self]

    @property
    def badge(self) -> str:
        """Return the stylesheet's badge for it, the same as for jobs."""
        return {"done": "succeeded", "waiting": "plain", "none": "plain"}.get(
            self.value, self.value
        )


_LABELS = {
    CaseState.NONE: "Not reconstructed",
    CaseState.WAITING: "Waiting",
    CaseState.RUNNING: "Running",
    CaseState.DONE: "Reconstructed",
    CaseState.FAILED: "Failed",
    CaseState.CANCELLED: "Cancelled",
}


#: States that a person may retry.
ENDED = (CaseState.FAILED, CaseState.CANCELLED)
#: States of cases that are or will be under way.
UNDER_WAY = (CaseState.NONE, CaseState.WAITING, CaseState.RUNNING)
#: States of cases that are or will be under way, or ended early.
UNFINISHED = (*UNDER_WAY, *ENDED)


def case_state(stages: Iterable[str]) -> CaseState:
    """Return the state of a case from the job states of its stages.

    A failure has precedence over a cancellation, and that over work in progress.
    """
    states = set(stages)
    if not states:
        return CaseState.NONE
    for job, case in (
        ("failed", CaseState.FAILED),
        ("cancelled", CaseState.CANCELLED),
        ("running", CaseState.RUNNING),
    ):
        if job in states:
            return case
    return CaseState.DONE if states == {"succeeded"} else CaseState.WAITING
