"""Trajectories and the list of what needs a look, in a browser."""

from __future__ import annotations

import pytest
from django.core.cache import cache
from django.urls import reverse
from playwright.sync_api import expect

from accounts.models import Role
from cohorts.attention.ranking import rank_study
from tests import factories
from tests.functional.site.test_pages import assert_accessible
from tests.worlds.cohorts import Event, Row, make_concept, make_stay, make_study_run

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
ROWS = [Row("lab:lactate:blood", h, v) for h, v in ((-1.0, "5"), (3.0, "3"), (30.0, "2"))]


@pytest.fixture
def run():
    cache.clear()
    made = make_study_run(factories.make_dataset())
    for first in (2.0, 5.0, 30.0):
        make_stay(made, [Event("vancomycin was given", first, first + 30)], ROWS)
    make_concept(made.study, "antibiotic given", mentions=["vancomycin was given"])
    return made


def test_from_choices_to_a_stay_and_a_saved_view(run, page, enter, complaints):
    person = factories.make_user(run.study, Role.CLINICIAN)
    enter(page, person, reverse("cohorts:trajectories"))
    page.get_by_role("link", name="New view").click()
    page.get_by_label("Time to").select_option(label="antibiotic given")
    page.get_by_label("Values of series").fill("lab:lactate:*")
    page.get_by_role("checkbox", name="antibiotic given").check()
    page.get_by_role("button", name="Show").click()
    for name in ("lanes", "density", "curve", "changes", "survival"):
        expect(page.locator(f"[data-figure={name}]")).to_have_attribute("data-drawn", "true")
    expect(page.get_by_text("3 stays have an hour 0.")).to_be_visible()
    expect(page.get_by_role("row", name="All stays 3 of 3")).to_be_visible()
    assert_accessible(page)
    for width in (820, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.set_viewport_size({"width": 1440, "height": 900})
    page.get_by_label("Save this view as").fill("Antibiotics")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("link", name="Antibiotics").click()
    expect(page.get_by_label("Values of series")).to_have_value("lab:lactate:*")
    page.get_by_text("Stays as a list").click()
    page.locator(".lane-list a").first.click()
    assert "/cases/" in page.url
    assert complaints == []


def test_a_place_is_looked_at_and_leaves_the_list(run, page, enter, complaints):
    rank_study(run.study)
    enter(page, factories.make_user(run.study, Role.CLINICIAN), reverse("cohorts:attention"))
    marks = page.get_by_role("button", name="Looked at")
    expect(marks).to_have_count(3)
    assert_accessible(page)
    marks.first.click()
    expect(marks).to_have_count(2)
    page.get_by_label("Reason").select_option("wide")
    expect(marks).to_have_count(0)
    assert complaints == []
