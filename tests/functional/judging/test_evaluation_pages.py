"""Evaluation pages in a real browser: bases, files, plots, pairs, axe.

Both themes are covered. Pictures go to ARTIFACTS (default `var/artifacts`), which is not committed.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from django.conf import settings
from django.core.cache import cache
from playwright.sync_api import expect

from accounts.models import Role
from jobs.models import JobState
from tests import factories
from tests.functional.cases.case_world import build_world
from tests.functional.site.test_pages import assert_accessible
from tests.made_report import REVISED, TEXT
from tests.marks import deep
from tests.support.windows import collect_complaints, sign_in
from tests.worlds.evaluated import evaluate_world, make_evaluation, store_case
from timelines.evaluation.values import Basis, CaseResult, CaseSource
from timelines.models import Evaluation

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

WIDE, TABLET = {"width": 1440, "height": 900}, {"width": 820, "height": 1180}


@pytest.fixture
def world():
    cache.clear()
    return build_world()


@pytest.fixture
def evaluation(world):
    found = evaluate_world(world)
    for n in range(8):
        store_case(found, factories.make_encounter(world.encounter.dataset, case_id=f"other-{n}"))
    return found


@pytest.fixture
def opened(world, live_server, page, complaints):
    """Open a path signed in as an admin, at the wide size.

    It collects the console's errors.
    """
    sign_in(page.context, factories.make_user(world.study, Role.ADMIN), live_server.url)
    page.set_viewport_size(WIDE)
    collect_complaints(page, complaints)

    def open_(path: str):
        page.goto(f"{live_server.url}{path}")
        return page

    yield open_
    assert complaints == []


def wait_until_drawn(page) -> None:
    """Every plot of the page is there."""
    for figure in page.locator("[data-figure]").all():
        expect(figure).to_have_attribute("data-drawn", "true")


def whole_picture(page, name: str) -> None:
    """The page from its head to its foot."""
    folder = (
        Path(os.environ.get("ARTIFACTS", Path(settings.BASE_DIR) / "var" / "artifacts"))
        / "evaluation"
    )
    folder.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=folder / f"{name}.png", full_page=True)


def download(page, button) -> bytes:
    with page.expect_download() as waited:
        button.click()
    return waited.value.path().read_bytes()


def test_from_the_navigation_to_the_pairs_drawn_on_the_case_page(opened, world, evaluation):
    page = opened("/")
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Evaluation").click()
    page.get_by_role("link", name="demo", exact=True).click()
    expect(page.get_by_role("heading", name="Before quoting a figure")).to_be_visible()
    expect(page.locator("#main-table")).to_contain_text("Span recall")
    page.get_by_role("link", name="Embeddings", exact=True).click()
    expect(page.locator("#main-table")).to_contain_text("Event match rate")
    wait_until_drawn(page)
    expect(
        page.get_by_label(
            "Plot: Recovery against concordance. Its figures are in the table of this section."
        )
    ).to_contain_text("rules · revised")
    rows = page.locator("#case-rows tr")
    expect(rows).to_have_count(9)
    page.get_by_label("Case", exact=True).press_sequentially(world.encounter.case_id)
    expect(page.locator("[data-filter-count]")).to_have_text("1 of 9 on this page")
    page.locator("#case-rows").get_by_role("link", name=world.encounter.case_id, exact=True).click()
    expect(page.get_by_role("heading", name="Pairs of rules · revised")).to_be_visible()
    page.get_by_role("link", name="rules · text-only").click()
    page.get_by_role("link", name="Andexanet alfa was given").click()
    page.wait_for_selector("#case[data-ready]")
    expect(page.locator("[data-lanes]")).to_have_attribute("data-pairs", "6")
    assert world.uid("andexanet") in page.url
    expect(page.locator(".margin-selected")).to_contain_text("reference HD 1 · 21:08")
    marked = "[...CSS.highlights.get('reference-span')].map(String)"
    assert page.evaluate(marked) == ["Andexanet alfa was given"]
    whole_picture(page, "case-page-pairs")
    page.keyboard.press("j")
    assert page.evaluate(marked) == ["second head CT the next morning"]
    assert f"e={evaluation.public_id}" in page.url
    assert page.evaluate("window.hit") is None


@pytest.mark.deep
def test_tables_and_plots_are_saved_without_a_network(opened, evaluation):
    page = opened(f"/evaluations/{evaluation.public_id}/?basis=embedding")
    wait_until_drawn(page)
    section = page.locator("#sweeps")
    table = download(page, section.get_by_role("link", name="CSV of the threshold sweep")).decode()
    assert table.startswith("Source,Threshold,Event match rate")
    svg = download(
        page, section.get_by_role("button", name="SVG of Recovery against concordance")
    ).decode()
    assert svg.startswith("<svg")
    assert "rules · revised" in svg
    assert "window.hit=1&lt;/script" in svg or "…" in svg
    png = download(page, section.get_by_role("button", name="PNG of Recovery against AULTC"))
    assert png.startswith(b"\x89PNG")
    assert int.from_bytes(png[16:20]) == 1440
    assert len(png) > 20_000, "the picture is blank"
    assert page.evaluate("window.hit") is None


@pytest.mark.deep
def test_the_form_starts_one_and_its_page_follows_it(opened, world):
    page = opened("/evaluations/new/")
    page.get_by_label("Label").fill("evening")
    page.get_by_role("button", name="Start").click()
    page.wait_for_url("**/evaluations/*/")
    expect(page.locator("#evaluation-progress")).to_contain_text("waiting for a worker")
    Evaluation.objects.update(
        progress={"done": 1, "total": 4, "words": "compared 1 of 4 cases"},
        state=JobState.FAILED,
        reasons=["no embedder"],
    )
    expect(page.get_by_role("button", name="Try again")).to_be_visible()
    expect(page.locator("#evaluation-progress")).to_contain_text("no embedder")
    assert page.locator("#evaluation-progress").get_attribute("hx-get") is None


@pytest.mark.deep
@pytest.mark.parametrize("theme", ["light", *deep("dark")])
def test_axe_finds_nothing_and_pictures_are_taken(opened, world, evaluation, theme):
    make_evaluation(
        world.study,
        [world.encounter.dataset],
        state=JobState.FAILED,
        reasons=["attempt 1: no embedder"],
        label="broken",
    )
    page = opened("/evaluations/")
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    one = f"/evaluations/{evaluation.public_id}/"
    paths = {
        "list": "/evaluations/",
        "new": "/evaluations/new/",
        "funnel": f"{one}funnel/",
        "one": f"{one}?basis=embedding&published=1",
        "spans": one,
    }
    paths["case"] = f"{one}cases/{world.encounter.public_id}/?s=0"
    for size in (WIDE, TABLET):
        page.set_viewport_size(size)
        for name, path in paths.items():
            opened(path)
            wait_until_drawn(page)
            assert_accessible(page)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (
                f"{name} scrolls sideways"
            )
            whole_picture(page, f"evaluation-{name}-{size['width']}-{theme}")


def test_a_figure_of_the_funnel_leads_to_an_occurrence_on_the_case_page(opened, world, evaluation):
    page = opened(f"/evaluations/{evaluation.public_id}/")
    wait_until_drawn(page)
    figure = page.locator("[data-figure=funnel]")
    expect(figure.locator(".bars .point")).to_have_count(10)
    lost = page.get_by_role("region", name="Table: Steps of the evidence funnel")
    lost.get_by_role("link", name="0.600").first.click()
    expect(page.get_by_role("heading", name="Reached: right row cited")).to_be_visible()
    expect(page.locator("tbody tr")).to_have_count(1)
    mention = world.occurrences["andexanet"].mention
    page.get_by_role("link", name=mention).click()
    expect(page.get_by_role("heading", name=mention)).to_be_visible()


@pytest.mark.deep
def test_a_timeline_that_is_gone_leaves_its_figures(opened, world):
    evaluation = evaluate_world(world)
    stored = evaluation.cases.get()
    stored.delete()
    sources = (
        CaseSource(TEXT, Basis.SPAN, True, 10, 7),
        CaseSource(REVISED, Basis.SPAN, False, 10, 0),
    )
    store_case(evaluation, world.encounter, CaseResult("c", "x", sources))
    page = opened(f"/evaluations/{evaluation.public_id}/cases/{world.encounter.public_id}/")
    expect(page.get_by_role("heading", name="The pairs cannot be shown")).to_be_visible()
