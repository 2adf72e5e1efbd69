"""Each case's consensus as one source of a judge run, of any two authors."""

from __future__ import annotations

import pytest
from django.urls import reverse

from accounts.models import Role
from adjudication.judge_runs import actions
from adjudication.judge_runs.data import find_sources
from adjudication.judge_runs.forms import suggest_sources
from adjudication.judging.config import parse_source
from adjudication.models import Finding, Game, JudgeRun
from adjudication.packets.actions import find_eligible_findings, find_pairing
from adjudication.ratings.data import compute_report
from tests import factories
from tests.unit.adjudication.judging.judge_games import FIRST, SECOND
from tests.worlds.judged import FixedJudge, make_case, make_source, use_judge
from timelines.domain import TimelineKind
from timelines.evaluation.values import SourceKey
from timelines.evaluations.data import CONSENSUS_KEY

pytestmark = pytest.mark.django_db(transaction=True)
REFERENCE = TimelineKind.REFERENCE
RULES = SourceKey("rules-orion", "revised")


@pytest.fixture
def dataset():
    """Case one was reconciled twice, two by others, three not at all."""
    made = factories.make_dataset(name="cohort")
    for case_id, sources in (
        ("one", ("consensus:ana+bo#1", "consensus:ana+bo")),
        ("two", ("consensus:bo+cleo",)),
        ("three", ()),
    ):
        encounter = make_case(made, case_id, {"rules-orion": SECOND})
        for source in sources:
            make_source(encounter, source, FIRST, REFERENCE)
    return made


def judge(dataset, *sources: SourceKey) -> JudgeRun:
    with use_judge(FixedJudge()):
        run = actions.start_judging(
            study=dataset.study, datasets=[dataset], sources=sources, by=None, tell_workers=False
        )
        for pk in run.games.values_list("pk", flat=True):
            actions.execute_game(pk)
    return run


def test_it_is_among_the_sources_but_not_suggested_beside_its_own_names(dataset):
    known = find_sources([dataset])
    assert CONSENSUS_KEY in known
    assert parse_source("consensus", known) == CONSENSUS_KEY
    assert CONSENSUS_KEY.written not in suggest_sources(known)
    assert CONSENSUS_KEY not in find_sources(
        [dataset],
        closed=list(dataset.encounters.exclude(case_id="three").values_list("pk", flat=True)),
    )


def test_games_of_all_pairs_of_authors_are_of_one_source(client, dataset):
    run = judge(dataset, CONSENSUS_KEY, RULES)
    games = Game.objects.filter(run=run, outcome="judged")
    assert set(games.values_list("comparison__first__source", flat=True)) == {
        "consensus:ana+bo",
        "consensus:bo+cleo",
    }
    report = compute_report(run)
    assert report.games == 2
    assert {r.source for r in report.rated.ratings} == {CONSENSUS_KEY.label, RULES.label}
    sides = {
        tuple(facet.split("|")[1:3]) for facet in Finding.objects.values_list("facet", flat=True)
    }
    assert sides == {("0", "1")}
    pairing = f"{CONSENSUS_KEY.label} | {RULES.label}"
    assert {find_pairing(game, run) for game in games} == {pairing}
    assert find_eligible_findings(run).findings
    client.force_login(factories.make_user(dataset.study, Role.ADMIN))
    page = client.get(reverse("adjudication:findings", args=[run.public_id]), {"charged": "0"})
    assert page.context["count"] == Finding.objects.filter(charged_first=True).count() > 0


def test_a_run_that_also_names_one_consensus_never_compares_it_with_itself(dataset):
    run = judge(dataset, CONSENSUS_KEY, SourceKey("consensus:ana+bo", "reference"), RULES)
    pairs = run.games.values_list("comparison__first__source", "comparison__second__source")
    assert sorted(pairs) == [
        ("consensus:ana+bo", "rules-orion"),
        ("consensus:bo+cleo", "rules-orion"),
    ]
    named = run.games.get(comparison__first__source="consensus:ana+bo")
    assert {f.facet.split("|")[1] for f in named.findings.all()} == {"1"}
