"""A stored evaluation of the case page's small case.

Its figures are made by hand, its pairs point into real timelines.
"""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from accounts.models import Study
from ehr.models import Dataset, Encounter
from jobs.models import JobState
from tests.functional.cases.case_world import World
from tests.made_report import REVISED, TEXT, make_case, make_figures, make_report
from timelines.evaluation.plain import case_to_plain, report_to_plain, settings_to_plain
from timelines.evaluation.values import (
    Basis,
    CaseFunnel,
    CaseResult,
    CaseSource,
    EvaluationSettings,
    FunnelLine,
    Lost,
    MatchedPair,
    Report,
    Step,
)
from timelines.models import Entry, Evaluation, EvaluationCase, Timeline

#: Matched in the world's evaluation; the diet is left over on both sides, and so is the headache.
PAIRED = ("fall", "apixaban", "markup", "ct", "andexanet", "second ct")


def make_evaluation(
    study: Study, datasets: list[Dataset], *, report: Report | None = None, **fields: object
) -> Evaluation:
    """Store a finished evaluation.

    It waits if `report` is None and a state is given.
    """
    values: dict[str, object] = {
        "reference": "reference",
        "state": JobState.SUCCEEDED,
        "code_revision": "0123456789ab",
    }
    values["finished_at"] = timezone.now() + timedelta(hours=1)
    stored = None if report is None else report_to_plain(report)
    found = Evaluation.objects.create(
        study=study,
        config=settings_to_plain(EvaluationSettings()),
        report=stored,
        **{**values, **fields},
    )
    found.datasets.set(datasets)
    return found


def store_case(
    evaluation: Evaluation, encounter: Encounter, result: CaseResult | None = None
) -> EvaluationCase:
    """Store the result of one case, made by hand if none is given."""
    plain = case_to_plain(result or make_case(encounter.case_id, encounter.dataset.name))
    return EvaluationCase.objects.create(evaluation=evaluation, encounter=encounter, result=plain)


def evaluate_world(world: World) -> Evaluation:
    """Evaluate the world's case against its reference.

    Six pairs for the text-only and the revised timeline; other sources are missing.
    """
    evaluation = make_evaluation(
        world.study, [world.encounter.dataset], report=make_report(), label="demo"
    )
    sources = [
        CaseSource(
            key, basis, True, 10, 10, _pairs(world, timeline), make_figures(0.6, 0.9, 0.8, 0.0)
        )
        for basis in (Basis.SPAN, Basis.EMBEDDING)
        for key, timeline in ((TEXT, world.text_only), (REVISED, world.revised))
    ]
    store_case(
        evaluation,
        world.encounter,
        CaseResult(
            world.encounter.case_id,
            world.encounter.dataset.name,
            tuple(sources),
            (CaseFunnel(REVISED, world.revised.public_id, _lines(world)),),
        ),
    )
    return evaluation


def _lines(world: World) -> tuple[FunnelLine, ...]:
    """Return three occurrences.

    One passed every step; the others were lost for two reasons.
    """
    ours, theirs = _uids(world.revised), _uids(world.reference)
    made: tuple[tuple[str, str, float, tuple[Step, ...], Lost | None], ...] = (
        ("andexanet", "medication", 6.5, tuple(Step), None),
        ("fall", "finding", 2.0, (Step.CANDIDATE, Step.IN_TIME), Lost.BELOW_THRESHOLD),
        ("ct", "procedure", 1.0, tuple(Step)[:3], Lost.NOT_CITED),
    )
    mentions = {name: world.occurrences[name].mention for name, *_ in made}
    return tuple(
        FunnelLine(theirs[mentions[name]], ours[mentions[name]], kind, hours, 4.5, reached, lost)
        for name, kind, hours, reached, lost in made
    )


def _pairs(world: World, timeline: Timeline) -> tuple[MatchedPair, ...]:
    ours, theirs = _uids(timeline), _uids(world.reference)
    mentions = [world.occurrences[name].mention for name in PAIRED]
    return tuple(MatchedPair(theirs[mention], ours[mention], 0.0) for mention in mentions)


def _uids(timeline: Timeline) -> dict[str, str]:
    entries = Entry.objects.filter(timeline=timeline)
    return dict(entries.values_list("occurrence__mention", "occurrence__uid4"))
