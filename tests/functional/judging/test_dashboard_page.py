"""The page of ratings in a real browser: plots, tables, files, axe.

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
from tests import factories
from tests.functional.judging.rated_pages import SOURCES, build_rated_world
from tests.functional.site.test_pages import assert_accessible
from tests.support.windows import collect_complaints, sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

WIDE, TABLET = {"width": 1280, "height": 800}, {"width": 820, "height": 1180}


@pytest.fixture
def rated():
    cache.clear()
    return build_rated_world()


@pytest.fixture
def opened(rated, live_server, page, complaints):
    """Open the ratings of the first run signed in as an admin.

    It collects the console's errors.
    """
    sign_in(
        page.context,
        factories.make_user(rated.study, Role.ADMIN, username="the-admin"),
        live_server.url,
    )
    page.set_viewport_size(WIDE)
    collect_complaints(page, complaints)

    def open_(run=None, size=WIDE):
        page.set_viewport_size(size)
        page.goto(f"{live_server.url}/adjudication/runs/{(run or rated.first).public_id}/ratings/")
        page.wait_for_selector("[data-figure=ratings][data-drawn]")
        page.wait_for_selector("[data-figure=costs][data-drawn]")
        return page

    yield open_
    assert complaints == []


def picture(page, name: str) -> None:
    folder = (
        Path(os.environ.get("ARTIFACTS", Path(settings.BASE_DIR) / "var" / "artifacts"))
        / "dashboard"
    )
    folder.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=folder / f"{name}.png", full_page=True)


def test_every_source_is_plotted_and_stands_in_the_table(opened):
    page = opened()
    expect(page.locator("#ratings tbody tr")).to_have_count(len(SOURCES))
    assert page.locator("[data-figure=ratings] .scatterlayer .point").count() >= len(SOURCES)
    said = [
        page.locator("#ratings tbody tr").nth(n).locator(".cell-words").nth(1).inner_text()
        for n in range(len(SOURCES))
    ]
    assert sorted(map(int, said), reverse=True) == list(map(int, said)), "best first"


@pytest.mark.deep
def test_a_plot_is_saved_as_a_picture(opened):
    page = opened()
    for format, magic in (("svg", b"<svg"), ("png", b"\x89PNG")):
        with page.expect_download() as saved:
            page.locator(f"[data-figure=ratings] [data-save={format}]").click()
        assert saved.value.suggested_filename == f"ratings.{format}"
        assert magic in Path(saved.value.path()).read_bytes()[:400]


@pytest.mark.deep
def test_tables_and_findings_are_fetched_as_files(opened):
    page = opened()
    with page.expect_download() as saved:
        page.locator("#ratings .section-head a", has_text="CSV").click()
    assert saved.value.suggested_filename.startswith("ratings-")
    with page.expect_download() as saved:
        page.locator("#files a", has_text="Parquet").first.click()
    assert Path(saved.value.path()).read_bytes()[:4] == b"PAR1"


@pytest.mark.deep
def test_a_number_leads_to_its_findings(opened):
    page = opened()
    page.locator("#errors summary").click()
    link = page.locator("#errors details a[href*='category=wrong_time']").first
    count = link.inner_text()
    link.click()
    expect(page.locator("#finding-list .found-line")).to_contain_text(f"{count} finding")


@pytest.mark.deep
@pytest.mark.parametrize(
    ("theme", "size"),
    [("dark", TABLET), ("light", WIDE), ("light", TABLET), ("dark", WIDE)],
    ids=["dark-tablet", "light-wide", "light-tablet", "dark-wide"],
)
def test_looks(opened, page, theme, size):
    page.emulate_media(color_scheme=theme)
    opened(size=size)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth + 1"), (
        "the page itself does not scroll sideways"
    )
    short = page.locator(".rated-table td.wrap .cell-words")
    broken = short.evaluate_all(
        "found => found.filter(e => e.getClientRects().length > 1).map(e => e.textContent)"
    )
    assert short.count() > 0
    assert broken == [], "no record or short word is broken"
    assert_accessible(page)
    picture(page, f"{theme}-{size['width']}")
