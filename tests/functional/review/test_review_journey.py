"""A reviewer in a browser: practice with all steps, a search, a note."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from adjudication.blinding.practice import practice_cases
from adjudication.models import ItemNote, PairSearch, PracticeAnswer
from adjudication.packets.searches import assign_search, find_searchable_games
from tests.functional.review.review_world import (
    PacketWorld,
    assert_accessible,
    build_packet_world,
    read_item_id,
    take_picture,
    wait_for_item,
    wait_until_saved,
)

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def packed() -> PacketWorld:
    return build_packet_world(practised=False)


def test_practice_search_and_note(enter, packed, page, complaints):
    game = find_searchable_games(packed.packet)[0]
    assign_search(assignment=packed.assignment, game=game, by=packed.admin)
    enter(page, packed.reviewer, packed.address)
    practise(page)
    page.get_by_role("link", name="Search 1").click()
    search(page)
    page.get_by_role("link", name="Start", exact=True).click()
    wait_for_item(page)
    write_note(page)
    assert complaints == []


def practise(page) -> None:
    """Skip the first case, flag, answer and undo the second, answer all."""
    page.get_by_role("link", name="Start practice").click()
    wait_for_item(page)
    page.keyboard.press("s")
    page.wait_for_url("**/practice/2/")
    wait_for_item(page)
    page.keyboard.press("f")
    wait_until_saved(page)
    page.keyboard.press("5")
    page.keyboard.press("Enter")
    expect(page.locator("[data-feedback]")).to_be_visible()
    page.keyboard.press("u")
    expect(page.locator("[data-feedback]")).to_be_hidden()
    wait_for_item(page)
    expect(page.locator("[data-answer-value=UNCLEAR]")).to_have_attribute("aria-pressed", "true")
    assert PracticeAnswer.objects.get(number=2).flagged
    for _ in practice_cases():
        wait_for_item(page)
        page.keyboard.press("5")
        page.keyboard.press("Enter")
        expect(page.locator("[data-feedback]")).to_be_visible()
        page.keyboard.press("Enter")
        expect(page.locator("[data-feedback]")).to_be_hidden()
    expect(page.get_by_text("Opens after the search.")).to_be_visible()


def search(page) -> None:
    """List one difference, and submit."""
    assert_accessible(page)
    page.get_by_label("Row of A").fill("1")
    page.get_by_label("Words").fill("not in B")
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_role("cell", name="not in B")).to_be_visible()
    take_picture(page, "search")
    page.get_by_role("button", name="Submit the search").click()
    expect(page.get_by_text("Your search is submitted")).to_be_visible()
    assert PairSearch.objects.get().submission is not None


def write_note(page) -> None:
    item = read_item_id(page)
    page.keyboard.press("n")
    page.get_by_role("textbox", name="Note").fill("The note ends early.")
    assert_accessible(page)
    take_picture(page, "note-to-admin")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("[data-notice-words]")).to_have_text(
        "Your note is sent to the study admin."
    )
    note = ItemNote.objects.get()
    assert (note.item.public_id, note.text) == (item, "The note ends early.")
    assert read_item_id(page) == item
