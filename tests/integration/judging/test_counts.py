"""Counts of a judge run agree with its games and findings.

A poll reads the counts and one page of games.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable
from itertools import product

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from accounts.models import Role, User
from adjudication.access.closed import (
    OPEN,
    ClosedObjects,
    exclude_closed_findings,
    exclude_closed_games,
)
from adjudication.judge_runs import actions
from adjudication.judge_runs.progress import GameStatus, count_games, derive_status
from adjudication.judging.config import JudgeConfig
from adjudication.models import Comparison, Finding, Game, JudgeCount, JudgeRun
from adjudication.views.judge_runs.pages import GAMES_PER_PAGE
from ehr.models import Dataset, Encounter
from tests import factories
from tests.support.rows_read import count_rows_read
from tests.worlds.judged import KEYS, SOURCES, FixedJudge, make_case, use_judge
from timelines.models import Timeline

pytestmark = pytest.mark.django_db(transaction=True)


def make_run(dataset: Dataset, label: str) -> JudgeRun:
    """A judge run over all sources of the cohort, waiting."""
    return actions.start_judging(
        study=dataset.study,
        datasets=[dataset],
        sources=KEYS,
        config=JudgeConfig(swap=True),
        label=label,
        by=None,
        tell_workers=False,
    )


@pytest.fixture
def run() -> JudgeRun:
    """Of three cases, three sources, both positions: eighteen games."""
    dataset = factories.make_dataset(name="cohort")
    for case in ("c1", "c2", "c3"):
        make_case(dataset, case, SOURCES)
    return make_run(dataset, "one")


def check(run: JudgeRun, closed: ClosedObjects = OPEN) -> None:
    """The counts are what a look at every game and finding gives."""
    games = exclude_closed_games(Game.objects.filter(run=run), closed)
    totals = count_games([run], closed)[run.pk]
    assert totals.counts == Counter(derive_status(game) for game in games)
    assert (
        totals.findings
        == exclude_closed_findings(Finding.objects.filter(game__run=run), closed).count()
    )
    for status in GameStatus:
        assert games.filter(status.condition).count() == totals.count(status)


def judge(games: list[int], refuse: frozenset[int] = frozenset()) -> None:
    with use_judge(FixedJudge(refuse=refuse)):
        for pk in games:
            actions.execute_game(pk)


def test_counts_follow_every_kind_of_change(run):
    admin, other = User.objects.create_user("admin"), make_run(run.datasets.get(), "other")
    check(run)
    games = list(run.games.order_by("pk").values_list("pk", flat=True))
    judge(games[:7])
    assert count_games([run])[run.pk].findings > 7
    check(run)
    judge(games[7:9], refuse=frozenset(range(100)))
    assert count_games([run])[run.pk].unjudged == 2
    check(run)
    with transaction.atomic():
        Game.objects.filter(run=run, state="queued").update(state="failed")
        transaction.set_rollback(True)
    check(run)
    actions.cancel_judging(run=run, by=admin)
    check(run)
    actions.judge_failed_again(run=run, by=admin)
    check(run)
    encounter = Encounter.objects.get(case_id="c1")
    check(run, ClosedObjects(frozenset({encounter.pk}), frozenset()))
    check(
        run,
        ClosedObjects(
            frozenset(),
            frozenset(Timeline.objects.filter(source="llm-lyra").values_list("pk", flat=True)),
        ),
    )
    encounter.delete()
    check(run)
    check(other)
    run.delete()
    assert not JudgeCount.objects.filter(run_id=run.pk).exists()
    check(other)


def test_counts_are_exact_after_random_work_on_several_connections(run):
    """Concurrent workers and admins cause no deadlock and no lost count."""
    admin, errors = User.objects.create_user("admin"), list[BaseException]()
    threads = [
        threading.Thread(target=_run, args=(_worker, run, admin, seed, errors)) for seed in range(3)
    ]
    threads += [
        threading.Thread(target=_run, args=(_admin, run, admin, seed, errors)) for seed in range(2)
    ]
    with use_judge(FixedJudge(refuse=frozenset({len(SOURCES["llm-lyra"])}))):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert not errors, errors
    check(run)
    assert Finding.objects.filter(game__run=run).exists(), "nothing was judged"
    assert JudgeCount.objects.filter(run=run).count() < 200, "rows are replaced by their sum"


def _run(
    do: Callable[[JudgeRun, User, random.Random], None],
    run: JudgeRun,
    admin: User,
    seed: int,
    errors: list[BaseException],
) -> None:
    try:
        do(run, admin, random.Random(seed))
    except BaseException as error:
        errors.append(error)
    finally:
        connection.close()


def _worker(run: JudgeRun, _: User, draw: random.Random) -> None:
    games = list(run.games.order_by("pk").values_list("pk", flat=True))
    for _number in range(40):
        actions.execute_game(draw.choice(games))


def _admin(run: JudgeRun, admin: User, draw: random.Random) -> None:
    for _ in range(8):
        draw.choice(
            [actions.cancel_judging, actions.judge_failed_again, actions.judge_failed_again]
        )(run=run, by=admin)


def make_large_run(cases: int) -> JudgeRun:
    """Create a judge run of that many games in every status but unjudged.

    It has two sources.
    """
    dataset = factories.make_dataset(name="large")
    encounters = Encounter.objects.bulk_create(
        Encounter(dataset=dataset, case_id=f"c{n:05}", admitted_at=factories.ADMITTED)
        for n in range(cases)
    )
    sides = [
        Timeline.objects.bulk_create(
            Timeline(encounter=e, source=name, kind="revised") for e in encounters
        )
        for name in ("one", "two")
    ]
    comparisons = Comparison.objects.bulk_create(
        Comparison(encounter=e, first=a, second=b)
        for e, a, b in zip(encounters, *sides, strict=True)
    )
    run = JudgeRun.objects.create(
        study=dataset.study, sources=[["one", "revised", 1], ["two", "revised", 1]], judge="rules"
    )
    run.datasets.set([dataset])
    games = Game.objects.bulk_create(Game(run=run, comparison=c, seed=1) for c in comparisons)
    states = ("succeeded", "failed", "running", "queued")
    for number, state in enumerate(states):
        chosen = Game.objects.filter(pk__in=[g.pk for g in games[number :: len(states)]])
        judged = {"outcome": "judged", "a_is_first": True} if state == "succeeded" else {}
        chosen.update(
            state=state, lease_expires_at=timezone.now() if state == "running" else None, **judged
        )
    return run


def test_a_poll_reads_what_it_shows_and_not_the_run(client):
    """A poll of 3,000 games reads the rows of one page and the counts.

    The rows are those of EXPLAIN ANALYZE.
    """
    run = make_large_run(3000)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    client.force_login(factories.make_user(run.study, Role.ADMIN))
    address = reverse("adjudication:judge_run", args=[run.public_id])
    client.get(address)
    for show, page in product(("", "running", "waiting", "judged", "failed"), (1, 4)):
        with CaptureQueriesContext(connection) as asked:
            poll = client.get(address, {"show": show, "page": page}, headers={"HX-Request": "true"})
        assert poll.status_code == 200
        assert poll.content.decode().count("<tr") > GAMES_PER_PAGE
        rows = {
            sql: count_rows_read(sql)
            for sql in (q["sql"] for q in asked)
            if sql.startswith("SELECT") and '"adjudication_' in sql
        }
        worst = max(rows, key=lambda sql: rows[sql])
        skipped = GAMES_PER_PAGE * (page - 1)  # the entries of an index that come before the page
        assert rows[worst] <= 8 * (GAMES_PER_PAGE + skipped), (
            f"{show} {page}: {rows[worst]} rows: {worst}"
        )
