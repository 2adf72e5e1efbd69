"""What was known at an hour, in a browser: slider, report, leakage check."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.cache import cache
from django.urls import reverse
from playwright.sync_api import expect

from accounts.models import Role
from cohorts.asof.jobs import execute_check, execute_report
from cohorts.models import AsOfReport, LeakageCheck
from tests import factories
from tests.functional.site.test_pages import assert_accessible
from tests.worlds.cohorts import Event, Row, make_concept, make_stay, make_study_run

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
EVENTS = [
    Event("Fell at home on apixaban", -2.0, -2.0),
    Event("Intracranial haemorrhage on CT", 1.0, 1.5, rows=(0,)),
    Event("andexanet was given", 4.0, 7.5, rows=(1,)),
    Event("Blood culture grew E. coli", 2.0, 2.0, rows=(2,)),
    Event("Headache began", 0.0, 0.0, record_bounds=(-6.0, 12.0)),
    Event("Extubated", 40.0, 41.0, rows=(3,)),
]
ROWS = [
    Row("radiology:ct head", 1.5, time_kind="result"),
    Row("med:andexanet alfa:administration", 7.5, "400"),
    Row("micro:blood culture", 2.0, time_kind="collection"),
    Row("procedure:extubation", 41.0, time_kind="performed"),
]


@pytest.fixture
def stay():
    cache.clear()
    run = make_study_run(factories.make_dataset())
    stay = make_stay(run, EVENTS, ROWS)
    stay.notes.update(charted_at=stay.admitted_at + timedelta(hours=90))
    make_concept(run.study, "reversal agent given", mentions=["andexanet was given"])
    return stay


@pytest.fixture
def person(stay):
    return factories.make_user(stay.dataset.study, Role.ADMIN)


def fits(page):
    for width in (820, 390, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_slider_shows_the_stay_as_it_was_known(stay, person, page, enter, complaints):
    enter(page, person, f"{reverse('cohorts:as_of_case', args=[stay.public_id])}?h=7")
    dose = page.get_by_role("row", name="andexanet was given")
    expect(dose).to_contain_text("Not yet")
    slider = page.get_by_role("slider")
    slider.focus()
    page.keyboard.press("ArrowRight")
    expect(dose).to_contain_text("Known")
    expect(page.get_by_role("row", name="Fell at home")).to_contain_text("Documented later")
    assert "h=8" in page.url
    page.get_by_role("link", name="Go to the next change").click()
    expect(page.get_by_role("row", name="Headache began")).to_contain_text("Documented later")
    page.get_by_role("link", name="Discharge").click()
    expect(page.get_by_text("6 happened and documented")).to_be_visible()
    assert_accessible(page)
    fits(page)
    page.locator("#as-of-source").select_option("note")
    expect(page.locator("#as-of-source")).to_have_value("note")
    page.locator(".as-of-list").get_by_role("link", name="andexanet was given").click()
    assert "/cases/" in page.url
    assert complaints == []


def test_the_case_page_shows_the_stay_at_an_hour_without_asking_again(
    stay, person, page, enter, complaints
):
    enter(page, person, f"{reverse('timelines:case', args=[stay.public_id])}")
    page.locator("#case[data-ready]").wait_for()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.keyboard.press("h")
    slider = page.get_by_role("slider", name="As of")
    expect(slider).to_be_focused()
    slider.fill("7")
    bar = page.locator("#as-of-bar")
    expect(bar).to_contain_text("As of 7 h")
    assert bar.locator("[data-as-of-count]").all_inner_texts() == ["1", "2", "1", "2"]
    page.keyboard.press("ArrowRight")
    expect(slider).to_have_attribute("aria-valuetext", "8 h from admission")
    assert bar.locator("[data-as-of-count]").all_inner_texts() == ["2", "2", "1", "1"]
    dose = page.locator(".seg", has_text="andexanet was given")
    expect(dose).to_have_attribute("data-known", "known")
    page.get_by_role("button", name="‹").click()
    expect(bar).to_contain_text("As of 7.5 h")
    page.keyboard.press("3")
    expect(page.get_by_role("row", name="Extubated")).to_contain_text("not yet")
    assert sum("/as-of/" in address for address in asked) == 1
    assert_accessible(page)
    fits(page)
    slider.focus()
    page.keyboard.press("Escape")
    expect(bar).to_be_hidden()
    expect(page.get_by_role("button", name="As of", exact=True)).to_be_focused()
    assert complaints == []


def test_two_timelines_are_put_side_by_side(stay, person, page, enter, complaints):
    enter(page, person, f"{reverse('cohorts:as_of_case', args=[stay.public_id])}?h=7&beside=note")
    sides = page.locator(".as-of-list")
    expect(sides).to_have_count(2)
    dose = [side.get_by_role("row", name="andexanet was given") for side in sides.all()]
    # By the row it was given at 7.5 h; by the note at 4 h, documented when the note was written.
    expect(dose[0]).to_contain_text("Not yet")
    expect(dose[1]).to_contain_text("Documented later")
    assert_accessible(page)
    fits(page)
    page.goto(page.url.split("/cohorts/")[0] + reverse("cohorts:as_of_new"))
    page.locator("#id_hours").fill("7")
    page.get_by_label("Beside them").select_option("note")
    page.get_by_role("button", name="Start").click()
    for report in AsOfReport.objects.order_by("pk"):
        execute_report(report.pk)
    page.reload()
    figures = page.locator("figure[data-drawn]")
    expect(figures).to_have_count(2)
    totals = page.locator(".sides .result")
    expect(totals.first).to_contain_text("4 of 6")
    expect(totals.last).to_contain_text("6 of 6")
    ends = page.locator("[data-plot]").evaluate_all(
        "(all) => all.map((p) => p.layout.xaxis.range[1])"
    )
    assert ends[0] == ends[1]
    assert_accessible(page)
    fits(page)
    view = reverse("cohorts:trajectory_view")
    page.goto(f"{page.url.split('/cohorts/')[0]}{view}?source=record&beside=note")
    expect(page.locator("figure[data-drawn]")).to_have_count(2)
    assert_accessible(page)
    fits(page)
    assert complaints == []


def test_from_a_report_to_its_sentences_and_a_check(stay, person, page, enter, complaints):
    enter(page, person, reverse("cohorts:as_of_reports"))
    page.get_by_role("link", name="New report").click()
    page.get_by_role("spinbutton", name="Hours").fill("8")
    page.get_by_role("checkbox", name="reversal agent given").check()
    page.get_by_role("button", name="Start").click()
    execute_report(AsOfReport.objects.get().pk)
    page.reload()
    expect(page.locator("[data-figure=as-of]")).to_have_attribute("data-drawn", "true")
    expect(page.get_by_text("3 of 6 occurrences")).to_be_visible()
    page.get_by_text("Choose a policy").click()
    assert_accessible(page)
    fits(page)
    page.get_by_role("row", name="All kinds").get_by_role("link").first.click()
    expect(page.locator("mark", has_text="andexanet was given")).to_be_visible()
    assert_accessible(page)
    page.goto(page.url.partition("/cohorts/")[0] + reverse("cohorts:leakage_new"))
    page.get_by_label("Features, as CSV").fill(
        f"case,name,hours\n{stay.case_id},reversal agent given,6\n{stay.case_id},Extubated,50\n"
    )
    page.get_by_role("button", name="Start").click()
    execute_check(LeakageCheck.objects.get().pk)
    page.reload()
    expect(page.get_by_text("1 of 2 features could not be known when used.")).to_be_visible()
    assert_accessible(page)
    fits(page)
    assert complaints == []
