"""Add a run's cases and their first stages.

This is a job of its own, so that starting a run takes as long for 100,000 cases as for one. A batch
of cases is one transaction behind the job's fence, together with the cursor. So a killed
preparation continues after the last stored batch, and a cancelled one adds nothing more
(docs/adr/0038-scale.md).
"""

from __future__ import annotations

from collections.abc import Sequence

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, QuerySet, Subquery

from ehr.models import Dataset, Encounter, Note
from jobs.hints import SWEEP_LIMIT, send_hints
from jobs.leases.hold import Hold
from jobs.models import JobState
from jobs.preparing import AT_ONCE, batch_guard, prepare_now, wanted_cases
from jobs.worker import work
from timelines.case_state import CaseState
from timelines.models import CaseRun, Run, RunPreparation, Stage, StageRun
from timelines.pipeline.config import PipelineConfig, Variant
from timelines.runs.baselines import baseline_stages, is_baseline
from timelines.runs.study_timeline.actions import choose_if_finished

#: The stages of each variant; a run that is based on another omits those whose results it points
#: to.
STAGES_OF: dict[Variant, tuple[Stage, ...]] = {
    **dict.fromkeys(Variant, tuple(Stage)),
    Variant.UNIMODAL: (Stage.TAG, Stage.UIDS, Stage.INFER, Stage.PROVENANCE),
}
_POINTED_AT = (Stage.TAG, Stage.UIDS)
#: Cases of one transaction: well under a second, so that a cancellation takes effect soon.
BATCH = 2000


def find_stages(variant: Variant, *, backbone: str = "", based: bool = False) -> tuple[Stage, ...]:
    """Return the stages of a case.

    A run that is based on another points to existing inventories. Raises VariantUnsupported for a
    variant that a baseline does not have.
    """
    if is_baseline(backbone):
        return baseline_stages(backbone, variant)
    return tuple(s for s in STAGES_OF[variant] if not (based and s in _POINTED_AT))


@transaction.atomic
def start_preparation(run: Run, total: int, wanted: Sequence[str] | None) -> None:
    """Add a small run's cases now; let a worker add those of a large one.

    `wanted` are case ids, None means all.
    """
    preparation = RunPreparation.objects.create(
        run=run, total=total, wanted=None if wanted is None else sorted(set(wanted))
    )
    if total > AT_ONCE:
        send_hints(RunPreparation, [preparation.pk])
        return
    prepare_now(preparation, _prepare)


def execute_preparation(preparation_id: int) -> JobState | None:
    """Add the missing cases if the job waits; return its new state.

    None if there was nothing to do.
    """
    return work(RunPreparation, preparation_id, _prepare, then=_finish_run)


def _finish_run(preparation: RunPreparation) -> None:
    """Workers may have done every case before the preparation itself ended."""
    transaction.on_commit(lambda: choose_if_finished(preparation.run), robust=True)


def cases_to_add(preparation: RunPreparation) -> QuerySet[Encounter]:
    """The cases that the preparation has still to add, in order of case id."""
    run = preparation.run
    cases = Encounter.objects.filter(
        dataset=run.dataset_id, case_id__gt=preparation.cursor
    ).order_by("case_id")
    if run.based_on_id is not None:
        cases = cases.filter(
            Exists(CaseRun.objects.filter(run=run.based_on_id, encounter=OuterRef("pk")))
        )
    else:
        cases = cases.filter(Exists(Note.objects.filter(encounter=OuterRef("pk"))))
    if preparation.wanted is None:
        return cases
    return cases.filter(case_id__in=wanted_cases(preparation))


def cases_under_preparation(dataset: Dataset, source: str) -> QuerySet[Encounter]:
    """The cases that runs of that source are about to have."""
    active = RunPreparation.objects.filter(
        run__dataset=dataset, run__source=source, state__in=(JobState.QUEUED, JobState.RUNNING)
    )
    found = Encounter.objects.none()
    for preparation in active.select_related("run"):
        found = found | cases_to_add(preparation).order_by()
    return found


def _prepare(preparation: RunPreparation, hold: Hold) -> None:
    stages = _stages_of_run(preparation.run)
    while _add_batch(preparation, hold, stages):
        continue


def _add_batch(preparation: RunPreparation, hold: Hold, stages: Sequence[Stage]) -> bool:
    """Add the next cases with their stages; return False if none are left.

    Raises JobCancelled, LostLease.
    """
    run = preparation.run
    base = CaseRun.objects.filter(run=run.based_on_id, encounter=OuterRef("pk")).values("inventory")
    cases = cases_to_add(preparation).values_list("pk", "case_id", Subquery(base))
    with batch_guard(hold):
        batch = list(cases[:BATCH])
        if not batch:
            return False
        added = CaseRun.objects.bulk_create(
            CaseRun(
                run=run, encounter_id=encounter, inventory_id=inventory, state=CaseState.WAITING
            )
            for encounter, _, inventory in batch
        )
        _add_stages([c.pk for c in added], stages, run)
        if not preparation.cursor:  # workers begin with the first cases; further ones they pull
            first = StageRun.objects.filter(
                case_run__in=added[:SWEEP_LIMIT], state=JobState.QUEUED
            ).order_by("pk")
            send_hints(StageRun, list(first.values_list("pk", flat=True)))
        preparation.cursor = batch[-1][1]
        preparation.prepared += len(batch)
        hold.row.update(cursor=preparation.cursor, prepared=preparation.prepared)
    return True


def _add_stages(case_runs: Sequence[int], stages: Sequence[Stage], run: Run) -> None:
    """Insert all stages of these cases in one statement.

    The first stage of each case is queued, the others wait for it.
    """
    row = StageRun(max_attempts=PipelineConfig.from_dict(run.config).max_attempts)
    drawn = {"id", "case_run_id", "stage", "state"}
    fields = {
        f.column: f for f in StageRun._meta.concrete_fields if f.column and f.column not in drawn
    }
    fixed = {
        column: f.get_db_prep_save(f.pre_save(row, add=True), connection)
        for column, f in fields.items()
    }
    columns = ", ".join(f'"{column}"' for column in fixed)
    values = ", ".join(["%s"] * len(fixed))
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO timelines_stagerun (case_run_id, stage, state, {columns}) SELECT c,"
            f" s.stage, CASE s.place WHEN 1 THEN %s ELSE %s END, {values} FROM unnest(%s::bigint[])"
            " AS c CROSS JOIN unnest(%s::text[]) WITH ORDINALITY AS s (stage, place) ORDER BY c,"
            " s.place",
            [
                JobState.QUEUED,
                JobState.BLOCKED,
                *fixed.values(),
                list(case_runs),
                [str(s) for s in stages],
            ],
        )


def _stages_of_run(run: Run) -> tuple[Stage, ...]:
    return find_stages(
        Variant(run.variant), backbone=run.backbone, based=run.based_on_id is not None
    )
