"""What the author page's tests share: two clinicians with browsers of their own, and the hands that mark, name and place."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

SELECT = """(phrase) => {
  const walker = document.createTreeWalker(document.querySelector('[data-note-body]'), NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const at = node.parentElement.closest('.note-text') ? node.data.indexOf(phrase) : -1;
    if (at < 0) continue;
    node.parentElement.scrollIntoView({block: 'center'});
    const range = document.createRange();
    range.setStart(node, at);
    range.setEnd(node, at + phrase.length);
    const boxes = [...range.getClientRects()];
    const [first, last] = [boxes[0], boxes.at(-1)];
    return [first.left + 1, first.top + first.height / 2, last.right - 1, last.top + last.height / 2];
  }
  return null;
}"""


def drag_over(page: Page, phrase: str) -> None:
    """Select the phrase with the mouse. It must lie in one piece of the note."""
    page.mouse.move(0, 0)
    place = page.evaluate(SELECT, phrase)
    assert place is not None, phrase
    page.mouse.move(place[0], place[1])
    page.mouse.down()
    page.mouse.move(place[2], place[3], steps=4)
    page.mouse.up()
    expect(page.get_by_role("toolbar", name="Selected text")).to_be_visible()


def mark(page: Page, phrase: str, *, name: str = "", when: str = "") -> None:
    """Mark with the mouse, then name and place with the form."""
    drag_over(page, phrase)
    page.get_by_role("button", name="Mark Enter").click()
    field = page.get_by_label("Name", exact=True)
    expect(field).to_be_focused()
    if name:
        field.fill(name)
    if when:
        place(page, when)


def place(page: Page, when: str) -> None:
    """Type a time for the selected occurrence."""
    page.get_by_label("Time", exact=True).fill(when)
    page.get_by_label("Time", exact=True).press("Enter")


def row(page: Page, mention: str) -> Locator:
    """The list's row of an occurrence."""
    return page.locator("[data-rows] tr").filter(has=page.get_by_text(mention, exact=True))


def all_saved(page: Page) -> None:
    """Wait until nothing is left to save."""
    expect(page.locator("[data-saved]")).to_have_text("All saved", timeout=15_000)
