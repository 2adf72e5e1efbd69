"""Answering back with the keyboard: correct, comment, flag, undo."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.conf import settings
from django.core.cache import cache
from playwright.sync_api import expect

from tests.support.windows import collect_complaints, sign_in
from tests.worlds.corrected import make_corrected_world
from timelines.curation.curated import find_current
from timelines.models import Comment, Correction
from timelines.transfer.lines import Selection, export_cases

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PANEL = "#chain-pane"
PICTURES = Path(os.environ.get("ARTIFACTS", settings.BASE_DIR / "var/artifacts/answers"))


@pytest.fixture
def world():
    cache.clear()
    return make_corrected_world()


@pytest.fixture
def visit(world, live_server, new_window, complaints):
    """Open the case in a window of the person's own."""

    def visit_(person):
        page = new_window()
        sign_in(page.context, person, live_server.url)
        page.set_viewport_size({"width": 1440, "height": 900})
        collect_complaints(page, complaints)
        page.goto(f"{live_server.url}/cases/{world.encounter.public_id}/")
        page.wait_for_selector("#case[data-ready]")
        page.locator(f'.seg[data-o~="{world.vancomycin.uid4}"]').click()
        expect(page.locator(f"{PANEL} [data-answers]")).to_be_visible()
        return page

    return visit_


def photograph(page, name: str) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=PICTURES / f"{name}.png")


def say(page, words: str) -> None:
    expect(page.locator(f"{PANEL} .answer")).to_contain_text(words)


def test_a_row_corrects_with_the_keyboard_and_others_answer(world, visit, complaints):
    anna = visit(world.anna)
    anna.keyboard.press("e")
    expect(anna.locator("[data-take]")).to_be_focused()
    photograph(anna, "correct")
    assert Axe().run(anna).response["violations"] == []
    anna.keyboard.press("2")
    expect(anna.locator('[data-row="1"]')).to_have_attribute("aria-pressed", "true")
    expect(anna.locator("[data-correct-read]")).to_contain_text("HD 1 · 20:53")
    with anna.expect_navigation():
        anna.keyboard.press("Enter")
    say(anna, "Corrected by anna to HD 1 · 20:53, was 16:08.")
    expect(anna.locator(".seg .u-corrected")).to_have_text("Vancomycin")
    assert Correction.objects.get().rows == [1]

    anna.keyboard.press("c")
    anna.keyboard.type("Order or given? @bo")
    expect(anna.locator('[data-person="boris"]')).to_be_visible()
    anna.keyboard.press("Tab")
    anna.keyboard.press("Control+Enter")
    expect(anna.locator(".thread")).to_contain_text("Order or given? @boris")
    assert Comment.objects.get().mentions.get().person == world.boris

    anna.keyboard.press("f")
    anna.get_by_label("Wrong row of the record").check()
    anna.get_by_role("button", name="Flag", exact=True).last.click()
    expect(anna.get_by_role("list", name="Flags")).to_contain_text("Wrong row of the record")
    photograph(anna, "answered")

    boris = visit(world.boris)
    say(boris, "Corrected by anna")
    boris.keyboard.press("e")
    boris.get_by_label("Time", exact=True).fill("HD 2 08:00")
    expect(boris.locator("[data-correct-read]")).to_contain_text("HD 2 · 08:00")
    boris.get_by_label("Reason").fill("the nurse's chart")
    with boris.expect_navigation():
        boris.get_by_role("button", name="Save correction").click()
    expect(boris.locator(".dispute")).to_contain_text("until a study admin settles it")
    assert find_current(world.base) is None
    boris.get_by_role("button", name="Resolve").click()
    expect(boris.locator(".thread summary")).to_contain_text("Resolved by boris")

    chief = visit(world.admin)
    photograph(chief, "dispute")
    with chief.expect_navigation():
        chief.get_by_role("button", name="Settle as anna says").click()
    say(chief, "Settled by chief to HD 1 · 20:53, was 16:08.")
    exported = {
        line.source
        for case in export_cases([world.encounter], Selection())
        for timeline in case.timelines
        for line in timeline
    }
    assert exported == {"rules", "curated:rules"}

    with chief.expect_navigation():
        chief.get_by_role("button", name="Undo the correction by chief").click()
    expect(chief.locator(".dispute")).to_be_visible()
    anna.reload()
    with anna.expect_navigation():
        anna.get_by_role("button", name="Undo the correction by anna").click()
    say(anna, "Corrected by boris to HD 2 · 08:00")
    assert complaints == []
