"""The reviewer's page in a real browser.

Ten items by the keyboard alone, every key, practice, and the last steps.
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from accounts.models import AuditEvent
from adjudication.blinding.page import ANSWERS
from adjudication.blinding.practice import practice_cases
from adjudication.blinding.visibility import ROWS_AT_ONCE, are_sides_swapped, swap_answer
from adjudication.models import Assignment, Decision, ItemMark, Packet, Slot
from adjudication.packets import actions as packets
from tests import factories
from tests.functional.review.review_world import (
    PASSWORD,
    PacketWorld,
    assert_accessible,
    press_answer,
    read_item_id,
    take_picture,
    wait_for_item,
    wait_until_saved,
)

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

#: From pressing Enter to the next item on screen, in milliseconds.
SWAP = """() => {
  const before = document.querySelector('[data-item]').dataset.item;
  document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true}));
  document.body.getBoundingClientRect();
  const now = document.querySelector('[data-item]');
  return now !== null && now.dataset.item !== before;
}"""


def read_focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.name || document.activeElement.className"))


def test_ten_items_by_the_keyboard_alone(reviewing, packed, complaints):
    page = reviewing()
    seen = []
    keys = []
    for number, wanted in enumerate("1234561234", 1):
        wait_for_item(page)
        # An item with one row has no “both” and no “neither”.
        both = page.locator("[data-answer-value=BOTH]").count()
        keys.append(key := wanted if both or wanted not in "34" else "5")
        expect(page.locator("[data-position]")).to_contain_text(f"{number} of ")
        assert read_focused(page) == "item", "the item has the focus, wherever the last one left it"
        seen.append(press_answer(page, key))
    wait_until_saved(page)
    stored = packed.decided()
    assert [d.kind for d in stored] == ["answer"] * 10
    assert [d.item.public_id for d in stored] == seen
    assert len(set(seen)) == 10
    for d, key in zip(stored, keys, strict=True):
        shown = swap_answer(d.answer, are_sides_swapped(packed.assignment.seed, d.item.public_id))
        answers = [value for _, value, _ in ANSWERS]
        if d.item.finding.b_event is None or d.item.finding.a_event is None:
            judged = "A" if d.item.finding.b_event is None else "B"
            yes, no = judged, "B" if judged == "A" else "A"
            assert d.answer == {"1": yes, "2": no}.get(key, answers[int(key) - 1])
        else:
            assert shown == answers[int(key) - 1], (
                "stored in the judge's labels, chosen in those of the page"
            )
    assert complaints == []


def test_whole_timelines_open_on_request_and_the_trail_records_it(reviewing, complaints):
    page = reviewing()
    item = read_item_id(page)
    assert not AuditEvent.objects.filter(action="review.timelines").exists()
    page.keyboard.press("w")
    dialog = page.get_by_role("dialog", name="Whole timelines")
    for label in "AB":
        rows = dialog.get_by_role("region", name=f"Timeline {label}").get_by_role("listitem")
        expect(rows.nth(20)).to_be_attached()
    assert_accessible(page)
    take_picture(page, "timelines")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    (event,) = AuditEvent.objects.filter(action="review.timelines")
    assert event.object_id == item
    assert complaints == []


@pytest.mark.deep
def test_the_next_item_is_there_before_the_server_is_asked(reviewing):
    page = reviewing()
    for _ in range(5):
        page.keyboard.press("5")
        page.wait_for_selector("#review[data-ahead] [data-item]")
        assert page.evaluate(SWAP), (
            "no other script and no answer of the server came between the key and the item"
        )


def test_a_key_typed_into_a_field_does_nothing_else(reviewing, packed):
    page = reviewing()
    first = read_item_id(page)
    page.keyboard.press("c")
    assert read_focused(page) == "comment"
    page.keyboard.type("1 u s f ? looks copied")
    page.keyboard.press("Enter")
    assert (read_focused(page), read_item_id(page)) == ("item", first), (
        "Enter leaves the field and saves nothing"
    )
    page.keyboard.press("t")
    assert read_focused(page) == "own_time"
    page.keyboard.type("soon")
    page.keyboard.press("Escape")
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    assert (read_focused(page), read_item_id(page)) == ("own_time", first), (
        "a time that cannot be read is not swallowed"
    )
    expect(page.locator("[data-own-time-read]")).to_contain_text("Write −72")
    page.locator("[name=own_time]").fill("-3 d 4 h")
    expect(page.locator("[data-own-time-read]")).to_have_text("= −3.2 d")
    page.keyboard.press("Enter")
    page.keyboard.press("f")
    page.keyboard.press("Enter")
    expect(page.locator(f"[data-item='{first}']")).to_have_count(0)
    wait_until_saved(page)
    (stored,) = packed.decided()
    assert (stored.own_time, stored.comment, stored.flagged) == (
        -76.0,
        "1 u s f ? looks copied",
        True,
    )
    assert stored.active_seconds is not None
    assert 0 < stored.active_seconds < 60
    expect(page.locator("[data-do=flag]")).to_have_attribute("aria-pressed", "false")


@pytest.mark.deep
def test_enter_without_an_answer_and_held_keys_do_nothing(reviewing, packed):
    page = reviewing()
    first = read_item_id(page)
    page.keyboard.press("Enter")
    expect(page.locator("[data-announce]")).to_contain_text("Choose an answer first")
    expect(
        page.get_by_text("Choose an answer first (its key is beside it).").and_(
            page.locator("[data-hint]")
        )
    ).to_be_visible()
    page.keyboard.press("5")
    expect(page.locator("[data-hint]")).to_be_hidden()
    page.evaluate(
        "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', repeat: true, bubbles: true}))"
    )
    page.keyboard.press("Control+Enter")
    assert read_item_id(page) == first
    assert packed.decided() == []


def test_undo_brings_the_item_back_with_what_was_chosen(reviewing, packed):
    page = reviewing()
    page.keyboard.press("c")
    page.keyboard.type("first thought")
    page.keyboard.press("Escape")
    first = press_answer(page, "2")
    second = read_item_id(page)
    page.keyboard.press("u")
    expect(page.locator(f"[data-item='{first}']")).to_be_visible()
    expect(page.locator("[data-answer-value][aria-keyshortcuts='2']")).to_have_attribute(
        "aria-pressed", "true"
    )
    expect(page.get_by_label("Comment")).to_have_value("first thought")
    expect(page.locator("[data-position]")).to_contain_text("1 of ")
    press_answer(page, "5")
    assert read_item_id(page) == second
    wait_until_saved(page)
    assert packed.kinds() == ["answer", "withdrawal", "amendment"]
    assert Slot.objects.get(item__public_id=first).decision.answer == "UNCLEAR"


@pytest.mark.deep
def test_a_skipped_item_comes_again_at_the_end(reviewing, packed):
    page = reviewing()
    skipped = read_item_id(page)
    page.keyboard.press("5")
    page.keyboard.press("s")
    expect(page.locator(f"[data-item='{skipped}']")).to_have_count(0)
    total = packed.packet.items.count()
    rest = [press_answer(page, "1") for _ in range(total - 1)]
    assert skipped not in rest
    expect(page.locator(f"[data-item='{skipped}']")).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("^5 Unclear"))).to_have_attribute(
        "aria-pressed", "true"
    )
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="All items are decided")).to_be_focused()
    assert Decision.objects.filter(packet=packed.packet, kind="answer").count() == total


@pytest.mark.deep
def test_a_flag_is_kept_and_taken_away(reviewing, packed):
    page = reviewing()
    item = read_item_id(page)
    page.keyboard.press("f")
    wait_until_saved(page)
    assert ItemMark.objects.get(item__public_id=item).flagged
    page.reload()
    wait_for_item(page)
    expect(page.locator("[data-do=flag]")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("f")
    wait_until_saved(page)
    assert not ItemMark.objects.get(item__public_id=item).flagged


@pytest.mark.deep
def test_the_record_is_at_hand_by_keys(reviewing):
    page = reviewing()
    chosen = page.locator("[data-series][aria-selected=true]")
    expect(chosen).to_have_attribute("data-series", "0")
    page.keyboard.press("]")
    expect(chosen).to_have_attribute("data-series", "1")
    page.keyboard.press("[")
    page.keyboard.press("/")
    page.keyboard.type("heart rate")
    expect(page.locator("[data-series-count]")).to_contain_text("found")
    page.keyboard.press("Enter")
    expect(chosen).to_contain_text("heart rate")
    panel = page.locator("[data-series-panels] [data-panel]:not([hidden])")
    rows = int(chosen.locator(".series-n").inner_text())
    if rows > ROWS_AT_ONCE:
        expect(panel.locator("tbody tr")).to_have_count(ROWS_AT_ONCE)
        panel.get_by_role("button", name=f"All {rows}").click()
    expect(panel.locator("tbody tr")).to_have_count(rows)


@pytest.mark.deep
def test_an_answer_is_saved_from_wherever_the_record_was_read(reviewing, packed):
    page = reviewing()
    first = read_item_id(page)
    page.keyboard.press("/")
    page.keyboard.press("Enter")
    expect(page.locator("[data-series][aria-selected=true]")).to_be_focused()
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(page.locator(f"[data-item='{first}']")).to_have_count(0)
    wait_until_saved(page)
    assert [d.item.public_id for d in packed.decided()] == [first]


@pytest.mark.deep
def test_keys_of_a_single_character_can_be_switched_off(reviewing, packed):
    page = reviewing()
    first = read_item_id(page)
    page.keyboard.press("?")
    page.get_by_role("checkbox", name="Use single-character keys").uncheck()
    page.keyboard.press("Escape")
    page.reload()
    wait_for_item(page)
    for key in ("1", "s", "f", "?"):
        page.keyboard.press(key)
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator("[data-answer-value][aria-pressed=true]")).to_have_count(0)
    expect(page.locator("[data-do=flag]")).to_have_attribute("aria-pressed", "false")
    page.locator("[data-answer-value][aria-keyshortcuts='2']").focus()
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    expect(page.locator(f"[data-item='{first}']")).to_have_count(0)
    wait_until_saved(page)
    assert len(packed.decided()) == 1, "buttons and Enter do everything"


@pytest.mark.deep
def test_changing_an_answer_touches_no_other(reviewing, packed):
    page = reviewing()
    first, second = press_answer(page, "1"), press_answer(page, "2")
    wait_until_saved(page)
    page.goto(page.url.replace("/item/", f"/items/{first}/"))
    wait_for_item(page)
    expect(page.locator("[data-position]")).to_have_text("Changing an answer")
    expect(page.get_by_role("button", name=re.compile("^(Undo|Skip)"))).to_have_count(0)
    page.keyboard.press("u")
    page.keyboard.press("s")
    page.keyboard.press("5")
    page.keyboard.press("Enter")
    page.wait_for_url("**/answers/")
    assert packed.kinds() == ["answer", "answer", "amendment"]
    assert Slot.objects.get(item__public_id=second).decision.kind == "answer"


@pytest.mark.deep
def test_an_item_fills_one_screen_with_the_place_and_both_rows_in_sight(reviewing):
    page = reviewing()
    for _ in range(4):
        assert page.evaluate(
            "document.documentElement.scrollHeight <= innerHeight && document.documentElement.scrollWidth <= innerWidth"
        )
        for selector in (
            "mark.place >> nth=0",
            ".side-a",
            ".side-b",
            ".answers",
            "[data-position]",
        ):
            expect(page.locator(f".review {selector}").first).to_be_in_viewport()
        heights = {round(b.bounding_box()["height"]) for b in page.locator(".answer").all()}
        widths = {round(b.bounding_box()["width"]) for b in page.locator(".answer").all()}
        assert len(heights) == 1
        assert max(widths) - min(widths) <= 1
        press_answer(page, "1")


@pytest.mark.deep
def test_practice_comes_first_and_explains_itself(enter, packed, page, complaints):
    Assignment.objects.update(practised_at=None)
    enter(page, packed.reviewer, packed.item_address)
    expect(page.get_by_role("status").filter(has_text="Start with the practice")).to_be_visible()
    expect(page.get_by_role("link", name="Start", exact=True)).to_have_count(0)
    page.get_by_role("link", name="Start practice").focus()
    page.keyboard.press("Enter")
    keys = {value: key for key, value, _ in ANSWERS}
    for case in practice_cases():
        wait_for_item(page)
        page.keyboard.press(
            # a wrong answer to the first case; the right one to the second is “No”
            "2" if case.number in (1, 2) else keys[case.answer]
        )
        page.keyboard.press("Enter")
        feedback = page.locator("[data-feedback]")
        expect(feedback).to_contain_text(case.explanation[:40])
        expect(feedback.get_by_role("heading")).to_contain_text(
            "The correct answer is “A”" if case.number == 1 else "Right."
        )
        page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Start", exact=True)).to_be_visible()
    assert Assignment.objects.get().practised_at is not None
    assert Decision.objects.count() == 0, "practice counts for nothing"
    assert complaints == []


def decide_all(page: Page, packed: PacketWorld) -> None:
    for _ in range(packed.packet.items.count()):
        press_answer(page, "1")
    expect(page.get_by_role("heading", name="All items are decided")).to_be_visible()


@pytest.mark.long
def test_from_the_last_item_to_the_receipt_and_back(reviewing, packed, page):
    reviewing()
    decide_all(page, packed)
    page.get_by_role("link", name="To the last steps").click()
    page.get_by_role("link", name="Answer", exact=True).click()
    page.get_by_role("radiogroup", name="Item 1", exact=True).get_by_label("A", exact=True).check()
    page.get_by_role("radiogroup", name="Item 2", exact=True).get_by_label("no idea").check()
    page.get_by_role("button", name="Save my guesses").click()
    guesses = Decision.objects.filter(kind="guess").order_by("sequence")
    assert [g.detail["guess"] in ("A", "B") for g in guesses] == [True, False]
    assert all(g.detail["question"] == "clinician" for g in guesses)
    page.get_by_role("link", name="Sign", exact=True).click()
    page.get_by_label("Your password").fill("not the password")
    page.get_by_role("button", name="Sign", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("Wrong password")
    page.get_by_label("Your password").fill(PASSWORD)
    page.get_by_role("button", name="Sign", exact=True).click()
    signature = Decision.objects.get(kind="sign")
    expect(page.get_by_role("region", name="Receipt")).to_contain_text(signature.detail["head"])
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    assert signature.hash in download.value.path().read_text()

    page.goto(page.url.replace("receipt/", "item/"))
    expect(page.get_by_role("main")).to_contain_text("Receipt")
    expect(page.get_by_role("status")).to_contain_text("You have signed this packet")
    page.get_by_role("link", name="Receipt").click()
    page.get_by_label("Reason").fill("one item was misread")
    page.get_by_role("button", name="Withdraw").click()
    assert Assignment.objects.get().signed_at is None
    page.get_by_role("link", name="My answers").click()
    page.get_by_role("link", name="Change answer 1", exact=True).click()
    wait_for_item(page)
    expect(page.locator("[data-answer-value][aria-keyshortcuts='1']")).to_have_attribute(
        "aria-pressed", "true"
    )
    page.keyboard.press("5")
    page.keyboard.press("Enter")
    expect(page.get_by_role("row").nth(1)).to_contain_text("Unclear changed")
    assert packed.kinds()[-3:] == ["sign", "unsign", "amendment"]


@pytest.mark.deep
@pytest.mark.parametrize("reveal", ["never", "after_close"])
def test_after_closing_the_judge_is_shown_where_the_policy_says_so(reviewing, packed, page, reveal):
    factories.change_past_guards(Packet.objects.filter(pk=packed.packet.pk), reveal=reveal)
    reviewing()
    press_answer(page, "1")
    wait_until_saved(page)
    packets.close_packet(packet=packed.packet, by=packed.admin)
    page.goto(page.url.replace("item/", "answers/"))
    expect(page.get_by_role("columnheader", name="Judge")).to_have_count(
        int(reveal == "after_close")
    )
    expect(page.get_by_role("columnheader", name="My answer")).to_be_visible()


@pytest.mark.deep
def test_review_is_in_the_navigation_of_those_who_review(enter, packed, page):
    enter(page, packed.reviewer, "/")
    expect(page.get_by_role("main")).to_contain_text("Review: Validation sample")
    expect(page.get_by_role("main")).to_contain_text("0 of 13 items decided")
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Review").click()
    page.get_by_role("link", name="Validation sample", exact=True).click()
    page.get_by_role("link", name="Start", exact=True).click()
    wait_for_item(page)
    enter(page, packed.admin, "/")
    expect(
        page.get_by_role("navigation", name="Main").get_by_role("link", name="Review", exact=True)
    ).to_have_count(0)
