"""Preparation of judge runs over large cohorts.

The request stores the judge run alone. A job adds its games, and survives a kill, a pause and a
cancellation.
"""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import Role, User
from adjudication.judge_runs import actions
from adjudication.judge_runs import preparing as judge_preparing
from adjudication.judge_runs.data import load_pairs
from adjudication.judge_runs.preparing import execute_preparation
from adjudication.judge_runs.progress import GameTotals, count_games
from adjudication.judging.config import JudgeConfig
from adjudication.judging.input import Judged
from adjudication.models import Comparison, Game, JudgePreparation, JudgeRun
from ehr.models import Dataset
from jobs.errors import LostLease
from jobs.hints import resend_hints
from jobs.models import JobState
from jobs.registry import find_kind
from tests import factories
from tests.marks import deep
from tests.support.pages import join_markup
from tests.worlds.judged import KEYS, FixedJudge, use_judge
from timelines.domain import TimelineKind
from timelines.models import Entry

pytestmark = pytest.mark.django_db(transaction=True)
CASES = 7
PAIRS = 3


@pytest.fixture(autouse=True)
def small_batches(monkeypatch) -> None:
    """Make batches of two cases with three pairs each.

    Every cohort is too large for the request.
    """
    monkeypatch.setattr(judge_preparing, "GAMES_A_BATCH", 2 * PAIRS)
    monkeypatch.setattr(judge_preparing, "AT_ONCE", 0)


def add_cases(dataset: Dataset, numbers: range) -> None:
    """Add cases with a timeline of each source, not in order of their ids."""
    for n in sorted(numbers, key=lambda n: (3 * n) % 7):
        encounter = factories.make_encounter(dataset, case_id=f"c{n:03}")
        note = factories.make_note(encounter, "Fever.")
        for key in KEYS:
            inventory = factories.make_inventory(note, origin="import")
            entries = [
                Entry(
                    occurrence=factories.make_occurrence(inventory, span=(0, 5), mention="fever"),
                    time=1.0,
                )
            ]
            factories.make_timeline(
                inventory, entries, kind=TimelineKind(key.kind), source=key.source
            )
            factories.seal(inventory)


@pytest.fixture
def dataset() -> Dataset:
    """Seven cases with three timelines each, and one without any."""
    made = factories.make_dataset(name="cohort")
    add_cases(made, range(CASES))
    factories.make_encounter(made, case_id="c003-without-timelines")
    return made


@pytest.fixture
def admin(dataset) -> User:
    return factories.make_user(dataset.study, Role.ADMIN)


def start(dataset: Dataset, *others: Dataset, **more) -> JudgeRun:
    return actions.start_judging(
        study=dataset.study, datasets=[dataset, *others], sources=KEYS, by=None, **more
    )


def games(run: JudgeRun) -> list[tuple]:
    """What the games are, in the order of their keys."""
    fields = (
        "comparison__encounter__dataset",
        "comparison__encounter__case_id",
        "comparison__first__source",
        "comparison__second__source",
    )
    return list(
        run.games.order_by("pk").values_list(*fields, "swapped", "seed", "max_attempts", "state")
    )


def prepare_at_once(dataset: Dataset, *others: Dataset, monkeypatch, **more) -> JudgeRun:
    """The same judge run, prepared in the request."""
    with monkeypatch.context() as patch:
        patch.setattr(judge_preparing, "AT_ONCE", 200)
        run = start(dataset, *others, **more)
    assert JudgePreparation.objects.get(run=run).state == JobState.SUCCEEDED
    return run


def totals(run: JudgeRun) -> GameTotals:
    return count_games([run])[run.pk]


def test_starting_takes_as_many_queries_for_many_cases_as_for_few(dataset):
    def statements() -> int:
        with CaptureQueriesContext(connection) as asked:
            start(dataset)
        return len(asked)

    small = statements()
    add_cases(dataset, range(100, 120))
    assert statements() == small
    assert not Game.objects.exists()
    assert list(JudgePreparation.objects.order_by("pk").values_list("total", flat=True)) == [
        CASES + 1,
        CASES + 21,
    ]


