"""Add the games of a judge run, in a job of its own.

Starting a run therefore takes as long for 100,000 cases as for one. A batch and its cursor are
stored in one transaction behind the job's fence, as for runs (`timelines.runs.preparing`,
docs/adr/0038-scale.md). The timelines of a case are chosen when its batch is added.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from django.db import transaction
from django.db.models import QuerySet

from adjudication.judge_runs.data import load_case_pairs
from adjudication.judging.config import JudgeConfig, game_seed
from adjudication.models import Comparison, Game, JudgePreparation, JudgeRun
from ehr.models import Dataset, Encounter
from jobs.hints import SWEEP_LIMIT, send_hints
from jobs.leases.hold import Hold, write_guard
from jobs.models import JobState
from jobs.preparing import AT_ONCE, batch_guard, prepare_now, wanted_cases
from jobs.worker import work
from timelines.evaluation.values import SourceKey
from timelines.models import Timeline

#: Approximate games per transaction: a second or less, so that a cancellation takes effect soon.
GAMES_A_BATCH = 2000


class NothingToJudge(ValueError):
    """No case of the judge run has anything to compare."""

    log_safe = True
    retryable = False


@transaction.atomic
def start_preparation(
    run: JudgeRun, cases: Sequence[str], *, tell_workers: bool = True
) -> JudgePreparation:
    """Add a small cohort's games now; let a worker add those of a large one.

    No `cases` means all. Raises NothingToJudge.
    """
    wanted = sorted(set(cases)) or None
    there = Encounter.objects.filter(dataset__in=run.datasets.all())
    total = there.count() if wanted is None else there.filter(case_id__in=wanted).count()
    preparation = JudgePreparation.objects.create(run=run, total=total, wanted=wanted)
    if total <= AT_ONCE:
        prepare_now(preparation, partial(_prepare, tell_workers=tell_workers))
    elif tell_workers:
        send_hints(JudgePreparation, [preparation.pk])
    return preparation


def execute_preparation(preparation_id: int, *, tell_workers: bool = True) -> JobState | None:
    """Add the missing games if the job is queued; return its new state.

    None if there was nothing to do.
    """
    return work(JudgePreparation, preparation_id, partial(_prepare, tell_workers=tell_workers))


def will_add_cases(run: JudgeRun, datasets: Sequence[Dataset], cases: Sequence[str]) -> bool:
    """Return whether the run is being prepared for all these cases.

    No `cases` means whole datasets.
    """
    preparation = JudgePreparation.objects.filter(
        run=run, state__in=(JobState.QUEUED, JobState.RUNNING)
    ).first()
    if preparation is None or not {d.pk for d in datasets} <= set(
        run.datasets.values_list("pk", flat=True)
    ):
        return False
    return preparation.wanted is None or (bool(cases) and set(cases) <= set(preparation.wanted))


def _prepare(preparation: JudgePreparation, hold: Hold, *, tell_workers: bool) -> None:
    while _add_batch(preparation, hold, tell_workers=tell_workers):
        continue
    if not preparation.run.games.exists():
        with write_guard(hold):  # a retry looks at all cases again
            hold.row.update(dataset_at=0, cursor="", prepared=0)
        raise NothingToJudge(
            "no case has finished timelines of two of these sources; reconstruct, import or author"
            " them first"
        )


def _add_batch(preparation: JudgePreparation, hold: Hold, *, tell_workers: bool) -> bool:
    """Add the games of the next cases; False if there are none left.

    Raises JobCancelled, LostLease.
    """
    run = preparation.run
    with batch_guard(hold):
        cases = _next_cases(preparation)
        if not cases:
            return False
        _add_games(
            run, list(load_case_pairs(cases, _sources(run))), JudgeConfig.from_dict(run.config)
        )
        if (
            tell_workers and not preparation.prepared
        ):  # workers begin with the first games; further ones they pull
            send_hints(
                Game, list(run.games.order_by("pk").values_list("pk", flat=True)[:SWEEP_LIMIT])
            )
        preparation.dataset_at, preparation.cursor = cases[-1].dataset_id, cases[-1].case_id
        preparation.prepared += len(cases)
        hold.row.update(
            dataset_at=preparation.dataset_at,
            cursor=preparation.cursor,
            prepared=preparation.prepared,
        )
    return True


def _next_cases(preparation: JudgePreparation) -> list[Encounter]:
    """Return the next batch's cases of one dataset, by dataset and case id."""
    datasets = preparation.run.datasets.filter(pk__gte=preparation.dataset_at).order_by("pk")
    for dataset in datasets.values_list("pk", flat=True):
        after = preparation.cursor if dataset == preparation.dataset_at else ""
        found = _select_cases(
            preparation, Encounter.objects.filter(dataset=dataset, case_id__gt=after)
        )
        if cases := list(
            found.select_related("dataset").order_by("case_id")[
                : _compute_batch_size(preparation.run)
            ]
        ):
            return cases
    return []


def _select_cases(preparation: JudgePreparation, cases: QuerySet[Encounter]) -> QuerySet[Encounter]:
    return (
        cases if preparation.wanted is None else cases.filter(case_id__in=wanted_cases(preparation))
    )


def _compute_batch_size(run: JudgeRun) -> int:
    """Return how many cases have about GAMES_A_BATCH games with all sources."""
    sources, config = len(run.sources), JudgeConfig.from_dict(run.config)
    return max(1, GAMES_A_BATCH // (sources * (sources - 1) // 2 * (2 if config.swap else 1)))


def _sources(run: JudgeRun) -> list[SourceKey]:
    return [SourceKey(*source) for source in run.sources]


def _add_games(
    run: JudgeRun, pairs: Sequence[tuple[Timeline, Timeline]], config: JudgeConfig
) -> None:
    stored = _comparisons(pairs)
    Game.objects.bulk_create(
        Game(
            run=run,
            comparison_id=stored[first.pk, second.pk],
            swapped=swapped,
            seed=_seed(config, first, second),
        )
        for first, second in pairs
        for swapped in ((False, True) if config.swap else (False,))
    )


def _comparisons(pairs: Sequence[tuple[Timeline, Timeline]]) -> dict[tuple[int, int], int]:
    """Map (first, second) to the comparison; create what is missing.

    All runs create in the same order, so that two never deadlock.
    """
    Comparison.objects.bulk_create(
        (
            Comparison(encounter_id=first.encounter_id, first=first, second=second)
            for first, second in sorted(pairs, key=lambda p: (p[0].pk, p[1].pk))
        ),
        ignore_conflicts=True,
    )
    made = Comparison.objects.filter(
        first__in={p[0].pk for p in pairs}, second__in={p[1].pk for p in pairs}
    )
    return {
        (first, second): pk for first, second, pk in made.values_list("first_id", "second_id", "pk")
    }


def _seed(config: JudgeConfig, first: Timeline, second: Timeline) -> int:
    encounter = first.encounter
    keys = [SourceKey(t.source, t.kind, t.alternative).written for t in (first, second)]
    return game_seed(config.seed, encounter.dataset.name, encounter.case_id, *keys)
