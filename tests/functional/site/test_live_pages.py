"""Pages that follow a run show its end without a reload.

They ask once before anything is cancelled.
"""

from __future__ import annotations

import re

import pytest
from django.core.cache import cache
from playwright.sync_api import Page, expect

from accounts.models import Role
from adjudication.models import Game
from jobs.models import JobState
from tests import factories
from tests.functional.cases.case_world import build_world
from tests.functional.judging.judged_pages import judge_world
from tests.worlds.evaluated import make_evaluation
from timelines.models import STAGE_ORDER, Evaluation, Run, StageRun

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def world():
    cache.clear()
    return build_world()


@pytest.fixture
def admin(world):
    return factories.make_user(world.study, Role.ADMIN)


def text(page: Page) -> str:
    """What the page says, without what the browser laid out."""
    page.wait_for_load_state("networkidle")
    return re.sub(r"\s+", " ", page.locator("main").inner_text())


@pytest.mark.deep
def test_a_judge_run_that_ends_shows_where_it_leads(enter, page, world, admin, complaints):
    judged = judge_world(world)
    games = Game.objects.filter(run=judged.first)
    findings = {game.pk: list(game.findings.all()) for game in games}
    for game in games:
        game.findings.all().delete()
    ended = dict(games.values_list("pk", "state")), dict(games.values_list("pk", "outcome"))
    factories.change_past_guards(games, state=JobState.QUEUED, outcome="")
    enter(page, admin, f"/adjudication/runs/{judged.first.public_id}/")
    expect(page.get_by_text("0 of 3 games judged")).to_be_visible()
    expect(page.get_by_role("link", name="Ratings")).to_have_count(0)
    for pk, listed in findings.items():
        games.filter(pk=pk).update(state=ended[0][pk], outcome=ended[1][pk])
        for finding in listed:
            finding.pk = None
            finding.save()
    expect(page.get_by_role("link", name="Ratings")).to_be_visible()
    expect(page.get_by_role("link", name=re.compile(r"^Read the \d+ findings"))).to_be_visible()
    expect(page.locator("#judge-run-live")).not_to_have_attribute("hx-get", re.compile("."))
    live = text(page)
    page.reload()
    assert text(page) == live
    assert complaints == []


def test_a_run_that_ends_can_be_chosen_without_a_reload(enter, page, world, admin, complaints):
    run = Run.objects.get()
    case_run = run.cases.get()
    for stage in STAGE_ORDER:
        StageRun.objects.create(
            case_run=case_run,
            stage=stage,
            state=JobState.QUEUED if stage == STAGE_ORDER[0] else JobState.BLOCKED,
        )
    enter(page, admin, f"/runs/{run.public_id}/")
    expect(page.get_by_text("The run is not finished.")).to_be_visible()
    StageRun.objects.update(state=JobState.SUCCEEDED, attempt=1)
    expect(page.get_by_role("button", name="Make it the study timeline")).to_be_visible()
    costs = page.locator("#run-calls")
    expect(costs).to_contain_text("Tag occurrences")
    live = text(page)
    page.reload()
    expect(costs).to_contain_text("Tag occurrences")
    assert text(page) == live
    page.get_by_label("Why this run becomes the study timeline").fill("first complete run")
    page.get_by_role("button", name="Make it the study timeline").click()
    expect(page.locator("#study-timeline")).to_contain_text("first complete run")
    page.goto(page.url.split("/runs/")[0] + world.address)
    expect(page.locator("nav.switch")).to_contain_text("Study timeline: rules")
    assert complaints == []


def start_work(kind: str, world) -> tuple[str, str]:
    """Create waiting work; return its page's address and cancel button."""
    if kind == "run":
        case_run = Run.objects.get().cases.get()
        StageRun.objects.create(case_run=case_run, stage="tag", state=JobState.SUCCEEDED)
        StageRun.objects.create(case_run=case_run, stage="uids", state=JobState.QUEUED)
        return f"/runs/{case_run.run.public_id}/", "#run-cancel"
    if kind == "judge run":
        judged = judge_world(world)
        Game.objects.filter(run=judged.first, outcome="unjudged").update(
            state=JobState.QUEUED, outcome="", unjudged_reasons=[]
        )
        return f"/adjudication/runs/{judged.first.public_id}/", "#judge-cancel"
    evaluation = make_evaluation(world.study, [world.encounter.dataset], state=JobState.QUEUED)
    return f"/evaluations/{evaluation.public_id}/", "#evaluation-cancel"


LOST = {
    "run": "1 stage waiting will not run. 1 stage done so far will stay stored.",
    "judge run": "1 game will not be judged",
    "evaluation": "Everything computed so far will be deleted",
}


def count_cancelled(world) -> int:
    """How much of the study was cancelled or asked to stop."""
    games = Game.objects.filter(state=JobState.CANCELLED).count()
    return (
        Run.objects.filter(cancelled_at__isnull=False).count()
        + games
        + Evaluation.objects.filter(state=JobState.CANCELLED).count()
    )


@pytest.mark.deep
@pytest.mark.parametrize("kind", LOST)
def test_cancel_asks_once_and_names_what_is_lost(enter, page, world, admin, complaints, kind):
    address, button = start_work(kind, world)
    enter(page, admin, address)
    page.locator(button).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(LOST[kind])
    with page.expect_response(lambda answer: answer.request.headers.get("hx-request") == "true"):
        pass
    expect(dialog).to_be_visible()
    dialog.get_by_role("button", name="Keep running").click()
    expect(dialog).to_be_hidden()
    assert count_cancelled(world) == 0
    page.locator(button).click()
    with page.expect_navigation():
        dialog.get_by_role("button", name=f"Cancel the {kind}").click()
    expect(page.locator(".badge", has_text="Cancelled").first).to_be_visible()
    assert count_cancelled(world) == 1
    assert complaints == []
