"""Authoring in a real browser: by mouse, by keyboard alone, by two at once, from two windows, and over a lost connection.

Pictures go to ARTIFACTS (default `var/artifacts/authoring`), which is not committed.
"""

from __future__ import annotations

import pytest
from django.conf import settings
from django.core.cache import cache
from playwright.sync_api import Page, expect

from accounts.models import User
from tests.functional.authoring_world import all_saved, mark, place, row
from tests.functional.case_world import build_world
from timelines.authoring_actions import start_authoring
from timelines.models import Authoring, Occurrence

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 900, "height": 1100}


@pytest.fixture
def world():
    cache.clear()
    return build_world()


@pytest.fixture
def enter(live_server, client):
    """Signs a person into a browser window and opens a path."""

    def enter_(page: Page, person: User, path: str) -> Page:
        client.force_login(person)
        page.context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": client.cookies["sessionid"].value, "url": live_server.url}])
        page.set_viewport_size(WIDE)
        page.complaints = []
        page.on("console", lambda message: page.complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.goto(f"{live_server.url}{path}")
        return page

    return enter_


@pytest.fixture
def editor(world, enter, page):
    """The editor of a draft of the world's case, begun by its clinician."""

    def editor_(protocol: str = "unaided", on: Page | None = None) -> Page:
        authoring, _ = start_authoring(encounter=world.encounter, protocol=Authoring.Protocol(protocol), by=world.clinician)
        opened = enter(on or page, world.clinician, f"/authoring/{authoring.public_id}/")
        opened.wait_for_selector("#authoring[data-ready]")
        return opened

    return editor_


def test_a_timeline_is_authored_with_the_mouse(editor, world):
    page = editor()
    expect(page.get_by_text("Mark each occurrence")).to_be_visible()
    mark(page, "Fell at home", name="Fall at home", when="-3 d")
    expect(row(page, "Fall at home")).to_contain_text("−3 d (21 Feb, 14:38)")
    mark(page, "Head CT showed a large left thalamic hemorrhage")
    expect(page.get_by_label("Name", exact=True)).to_have_value("Head CT showed a large left thalamic hemorrhage")
    page.get_by_label("Time", exact=True).fill("HD 1 15:40")
    expect(page.locator("[data-when-read]")).to_have_text("+1 h (HD 1, 15:40)")
    page.get_by_label("Not before").fill("+30 min")
    page.get_by_label("Not after").fill("HD 1 18:00")
    page.get_by_label("Not after").press("Tab")
    expect(page.locator("[data-when-read]")).to_contain_text("between")
    mark(page, "Diet was advanced")
    page.get_by_role("button", name="N/A").click()
    expect(row(page, "Diet was advanced")).to_contain_text("N/A")
    mark(page, "Denied headache", name="headache")
    page.get_by_label("is denied or absent").check()
    page.get_by_label("Context").select_option(label="Fall at home · −3 d (21 Feb, 14:38)")
    place(page, "0")
    expect(page.locator("[data-progress-words]")).to_have_text("4 of 4 placed")
    all_saved(page)
    stored = by_mention(world)
    assert stored["Fall at home"].draft.time == -72.0
    ct = stored["Head CT showed a large left thalamic hemorrhage"]
    assert (world.note.text[ct.start : ct.end], ct.draft.lower, ct.draft.upper) == (ct.mention, 0.5, pytest.approx(3.366667))
    assert (stored["headache"].polarity, stored["headache"].draft.context) == ("absent", [stored["Fall at home"].uid4])
    assert (stored["Diet was advanced"].draft.placed, stored["Diet was advanced"].draft.time) == (True, None)
    assert page.complaints == []


def test_a_timeline_is_authored_with_the_keyboard_alone(editor, world):
    page = editor()
    keys = page.keyboard
    keys.press("n")
    expect(page.locator("[data-announce]")).to_have_text("HISTORY")
    for _ in range(5):
        keys.press("ArrowRight")
    expect(page.locator("[data-announce]")).to_have_text("Fell")
    keys.press("Shift+ArrowRight")
    keys.press("Shift+ArrowRight")
    expect(page.locator("[data-announce]")).to_have_text("Fell at home, 3 words selected")
    keys.press("Enter")
    expect(page.get_by_label("Name", exact=True)).to_be_focused()
    keys.type("Fall njku? at home")
    keys.press("Enter")
    expect(page.get_by_label("Time", exact=True)).to_be_focused()
    keys.type("-3 d")
    keys.press("Enter")
    expect(page.locator("[data-note]")).to_be_focused()
    expect(row(page, "Fall njku? at home")).to_contain_text("−3 d")

    # Words to the right of the mark: the Hebrew one, where the note has CRLF, a tab and an accent of two characters before it.
    for _ in range(18):
        keys.press("ArrowRight")
    expect(page.locator("[data-announce]")).to_have_text("שלום")
    keys.press("Enter")
    keys.press("Enter")
    keys.type("HD 2 08:00")
    keys.press("Enter")
    expect(row(page, "שלום")).to_contain_text("(HD 2, 08:00)")

    # Down a line, back by words, and a whole line at once.
    keys.press("End")
    keys.press("ArrowDown")
    keys.press("Home")
    expect(page.locator("[data-announce]")).to_have_text("Triage")
    keys.press("Shift+ArrowRight")
    keys.press("Alt+Shift+ArrowLeft")
    keys.press("Enter")
    expect(page.get_by_label("Name", exact=True)).to_have_value("Triage wrot")
    keys.press("Escape")
    expect(page.locator("[data-note]")).to_be_focused()
    keys.press("Escape")
    keys.press("Delete")
    expect(row(page, "Triage wrot")).to_have_count(0)
    keys.press("Control+z")
    expect(row(page, "Triage wrot")).to_have_count(1)
    keys.press("Control+Shift+z")
    expect(row(page, "Triage wrot")).to_have_count(0)

    keys.press("k")
    keys.press("k")
    keys.press("t")
    expect(page.get_by_label("Time", exact=True)).to_be_focused()
    keys.press("Escape")
    keys.press("?")
    expect(page.get_by_role("dialog", name="Keys and signs")).to_be_visible()
    keys.press("Delete")
    keys.press("Escape")
    all_saved(page)
    stored = by_mention(world)
    assert set(stored) == {"Fall njku? at home", "שלום"}, "a key typed into a field or through a dialog did something else"
    for occurrence in stored.values():
        assert world.note.text[occurrence.start : occurrence.end] in {"Fell at home", "שלום"}
    assert page.complaints == []


def by_mention(world) -> dict[str, Occurrence]:
    """The stored draft of the world's clinician."""
    found = Occurrence.objects.filter(inventory__authoring__author=world.clinician).select_related("draft")
    return {occurrence.mention: occurrence for occurrence in found}
