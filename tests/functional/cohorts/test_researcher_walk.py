"""A researcher in a browser: concept, window, reclassified case, correction, export."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from django.core.cache import cache
from django.urls import reverse
from playwright.sync_api import expect

from accounts.models import Role
from cohorts.models import WindowResult
from cohorts.windows.evaluating import execute_result
from jobs.models import JobState
from tests import factories
from tests.functional.site.test_pages import assert_accessible
from tests.worlds.cohorts import Event, Row, make_stay, make_study_run

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
DOSE = "andexanet was given"
ROW = Row("med:andexanet alfa:administration", 6.5, "400")


@pytest.fixture
def run():
    cache.clear()
    made = make_study_run(factories.make_dataset())
    make_stay(made, [Event("Fell at home", -2.0, -2.0), Event(DOSE, 1.5, 6.5, rows=(0,))], [ROW])
    make_stay(made, [Event("Andexanet given at once", 2.0, 2.0)])
    return made


def evaluate(page) -> None:
    """Do what a worker does, and open the result."""
    for pk in WindowResult.objects.filter(state=JobState.QUEUED).values_list("pk", flat=True):
        assert execute_result(pk) == JobState.SUCCEEDED
    page.reload()


def fits(page) -> None:
    for width in (820, 390, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        wide = page.evaluate("""() => [...document.querySelectorAll('main *')].filter(
            (e) => e.getBoundingClientRect().right > innerWidth + 1
              && !e.closest('.table-wrap, pre, .visually-hidden')
        ).map((e) => e.outerHTML.slice(0, 100))""")
        assert not wide, (width, wide)
    assert_accessible(page)


def test_from_a_concept_to_an_updated_cohort_and_its_file(run, page, enter, complaints, tmp_path):
    person = factories.make_user(run.study, Role.ADMIN)
    enter(page, person, reverse("cohorts:concepts"))
    page.get_by_label("Name", exact=True).fill("reversal agent given")
    page.get_by_role("button", name="Create").click()
    page.get_by_text("Words of the mention").click()
    page.get_by_label("Words, as in a search").fill("andexanet")
    page.get_by_role("button", name="Add rule").first.click()
    page.locator("[data-choose-all]").click()
    page.get_by_role("button", name="Accept").click()
    expect(page.locator(".message-success")).to_contain_text("2 members")
    page.get_by_role("button", name="Make version").click()
    fits(page)

    page.goto(page.url.split("/cohorts/")[0] + reverse("cohorts:window_new"))
    page.get_by_label("Name", exact=True).fill("Reversal agent within 5 h")
    page.get_by_role("button", name="Set", exact=True).click()
    page.locator("[name=relation]").select_option("within")
    page.get_by_label("To hour").fill("5")
    page.get_by_role("button", name="Add the event").click()
    expect(page.locator(".parts .part")).to_have_count(1)
    fits(page)
    page.get_by_role("button", name="Save", exact=True).click()
    fits(page)
    page.locator("[name=second]").select_option("record")
    page.get_by_role("button", name="Evaluate").click()
    evaluate(page)
    expect(page.locator(".lead")).to_contain_text("2 stays are members")
    expect(page.locator(".lead")).to_contain_text("1 by the times")
    fits(page)

    page.get_by_role("link", name="Changed by the times").click()
    changed = page.locator(".member")
    expect(changed).to_have_count(1)
    expect(changed).to_contain_text("med:andexanet alfa:administration")
    changed.get_by_role("link", name=DOSE).first.click()
    page.locator("#case[data-ready]").wait_for()
    page.keyboard.press("e")
    page.locator("[name=entered]").fill("+3")
    expect(page.locator("[data-correct-read]")).to_contain_text("+3 h")
    page.get_by_role("textbox", name="Reason").fill("The pharmacy stated it.")
    with page.expect_navigation():
        page.get_by_role("button", name="Save correction").click()
    expect(page.locator(".seg .u-corrected")).to_have_text(DOSE)

    page.goto(page.url.split("/cases/")[0] + reverse("cohorts:windows"))
    page.get_by_role("link", name="Reversal agent within 5 h").first.click()
    page.locator("[name=second]").select_option("curated")
    page.get_by_role("button", name="Evaluate").click()
    evaluate(page)
    expect(page.locator(".lead")).to_contain_text("2 by the times")
    with page.expect_download() as sent:
        page.get_by_role("link", name="CSV").click()
    lines = Path(sent.value.path()).read_text(encoding="utf-8").splitlines()
    assert len(list(csv.DictReader(lines))) == 2
    assert complaints == []
