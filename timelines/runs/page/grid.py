"""Cases × stages of one page of a run, in words.

What each stage does or produced, how long it took, and why it failed.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone

from accounts.wording import format_count
from ehr.presentation.wording import duration_words
from jobs.models import JobState
from timelines.case_state import CaseState, case_state
from timelines.models import STAGE_ORDER, CaseRun, Stage, StageBatch, StageRun

#: Cases shown on one page of a run; a cohort of thousands is paged, its totals are counted in SQL.
PAGE_SIZE = 50
#: The count in the first batch of a finished stage, and its words.
_OUTCOMES: Mapping[str, tuple[str, str]] = {
    Stage.UIDS: ("occurrences", "occurrence"),
    Stage.INFER: ("entries", "time"),
    Stage.RETRIEVE: ("queries", "query"),
    Stage.EXPAND: ("rows", "row"),
    Stage.REVISE: ("alternatives", "timeline"),
}
_PLURALS = {"query": "queries", "summary": "summaries"}


@dataclass(frozen=True, slots=True)
class StageCell:
    """One stage of one case.

    `took` is its run time so far, `waited` the time from queueing to the start, both in words.
    """

    stage: str
    label: str
    state: str
    state_label: str
    words: str
    percent: int | None
    took: str
    waited: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why attempts of a stage failed: the latest reason and earlier ones.

    `failed` is False while the stage is retried.
    """

    stage_run: int
    label: str
    failed: bool
    attempts: int
    latest: str
    earlier: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CaseLine:
    """One case of the run with its cells in stage order.

    `sign` changes with anything that the line shows.
    """

    public_id: str
    case_run_id: str
    case_id: str
    title: str
    state: CaseState
    cells: tuple[StageCell, ...]
    troubles: tuple[Trouble, ...]

    @property
    def retryable(self) -> bool:
        return self.state in (CaseState.FAILED, CaseState.CANCELLED)

    @property
    def sign(self) -> str:
        shown = repr((self.state, self.cells, self.troubles))
        return f"{self.case_run_id}.{hashlib.blake2s(shown.encode(), digest_size=4).hexdigest()}"


def case_lines(case_runs: Sequence[CaseRun]) -> list[CaseLine]:
    """Return the lines of one page of a run, in the order given.

    Two queries for any number of cases.
    """
    now = timezone.now()
    stages: dict[int, dict[str, StageRun]] = defaultdict(dict)
    for stage in StageRun.objects.filter(case_run__in=case_runs):
        stages[stage.case_run_id][stage.stage] = stage
    outcomes = _outcomes(case_runs)
    return [_line(case_run, stages[case_run.pk], outcomes, now) for case_run in case_runs]


def _line(
    case_run: CaseRun, stages: Mapping[str, StageRun], outcomes: Mapping[int, str], now: datetime
) -> CaseLine:
    ordered = [stages[s] for s in STAGE_ORDER if s in stages]
    return CaseLine(
        public_id=case_run.encounter.public_id,
        case_run_id=case_run.public_id,
        case_id=case_run.encounter.case_id,
        title=case_run.encounter.title,
        state=case_state(s.state for s in ordered),
        cells=tuple(_cell(s, outcomes.get(s.pk, ""), now) for s in ordered),
        troubles=tuple(_trouble(s) for s in ordered if s.reasons and s.state != JobState.SUCCEEDED),
    )


def _cell(stage: StageRun, outcome: str, now: datetime) -> StageCell:
    running = stage.state == JobState.RUNNING
    progress = stage.progress if running and isinstance(stage.progress, dict) else {}
    done, total = progress.get("done"), progress.get("total")
    begun = stage.started_at if stage.state not in (JobState.QUEUED, JobState.BLOCKED) else None
    return StageCell(
        stage=stage.stage,
        label=Stage(stage.stage).label,
        state=stage.state,
        state_label=JobState(stage.state).label,
        words=str(progress.get("words", "")) or outcome or _describe_retry(stage, now),
        percent=(
            round(100 * done / total)
            if isinstance(done, int) and isinstance(total, int) and total
            else None
        ),
        took=duration_words(((stage.finished_at or now) - begun).total_seconds()) if begun else "",
        waited=duration_words((begun - stage.queued_at).total_seconds()) if begun else "",
        attempt=stage.attempt,
    )


def _describe_retry(stage: StageRun, now: datetime) -> str:
    if stage.state != JobState.QUEUED or stage.not_before is None or stage.not_before <= now:
        return ""
    return f"tries again in {duration_words((stage.not_before - now).total_seconds())}"


def _trouble(stage: StageRun) -> Trouble:
    *earlier, latest = stage.reasons
    failed = stage.state == JobState.FAILED
    return Trouble(
        stage.pk, Stage(stage.stage).label, failed, stage.attempt, latest, tuple(earlier)
    )


def _outcomes(case_runs: Sequence[CaseRun]) -> dict[int, str]:
    """Return what each finished stage counted, by stage run id.

    Spans of a note are not included.
    """
    batches = StageBatch.objects.filter(
        stage_run__case_run__in=case_runs,
        ordinal=0,
        stage_run__stage__in=list(_OUTCOMES),
        stage_run__state=JobState.SUCCEEDED,
    )
    found = batches.values_list("stage_run_id", "stage_run__stage", "payload")
    return {stage_run: _outcome_words(stage, payload) for stage_run, stage, payload in found}


def _outcome_words(stage: str, payload: Mapping[str, Any]) -> str:
    key, one = ("summaries", "summary") if "summaries" in payload else _OUTCOMES[stage]
    n = payload.get(key)
    if not isinstance(n, int):
        return ""
    words = format_count(n, one, _PLURALS.get(one, ""))
    return f"{words}, taken over" if "kept_from" in payload else words
