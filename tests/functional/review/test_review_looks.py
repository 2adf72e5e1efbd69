"""The looks of the reviewer's pages: axe, reduced motion, own files only.

Both themes and three widths are covered.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.functional.review.review_world import (
    SCREEN,
    assert_accessible,
    press_answer,
    take_picture,
    wait_for_item,
)
from tests.marks import deep

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

TABLET, PHONE = {"width": 820, "height": 1180}, {"width": 390, "height": 844}
TOO_WIDE = "[...document.querySelectorAll('*')].filter((e) => e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.className)"

WIDTH_BESIDE_A_RANGE = """() => {
  const side = document.querySelector(".side:has(.side-when)")
  side.querySelector(".side-when").textContent = "HD 12 · 21:08 to HD 13 · 04:30"
  return side.querySelector(".side-event").clientWidth
}"""


@pytest.mark.parametrize("theme", ["light", *deep("dark")])
@pytest.mark.long
def test_axe_finds_nothing_at_any_width(reviewing, packed, page, theme, complaints):
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    foreign: list[str] = []
    page.on(
        "request",
        lambda request: foreign.append(request.url) if "//localhost" not in request.url else None,
    )
    reviewing()
    for name, size in (("screen", SCREEN), ("tablet", TABLET), ("phone", PHONE)):
        page.set_viewport_size(size)
        page.reload()
        wait_for_item(page)
        page.keyboard.press("2")
        page.keyboard.press("f")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), page.evaluate(
            TOO_WIDE
        )
        if name != "phone":
            assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")
        if name == "tablet":
            note = page.locator(".note-pane").bounding_box()
            assert note["height"] >= TABLET["height"] / 2, "the note keeps half of the screen"
        expect(page.locator(".answer-not_a_finding")).to_be_in_viewport()
        assert_accessible(page)
        take_picture(page, f"{name}-{theme}")
        assert page.evaluate(WIDTH_BESIDE_A_RANGE) > 150
    page.set_viewport_size(SCREEN)
    page.reload()
    wait_for_item(page)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    assert_accessible(page)
    take_picture(page, f"help-{theme}")
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    press_answer(page, "1")
    root = page.url.split("/review/")[0]
    for name, path in (
        ("queue", "/review/"),
        ("packet", packed.address),
        ("answers", f"{packed.address}answers/"),
        ("home", "/"),
    ):
        page.goto(f"{root}{path}")
        assert_accessible(page)
        take_picture(page, f"{name}-{theme}")
    page.goto(f"{root}{packed.address}practice/3/")
    wait_for_item(page)
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(page.locator("[data-feedback]")).to_be_visible()
    assert_accessible(page)
    take_picture(page, f"practice-{theme}")
    assert complaints == []
    assert foreign == []


@pytest.mark.deep
def test_changes_are_told_to_a_screen_reader(reviewing, page):
    reviewing()
    said = page.locator("[data-announce][role=status]")
    page.keyboard.press("5")
    expect(said).to_contain_text("Unclear: note and record do not decide. Enter saves it.")
    page.wait_for_selector("#review[data-ahead]")
    page.keyboard.press("Enter")
    expect(said).to_contain_text("Saved: Unclear. Item 2 of ")
    page.keyboard.press("f")
    expect(said).to_contain_text("Flagged.")
    page.keyboard.press("u")
    expect(said).to_contain_text("Undone. Item 1 of ")


@pytest.mark.deep
def test_closing_the_help_by_its_button_does_not_answer(reviewing, page):
    reviewing()
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    page.keyboard.press("3")
    dialog.get_by_role("button", name="Close").click()
    expect(dialog).to_be_hidden()
    expect(page.locator("[data-answer-value][aria-pressed=true]")).to_have_count(0)
