"""The menu Export of a case page in a real browser: every file is saved."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from django.core.cache import cache
from pypdf import PdfReader

from tests.functional.cases.case_world import build_world
from tests.support.windows import collect_complaints, sign_in
from timelines.cases.exporting.formats import FORMATS

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_each_file_of_the_shown_timeline_is_saved_from_the_menu(live_server, page, complaints):
    cache.clear()
    world = build_world()
    sign_in(page.context, world.clinician, live_server.url)
    collect_complaints(page, complaints)
    page.goto(f"{live_server.url}{world.address}?t={world.text_only.public_id}")
    page.wait_for_selector("#case[data-ready]")
    saved = {}
    for kind in FORMATS.values():
        for name in (f"{kind.label} {kind.about}", f"{kind.label} with words of the note"):
            menu = page.locator("summary", has_text="Export")
            if menu.locator("xpath=..").get_attribute("open") is None:
                menu.click()
            with page.expect_download() as waited:
                page.get_by_role("link", name=name, exact=True).click()
            stem = f"timeline-{world.encounter.public_id}-{world.text_only.public_id}"
            assert waited.value.suggested_filename == f"{stem}.{kind.ending}"
            saved[name] = Path(waited.value.path()).read_bytes()
    quoted = "Head CT showed a large left thalamic hemorrhage"
    (sheet,) = PdfReader(io.BytesIO(saved["PDF with words of the note"])).pages
    assert f"Note: “{quoted}”" in " ".join(sheet.extract_text().split())
    assert json.loads(saved["FHIR R4 Bundle with provenance"])["type"] == "collection"
    assert b",span_text" in saved["CSV with words of the note"]
    assert b",span_text" not in saved["CSV one line for each event"]
    assert page.url.startswith(f"{live_server.url}{world.address}"), "the page stays"
