"""Concepts in a browser, from a name to a measured version."""

from __future__ import annotations

import pytest
from django.core.cache import cache
from django.urls import reverse
from playwright.sync_api import expect

from accounts.models import Role
from tests import factories
from tests.functional.site.test_pages import assert_accessible
from tests.worlds.cohorts import Event, make_stay, make_study_run

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
LONG = "andexanet " + "verylongwordwithoutaspace" * 8


@pytest.fixture
def run():
    cache.clear()
    made = make_study_run(factories.make_dataset())
    make_stay(made, [Event("Andexanet was given", 1.0, 1.0), Event("Fell at home", 0.0, 0.0)])
    make_stay(made, [Event("Andexanet was ordered", 1.0, 1.0), Event(LONG, 1.0, 1.0)])
    return made


def test_from_a_name_to_a_measured_version(run, page, enter, complaints):
    person = factories.make_user(run.study, Role.CLINICIAN)
    enter(page, person, reverse("cohorts:concepts"))
    expect(page.get_by_text("No concept yet")).to_be_visible()
    page.get_by_label("Name", exact=True).fill("reversal agent given")
    page.get_by_role("button", name="Create").click()
    page.get_by_text("Words of the mention").click()
    page.get_by_label("Words, as in a search").fill("andexanet")
    page.get_by_role("button", name="Add rule").first.click()
    expect(page.get_by_text("3 new members proposed.")).to_be_visible()
    assert_accessible(page)
    for width in (820, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.set_viewport_size({"width": 1440, "height": 900})
    for keys in ("jjxa", "jxr"):
        page.get_by_role("heading", name="reversal agent given").click()
        for key in keys:
            page.keyboard.press(key)
        expect(page.locator(".message-success")).to_contain_text("1 member")
    page.get_by_role("button", name="Make version").click()
    page.get_by_text("Draw a blinded sample").click()
    page.get_by_role("button", name="Draw").click()
    expect(page.get_by_text("0 of ")).to_be_visible()
    assert_accessible(page)
    total = int(page.get_by_role("status").last.inner_text().split()[2])
    for done in range(1, total + 1):
        page.keyboard.press("y")
        expect(page.get_by_text(f"{done} of {total} answered")).to_be_visible()
    page.get_by_role("button", name="Close the sample").click()
    expect(page.get_by_text("1 of 1: 100% (95 % CI 21% to 100%)").first).to_be_visible()
    page.get_by_role("link", name="Accepted (1)").click()
    page.locator("tbody a").first.click()
    assert "/cases/" in page.url
    assert complaints == []
