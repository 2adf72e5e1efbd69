"""An author's input is stored exactly.

Enter comes at once after selecting, or a typed time claims nothing of the note.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.functional.authoring.authoring_world import (
    drag_over,
    find_row,
    load_draft,
    mark_occurrence,
    wait_until_saved,
)

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

#: Select a phrase and press Enter in one turn of the page, before it can hear of the selection.
SELECT_AND_ENTER = """phrase => {
  const scroller = document.querySelector('[data-note]');
  const walker = document.createTreeWalker(document.querySelector('[data-note-body]'), NodeFilter.SHOW_TEXT);
  let node = walker.nextNode();
  while (node && !node.data.includes(phrase)) node = walker.nextNode();
  scroller.focus();
  getSelection().setBaseAndExtent(node, node.data.indexOf(phrase), node, node.data.indexOf(phrase) + phrase.length);
  scroller.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }));
}"""


def test_enter_at_once_after_selecting_marks_and_letters_go_to_the_new_name(
    editor, world, complaints
):
    page = editor()
    mark_occurrence(page, "Fell at home", name="Fall at home", when="-3 d")
    page.evaluate(SELECT_AND_ENTER, "Diet was advanced")
    page.keyboard.type("my diet")
    expect(page.get_by_label("Name", exact=True)).to_have_value("my diet")
    page.keyboard.press("Escape")
    wait_until_saved(page)
    assert set(load_draft(world)) == {"Fall at home", "my diet"}
    assert complaints == []


@pytest.mark.deep
def test_enter_while_the_button_of_the_mouse_goes_up_marks(editor, world):
    page = editor()
    mark_occurrence(page, "Fell at home", name="Fall at home", when="-3 d")
    drag_over(page, "Denied headache")
    page.keyboard.press("Escape")
    page.evaluate(
        "() => document.querySelector('[data-note-body]').dispatchEvent(new PointerEvent('pointerdown', { bubbles: true }))"
    )
    page.evaluate(SELECT_AND_ENTER, "Diet was advanced")
    page.evaluate("() => document.dispatchEvent(new PointerEvent('pointerup', { bubbles: true }))")
    expect(page.get_by_label("Name", exact=True)).to_have_value("Diet was advanced")
    expect(page.get_by_label("Name", exact=True)).to_be_focused()
    wait_until_saved(page)
    assert set(load_draft(world)) == {"Fall at home", "Diet was advanced"}


@pytest.mark.deep
def test_a_typed_time_counts_as_estimated_until_its_author_says_that_the_note_states_it(
    editor, world
):
    page = editor()
    mark_occurrence(page, "Fell at home", name="Fall at home", when="-3 d")
    expect(find_row(page, "Fall at home")).to_contain_text("−3 d")
    stated = page.get_by_label("the note states this time")
    expect(stated).to_be_enabled()
    expect(stated).not_to_be_checked()
    expect(page.locator("#known-help")).to_have_text("If not ticked, the time counts as estimated.")
    wait_until_saved(page)
    assert load_draft(world)["Fall at home"].draft.known is False
    stated.check()
    page.get_by_label("Time", exact=True).fill("-4 d")
    page.get_by_label("Time", exact=True).press("Enter")
    expect(find_row(page, "Fall at home")).to_contain_text("−4 d")
    expect(stated).to_be_checked()
    wait_until_saved(page)
    assert load_draft(world)["Fall at home"].draft.known is True
    page.get_by_label("Time", exact=True).fill("~ -5 d")
    page.get_by_label("Time", exact=True).press("Enter")
    expect(find_row(page, "Fall at home")).to_contain_text("−5 d")
    expect(stated).not_to_be_checked()
