"""Authoring in a real browser: by mouse, by keyboard alone, by two at once, from two windows, and over a lost connection.

Pictures go to ARTIFACTS (default `var/artifacts/authoring`), which is not committed.
"""

from __future__ import annotations

import pytest
from django.conf import settings
from django.core.cache import cache
from playwright.sync_api import Page, expect

from accounts.models import User
from tests.functional.authoring_world import all_saved, mark, row
from tests.functional.case_world import build_world
from timelines.authoring_actions import start_authoring
from timelines.models import Authoring

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
    mark(page, "Fell at home", name="Fall at home", when="-3 d")
    expect(row(page, "Fall at home")).to_contain_text("−3 d")
    all_saved(page)
    page.screenshot(path="/tmp/g-first.png")
    assert page.complaints == []
