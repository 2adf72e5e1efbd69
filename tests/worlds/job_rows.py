"""Real job rows for the tests of jobs: stages of a made-up case."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from accounts.models import Study
from ehr.models import Dataset, Encounter
from jobs.leases.clock import database_time
from jobs.models import ClaimableJob
from timelines.models import STAGE_ORDER, CaseRun, Run, StageRun


def stage_rows(count: int = 1, **fields: Any) -> list[StageRun]:
    """Create at most seven stage rows of one case, queued by default."""
    number = Study.objects.count()
    study = Study.objects.create(name=f"Study {number}")
    dataset = Dataset.objects.create(study=study, name="cohort", format="cases")
    encounter = Encounter.objects.create(
        dataset=dataset,
        case_id=f"case-{number}",
        subject_key="1",
        admitted_at=datetime(2150, 1, 1),
        discharged_at=datetime(2150, 1, 5),
    )
    run = Run.objects.create(
        study=study,
        dataset=dataset,
        source="rules",
        backbone="rules",
        variant="full",
        config={},
        code_revision="x",
    )
    case_run = CaseRun.objects.create(run=run, encounter=encounter)
    return [
        StageRun.objects.create(case_run=case_run, stage=stage, **fields)
        for stage in STAGE_ORDER[:count]
    ]


def stage_row(**fields: Any) -> StageRun:
    """One stage row."""
    return stage_rows(1, **fields)[0]


def expire_lease(job: ClaimableJob) -> None:
    """Let the lease of the job run out, on database time."""
    row = type(job)._default_manager.filter(pk=job.pk)
    row.update(lease_expires_at=database_time(timedelta(seconds=-1)))
