"""The case page of a stay with several notes, in a real browser."""

from __future__ import annotations

from datetime import timedelta

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.core.cache import cache
from django.urls import reverse
from playwright.sync_api import expect

from accounts.models import AuditEvent, Role
from ehr.models import Note
from tests import factories
from tests.marks import deep
from tests.support.windows import collect_complaints, sign_in
from tests.worlds.reconstructed import LIGHT_ROLES, run_inline
from timelines.domain import TimelineKind
from timelines.models import Timeline
from timelines.pipeline.config import PipelineConfig

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

NOTES = (
    ("admission note", 2.0, "HPI: two days of cough and fever.\n\nExam: temperature 38.9.\n" * 6),
    ("progress note", 20.0, "This morning WBC 15.2. Vancomycin was started last evening.\n" * 12),
    ("radiology report", 22.5, "CHEST CT.\n\nImpression: large right pleural effusion.\n"),
    (
        "discharge summary",
        95.0,
        "HOSPITAL COURSE:\nOn hospital day 2 a chest CT showed a pleural effusion.\n" * 8,
    ),
)


@pytest.fixture
def encounter(settings):
    settings.MODEL_ROLES = LIGHT_ROLES
    cache.clear()
    encounter = factories.make_encounter(title="Pneumonia")
    for kind, hours, text in NOTES:
        note = factories.make_note(encounter, text)
        written = encounter.admitted_at + timedelta(hours=hours)
        Note.objects.filter(pk=note.pk).update(kind=kind, charted_at=written)
    return encounter


def timeline(encounter, notes: str) -> Timeline:
    run = run_inline(encounter.dataset, config=PipelineConfig(notes=notes))
    return Timeline.objects.get(case_run__run=run, kind=TimelineKind.REVISED, alternative=1)


@pytest.mark.parametrize("scheme", ["light", *deep("dark")])
def test_notes_of_a_chart_are_reached_and_others_are_opened(
    encounter, live_server, page, complaints, scheme
):
    whole, alone = timeline(encounter, "all"), timeline(encounter, "discharge summary")
    clinician = factories.make_user(encounter.dataset.study, Role.CLINICIAN)
    sign_in(page.context, clinician, live_server.url)
    page.emulate_media(color_scheme=scheme)
    collect_complaints(page, complaints)
    address = live_server.url + reverse("timelines:case", args=[encounter.public_id])
    for width in (1440, 820, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(f"{address}?t={whole.public_id}")
        page.wait_for_selector("#case[data-ready]")
        if width == 390:
            continue
        head = page.locator(".note-head", has_text="Radiology report")
        expect(head).not_to_be_in_viewport()
        page.get_by_role("tab", name="Radiology report").click()
        expect(head).to_be_in_viewport()
        assert Axe().run(page).response["violations"] == []
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(f"{address}?t={alone.public_id}")
    page.wait_for_selector("#case[data-ready]")
    page.get_by_role("link", name="3 other notes").click()
    other = page.locator("#other-notes summary", has_text="Progress note")
    assert not AuditEvent.objects.filter(action="note.open").exists()
    other.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#other-notes")).to_contain_text("Vancomycin was started last evening")
    assert AuditEvent.objects.filter(action="note.open", actor=clinician).count() == 1
    assert Axe().run(page).response["violations"] == []
