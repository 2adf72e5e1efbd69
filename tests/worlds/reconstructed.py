"""Real imports and real runs for the tests that need a reconstructed case."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from accounts.models import User
from ehr.actions import import_dataset
from ehr.models import Dataset
from jobs.models import JobState
from tests import factories
from timelines.models import Run, StageRun
from timelines.pipeline.config import PipelineConfig, Variant
from timelines.runs.actions import start_run
from timelines.runs.following import work_inline

#: Models without weights: they load in no time.
LIGHT_ROLES: dict[str, Any] = {
    "embedder": {"provider": "hashing"},
    "reranker": {"provider": "lexical"},
}


def import_folder(path: Path, name: str = "cohort", cases: Sequence[str] | None = None) -> Dataset:
    """A dataset from case folders."""
    study = factories.make_study()
    report = import_dataset(path=path, format="cases", name=name, study=study, by=None, cases=cases)
    assert report.clean, report.lines()
    return Dataset.objects.get(study=study, name=name)


def run_inline(
    dataset: Dataset,
    variant: Variant = Variant.FULL,
    by: User | None = None,
    cases: Sequence[str] | None = None,
    config: PipelineConfig | None = None,
) -> Run:
    """A run by the rules backbone, done in this process to its end."""
    run = start_run(
        dataset=dataset,
        backbone="rules",
        config=config or PipelineConfig(variant=variant),
        cases=cases,
        by=by,
    )
    work_inline(run, lambda words: None)
    assert not StageRun.objects.filter(case_run__run=run).exclude(state=JobState.SUCCEEDED).exists()
    return run