@pytest.mark.parametrize("existing", [False, True])
def test_a_batch_takes_as_many_queries_for_many_cases_as_for_few(dataset, monkeypatch, existing):
    add_cases(dataset, range(100, 130))
    if existing:
        prepare_at_once(dataset, monkeypatch=monkeypatch)

    def statements(cases: int) -> int:
        run = start(dataset)
        monkeypatch.setattr(judge_preparing, "_compute_batch_size", lambda run: cases)
        job = JudgePreparation.objects.get(run=run)
        with CaptureQueriesContext(connection) as asked:
            assert execute_preparation(job.pk) == JobState.SUCCEEDED
        batches = -(-(CASES + 31) // cases)
        assert len(games(run)) == PAIRS * (CASES + 30)
        inserts = [
            q["sql"] for q in asked if q["sql"].startswith('INSERT INTO "adjudication_game"')
        ]
        assert len(inserts) == batches
        with_games = [
            q["sql"]
            for q in asked
            if "adjudication_game" in q["sql"] or "timelines_timeline" in q["sql"]
        ]
        assert len(with_games) <= 3 * batches + 3
        return len([q for q in asked if "heartbeat_at" not in q["sql"]]) // batches

    few, many = statements(2), statements(19)
    assert many <= few + 10, "what is asked once is shared by fewer batches"


@pytest.mark.parametrize("killed_in", [2, *deep(0, 1, 3)])
@pytest.mark.parametrize("swap", [False, True])
def test_a_preparation_that_is_killed_goes_on_after_the_last_batch(
    dataset, monkeypatch, killed_in, swap
):
    other = factories.make_dataset(dataset.study, name="another")
    add_cases(other, range(2))
    config = JudgeConfig(swap=swap)
    monkeypatch.setattr(judge_preparing, "_compute_batch_size", lambda run: 2)
    late = start(dataset, other, config=config)
    add, batches = judge_preparing._add_games, []

    def killed(*arguments):
        batches.append(1)
        add(*arguments)
        if len(batches) == killed_in + 1:
            raise LostLease("the worker is gone")

    monkeypatch.setattr(judge_preparing, "_add_games", killed)
    assert execute_preparation(late.preparation.pk) is None
    monkeypatch.setattr(judge_preparing, "_add_games", add)
    assert JudgePreparation.objects.get(run=late).prepared == 2 * killed_in, (
        "a batch is stored whole or not at all"
    )
    JudgePreparation.objects.update(lease_expires_at="2000-01-01T00:00Z")
    assert execute_preparation(late.preparation.pk) == JobState.SUCCEEDED
    assert execute_preparation(late.preparation.pk) is None, "a doubled message adds nothing"
    assert games(late) == games(
        prepare_at_once(dataset, other, config=config, monkeypatch=monkeypatch)
    )
    assert len(games(late)) == (CASES + 2) * PAIRS * (2 if swap else 1)
    assert Comparison.objects.count() == (CASES + 2) * PAIRS, "comparisons are shared by judge runs"
    assert games(late) == sorted(games(late), key=lambda game: game[:2])
    assert len(list(load_pairs([dataset, other], KEYS))) == (CASES + 2) * PAIRS


def test_only_the_cases_asked_for_are_judged(dataset, monkeypatch):
    late = start(dataset, cases=["c005", "c001", "c003-without-timelines"])
    assert late.preparation.total == 3
    execute_preparation(late.preparation.pk)
    assert {game[1] for game in games(late)} == {"c001", "c005"}
    assert games(late) == games(
        prepare_at_once(dataset, cases=["c001", "c005"], monkeypatch=monkeypatch)
    )


def test_a_run_that_is_cancelled_while_it_is_prepared_gets_no_further_game(
    dataset, admin, monkeypatch
):
    run = start(dataset)
    add = judge_preparing._add_batch

    def cancelled_after(*arguments, **more) -> bool:
        added = add(*arguments, **more)
        actions.cancel_judging(run=run, by=admin)
        return added

    monkeypatch.setattr(judge_preparing, "_add_batch", cancelled_after)
    assert execute_preparation(run.preparation.pk) == JobState.CANCELLED
    monkeypatch.setattr(judge_preparing, "_add_batch", add)
    assert [game[-1] for game in games(run)] == ["cancelled"] * 2 * PAIRS
    assert not totals(run).under_way
    assert totals(run).retryable
    assert actions.judge_failed_again(run=run, by=admin, only=actions.UNJUDGED) == 0
    assert not totals(run).preparing
    assert actions.judge_failed_again(run=run, by=admin) == 2 * PAIRS
    assert totals(run).preparing
    assert execute_preparation(run.preparation.pk) == JobState.SUCCEEDED
    assert [game[-1] for game in games(run)] == ["queued"] * CASES * PAIRS


def test_a_run_that_is_cancelled_before_its_first_game_ends(dataset, admin):
    run = start(dataset)
    actions.cancel_judging(run=run, by=admin)
    assert execute_preparation(run.preparation.pk) is None
    assert not totals(run).under_way
    assert not run.games.exists()


def test_a_paused_run_is_prepared_and_judges_nothing(dataset, admin):
    run = start(dataset)
    actions.pause_judging(run=run, by=admin)
    assert execute_preparation(run.preparation.pk) == JobState.SUCCEEDED
    assert run.games.count() == CASES * PAIRS
    assert actions.execute_game(run.games.first().pk) is None


def test_the_sweeper_repeats_a_lost_hint(dataset):
    run = start(dataset, tell_workers=False)
    assert resend_hints(find_kind(JudgePreparation)) == 1
    assert JudgePreparation.objects.get(run=run).hinted_at is not None


def test_a_run_without_anything_to_compare_says_so_and_can_be_retried(dataset, admin):
    run = start(dataset, cases=["c003-without-timelines"])
    assert execute_preparation(run.preparation.pk) == JobState.FAILED
    found = totals(run).preparation
    assert found is not None
    assert "no case has finished timelines of two of these sources" in found.reasons[0]
    note = factories.make_note(dataset.encounters.get(case_id="c003-without-timelines"), "Fever.")
    for key in KEYS:
        inventory = factories.make_inventory(note, origin="import")
        factories.make_timeline(inventory, [], kind=TimelineKind(key.kind), source=key.source)
        factories.seal(inventory)
    actions.judge_failed_again(run=run, by=admin)
    assert execute_preparation(run.preparation.pk) == JobState.SUCCEEDED
    assert run.games.count() == PAIRS


def test_a_small_run_without_anything_to_compare_is_refused(dataset, monkeypatch):
    with pytest.raises(
        actions.JudgingRefused, match="no case has finished timelines of two of these sources"
    ):
        prepare_at_once(dataset, cases=["c003-without-timelines"], monkeypatch=monkeypatch)
    assert not JudgeRun.objects.exists()


def test_the_page_follows_the_preparation(client, dataset, admin):
    client.force_login(admin)
    chosen = {
        "sources": [f"{k.source}@{k.kind}" for k in KEYS],
        "judge": "rules",
        "tolerance": "scaled",
        "seed": 1,
    }
    begun = client.post(
        reverse("adjudication:judge_run_new"),
        {"datasets": [dataset.public_id], **chosen},
        follow=True,
    )
    assert f"The judge run over {CASES + 1} cases has started." in begun.content.decode()
    run = JudgeRun.objects.get()
    address = reverse("adjudication:judge_run", args=[run.public_id])

    def page() -> str:
        return join_markup(client.get(address))

    assert f"Preparing: 0 of {CASES + 1} cases" in page()
    assert 'hx-trigger="every 3s"' in page()
    assert "Preparing" in client.get(reverse("adjudication:judge_runs")).content.decode()
    JudgePreparation.objects.update(state="failed", reasons=["attempt 3: OperationalError"])
    assert f"Preparation failed after 0 of {CASES + 1} cases. Retry adds the others." in page()
    assert "every 3s" not in page()
    client.post(reverse("adjudication:judge_run_action", args=[run.public_id, "retry"]))
    execute_preparation(run.preparation.pk)
    assert "Preparation" not in page()
    assert "Preparing" not in page()
    assert f"0 of {CASES * PAIRS} games judged" in page()


class Content(FixedJudge):
    """Finds nothing."""

    def judge(self, given):
        return Judged((), len(given.series))


def test_the_command_adds_the_games_and_judges_them(dataset):
    asked = {"dataset": ["cohort"], "sources": ",".join(k.source for k in KEYS)}
    with use_judge(Content()):
        call_command("judge", **asked, stdout=StringIO())
        left = JudgeRun.objects.get()
        out = StringIO()
        call_command("judge", **asked, missing=True, stdout=out)
        assert out.getvalue() == f"under way: judge run {left.public_id}\n", (
            "a run under preparation will judge them"
        )
        call_command("judge", **asked, missing=True, inline=True, stdout=out)
    assert JudgeRun.objects.count() == 1
    assert f"0 of {CASES + 1} cases prepared, 0 of 0 games judged" in out.getvalue()
    assert f"{CASES * PAIRS} of {CASES * PAIRS} games judged" in out.getvalue()


def test_the_command_says_why_a_preparation_ended(dataset):
    errors = StringIO()
    asked = {
        "dataset": ["cohort"],
        "sources": "author:vega,rules-orion",
        "cases": ["c003-without-timelines"],
        "inline": True,
    }
    with pytest.raises(
        CommandError,
        match=r"failed after 0 of 1 cases; .* no case has finished timelines of two of these sources",
    ):
        call_command("judge", **asked, stdout=StringIO(), stderr=errors)
