"""Authoring in a real browser, from the first mark to the lock and back.

By mouse and by keyboard alone.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.functional.authoring.authoring_world import (
    assert_accessible,
    drag,
    drag_over,
    enter_time,
    find_row,
    go_to_word,
    load_draft,
    mark_occurrence,
    take_picture,
    wait_until_saved,
)
from tests.functional.cases.case_world import MARKUP
from timelines.models import AnchorSuggestion

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_timeline_is_authored_with_the_mouse(editor, world, complaints):
    page = editor()
    expect(page.get_by_text("select its words in the note")).to_be_visible()
    mark_occurrence(page, "Fell at home", name="Fall at home", when="-3 d")
    expect(find_row(page, "Fall at home")).to_contain_text("3 d before (−3 d)")
    mark_occurrence(page, "Head CT showed a large left thalamic hemorrhage")
    expect(page.get_by_label("Name", exact=True)).to_have_value(
        "Head CT showed a large left thalamic hemorrhage"
    )
    page.get_by_label("Time", exact=True).fill("HD 1 15:40")
    expect(page.locator("[data-when-read]")).to_have_text("HD 1 · 15:40 (+1 h)")
    page.get_by_label("Not before").fill("+30 min")
    page.get_by_label("Not after").fill("HD 1 18:00")
    page.get_by_label("Not after").press("Tab")
    expect(page.locator("[data-when-read]")).to_contain_text("HD 1 · 15:08 to 18:00")
    mark_occurrence(page, "Diet was advanced")
    page.get_by_role("button", name="N/A").click()
    expect(find_row(page, "Diet was advanced")).to_contain_text("N/A")
    mark_occurrence(page, "Denied headache", name="headache")
    page.get_by_label("denied or absent").check()
    page.get_by_label("Context").select_option(label="Fall at home · 3 d before (−3 d)")
    enter_time(page, "0")
    expect(page.locator("[data-progress-words]")).to_have_text("4 of 4 placed")
    wait_until_saved(page)
    stored = load_draft(world)
    assert stored["Fall at home"].draft.time == -72.0
    ct = stored["Head CT showed a large left thalamic hemorrhage"]
    assert (world.note.text[ct.start : ct.end], ct.draft.lower, ct.draft.upper) == (
        ct.mention,
        0.5,
        pytest.approx(3.366667),
    )
    assert (stored["headache"].polarity, stored["headache"].draft.context) == (
        "absent",
        [stored["Fall at home"].uid4],
    )
    assert (stored["Diet was advanced"].draft.placed, stored["Diet was advanced"].draft.time) == (
        True,
        None,
    )
    assert complaints == []


def test_a_timeline_is_authored_with_the_keyboard_alone(editor, world, complaints):
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
    expect(find_row(page, "Fall njku? at home")).to_contain_text("−3 d")

    # Words to the right of the mark: the Hebrew one, with CRLF, a tab and an accent of two
    # characters before it in the note.
    for _ in range(18):
        keys.press("ArrowRight")
    expect(page.locator("[data-announce]")).to_have_text("שלום")
    keys.press("Enter")
    keys.press("Enter")
    keys.type("HD 2 08:00")
    keys.press("Enter")
    expect(find_row(page, "שלום")).to_contain_text("HD 2 · 08:00")

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
    expect(find_row(page, "Triage wrot")).to_have_count(0)
    keys.press("Control+z")
    expect(find_row(page, "Triage wrot")).to_have_count(1)
    keys.press("Control+Shift+z")
    expect(find_row(page, "Triage wrot")).to_have_count(0)

    keys.press("k")
    keys.press("k")
    keys.press("t")
    expect(page.get_by_label("Time", exact=True)).to_be_focused()
    keys.press("Escape")
    keys.press("?")
    expect(page.get_by_role("dialog", name="Keys and signs")).to_be_visible()
    keys.press("Delete")
    keys.press("Escape")
    wait_until_saved(page)
    stored = load_draft(world)
    assert set(stored) == {"Fall njku? at home", "שלום"}, (
        "a key typed into a field or through a dialog did something else"
    )
    for occurrence in stored.values():
        assert world.note.text[occurrence.start : occurrence.end] in {"Fell at home", "שלום"}
    assert complaints == []


@pytest.mark.deep
def test_splitting_merging_submitting_and_opening_again_need_no_mouse(editor, world, complaints):
    page = editor()
    keys = page.keyboard
    keys.press("n")
    go_to_word(page, "Head")
    for _ in range(7):
        keys.press("Shift+ArrowRight")
    expect(page.locator("[data-announce]")).to_have_text(
        "Head CT showed a large left thalamic hemorrhage, 8 words selected"
    )
    keys.press("Enter")
    keys.press("Enter")
    keys.type("N/A")
    keys.press("Enter")
    expect(page.locator("[data-note]")).to_be_focused()
    go_to_word(page, "left")
    keys.press("Shift+ArrowRight")
    keys.press("Shift+ArrowRight")
    keys.press("Shift+Enter")
    expect(find_row(page, "left thalamic hemorrhage")).to_contain_text("N/A")
    expect(find_row(page, "Head CT showed a large")).to_contain_text("N/A")

    keys.press("l")
    keys.press("Home")
    keys.press("Space")
    keys.press("ArrowDown")
    keys.press("Space")
    expect(page.get_by_role("button", name="Merge 2")).to_be_enabled()
    keys.press("Shift+M")
    expect(page.locator("[data-rows] tr")).to_have_count(1)
    wait_until_saved(page)
    page.get_by_role("button", name="Submit…").focus()
    keys.press("Enter")
    expect(page.get_by_role("button", name="Submit and lock")).to_be_focused()
    keys.press("Enter")
    page.wait_for_selector("#authoring.is-locked[data-ready]")
    keys.press("j")
    expect(page.locator("[data-form-title]")).to_have_text("Head CT showed a large")
    page.get_by_text("Reopen…").focus()
    keys.press("Enter")
    keys.press("Tab")
    keys.type("a typing error")
    keys.press("Tab")
    keys.press("Enter")
    page.wait_for_selector("#authoring:not(.is-locked)[data-ready]")
    keys.press("j")
    keys.press("t")
    keys.type("HD 1 15:40")
    keys.press("Enter")
    expect(find_row(page, "Head CT showed a large")).to_contain_text("+1 h")
    wait_until_saved(page)
    assert load_draft(world)["Head CT showed a large"].draft.time == pytest.approx(1.033333)
    assert complaints == []


@pytest.mark.deep
def test_a_mark_is_split_where_its_words_are_chosen_though_it_is_not_selected(
    editor, world, complaints
):
    page = editor()
    mark_occurrence(page, "left thalamic hemorrhage with intraventricular extension", when="+1")
    wait_until_saved(page)
    page.reload()
    page.wait_for_selector("#authoring[data-ready]")
    page.keyboard.press("n")
    go_to_word(page, "intraventricular")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+Enter")
    expect(page.locator("[data-rows] tr")).to_have_count(2)
    expect(find_row(page, "left thalamic hemorrhage with")).to_contain_text("+1 h")
    assert complaints == []


@pytest.mark.deep
def test_marks_are_split_merged_moved_and_taken_back(editor, world, complaints):
    page = editor()
    mark_occurrence(page, "left thalamic hemorrhage with intraventricular extension", when="+1")
    drag_over(page, "intraventricular extension")
    page.get_by_role("button", name="Split here").click()
    expect(page.locator("[data-rows] tr")).to_have_count(2)
    expect(find_row(page, "left thalamic hemorrhage with")).to_contain_text("+1 h")
    page.get_by_role("button", name="End one word earlier").click()
    expect(find_row(page, "left thalamic hemorrhage")).to_be_visible()
    drag_over(page, "large")
    page.get_by_role("button", name="Move mark here").click()
    expect(find_row(page, "large")).to_be_visible()
    keys = page.keyboard
    for _ in range(2):
        keys.press("Control+z")
    expect(find_row(page, "left thalamic hemorrhage with")).to_be_visible()

    find_row(page, "left thalamic hemorrhage with").get_by_role("checkbox").check()
    page.get_by_role("button", name="Merge").is_disabled()
    find_row(page, "intraventricular extension").click(modifiers=["Control"])
    page.get_by_role("button", name="Merge 2").click()
    expect(page.locator("[data-rows] tr")).to_have_count(1)
    expect(page.locator("[data-span-text]")).to_have_text(
        "left thalamic hemorrhage with intraventricular extension"
    )
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("[data-rows] tr")).to_have_count(2)
    page.get_by_role("button", name="Redo").click()
    expect(page.locator("[data-rows] tr")).to_have_count(1)
    wait_until_saved(page)
    assert [(o.mention, o.draft.time) for o in load_draft(world).values()] == [
        ("left thalamic hemorrhage with", 1.0)
    ]
    page.reload()
    page.wait_for_selector("#authoring[data-ready]")
    keys.press("Control+z")
    expect(page.locator("[data-rows] tr")).to_have_count(2)
    assert complaints == []


@pytest.mark.deep
def test_overlapping_and_nested_marks_stay_visible_and_reachable(editor, world):
    page = editor()
    mark_occurrence(page, "Head CT showed a large left thalamic hemorrhage")
    page.keyboard.press("Escape")
    drag(page, "thalamic", "intraventricular extension")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    drag(page, "thalamic", "hemorrhage")
    page.keyboard.press("Enter")
    expect(page.locator("[data-rows] tr")).to_have_count(3)
    wait_until_saved(page)
    inner = page.locator(".seg").filter(has_text="thalamic hemorrhage").first
    assert inner.locator(".u").count() == 3
    page.keyboard.press("Escape")
    names = []
    for _ in range(3):
        inner.click()
        names.append(page.locator("[data-form-title]").inner_text())
    assert len(set(names)) == 3
    shown = page.evaluate(
        "[...document.querySelectorAll('.note-text')].map((part) => part.textContent).join('')"
    )
    assert shown == world.note.text


def test_a_submitted_timeline_is_locked_and_opened_again_with_a_reason(editor, world, complaints):
    page = editor()
    mark_occurrence(page, "Fell at home", when="-3 d")
    mark_occurrence(page, "Diet was advanced")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Submit…").click()
    dialog = page.get_by_role("dialog", name="Submit this timeline")
    expect(dialog).to_contain_text("1 occurrence is not placed yet")
    expect(dialog.get_by_role("button", name="Submit and lock")).to_be_disabled()
    dialog.get_by_role("button", name="Diet was advanced").click()
    expect(page.get_by_label("Time", exact=True)).to_be_focused()
    enter_time(page, "N/A")
    wait_until_saved(page)
    page.get_by_role("button", name="Submit…").click()
    dialog.get_by_role("button", name="Submit and lock").click()
    page.wait_for_selector("#authoring.is-locked[data-ready]")
    expect(page.get_by_role("region", name="Submitted")).to_contain_text("It is locked")
    assert_accessible(page)
    find_row(page, "Fell at home").click()
    expect(page.get_by_label("Name", exact=True)).to_be_disabled()
    expect(page.get_by_role("button", name="Remove occurrence")).to_have_count(0)
    page.locator("[data-note]").focus()
    page.keyboard.press("n")
    page.keyboard.press("Delete")
    expect(page.locator("[data-rows] tr")).to_have_count(2)

    with page.expect_download() as file:
        page.get_by_text("Download…").click()
        page.get_by_role("link", name="JSONL", exact=True).click()
    assert "Fell at home" in Path(file.value.path()).read_text(encoding="utf-8")
    page.get_by_text("Download…").click()
    page.get_by_text("Reopen…").click()
    assert_accessible(page)
    take_picture(page, "locked")
    page.get_by_label("Reason for the change").fill("the fall was a day later")
    page.get_by_role("button", name="Reopen", exact=True).click()
    page.wait_for_selector("#authoring:not(.is-locked)[data-ready]")
    find_row(page, "Fell at home").click()
    enter_time(page, "-2 d")
    wait_until_saved(page)
    assert load_draft(world)["Fell at home"].draft.time == -48.0
    assert complaints == []


@pytest.mark.deep
def test_a_row_of_the_record_gives_its_time_and_is_cited(editor, world, complaints):
    page = editor()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    mark_occurrence(page, "Andexanet alfa was given")
    page.keyboard.press("Escape")
    page.keyboard.press("e")
    expect(page.get_by_label("Search the record")).to_be_focused()
    page.keyboard.type("andexanet started")
    found = page.get_by_role("list", name="Rows of the record, nearest first")
    expect(found.get_by_role("listitem")).to_have_count(1)
    expect(found).to_contain_text("med andexanet alfa started")
    expect(found).to_contain_text(MARKUP)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("[data-when-read]")).to_have_text("HD 1 · 21:08 (+6.5 h)")
    expect(page.locator("[data-cited]")).to_contain_text("med andexanet alfa started")
    expect(page.locator(".u-moved")).to_have_text("Andexanet alfa was given")
    wait_until_saved(page)
    page.reload()
    page.wait_for_selector("#authoring[data-ready]")
    find_row(page, "Andexanet alfa was given").click()
    expect(page.locator("[data-cited]")).to_contain_text("med andexanet alfa started")
    assert_accessible(page)
    draft = load_draft(world)["Andexanet alfa was given"].draft
    assert (draft.time, len(draft.rows)) == (6.5, 1)
    page.get_by_role("button", name="from the citations").click()
    expect(page.locator("[data-cited] li")).to_have_count(0)
    wait_until_saved(page)
    assert not any("suggestions" in url for url in asked), "an unaided page asked for suggestions"
    assert page.evaluate("window.hit") is None
    assert complaints == []


@pytest.mark.deep
def test_in_the_assisted_protocol_suggestions_stand_beside_the_occurrence(editor, world):
    page = editor("assisted")
    mark_occurrence(page, "Andexanet alfa was given")
    suggested = page.get_by_role("group", name="Suggested")
    expect(suggested).to_contain_text("med andexanet alfa started")
    take_picture(page, "assisted")
    assert_accessible(page)
    suggested.get_by_role("button", name="Use med andexanet alfa started").click()
    expect(page.locator("[data-when-read]")).to_have_text("HD 1 · 21:08 (+6.5 h)")
    expect(suggested).to_contain_text("accepted")
    wait_until_saved(page)
    taken = AnchorSuggestion.objects.get(accepted_at__isnull=False)
    assert load_draft(world)["Andexanet alfa was given"].draft.rows == [taken.row_index]


@pytest.mark.deep
def test_the_history_tells_every_edit(editor):
    page = editor()
    mark_occurrence(page, "Fell at home", when="-3 d")
    expect(find_row(page, "Fell at home")).to_contain_text("−3 d")
    wait_until_saved(page)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Undo").click()
    wait_until_saved(page)
    page.get_by_role("button", name="History").click()
    lines = page.get_by_role("dialog", name="History").get_by_role("listitem")
    expect(lines).to_have_count(3)
    expect(lines.nth(0)).to_contain_text("Undid: changed Fell at home")
    expect(lines.nth(1)).to_contain_text("time not placed yet → 3 d before (−3 d)")
    assert_accessible(page)
    take_picture(page, "history")
