"""Judge runs, findings and comparisons in a real browser.

Keys, filters, the plot, axe in both themes. Pictures go to ARTIFACTS (default `var/artifacts`),
which is not committed.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from django.conf import settings
from django.core.cache import cache
from playwright.sync_api import expect

from accounts.models import Role
from tests import factories
from tests.functional.cases.case_world import build_world
from tests.functional.judging.judged_pages import judge_world
from tests.functional.site.test_pages import assert_accessible
from tests.support.windows import collect_complaints, sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

WIDE, TABLET = {"width": 1280, "height": 800}, {"width": 820, "height": 1180}


@pytest.fixture
def world():
    cache.clear()
    return build_world()


@pytest.fixture
def judged(world):
    return judge_world(world)


@pytest.fixture
def opened(world, judged, live_server, page, complaints):
    """Open a path signed in as an admin; collect the console's errors."""
    sign_in(
        page.context,
        factories.make_user(world.study, Role.ADMIN, username="the-admin"),
        live_server.url,
    )
    page.set_viewport_size(WIDE)
    collect_complaints(page, complaints)

    def open_(path: str):
        page.goto(f"{live_server.url}{path}")
        return page

    yield open_
    assert complaints == []
    assert page.evaluate("window.hit") is None, "nothing of the data ran"


def picture(page, name: str) -> None:
    folder = (
        Path(os.environ.get("ARTIFACTS", Path(settings.BASE_DIR) / "var" / "artifacts")) / "judging"
    )
    folder.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=folder / f"{name}.png", full_page=True)


def comparison(world, judged, *more: str) -> str:
    query = "&".join(
        [
            f"a={world.text_only.public_id}",
            f"b={world.revised.public_id}",
            f"run={judged.first.public_id}",
            *more,
        ]
    )
    return f"/cases/{world.encounter.public_id}/compare/?{query}"


def ready(page):
    page.wait_for_selector("#case[data-ready]")
    page.wait_for_selector("[data-plot] .scatterlayer .point")
    return page


def test_the_comparison_follows_the_keys_and_tells_the_findings(opened, world, judged):
    page = ready(opened(comparison(world, judged)))
    page.keyboard.press("[")
    expect(page.locator("[data-chain-title] h2")).to_have_text("Andexanet alfa was given")
    expect(page.locator("[data-chain-title] .chain-when")).to_have_text(
        "different beyond tolerance · B is 5 h later"
    )
    expect(page.locator(".reported")).to_contain_text("different time: rules · revised right")
    expect(page.locator(".aligned tr.is-selected th")).to_contain_text("Andexanet")
    assert "o=r" in page.url
    before = page.locator("[data-position]").inner_text()
    page.keyboard.press("k")
    assert page.locator("[data-position]").inner_text() != before
    page.keyboard.press("j")
    expect(page.locator("[data-position]")).to_have_text(before)
    assert page.locator("[data-plot]").get_attribute("data-far") == "1"
    axis = page.locator("[data-axis]")
    expect(axis).to_contain_text("HD 2")
    page.keyboard.press("t")
    expect(axis).to_contain_text("+24 h")
    expect(axis).not_to_contain_text("HD")


@pytest.mark.deep
def test_the_comparison_filters_by_kind_search_and_window(opened, world, judged):
    page = ready(opened(comparison(world, judged)))
    shown = page.locator(".aligned tbody tr:visible")
    everything = shown.count()
    page.get_by_role("button", name="Different", exact=False).first.click()
    expect(shown).to_have_count(1)
    page.get_by_role("button", name="With findings").click()
    assert 1 < shown.count() < everything
    page.get_by_role("button", name="All", exact=False).first.click()
    page.keyboard.press("/")
    page.keyboard.type("head ct")
    expect(page.locator("#case-search-count")).to_have_text("2 found")
    expect(shown).to_have_count(2)
    page.keyboard.press("Escape")
    expect(shown).to_have_count(everything)
    page.get_by_role("button", name="Stay", exact=True).click()
    assert shown.count() < everything


@pytest.mark.deep
def test_another_timeline_is_chosen_and_a_finding_opens_in_its_place(opened, world, judged):
    page = ready(opened(comparison(world, judged)))
    page.locator("select[name=b]").select_option(world.reference.public_id)
    page.wait_for_url(re.compile(f"b={world.reference.public_id}"))
    ready(page)
    expect(page.locator(".compare-choice")).to_contain_text("rules, first version")
    page.goto(
        page.url.split("/cases/")[0] + f"/adjudication/findings/{judged.andexanet.public_id}/"
    )
    page.get_by_role("link", name="Compare the timelines").click()
    ready(page)
    expect(page.locator(".aligned tr.is-selected th")).to_contain_text("Andexanet")
    page.get_by_role("link", name="See its evidence").click()
    expect(page.locator("#quote")).to_be_in_viewport()


