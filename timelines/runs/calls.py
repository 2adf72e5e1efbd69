"""The model calls of a run.

Their costs by stage and by case, and the calls that decided an occurrence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.db.models import CharField, Q, QuerySet
from django.db.models.functions import Cast

from ehr.presentation.wording import duration_words
from llm_runtime.accounting import Spent, reason_kinds, spent_by_owner, total
from llm_runtime.models import ModelCall, Outcome
from timelines.access.closed import exclude_closed
from timelines.models import STAGE_ORDER, CaseRun, Occurrence, Run, Stage, StageRun

#: The owner of calls in the ledger: the type of the row that `owner_id` names.
CALLS_OWNER = "timelines.stagerun"
CASES_SHOWN = 50
SHORTENED_CASES_SHOWN = 10


@dataclass(frozen=True, slots=True)
class StageSpent:
    """One stage over all cases of a run, or of one case."""

    stage: str
    label: str
    spent: Spent


@dataclass(frozen=True, slots=True)
class CaseSpent:
    """One case of a run.

    `took` is the wall time of its stages in words, "" before the first has ended.
    """

    case_id: str
    case_run_id: str
    spent: Spent
    took: str = ""


@dataclass(frozen=True, slots=True)
class Shortened:
    """Prompts that show less than the whole note.

    `stages` are (label of the stage, number of prompts), `cases` are (case_id, case_run_id).
    """

    stages: tuple[tuple[str, int], ...] = ()
    cases: tuple[tuple[str, str], ...] = ()
    more_cases: int = 0


@dataclass(frozen=True, slots=True)
class RunSpent:
    """The costs of a run's calls.

    `kinds` are the faults of rejected attempts, most frequent first.
    """

    stages: tuple[StageSpent, ...]
    cases: tuple[CaseSpent, ...]
    more_cases: int
    kinds: tuple[tuple[str, int], ...]
    shortened: Shortened
    total: Spent


def find_calls(stages: QuerySet[StageRun]) -> QuerySet[ModelCall]:
    """The calls that these stages made."""
    ids = stages.annotate(name=Cast("pk", CharField())).values("name")
    return ModelCall.objects.filter(owner_type=CALLS_OWNER, owner_id__in=ids)


def run_spent(run: Run, closed: Collection[int] = ()) -> RunSpent:
    """Return the costs of a run by stage and by case.

    The most expensive cases come first (at most CASES_SHOWN); `closed` encounters are excluded.
    """
    stages = exclude_closed(
        StageRun.objects.filter(case_run__run=run), closed, "case_run__encounter"
    )
    owners: dict[str, tuple[str, int]] = {}
    walls: dict[int, float] = {}
    for pk, stage, case, started, finished in stages.values_list(
        "pk", "stage", "case_run_id", "started_at", "finished_at"
    ):
        owners[str(pk)] = (stage, case)
        if started and finished:
            walls[case] = walls.get(case, 0.0) + (finished - started).total_seconds()
    spent = spent_by_owner(find_calls(stages))
    by_case: dict[int, Spent] = {}
    for owner, one in spent.items():
        case = owners[owner][1]
        by_case[case] = by_case.get(case, Spent()) + one
    dearest = sorted(by_case, key=lambda pk: (-(by_case[pk].tokens_out or 0), pk))
    named = {
        c.pk: c
        for c in CaseRun.objects.filter(pk__in=dearest[:CASES_SHOWN]).select_related("encounter")
    }
    return RunSpent(
        stages=tuple(_stages({owner: owners[owner][0] for owner in spent}, spent)),
        cases=tuple(
            CaseSpent(
                named[pk].encounter.case_id,
                named[pk].public_id,
                by_case[pk],
                duration_words(walls[pk]) if pk in walls else "",
            )
            for pk in dearest[:CASES_SHOWN]
        ),
        more_cases=max(0, len(dearest) - CASES_SHOWN),
        kinds=tuple(reason_kinds(find_calls(stages))),
        shortened=find_shortened(stages),
        total=total(spent.values()),
    )


def find_shortened(stages: QuerySet[StageRun]) -> Shortened:
    """Return which prompts of these stages were shortened to fit.

    The attempts at one part are one prompt. Cases are in the order of their start.
    """
    parts = (
        find_calls(stages)
        .filter(parameters__has_key="shortened")
        .order_by()
        .values_list("owner_id", "part")
        .distinct()
    )
    prompts = Counter(int(owner) for owner, _ in parts)
    found = StageRun.objects.filter(pk__in=prompts).values_list("pk", "stage", "case_run_id")
    by_stage: Counter[str] = Counter()
    for pk, stage, _ in found:
        by_stage[stage] += prompts[pk]
    labels = dict(Stage.choices)
    cases = sorted({case for _, _, case in found})
    shown = (
        CaseRun.objects.filter(pk__in=cases[:SHORTENED_CASES_SHOWN])
        .order_by("pk")
        .values_list("encounter__case_id", "public_id")
    )
    return Shortened(
        tuple((labels.get(stage, stage), by_stage[stage]) for stage in _sort_stages(by_stage)),
        tuple(shown),
        max(0, len(cases) - SHORTENED_CASES_SHOWN),
    )


def _sort_stages(names: Collection[str]) -> list[str]:
    """Those of the pipeline in its order, then the others."""
    return [*(s for s in STAGE_ORDER if s in names), *sorted(set(names) - set(STAGE_ORDER))]


def spent_by_stage(stages: QuerySet[StageRun]) -> list[StageSpent]:
    """Return the costs of these stages' calls, in order of the stages.

    Stages that asked no model are omitted.
    """
    names = {str(pk): stage for pk, stage in stages.values_list("pk", "stage")}
    return _stages(names, spent_by_owner(find_calls(stages)))


def _stages(names: dict[str, str], spent: dict[str, Spent]) -> list[StageSpent]:
    labels = dict(Stage.choices)
    grouped = {
        stage: [one for owner, one in spent.items() if names.get(owner) == stage]
        for stage in _sort_stages(set(names.values()))
    }
    return [
        StageSpent(stage, labels.get(stage, stage), total(parts))
        for stage, parts in grouped.items()
        if parts
    ]


def deciding_calls(case_run: CaseRun, occurrence: Occurrence) -> list[ModelCall]:
    """Return the accepted calls that decided an occurrence.

    In order of the stages: tagging of its place, its time, its queries, its revision. If a run
    reuses results, the calls of its base are included.
    """
    runs = [case_run.pk]
    if case_run.run.based_on_id is not None:
        runs += CaseRun.objects.filter(
            run_id=case_run.run.based_on_id, encounter_id=case_run.encounter_id
        ).values_list("pk", flat=True)
    covered = Q(covers__contains=[occurrence.uid4]) | (
        Q(role="tagger") if occurrence.start is not None else Q(pk__in=())
    )
    accepted = find_calls(StageRun.objects.filter(case_run_id__in=runs)).filter(
        covered, outcome=Outcome.ACCEPTED
    )
    calls = accepted.defer("response").order_by("pk")
    # A resumed stage has its answers twice: the paid ones, and the reused ones.
    latest = {
        (c.role, c.part): c for c in calls if c.role != "tagger" or _tags(c.covers, occurrence)
    }
    return list(latest.values())


def _tags(covers: Sequence[str], occurrence: Occurrence) -> bool:
    """Return whether a piece contains the occurrence's beginning.

    Pieces have the form "start:end".
    """
    pieces = [piece.partition(":") for piece in covers]
    return any(int(start) <= (occurrence.start or 0) < int(end) for start, _, end in pieces)
