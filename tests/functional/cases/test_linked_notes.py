"""Notes of a chart as tabs, and events of several notes, in a browser."""

from __future__ import annotations

from datetime import timedelta

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.core.cache import cache
from django.urls import reverse
from playwright.sync_api import expect

from accounts.models import Role
from ehr.models import Note
from tests import factories
from tests.support.windows import collect_complaints, sign_in
from tests.worlds.kept import build_once
from tests.worlds.reconstructed import LIGHT_ROLES, run_inline
from timelines.domain import TimelineKind
from timelines.models import Entry, Timeline, Unlinking
from timelines.pipeline.config import PipelineConfig

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

NOTES = (
    ("admission note", 2.0, "HPI: two days of cough.\n\nExam: temperature 38.9.\n"),
    ("progress note", 20.0, "This morning WBC 15.2. Vancomycin was started.\n"),
    (
        "discharge summary",
        95.0,
        "HOSPITAL COURSE:\nVancomycin was started on hospital day 1. On hospital day 2 WBC was 15.2.\n",
    ),
)


@pytest.fixture
def timeline(settings):
    settings.MODEL_ROLES = LIGHT_ROLES
    cache.clear()
    return reconstruct()


@build_once
def reconstruct() -> Timeline:
    encounter = factories.make_encounter(title="Pneumonia")
    for kind, hours, text in NOTES:
        note = factories.make_note(encounter, text)
        written = encounter.admitted_at + timedelta(hours=hours)
        Note.objects.filter(pk=note.pk).update(kind=kind, charted_at=written)
    run = run_inline(encounter.dataset, config=PipelineConfig(notes="all"))
    return Timeline.objects.get(case_run__run=run, kind=TimelineKind.REVISED, alternative=1)


@pytest.fixture
def case(timeline, live_server, page, complaints):
    """The case page, opened by a clinician."""
    clinician = factories.make_user(timeline.encounter.dataset.study, Role.CLINICIAN)
    sign_in(page.context, clinician, live_server.url)
    collect_complaints(page, complaints)
    page.set_viewport_size({"width": 1440, "height": 900})
    path = reverse("timelines:case", args=[timeline.encounter.public_id])
    page.goto(f"{live_server.url}{path}?t={timeline.public_id}")
    page.wait_for_selector("#case[data-ready]")
    return page


def find_uid(timeline: Timeline, words: str) -> str:
    """Return the UID of the occurrence with these words in its mention."""
    found = Entry.objects.filter(timeline=timeline, occurrence__mention__contains=words)
    return found.values_list("occurrence__uid4", flat=True).get()


def test_each_note_has_a_tab_that_the_keyboard_reaches(timeline, case):
    tabs = case.get_by_role("tablist", name="Notes of this stay").get_by_role("tab")
    expect(tabs).to_have_count(4)
    note = case.locator("#note-text")
    expect(note).to_contain_text("temperature 38.9")
    expect(note).to_contain_text("Vancomycin was started on hospital day 1")
    tabs.first.focus()
    case.keyboard.press("ArrowRight")
    case.keyboard.press("ArrowRight")
    progress = tabs.filter(has_text="Progress note")
    expect(progress).to_be_focused()
    expect(progress).to_have_attribute("aria-selected", "true")
    expect(tabs.first).to_have_attribute("tabindex", "-1")
    shown = case.locator(".note-part:visible")
    expect(shown).to_have_count(1)
    expect(shown).to_contain_text("This morning WBC 15.2")
    expect(case.get_by_role("tabpanel", name="Progress note")).to_be_visible()
    assert Axe().run(case).response["violations"] == []
    case.keyboard.press("End")
    expect(shown).to_contain_text("HOSPITAL COURSE")
    case.keyboard.press("Home")
    expect(shown).to_have_count(3)


def test_an_occurrence_of_another_note_brings_its_tab(timeline, case):
    tabs = case.get_by_role("tablist", name="Notes of this stay").get_by_role("tab")
    tabs.filter(has_text="Admission note").click()
    case.get_by_role("tab", name="Table").click()
    uid = find_uid(timeline, "this morning")
    line = case.locator(f'#panel-table tr[data-u="{uid}"]')
    expect(line).to_contain_text("Progress note, HD 2")
    expect(line).to_contain_text("also in Discharge summary")
    line.click()
    expect(tabs.filter(has_text="Progress note")).to_have_attribute("aria-selected", "true")
    expect(case.locator(f'.seg[data-o~="{uid}"]').first).to_be_in_viewport()
    expect(case.locator("[data-chain-title]")).to_contain_text("Progress note, HD 2")


def test_a_linked_event_has_one_mark_and_its_link_is_undone(timeline, case):
    first, second = find_uid(timeline, "this morning"), find_uid(timeline, "on hospital day 2")
    case.get_by_role("tab", name="Lanes").click()
    case.wait_for_selector("[data-lanes][data-record]")
    expect(case.locator(f'[data-lanes] [data-u="{first}"]').first).to_be_visible()
    expect(case.locator(f'[data-lanes] [data-u="{second}"]')).to_have_count(0)
    case.locator(f'.seg[data-o~="{second}"]').first.click()
    expect(case.locator(f'[data-lanes] .is-selected[data-u="{first}"]').first).to_be_visible()
    sources = case.get_by_role("region", name="The same event in other notes")
    expect(sources).to_contain_text("One event in 2 notes")
    expect(sources).to_contain_text("This morning")
    assert Axe().run(case).response["violations"] == []
    sources.get_by_role(
        "button", name="white blood cell count 15.2, this morning", exact=True
    ).click()
    expect(case.locator("[data-chain-title]")).to_contain_text("this morning")
    expect(sources).to_contain_text("WBC was 15.2")
    with case.expect_navigation():
        sources.get_by_role("button", name="Undo the link").click()
    case.wait_for_selector("#case[data-ready]")
    expect(sources).to_contain_text("undone by")
    assert Unlinking.objects.count() == 1
    expect(case.locator("body")).to_contain_text("With corrections")
    with case.expect_navigation():
        sources.get_by_role("button", name="Link again").click()
    expect(sources).to_contain_text("One event in 2 notes")