@pytest.mark.deep
def test_quote_and_cited_row_are_in_sight_inside_their_boxes_on_a_tablet(opened, page, judged):
    def narrower(route):
        response = route.fetch()
        route.fulfill(
            response=response,
            body=response.text()
            + ".quoted-note{max-height:5rem;line-height:4rem}.rows-wrap{max-height:3rem}",
        )

    page.route("**/css/adjudication.css", narrower)
    page.set_viewport_size(TABLET)
    page = opened(f"/adjudication/findings/{judged.andexanet.public_id}/")
    for box, part in ((".quoted-note", "#quote"), (".rows-wrap", ".is-cited")):
        outer, inner = page.locator(box).bounding_box(), page.locator(part).bounding_box()
        assert outer["y"] <= inner["y"] < outer["y"] + outer["height"], box
        assert page.locator(box).evaluate("e => e.scrollHeight > e.clientHeight"), (
            "else nothing was scrolled"
        )
    assert page.locator(".quoted-note").evaluate("e => e.scrollTop") > 0


def test_findings_are_narrowed_in_place_and_read_by_keyboard(opened, judged):
    page = opened(f"/adjudication/runs/{judged.first.public_id}/findings/")
    rows = page.locator(".findings tbody tr")
    expect(rows).to_have_count(10)
    page.locator("#f-category").select_option("wrong_time")
    expect(rows).to_have_count(2)
    assert "category=wrong_time" in page.url
    page.get_by_role("link", name="Apart").click()
    expect(page.locator("th[aria-sort=descending]")).to_have_text("Apart")
    assert "category=wrong_time" in page.url
    page.reload()
    expect(rows).to_have_count(2)
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator("#verdict-title")).to_contain_text("is right")
    page.wait_for_load_state()
    page.keyboard.press("j")
    expect(page.locator("h1")).to_contain_text("Different time")
    expect(page.get_by_text("2 of 5 in this game")).to_be_visible()


@pytest.mark.deep
def test_a_click_anywhere_in_a_row_opens_the_finding(opened, judged):
    page = opened(f"/adjudication/runs/{judged.first.public_id}/findings/?type=DUPLICATE")
    page.locator(".findings tbody tr").first.locator("td").nth(4).click()
    expect(page.locator("h1")).to_contain_text("Reported twice")


@pytest.mark.deep
def test_case_page_leads_to_the_comparison(opened, world):
    page = opened(world.address)
    page.locator("summary", has_text="Export").click()
    page.get_by_role("link", name="Compare", exact=True).click()
    ready(page)
    expect(page.locator("h1")).to_contain_text(world.encounter.case_id)


@pytest.mark.deep
@pytest.mark.parametrize(
    ("theme", "size"),
    [("light", TABLET), ("dark", WIDE), ("dark", TABLET), ("light", WIDE)],
    ids=["light-tablet", "dark-wide", "dark-tablet", "light-wide"],
)
def test_looks(opened, world, judged, page, theme, size):
    """Every page fits its width and satisfies axe at each size and theme.

    A picture is taken of each.
    """
    page.set_viewport_size(size)
    page.emulate_media(color_scheme=theme)
    game = judged.first.games.get(outcome="unjudged")
    pages = {
        "runs": "/adjudication/runs/",
        "new": "/adjudication/runs/new/",
        "run": f"/adjudication/runs/{judged.first.public_id}/",
        "game": f"/adjudication/runs/{judged.first.public_id}/games/{game.public_id}/",
        "findings": f"/adjudication/runs/{judged.first.public_id}/findings/",
        "finding": f"/adjudication/findings/{judged.andexanet.public_id}/",
        "one-sided": f"/adjudication/findings/{judged.andexanet.game.findings.get(ordinal=3).public_id}/",
        "changes": f"/adjudication/runs/{judged.first.public_id}/changes/{judged.second.public_id}/",
        "compare": comparison(world, judged),
        "compare-chosen": comparison(world, judged, f"f={judged.andexanet.public_id}"),
    }
    for name, path in pages.items():
        opened(path)
        if name.startswith("compare"):
            ready(page)
        picture(page, f"{name}-{size['width']}-{theme}")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (
            f"{name} scrolls sideways"
        )
        assert_accessible(page)
