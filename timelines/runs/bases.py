"""Runs that are based on another run.

Such a run reuses the base's inventories, text-only estimates and, if the variant allows it,
searches. So variants differ only in the varied stage, and a paid model is not asked twice. The base
is a run of variant `full` over the same dataset, by the same backbone, with the same tools and
settings. Its cases that failed or were cancelled are left out: a variant runs on the available
cases (docs/adr/0022).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from ehr.models import Dataset
from jobs.models import JobState
from timelines.case_state import UNDER_WAY, UNFINISHED, CaseState
from timelines.models import CaseRun, Run, RunPreparation, Stage
from timelines.pipeline.config import PipelineConfig, Preset, Variant, preset_config
from timelines.runs.baselines import BASELINES, is_baseline

#: Settings in which a run may differ from its base: they act after the reused stages, or on the
#: number of attempts.
FREE_SETTINGS = frozenset(
    {
        *("preset", "variant", "max_attempts", "rho_threshold", "top_k_rerank", "rows_per_summary"),
        *("discharge_grace_hours", "evidence_tokens", "rows_per_occurrence", "case_row_cap"),
        *("rows_per_history", "cited_rows", "cited_hours"),
        *("alternatives", "force_alternatives", "cite_rows", "revise_note_characters"),
        *("revise_local_characters", "evidence_field_characters"),
    }
)
LATEST = "latest"


class BaseRefused(ValueError):
    """A run cannot be the base of another.

    The message says why and contains no patient text.
    """

    log_safe = True


def find_copied_stages(variant: Variant) -> frozenset[Stage]:
    """The stages that a run of that variant takes over from its base."""
    text = {Stage.TAG, Stage.UIDS, Stage.INFER}
    return frozenset(
        text if variant in (Variant.NO_QUERY, Variant.UNIMODAL) else text | {Stage.RETRIEVE}
    )


def is_copied(run: Run, stage: str) -> bool:
    """Return whether a stage of the run copies what its base has stored.

    Then it needs no model.
    """
    return run.based_on_id is not None and stage in find_copied_stages(Variant(run.variant))


def find_base(dataset: Dataset, backbone: str, wanted: str) -> Run:
    """Return the run of that public id.

    "latest" means the newest full run by the backbone that has ended and reconstructed a case.
    Raises BaseRefused.
    """
    _check_keeps(backbone)
    if wanted != LATEST:
        found = Run.objects.filter(study=dataset.study, public_id=wanted).first()
        if found is None:
            raise BaseRefused(f"this study has no run {wanted}")
        return found
    latest = available_bases().filter(dataset=dataset, backbone=backbone).first()
    if latest is None:
        raise BaseRefused(
            f"the dataset {dataset.name} has no finished full run by {backbone} yet: start one"
            " first"
        )
    return latest


def finished_full_runs() -> QuerySet[Run]:
    """Return full runs whose every case is done, newest first.

    Baselines are excluded, because they have no inventory to reuse.
    """
    return _full_runs_without(UNFINISHED)


def available_bases() -> QuerySet[Run]:
    """Return full runs that have ended and reconstructed a case.

    Newest first, with the numbers of their cases (`all_cases`) and of those done (`done_cases`).
    """
    return _full_runs_without(UNDER_WAY).annotate(
        all_cases=Count("cases"),
        done_cases=Count("cases", filter=Q(cases__state=CaseState.DONE)),
    )


def _full_runs_without(states: Collection[CaseState]) -> QuerySet[Run]:
    """Return prepared full runs with a done case and none in these states."""
    cases = CaseRun.objects.filter(run=OuterRef("pk"))
    done, unfinished = (
        Exists(cases.filter(state=CaseState.DONE)),
        Exists(cases.filter(state__in=states)),
    )
    preparing = Exists(
        RunPreparation.objects.filter(run=OuterRef("pk")).exclude(state=JobState.SUCCEEDED)
    )
    full = Run.objects.filter(done, ~unfinished, ~preparing, variant=Variant.FULL.value).exclude(
        backbone__in=BASELINES
    )
    return full.order_by("-created_at", "-pk")


def based_config(base: Run, **settings: object) -> PipelineConfig:
    """Return the base's settings, updated with the given ones.

    A threshold is never inherited: it is that of the base's preset. A base that did not record its
    preset ran at the reranker's own.
    """
    theirs = PipelineConfig.from_dict(base.config)
    usual = preset_config(theirs.preset).rho_threshold if "preset" in base.config else None
    return PipelineConfig.from_dict({**theirs.to_dict(), "rho_threshold": usual, **settings})


def late_settings(preset: Preset) -> dict[str, Any]:
    """Return the preset's settings in which a run may differ from its base."""
    settings = preset_config(preset).to_dict()
    return {name: settings[name] for name in FREE_SETTINGS - {"variant"}}


