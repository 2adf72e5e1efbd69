"""Authors who are quicker than the server, or pause, lose nothing.

Readings of a time arrive late and in any order.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, Route, expect

from tests.functional.authoring.authoring_world import (
    drag_over,
    find_row,
    load_draft,
    mark_occurrence,
    wait_until_saved,
)
from timelines.models import AuthoringEdit

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

#: Longer than the pause after which what was typed is taken over.
PAUSE_MS = 900


class PausedAnswers:
    """Readings of times that the server answers late.

    The test releases each of them.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.routes: list[Route] = []
        self.pausing = True
        page.route("**/time/", self._asked)

    def _asked(self, route: Route) -> None:
        if self.pausing:
            self.routes.append(route)
        else:
            route.continue_()

    def wait_for(self, count: int) -> None:
        """Until so many have been asked for."""
        for _ in range(600):
            if len(self.routes) >= count:
                return
            self.page.wait_for_timeout(100)
        raise AssertionError(f"{len(self.routes)} readings were asked for, not {count}")

    def let_go(self, *order: int) -> None:
        """Answer these in this order; answer later ones at once."""
        self.pausing = False
        for n in order:
            with self.page.expect_response("**/time/"):
                self.routes[n].continue_()


def time_field(page: Page):
    return page.get_by_label("Time", exact=True)


def test_a_time_that_is_still_being_read_is_not_lost_by_splitting(editor, world, complaints):
    page = editor()
    mark_occurrence(page, "left thalamic hemorrhage with intraventricular extension")
    paused = PausedAnswers(page)
    time_field(page).fill("+1")
    time_field(page).press("Enter")
    paused.wait_for(1)
    drag_over(page, "intraventricular extension")
    page.get_by_role("button", name="Split here").click()
    expect(page.locator("[data-rows] tr")).to_have_count(2)
    paused.let_go(0)
    expect(find_row(page, "left thalamic hemorrhage with")).to_contain_text("+1 h")
    wait_until_saved(page)
    assert {o.draft.time for o in load_draft(world).values()} == {1.0}
    assert complaints == []


@pytest.mark.deep
def test_an_older_reading_never_replaces_a_newer_time(editor, world):
    page = editor()
    mark_occurrence(page, "Fell at home")
    paused = PausedAnswers(page)
    time_field(page).fill("+1")
    page.wait_for_timeout(PAUSE_MS)
    time_field(page).fill("+2")
    time_field(page).press("Enter")
    paused.wait_for(2)
    paused.let_go(1, 0)
    expect(find_row(page, "Fell at home")).to_contain_text("+2 h")
    wait_until_saved(page)
    assert load_draft(world)["Fell at home"].draft.time == 2.0


def test_a_pause_and_then_enter_are_one_edit(editor):
    page = editor()
    mark_occurrence(page, "Fell at home")
    wait_until_saved(page)
    before = AuthoringEdit.objects.count()
    paused = PausedAnswers(page)
    time_field(page).fill("-3 d")
    page.wait_for_timeout(PAUSE_MS)
    time_field(page).press("Enter")
    paused.let_go(0)
    expect(find_row(page, "Fell at home")).to_contain_text("−3 d")
    wait_until_saved(page)
    assert AuthoringEdit.objects.count() == before + 1
    assert len(paused.routes) == 1, "one text is asked for once"


@pytest.mark.deep
def test_a_pause_between_two_words_keeps_the_space(editor, world):
    page = editor()
    mark_occurrence(page, "Fell at home")
    name = page.get_by_label("Name", exact=True)
    name.fill("")
    name.press_sequentially("Fall ")
    page.wait_for_timeout(PAUSE_MS)
    wait_until_saved(page)
    name.press_sequentially("at home")
    expect(name).to_have_value("Fall at home")
    name.press("Enter")
    wait_until_saved(page)
    assert "Fall at home" in load_draft(world)


@pytest.mark.deep
def test_who_has_gone_on_to_another_occurrence_is_left_there(editor, world):
    page = editor()
    mark_occurrence(page, "Fell at home")
    mark_occurrence(page, "Denied headache")
    paused = PausedAnswers(page)
    time_field(page).fill("-3 d")
    time_field(page).press("Enter")
    find_row(page, "Fell at home").click()
    time_field(page).click()
    page.keyboard.type("-2")
    paused.wait_for(1)
    paused.let_go(0)
    expect(find_row(page, "Denied headache")).to_contain_text("−3 d")
    expect(time_field(page)).to_be_focused()
    page.keyboard.type(" d")
    page.keyboard.press("Enter")
    expect(find_row(page, "Fell at home")).to_contain_text("−2 d")
    wait_until_saved(page)
    stored = load_draft(world)
    assert (stored["Denied headache"].draft.time, stored["Fell at home"].draft.time) == (
        -72.0,
        -48.0,
    )


@pytest.mark.deep
def test_undoing_while_a_time_is_being_read_takes_that_time_back(editor, world):
    page = editor()
    mark_occurrence(page, "Fell at home")
    wait_until_saved(page)
    paused = PausedAnswers(page)
    time_field(page).fill("-3 d")
    time_field(page).press("Enter")
    paused.wait_for(1)
    page.get_by_role("button", name="Undo").click()
    paused.let_go(0)
    wait_until_saved(page)
    assert not load_draft(world)["Fell at home"].draft.placed
