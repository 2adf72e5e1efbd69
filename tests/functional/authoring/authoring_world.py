"""Helpers of the author page's tests.

There are two clinicians with their own browsers, and functions that mark, name and place.
"""

from __future__ import annotations

import os
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from django.conf import settings
from playwright.sync_api import Locator, Page, ViewportSize, expect

from tests.functional.cases.case_world import World
from timelines.models import Occurrence

WIDE: ViewportSize = {"width": 1440, "height": 900}

#: The middle of the first and of the last character, however marks divide the text between them.
PLACES = """([from, to]) => {
  const pieces = [];
  const walker = document.createTreeWalker(document.querySelector('[data-note-body]'), NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) if (node.parentElement.closest('.note-text')) pieces.push(node);
  const text = pieces.map((piece) => piece.data).join('');
  const first = text.indexOf(from);
  const last = text.indexOf(to, first) + to.length - 1;
  if (first < 0 || last < first) return null;
  const box = (offset) => {
    let at = 0;
    for (const piece of pieces) {
      if (offset < at + piece.length) {
        const range = document.createRange();
        range.setStart(piece, offset - at);
        range.setEnd(piece, offset - at + 1);
        return [range.getBoundingClientRect(), piece];
      }
      at += piece.length;
    }
  };
  box(first)[1].parentElement.scrollIntoView({block: 'center'});
  const [a, b] = [box(first)[0], box(last)[0]];
  return [a.left + 1, a.top + a.height / 2, b.right - 1, b.top + b.height / 2];
}"""


def drag(page: Page, first: str, last: str) -> None:
    """Select with the mouse from `first` to the end of the next `last`."""
    place = page.evaluate(PLACES, [first, last])
    assert place is not None, (first, last)
    page.mouse.move(place[0], place[1])
    page.mouse.down()
    page.mouse.move(place[2], place[3], steps=4)
    page.mouse.up()
    expect(page.get_by_role("toolbar", name="Selected text")).to_be_visible()


def drag_over(page: Page, phrase: str) -> None:
    """Select the phrase with the mouse."""
    drag(page, phrase, phrase)


def mark_occurrence(page: Page, phrase: str, *, name: str = "", when: str = "") -> None:
    """Mark with the mouse, then name and place with the form."""
    drag_over(page, phrase)
    page.get_by_role("button", name="Mark Enter").click()
    field = page.get_by_label("Name", exact=True)
    expect(field).to_be_focused()
    if name:
        field.fill(name)
    if when:
        enter_time(page, when)


def enter_time(page: Page, when: str) -> None:
    """Type a time for the selected occurrence."""
    page.get_by_label("Time", exact=True).fill(when)
    page.get_by_label("Time", exact=True).press("Enter")


def go_to_word(page: Page, word: str) -> None:
    """Press the right arrow, in the mode that chooses words, up to this word."""
    for _ in range(80):
        if page.locator("[data-announce]").inner_text().split(" ·")[0] == word:
            return
        page.keyboard.press("ArrowRight")
    raise AssertionError(f"{word} was not reached")


def find_row(page: Page, mention: str) -> Locator:
    """The list's row of an occurrence."""
    return page.locator("[data-rows] tr").filter(has=page.get_by_text(mention, exact=True))


def wait_until_saved(page: Page) -> None:
    """Wait until nothing is left to save."""
    expect(page.locator("[data-saved]")).to_have_text("All saved")


def assert_accessible(page: Page) -> None:
    page.wait_for_timeout(200)
    found = Axe().run(page)
    violations = [
        (v["id"], [node["html"][:160] for node in v["nodes"]][:3])
        for v in found.response["violations"]
    ]
    assert violations == [], violations


def take_picture(page: Page, name: str) -> None:
    folder = (
        Path(os.environ.get("ARTIFACTS", Path(settings.BASE_DIR) / "var" / "artifacts"))
        / "authoring"
    )
    folder.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=folder / f"{name}.png")


def load_draft(world: World) -> dict[str, Occurrence]:
    """The stored draft of the world's clinician."""
    found = Occurrence.objects.filter(inventory__authoring__author=world.clinician).select_related(
        "draft"
    )
    return {occurrence.mention: occurrence for occurrence in found}


def submit(page: Page) -> None:
    page.get_by_role("button", name="Submit…").click()
    page.get_by_role("button", name="Submit and lock").click()
    page.wait_for_selector("#authoring.is-locked[data-ready]")