def check_base(
    base: Run, dataset: Dataset, backbone: str, config: PipelineConfig, tools: Mapping[str, str]
) -> None:
    """Raise BaseRefused if the runs differ in more than the variant."""
    _check_keeps(backbone)
    if base.dataset_id != dataset.pk:
        raise BaseRefused(f"the run {base.public_id} is over another dataset")
    if base.backbone != backbone:
        raise BaseRefused(
            f"the run {base.public_id} is by the backbone {base.backbone}, not by {backbone}"
        )
    if base.variant != Variant.FULL.value:
        raise BaseRefused(
            f"the run {base.public_id} is of the variant {base.variant}; variants are based on a"
            " full run"
        )
    changed = [
        f"{tools[name]} instead of {used}"
        for name, used in sorted(base.tools.items())
        if tools.get(name) != used
    ]
    if changed:
        raise BaseRefused(
            f"the run {base.public_id} was made with other tools ({', '.join(changed)}): repeat it"
            " first"
        )
    theirs = PipelineConfig.from_dict(base.config)
    names = [
        f.name
        for f in fields(config)
        if f.name not in FREE_SETTINGS and getattr(config, f.name) != getattr(theirs, f.name)
    ]
    if names:
        raise BaseRefused(f"the run {base.public_id} has other settings: {', '.join(names)}")


def _check_keeps(backbone: str) -> None:
    if is_baseline(backbone):
        raise BaseRefused(f"the baseline {backbone} has no inventory and is based on no other run")


def select_base_cases(base: Run, cases: Sequence[str] | None) -> tuple[int, list[str] | None]:
    """Return how many of the base's cases are reused, and their case ids.

    `cases` are case ids, None means all that the base has reconstructed; the ids are None if that
    is every case. Raises BaseRefused if a requested case is not finished, or any case is under way.
    """
    if cases is not None:
        found = base.cases.filter(encounter__case_id__in=set(cases))
        missing = sorted(set(cases) - set(found.values_list("encounter__case_id", flat=True)))
        if missing:
            raise BaseRefused(f"not in the run {base.public_id}: {', '.join(missing[:10])}")
    else:
        found = base.cases.all()
        if RunPreparation.objects.filter(run=base).exclude(state=JobState.SUCCEEDED).exists():
            raise BaseRefused(f"not all cases of the run {base.public_id} have been added yet")
    refused = UNDER_WAY if cases is None else UNFINISHED
    waiting, total = found.filter(state__in=refused).count(), found.count()
    done = found.filter(state=CaseState.DONE).count()
    if waiting or not done:
        raise BaseRefused(
            f"{waiting or total} of {total} cases of the run {base.public_id} are not finished"
        )
    if cases is not None:
        return total, list(cases)
    return done, None if done == total else finished_cases(base)


def finished_cases(base: Run) -> list[str]:
    """Case ids of the run's cases whose every stage has succeeded, in order."""
    return list(
        base.cases.filter(state=CaseState.DONE)
        .order_by("encounter__case_id")
        .values_list("encounter__case_id", flat=True)
    )


def find_bases(
    dataset: Dataset,
    backbone: str,
    config: PipelineConfig,
    tools: Mapping[str, str],
    cases: Collection[str],
) -> tuple[list[tuple[Run, list[str]]], list[str]]:
    """Return the newest possible base of each case, as (run, case ids).

    Also return the cases without one, in order.
    """
    left, found = set(cases), []
    for run in Run.objects.filter(
        dataset=dataset, backbone=backbone, variant=Variant.FULL.value
    ).order_by("-created_at", "-pk"):
        try:
            check_base(run, dataset, backbone, config, tools)
        except BaseRefused:
            continue
        mine = [case for case in finished_cases(run) if case in left]
        if mine:
            found.append((run, mine))
            left -= set(mine)
    return found, sorted(left)
