"""The study timeline: one run per dataset that pages show first.

It stays until an admin chooses another (docs/adr/0040).
"""

from __future__ import annotations

from django.db.models import Exists, OuterRef, QuerySet

from accounts.models import Study
from ehr.models import Encounter, Note
from timelines.models import Run, StudyTimeline
from timelines.pipeline.config import ConfigError, PipelineConfig, Variant
from timelines.runs.baselines import BASELINES
from timelines.runs.bases import finished_full_runs


def current() -> QuerySet[StudyTimeline]:
    """The choice that counts for each dataset that has one."""
    return StudyTimeline.objects.filter(replaced_at__isnull=True)


def is_study_run(run_field: str) -> Exists:
    """Return a condition on rows that name a run in `run_field`.

    The run is the study timeline of its dataset.
    """
    return Exists(current().filter(run=OuterRef(run_field)))


def study_timelines(study: Study) -> dict[int, StudyTimeline]:
    """Return the study timelines of a study, by dataset id.

    Datasets without one are omitted.
    """
    return {
        chosen.dataset_id: chosen
        for chosen in current().filter(dataset__study=study).select_related("run", "chosen_by")
    }


def find_study_runs(study: Study) -> list[int]:
    """Return the runs that are study timelines, by primary key."""
    return list(current().filter(dataset__study=study).values_list("run_id", flat=True))


def find_study_run(dataset_id: int) -> Run | None:
    """The run that is the dataset's study timeline, if one is chosen."""
    chosen = current().filter(dataset=dataset_id).select_related("run").first()
    return chosen.run if chosen else None


def history(study: Study) -> QuerySet[StudyTimeline]:
    """All choices of a study, newest first."""
    return StudyTimeline.objects.filter(dataset__study=study).select_related(
        "run", "chosen_by", "dataset"
    )


def run_words(run: Run) -> str:
    """Return the words by which pages distinguish runs.

    Example: "rules, 2026-11-22 14:05 UTC, ρ 0.2".
    """
    rho = _own_rho(run)
    name = run.label or run.source.split("/rho=")[0]
    return f"{name}, {run.created_at:%Y-%m-%d %H:%M} UTC{'' if rho is None else f', ρ {rho:g}'}"


def fallback_order(run: Run) -> tuple[bool, bool, int]:
    """Return the sort key of runs if no study timeline decides.

    Full runs come first, then those with a ρ of their own, oldest first. A newer run therefore
    never replaces what pages show.
    """
    return not is_full(run), _own_rho(run) is not None, run.pk


def _own_rho(run: Run) -> float | None:
    try:
        return PipelineConfig.from_dict(run.config).own_rho
    except ConfigError:
        return None


def is_full(run: Run) -> bool:
    """Return whether the run is of variant full and has occurrences.

    They are its own or its base's; baselines have none.
    """
    return run.variant == Variant.FULL.value and run.backbone not in BASELINES


def first_default_run(dataset_id: int) -> Run | None:
    """Return the oldest finished default run of the dataset, or None.

    It is a full run with default settings over every case with a note.
    """
    noted = Encounter.objects.filter(
        Exists(Note.objects.filter(encounter=OuterRef("pk"))), dataset=dataset_id
    )
    for run in (
        finished_full_runs()
        .filter(dataset=dataset_id, based_on__isnull=True)
        .order_by("created_at", "pk")
    ):
        if has_default_settings(run) and not noted.exclude(case_runs__run=run).exists():
            return run
    return None


def has_default_settings(run: Run) -> bool:
    """Return whether every setting of the run is the protocol's default."""
    try:
        return PipelineConfig.from_dict(run.config) == PipelineConfig()
    except ConfigError:
        return False
