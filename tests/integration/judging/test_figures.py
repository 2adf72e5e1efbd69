"""Stored figures of judge runs: when they are computed, how old they are."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Role
from adjudication.access.closed import OPEN
from adjudication.findings.facets import count_facets
from adjudication.judge_runs.actions import start_judging
from adjudication.models import Finding, Game, RunFigures
from adjudication.ratings import figures
from adjudication.ratings.basis import read_basis
from adjudication.ratings.data import compare_runs, compute_report
from adjudication.ratings.figures import (
    FiguresPending,
    execute_figures,
    follow_game,
    load_figures,
    request_figures,
)
from adjudication.reports.league.plain import agreement_from_plain, report_from_plain
from adjudication.tasks import run_game
from jobs.models import JobState
from tests import factories
from tests.worlds.judged import (
    KEYS,
    FixedJudge,
    make_judged_run,
    make_judged_world,
    use_judge,
)

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def large(monkeypatch):
    """A judge run that counts as large."""
    monkeypatch.setattr(figures, "AT_ONCE", 0)
    return make_judged_world(cases=2, swap=True).run


def execute_waiting() -> list[JobState | None]:
    """What workers do."""
    waiting = RunFigures.objects.filter(state=JobState.QUEUED).values_list("pk", flat=True)
    return [execute_figures(pk) for pk in list(waiting)]


def add_finding(game: Game) -> None:
    Finding.objects.create(game=game, ordinal=99, type="TIMING", verdict="UNCLEAR", polarity="present", grounding="NONE",
                           a_event="fever", a_time=0, b_event="fever", b_time=5)  # fmt: skip


def test_a_small_run_is_computed_when_first_read_and_after_a_change():
    run = make_judged_world(cases=2, swap=True).run
    first, second = load_figures(run), load_figures(run)
    assert report_from_plain(first.figures) == compute_report(run)
    assert (second.computed_at, second.stale, second.newer) == (first.computed_at, False, 0)
    add_finding(run.games.filter(swapped=False).first())
    third = load_figures(run)
    assert third.computed_at > first.computed_at
    assert report_from_plain(third.figures).findings == compute_report(run).findings
    assert RunFigures.objects.filter(run=run).count() == 1, "older figures are deleted"


def test_agreement_with_another_run_is_stored_too():
    world = make_judged_world(cases=2)
    later = make_judged_run(world.dataset, FixedJudge(version="2", fever="UNCLEAR"))
    found = agreement_from_plain(load_figures(world.run, later).figures)
    assert (found.comparisons, found.rows) == compare_runs(world.run, later)
    assert load_figures(world.run).figures != load_figures(world.run, later).figures


def test_a_large_run_waits_for_a_worker_and_says_how_old_its_figures_are(large):
    with pytest.raises(FiguresPending, match="a worker is computing"):
        load_figures(large)
    with pytest.raises(FiguresPending):
        load_figures(large)
    assert RunFigures.objects.count() == 1, "asked for twice, computed once"
    assert execute_waiting() == [JobState.SUCCEEDED]
    stored = load_figures(large)
    assert report_from_plain(stored.figures) == compute_report(large)
    assert not stored.stale
    add_finding(large.games.first())
    older = load_figures(large)
    assert (older.figures, older.stale, older.newer) == (stored.figures, True, 0)
    assert execute_waiting() == [JobState.SUCCEEDED]
    assert not load_figures(large).stale


def test_the_last_game_of_a_large_run_requests_its_report(large):
    run = start_judging(
        study=large.study,
        datasets=list(large.datasets.all()),
        sources=KEYS,
        by=None,
        tell_workers=False,
    )
    with use_judge(FixedJudge()):
        *games, last = run.games.order_by("pk").values_list("pk", flat=True)
        for game in games:
            run_game(game)
        assert not RunFigures.objects.filter(run=run).exists(), "a game still waits"
        run_game(last)
    follow_game(last)
    assert RunFigures.objects.filter(run=run, state=JobState.QUEUED).count() == 1
    assert execute_waiting() == [JobState.SUCCEEDED]
    assert load_figures(run).newer == 0


def test_games_that_end_while_the_report_is_computed_are_computed_after_it(large, monkeypatch):
    request_figures(run=large, against=None, basis=read_basis(large))
    compute = figures.compute_report

    def compute_slowly(run):
        found = compute(run)
        add_finding(run.games.first())
        follow_game(run.games.first().pk)
        return found

    monkeypatch.setattr(figures, "compute_report", compute_slowly)
    assert execute_waiting() == [JobState.SUCCEEDED]
    monkeypatch.setattr(figures, "compute_report", compute)
    assert execute_waiting() == [JobState.SUCCEEDED]
    assert not load_figures(large).stale


def test_figures_that_cannot_be_computed_say_why_and_are_not_tried_for_ever(large, monkeypatch):
    class Broken(Exception):
        log_safe = True
        retryable = False

    def refuse(run):
        raise Broken("the processor is away")

    monkeypatch.setattr(figures, "compute_report", refuse)
    with pytest.raises(FiguresPending):
        load_figures(large)
    assert execute_waiting() == [JobState.FAILED]
    with pytest.raises(FiguresPending, match="the processor is away"):
        load_figures(large)
    assert RunFigures.objects.count() == 1


def test_pages_and_api_say_that_the_figures_are_not_there_yet(large):
    client = Client()
    client.force_login(factories.make_user(large.study, Role.ADMIN, username="the-admin"))
    address = reverse("adjudication:dashboard", args=[large.public_id])
    table = reverse("adjudication:dashboard_table", args=[large.public_id, "ratings", "csv"])
    for path in (address, table):
        answer = client.get(path)
        assert answer.status_code == 202
        assert "A worker is computing the figures" in answer.content.decode()
    execute_waiting()
    assert "from all games judged so far" in client.get(address).content.decode()
    add_finding(large.games.first())
    assert "A worker computes them again" in client.get(address).content.decode()
    assert client.get(table).status_code == 200


def test_deleting_a_run_deletes_its_figures_and_counts():
    run = make_judged_world(cases=1).run
    load_figures(run)
    assert count_facets(run, OPEN)
    key = run.pk
    run.delete()
    assert not RunFigures.objects.filter(run=key).exists()
