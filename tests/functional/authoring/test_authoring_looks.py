"""The looks of the authoring pages: axe and pictures.

Themes and three widths are covered. Pictures go to ARTIFACTS (default `var/artifacts/authoring`),
which is not committed.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from accounts.models import User
from tests import demo_cases
from tests.functional.authoring.authoring_world import WIDE, assert_accessible, take_picture
from tests.marks import deep
from timelines.authoring.actions import start_authoring
from timelines.authoring.edits import Edit, apply_edit
from timelines.models import Authoring

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

NARROW, PHONE = {"width": 900, "height": 1100}, {"width": 390, "height": 844}
TOO_WIDE = "[...document.querySelectorAll('*')].filter((e) => e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.className)"


def test_a_case_is_chosen_and_the_protocol_said_before_anything_is_seen(enter, world, page):
    enter(page, world.clinician, "/authoring/")
    expect(page.get_by_role("heading", name="No timelines yet")).to_be_visible()
    assert_accessible(page)
    page.get_by_role("main").get_by_role("link", name="Choose a case").first.click()
    page.get_by_role("link", name="Author a timeline of").click()
    assert_accessible(page)
    take_picture(page, "start")
    page.get_by_role("radio", name="Unaided").check()
    page.get_by_role("button", name="Begin").click()
    page.wait_for_selector("#authoring[data-ready]")
    expect(page.locator(".case-stay")).to_contain_text("unaided")
    page.goto(page.url.split("/authoring/")[0] + "/")
    expect(page.get_by_role("main")).to_contain_text("0 of 0 placed")
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Authoring").click()
    expect(page.get_by_role("region", name="My timelines")).to_contain_text("Unaided")
    assert_accessible(page)
    take_picture(page, "list")


@pytest.mark.deep
@pytest.mark.parametrize("theme", ["light", *deep("dark")])
def test_axe_finds_nothing_and_pictures_are_taken(editor, enter, world, page, theme, complaints):
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    built = demo_cases.build(world.encounter.dataset, demo_cases.load_shipped())
    opened = editor()
    assert_accessible(opened)
    take_picture(opened, f"empty-{theme}")
    authoring = make_draft(built, world.clinician)
    for name, size in (("wide", WIDE), ("narrow", NARROW), ("phone", PHONE)):
        enter(page, world.clinician, f"/authoring/{authoring.public_id}/")
        page.set_viewport_size(size)
        page.wait_for_selector("#authoring[data-ready]")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), page.evaluate(
            TOO_WIDE
        )
        assert_accessible(page)
        page.locator("[data-rows] tr").nth(5).click()
        assert_accessible(page)
        take_picture(page, f"{name}-{theme}")
    page.set_viewport_size(WIDE)
    page.get_by_role("button", name="Submit…").click()
    assert_accessible(page)
    take_picture(page, f"submit-{theme}")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    assert_accessible(page)
    take_picture(page, f"help-{theme}")
    assert complaints == []


def make_draft(built, author: User) -> Authoring:
    """Return a draft with the occurrences of a built case.

    Every third one is not placed yet, and one has no time.
    """
    authoring, _ = start_authoring(
        encounter=built.encounter, protocol=Authoring.Protocol.UNAIDED, by=author
    )
    for n, o in enumerate(built.occurrences):
        values = {
            "start": o.start,
            "end": o.end,
            "mention": o.mention,
            "polarity": o.polarity,
            "lane": o.lane,
        }
        if n % 3 != 2:
            values |= {
                "time_text": "N/A"
                if n == 4
                else f"{'-' if n % 2 else '+'}{n * n} h"
                if n % 4
                else "HD 2"
            }
        apply_edit(authoring=authoring, edit=Edit(f"t{n}", n, "add", values=values), by=author)
    return authoring
