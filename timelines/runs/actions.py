"""Every change of a run's state.

A run is its frozen configuration, and one row for each stage of each case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter

from django.db import transaction
from django.db.models import Exists, F, OuterRef, QuerySet
from django.utils import timezone

from accounts.audit.trail import record
from accounts.models import User
from ehr.models import Dataset, Encounter, Note
from jobs.actions import cancel_all, retry_all
from jobs.hints import SWEEP_LIMIT, send_hints
from jobs.models import JobState
from llm_runtime.base import ProviderError
from timelines.case_state import ENDED
from timelines.models import CaseRun, Run, RunPreparation, Stage, StageRun
from timelines.pipeline.config import (
    ALL_NOTES,
    DISCHARGE_SUMMARY,
    PipelineConfig,
    Preset,
    Variant,
)
from timelines.pipeline.variants import VariantUnsupported
from timelines.runs import tools
from timelines.runs.bases import BaseRefused, check_base, select_base_cases
from timelines.runs.language_models import UnknownModel, find_choices, make_label
from timelines.runs.preparing import cases_under_preparation, find_stages, start_preparation
from timelines.runs.versions import code_revision, package_versions, prompt_hashes

LONGEST_LABEL = 180
#: Kinds of notes that a refusal names.
MOST_KINDS = 20
NOT_RETRIED = "No stage of this case failed or was cancelled, so there is nothing to retry."


class RunRefused(ValueError):
    """A run cannot be started.

    The message says what to change and contains no patient text.
    """

    log_safe = True


@transaction.atomic
def start_run(
    *,
    dataset: Dataset,
    backbone: str,
    config: PipelineConfig | None = None,
    cases: Sequence[str] | None = None,
    label: str = "",
    based_on: Run | None = None,
    models: Mapping[str, str] | None = None,
    by: User | None,
) -> Run:
    """Freeze the configuration and let the cases be added.

    `timelines.runs.preparing` adds them: `cases` are case ids, None means all with a note. With
    `based_on`, the run has the cases that that run has reconstructed, and reuses its inventories,
    text-only estimates and searches (`timelines.runs.bases`). `models` chooses language models by name, role → entry of
    MODEL_ENDPOINTS; a run on a base takes the base's. Raises RunRefused for a variant, model, base
    or case that cannot be run, UnknownBackbone for an unknown backbone.
    """
    config = config or PipelineConfig()
    if models is None and based_on is not None:
        models = find_choices(based_on.language_models)
    try:
        recorded = tools.describe_models(backbone, models)
        names = tools.tool_names(backbone, config, models or {}, recorded)
        # rejects a variant that the backbone does not have
        find_stages(config.variant, backbone=backbone)
        if based_on is not None:
            check_base(based_on, dataset, backbone, config, names)
            total, cases = select_base_cases(based_on, cases)
        else:
            total = _count_cases(dataset, cases)
            _check_kinds(dataset, config.note_kinds, cases)
    except (VariantUnsupported, BaseRefused, UnknownModel, ProviderError) as refused:
        raise RunRefused(str(refused)) from refused
    run = Run.objects.create(
        study=dataset.study,
        dataset=dataset,
        label=label,
        source=make_source(
            backbone, config.variant, config.own_rho, make_label(recorded), config.preset
        ),
        backbone=backbone,
        variant=config.variant.value,
        config=config.to_dict(),
        code_revision=code_revision(),
        prompt_hashes=prompt_hashes(),
        package_versions=package_versions(),
        language_models=recorded,
        tools={**names, "reranker": "none"} if config.variant is Variant.NO_RERANKER else names,
        created_by=by,
        based_on=based_on,
    )
    _audit(run, "run.start", by, cases=total)
    start_preparation(run, total, cases)
    return run


def make_source(
    backbone: str,
    variant: Variant,
    rho: float | None = None,
    models: str = "",
    preset: Preset = Preset.DEFAULT,
) -> str:
    """Return the name of such a run's timelines in pages and exports.

    `rho` is a threshold that departs from the preset's.
    Examples: "rules", "rules/no_uid", "rules/rho=0.1", "prompted:GLM-4.6/published".
    """
    parts = [
        f"{backbone}:{models}" if models else backbone,
        *([] if preset is Preset.DEFAULT else [preset.value]),
        *([] if variant is Variant.FULL else [variant.value]),
    ]
    return "/".join([*parts, *([] if rho is None else [f"rho={rho:g}"])])


def missing_cases(dataset: Dataset, source: str) -> list[str]:
    """Return case ids with a note that a run of that source should do.

    They were never run, failed or were cancelled; no run has reconstructed them or is about to.
    """
    covered = CaseRun.objects.filter(run__source=source, run__dataset=dataset).exclude(
        state__in=ENDED
    )
    missing = _find_noted_cases(dataset).exclude(pk__in=covered.values("encounter"))
    return list(
        missing.exclude(pk__in=cases_under_preparation(dataset, source).values("pk")).values_list(
            "case_id", flat=True
        )
    )


def noted_cases(dataset: Dataset) -> list[str]:
    """Case ids of the cases that have a note, in order."""
    return list(_find_noted_cases(dataset).values_list("case_id", flat=True))


def _find_noted_cases(dataset: Dataset) -> QuerySet[Encounter]:
    return Encounter.objects.filter(
        Exists(Note.objects.filter(encounter=OuterRef("pk"))), dataset=dataset
    ).order_by("case_id")


def _count_cases(dataset: Dataset, cases: Sequence[str] | None) -> int:
    if cases is None:
        if not (total := _find_noted_cases(dataset).count()):
            raise RunRefused("no case of this dataset has a note to reconstruct")
        return total
    known = set(
        _find_noted_cases(dataset).filter(case_id__in=set(cases)).values_list("case_id", flat=True)
    )
    missing = sorted(set(cases) - known)
    if missing or not known:
        raise RunRefused(
            f"not in this dataset, or without a note: {', '.join(missing[:10]) or 'every case'}"
        )
    return len(known)


def _check_kinds(
    dataset: Dataset, kinds: frozenset[str] | None, cases: Sequence[str] | None
) -> None:
    """Raise RunRefused for kinds of notes that these cases do not have.

    Without a discharge summary, the usual choice reads the first note.
    """
    if kinds is None or kinds == {DISCHARGE_SUMMARY}:
        return
    notes = Note.objects.filter(encounter__dataset=dataset, composed=False)
    if cases is not None:
        notes = notes.filter(encounter__case_id__in=set(cases))
    known = set(notes.order_by().values_list("kind", flat=True).distinct())
    if not kinds or kinds - known:
        wrong = ", ".join(sorted(kinds - known)) or "none named"
        raise RunRefused(
            f"no note of these cases is of the kind: {wrong}. Choose from: {ALL_NOTES},"
            f" {', '.join(sorted(known)[:MOST_KINDS])}"
        )


@transaction.atomic
def cancel_run(*, run: Run, by: User) -> int:
    """Cancel waiting stages and ask running ones to stop.

    Returns how many stages were affected. Stored results stay. The preparation is cancelled first:
    once it is asked to stop it adds no further stage.
    """
    Run.objects.filter(pk=run.pk, cancelled_at=None).update(cancelled_at=timezone.now())
    cancel_all(jobs=_preparation(run), by=by, study=run.study)
    return cancel_all(jobs=_stages(run), by=by, study=run.study)


@transaction.atomic
def pause_run(*, run: Run, by: User) -> None:
    """Let running stages end and start no other until the run is resumed."""
    if Run.objects.filter(pk=run.pk, paused_at=None).update(paused_at=timezone.now()):
        _audit(run, "run.pause", by)


@transaction.atomic
def resume_run(*, run: Run, by: User) -> None:
    """Resume a paused run."""
    if Run.objects.filter(pk=run.pk, paused_at__isnull=False).update(paused_at=None):
        send_hints(StageRun, _find_waiting(run))
        _audit(run, "run.resume", by)


@transaction.atomic
def rename_run(*, run: Run, label: str, by: User) -> None:
    """Give the run another label; the empty one shows its source instead.

    Its timelines keep their source. Raises RunRefused for a label that is too long.
    """
    if len(label) > LONGEST_LABEL:
        raise RunRefused(f"a label has at most {LONGEST_LABEL} characters")
    if Run.objects.filter(pk=run.pk).exclude(label=label).update(label=label):
        _audit(run, "run.rename", by)
    run.label = label


def retry_failed(*, run: Run, by: User) -> int:
    """Retry every failed or cancelled case from the stage where it ended.

    Returns how many cases. A preparation that ended early continues, too.
    """
    with transaction.atomic():
        _reopen(run)
        if retry_all(jobs=_preparation(run), by=by, study=run.study):
            send_hints(RunPreparation, list(_preparation(run).values_list("pk", flat=True)))
        return _retry(run, CaseRun.objects.filter(run=run, state__in=ENDED), by)


def retry_case(*, case_run: CaseRun, by: User) -> int:
    """As `retry_failed`, for one case."""
    with transaction.atomic():
        _reopen(case_run.run)
        return _retry(case_run.run, CaseRun.objects.filter(pk=case_run.pk), by)


def _reopen(run: Run) -> None:
    """Clear the cancellation, and so lock the run's row first.

    A cancellation does the same: one of the two waits for the other, before it locks a stage.
    """
    Run.objects.filter(pk=run.pk).update(cancelled_at=None)


def _retry(run: Run, case_runs: QuerySet[CaseRun], by: User) -> int:
    """Queue the first stage that has not succeeded; later ones wait for it.

    Results of earlier stages stay stored.
    """
    first: list[int] = []
    later: list[int] = []
    for stages in _stages_by_case(case_runs):
        ended = [pk for pk, state in stages if state in (JobState.FAILED, JobState.CANCELLED)]
        if ended and not any(state in (JobState.RUNNING, JobState.QUEUED) for _, state in stages):
            first.append(ended[0])
            later += ended[1:]
    retry_all(jobs=StageRun.objects.filter(pk__in=later), by=by, study=run.study, waits=True)
    retry_all(jobs=StageRun.objects.filter(pk__in=first), by=by, study=run.study)
    # By key: a join with the stages would be planned as if there were none, if the tables were empty
    # when they were last analysed.
    asked = StageRun.objects.filter(pk__in=first).values("case_run")
    CaseRun.objects.filter(pk__in=asked).update(rounds=F("rounds") + 1)
    send_hints(StageRun, first)
    return len(first)


def _stages_by_case(case_runs: QuerySet[CaseRun]) -> Iterable[list[tuple[int, str]]]:
    """Yield (primary key, state) of each case's stages in order.

    The rows stay locked until the transaction ends.
    """
    locked = (
        StageRun.objects.filter(case_run__in=case_runs)
        .order_by("pk")
        .select_for_update(of=("self",))
    )
    rows = sorted(
        (case, Stage.values.index(stage), pk, state)
        for case, stage, pk, state in locked.values_list("case_run_id", "stage", "pk", "state")
    )
    for _, group in groupby(rows, key=itemgetter(0)):
        yield [(pk, state) for _, _, pk, state in group]


def _stages(run: Run) -> QuerySet[StageRun]:
    return StageRun.objects.filter(case_run__run=run)


def _find_waiting(run: Run) -> list[int]:
    return list(
        _stages(run)
        .filter(state=JobState.QUEUED)
        .order_by("pk")
        .values_list("pk", flat=True)[:SWEEP_LIMIT]
    )


def _preparation(run: Run) -> QuerySet[RunPreparation]:
    return RunPreparation.objects.filter(run=run)


def _audit(run: Run, action: str, by: User | None, **detail: int) -> None:
    record(
        actor=by,
        study=run.study,
        action=action,
        object_type="timelines.run",
        object_id=run.public_id,
        detail=detail,
    )


#: What a person may do with a run, by the last part of its address.
STEPS: Mapping[str, Callable[..., object]] = {
    "pause": pause_run,
    "resume": resume_run,
    "cancel": cancel_run,
    "retry": retry_failed,
}
