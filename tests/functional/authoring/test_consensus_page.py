"""Reconciling two timelines in the browser, item after item."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.conf import settings
from django.core.cache import cache
from playwright.sync_api import expect

from tests.support.windows import collect_complaints, sign_in
from tests.worlds.authored import Page, make_author, make_case, make_draft
from timelines.models import Consensus

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PICTURES = Path(os.environ.get("ARTIFACTS", settings.BASE_DIR / "var/artifacts/consensus"))


def test_two_timelines_become_one(live_server, new_window, complaints):
    cache.clear()
    encounter = make_case()
    for name, fell, ct in (("ana", -2, 1), ("bo", -4, 30)):
        written = Page(make_draft(encounter, make_author(encounter, username=name)))
        written.add("Fell at home", time=fell)
        written.add("CT showed a bleed", time=ct)
        if name == "bo":
            written.add("Fever for three days", time=-72)
        written.post("submit", {})

    page = new_window()
    sign_in(page.context, make_author(encounter, username="cleo"), live_server.url)
    page.set_viewport_size({"width": 1440, "height": 900})
    collect_complaints(page, complaints)
    page.goto(f"{live_server.url}/cases/{encounter.public_id}/agreement/")
    page.get_by_role("button", name="Make a consensus").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Consensus of ana and bo")
    expect(page.locator("#to-decide mark").first).to_have_text("Fever for three days")
    PICTURES.mkdir(parents=True, exist_ok=True)
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.screenshot(path=PICTURES / f"consensus-{width}.png", full_page=True)
        assert Axe().run(page).response["violations"] == []

    page.get_by_label("Leave it out").first.check()
    page.get_by_label("Why").first.fill("not of this stay")
    page.get_by_role("button", name="Decide").first.click()
    expect(page.locator("#to-decide mark").first).to_have_text("CT showed a bleed")
    page.reload()
    page.get_by_label("At another time").first.check()
    page.get_by_label("Time", exact=True).first.fill("+2 h")
    page.get_by_label("Why").first.fill("the report says so")
    page.get_by_role("button", name="Decide").first.click()
    page.get_by_role("button", name="Submit the consensus").click()
    expect(page.locator(".message-success")).to_contain_text("consensus:ana+bo")
    page.screenshot(path=PICTURES / "submitted.png", full_page=True)
    assert Axe().run(page).response["violations"] == []
    page.get_by_role("link", name="Open the timeline").click()
    expect(page.locator(".menu-name")).to_have_text("Reference")
    assert Consensus.objects.get().decisions.count() == 3
    assert complaints == []
