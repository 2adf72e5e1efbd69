"""Measure a judge on planted differences, as a stored job too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from django.db import transaction
from django.db.models import Max, QuerySet

from accounts.audit.trail import record
from accounts.models import Study, User
from adjudication.judge_runs.data import (
    find_sources,
    load_candidates,
    load_material,
    load_source_timelines,
)
from adjudication.judge_runs.tools import build_judge, describe_judge_models
from adjudication.judging.config import JudgeConfig, parse_source
from adjudication.judging.input import Judge, Unjudged, judge_input
from adjudication.models import PlantedRecall
from adjudication.planting.plain import tally_to_plain
from adjudication.planting.recall import Tally, pool_tallies, tally
from adjudication.planting.twins import plant
from ehr.models import Dataset
from jobs.errors import PermanentFailure
from jobs.hints import send_hints
from jobs.leases.hold import Hold, TimeLimit, write_guard
from jobs.limits import make_limit
from jobs.models import JobState
from jobs.worker import work
from llm_runtime.ledger import DatabaseLedger
from llm_runtime.models import ModelCall
from timelines.access.references import match_sources
from timelines.evaluation.values import SourceKey
from timelines.models import Timeline
from timelines.runs.versions import code_revision

#: Owner of these calls in the ledger; they are deleted with the dataset.
CALLS_OWNER = "adjudication.planted"


def tally_twins(
    dataset: Dataset,
    source: SourceKey,
    judge: Judge,
    config: JudgeConfig,
    *,
    each: int,
    cases: Sequence[str] = (),
    say: Callable[[str], None] = lambda words: None,
) -> Iterator[Tally | None]:
    """Yield the counts of each case's twin; None for one that was not judged.

    Raises NoteChanged.
    """
    for timeline in load_source_timelines(dataset, source, cases):
        yield _tally_twin(timeline, judge, config, each, say)


def _tally_twin(
    timeline: Timeline, judge: Judge, config: JudgeConfig, each: int, say: Callable[[str], None]
) -> Tally | None:
    case = timeline.encounter.case_id
    material = load_material(timeline.encounter, [timeline])
    original = [candidate for candidate, _ in load_candidates(timeline, material.text)]
    twin = plant(original, seed=config.seed, each=each)
    given = judge_input(
        original, list(twin.rows), note=material.text.text, anchor=material.anchor, seed=config.seed,
        series=material.series, rows=material.rows, uid_table=config.uid_table, limit=config.series_limit,
        record_times=config.record_times,
    )  # fmt: skip
    answer = judge.judge(given)
    if isinstance(answer, Unjudged):
        say(f"{case}: unjudged: {'; '.join(answer.reasons)}")
        return None
    dropped = f", {len(answer.dropped)} dropped" if answer.dropped else ""
    say(f"{case}: {len(twin.planted)} changes, {len(answer.findings)} findings{dropped}")
    return tally(twin.planted, given, answer.findings)


@transaction.atomic
def find_or_start_recall(
    *,
    study: Study,
    datasets: Sequence[Dataset],
    source: str,
    judge: str,
    model: str = "",
    config: JudgeConfig,
    each: int,
    cases: Sequence[str] = (),
    by: User | None,
) -> tuple[PlantedRecall, bool]:
    """Return (measurement, whether an equal one was there), or queue one.

    Raises SourceUnknown, UnknownJudge, UnknownModel, ProviderError.
    """
    key = parse_source(source, find_sources(datasets))
    named = match_sources([key.source])
    timelines = Timeline.objects.filter(named, encounter__dataset__in=datasets)
    newest = timelines.aggregate(at=Max("created_at"))["at"]
    models = describe_judge_models(judge, model)
    built = build_judge(judge, config, models)
    values = {
        "study": study,
        "cases": sorted(cases),
        "source": source,
        "judge": judge,
        "judge_name": built.name,
        "judge_version": built.version,
        "language_models": models,
        "config": config.to_dict(),
        "each": each,
    }
    alive = (JobState.QUEUED, JobState.RUNNING, JobState.SUCCEEDED)
    for found in PlantedRecall.objects.filter(**values, state__in=alive, created_at__gt=newest):
        if {d.pk for d in datasets} == set(found.datasets.values_list("pk", flat=True)):
            return found, True
    made = PlantedRecall.objects.create(**values, code_revision=code_revision(), created_by=by)
    made.datasets.set(datasets)
    record(
        actor=by,
        study=study,
        action="planted.start",
        object_type="adjudication.plantedrecall",
        object_id=made.public_id,
    )
    send_hints(PlantedRecall, [made.pk])
    return made, False


def execute_recall(recall_id: int) -> JobState | None:
    """Measure if the job waits; return its new state.

    None if there was nothing to do.
    """
    return work(PlantedRecall, recall_id, _measure, limit=_choose_limit)


def name_owner(recall: PlantedRecall, dataset: Dataset) -> str:
    """Return the owner of a measurement's calls about a dataset.

    They are deleted with the dataset (`migrations/sql/consensus.sql`).
    """
    return f"{dataset.public_id}:{recall.public_id}"


def find_recall_calls(recalls: Iterable[PlantedRecall]) -> QuerySet[ModelCall]:
    """Return the calls that were made for these measurements."""
    owners = [name_owner(recall, d) for recall in recalls for d in recall.datasets.all()]
    return ModelCall.objects.filter(owner_type=CALLS_OWNER, owner_id__in=owners)


def _choose_limit(recall: PlantedRecall) -> TimeLimit:
    return make_limit(asks_models=bool(recall.language_models))


def _measure(recall: PlantedRecall, hold: Hold) -> None:
    datasets = list(recall.datasets.order_by("name"))
    if not datasets:
        raise PermanentFailure("The dataset of this measurement has been deleted.")
    source = parse_source(recall.source, find_sources(datasets))
    tallies: list[Tally] = []
    unjudged = 0
    for dataset in datasets:
        judge = build_judge(
            recall.judge,
            JudgeConfig.from_dict(recall.config),
            recall.language_models,
            ledger=DatabaseLedger(CALLS_OWNER, name_owner(recall, dataset)),
            check=hold.check,
        )
        config = JudgeConfig.from_dict(recall.config)
        for counts in tally_twins(
            dataset, source, judge, config, each=recall.each, cases=recall.cases
        ):
            hold.check()
            unjudged += counts is None
            tallies += [] if counts is None else [counts]
    if not tallies:
        raise PermanentFailure("No game was judged, so there are no figures.")
    plain = {
        "cases": len(tallies),
        "unjudged": unjudged,
        "counts": tally_to_plain(pool_tallies(tallies)),
    }
    with write_guard(hold):
        PlantedRecall.objects.filter(pk=recall.pk).update(report=plain)
