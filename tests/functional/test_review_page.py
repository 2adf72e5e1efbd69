"""The reviewer's page in a real browser: ten items by the keyboard alone, and everything that may come between."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.functional.review_world import SCREEN, Packed, all_saved, answer, packed_world, ready

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def packed() -> Packed:
    return packed_world()


@pytest.fixture
def reviewing(enter, packed, page):
    """The reviewer's window with the first item."""

    def reviewing_(on: Page | None = None) -> Page:
        opened = enter(on or page, packed.reviewer, packed.item_address)
        opened.set_viewport_size(SCREEN)
        ready(opened)
        return opened

    return reviewing_


def test_ten_items_by_the_keyboard_alone(reviewing, packed, complaints):
    page = reviewing()
    seen = []
    for number, key in enumerate("1234561234", 1):
        expect(page.locator("[data-position]")).to_contain_text(f"{number} of ")
        seen.append(answer(page, key))
    all_saved(page)
    assert packed.kinds() == ["answer"] * 10
    assert [d.item.public_id for d in packed.decided()] == seen
    assert len(set(seen)) == 10
    assert complaints == []
