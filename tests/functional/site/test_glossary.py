"""Definitions of terms in a real browser, and the help page.

By keyboard and by touch, wide and narrow, in both themes.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.sync_api import expect

from accounts.models import Role
from tests import factories
from tests.functional.cases.case_world import build_world
from tests.functional.site.test_pages import assert_accessible
from tests.marks import deep
from tests.support.windows import sign_in
from tests.worlds.evaluated import evaluate_world

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SIZES = {"wide": {"width": 1440, "height": 900}, "narrow": {"width": 390, "height": 844}}
ARTIFACTS = Path(os.environ.get("ARTIFACTS", "var/artifacts"))


@pytest.mark.parametrize("scheme", ["dark", *deep("light")])
@pytest.mark.parametrize("size", [*deep("wide"), "narrow"])
def test_a_term_opens_its_definition_inside_the_window(
    scheme, size, live_server, browser, client, request
):
    world = build_world()
    evaluation = evaluate_world(world)
    context = browser.new_context(viewport=SIZES[size], color_scheme=scheme, has_touch=True)
    request.addfinalizer(context.close)
    sign_in(context, factories.make_user(world.study, Role.ADMIN), live_server.url)
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.goto(f"{live_server.url}/evaluations/{evaluation.public_id}/")
    term = page.get_by_role("button", name="AULTC", exact=True).first
    definition = page.locator("#term-aultc")
    expect(definition).to_be_hidden()

    term.focus()
    page.keyboard.press("Enter")
    expect(definition).to_be_visible()
    expect(definition).to_contain_text("log-time curve")
    box, width = definition.bounding_box(), SIZES[size]["width"]
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    anchor = term.bounding_box()
    assert anchor is not None
    below, above = box["y"] - anchor["y"] - anchor["height"], anchor["y"] - box["y"] - box["height"]
    assert 0 <= max(below, above) < 12, "the definition is next to its term and does not cover it"
    ARTIFACTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=ARTIFACTS / f"term-{size}-{scheme}.png")
    assert_accessible(page)
    page.keyboard.press("Escape")
    expect(definition).to_be_hidden()

    term.tap()
    expect(definition).to_be_visible()
    definition.get_by_role("link", name="All terms").tap()
    page.wait_for_url("**/help/#aultc")
    expect(page.locator("#aultc")).to_contain_text("log-time curve")
    page.screenshot(path=ARTIFACTS / f"help-{size}-{scheme}.png")
    assert_accessible(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert complaints == []
