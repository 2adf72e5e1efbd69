"""Reviewers lose no work.

A lost connection, an ended session, another device, a lease that ran out, an impatient hand.
"""

from __future__ import annotations

import json
import re
from datetime import timedelta

import pytest
from playwright.sync_api import Page, Route, expect

from accounts.models import Role
from adjudication.blinding.visibility import are_sides_swapped
from adjudication.models import Assignment, Decision, PacketItem, Slot
from adjudication.packets import actions as packets
from adjudication.review import decisions, slots
from jobs.leases.clock import database_time
from tests import factories
from tests.functional.lost_connection import press_try_now
from tests.functional.review.review_world import (
    PacketWorld,
    assert_accessible,
    press_answer,
    read_item_id,
    take_picture,
    wait_for_item,
    wait_until_saved,
)
from tests.support.windows import sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def banner(page: Page, words: str):
    return page.get_by_role("alert").filter(has_text=words)


def expect_pressed(page: Page, name: str) -> None:
    expect(page.get_by_role("button", name=re.compile(name))).to_have_attribute(
        "aria-pressed", "true"
    )


def test_a_lost_connection_loses_and_doubles_nothing(reviewing, packed):
    page = reviewing()
    page.keyboard.press("c")
    page.keyboard.type("from the daughter")
    page.keyboard.press("Escape")
    page.wait_for_selector("#review[data-ahead]")
    page.context.set_offline(True)
    first = press_answer(page, "2")
    expect(page.locator("[data-saved]")).to_have_text("Not saved")
    second = read_item_id(page)
    page.keyboard.press("5")
    page.keyboard.press("Enter")
    expect(banner(page, "No connection")).to_contain_text("2 steps are stored")
    expect(page.locator("[data-saved]")).to_have_text("Not saved")
    expect(page.locator(".stage-wait")).to_have_text(
        "Not sent yet: Unclear. Waiting for the next item…"
    )
    kept = page.evaluate("JSON.stringify({...sessionStorage, ...localStorage})")
    assert "daughter" not in kept
    assert first not in kept
    assert_accessible(page)
    take_picture(page, "lost")
    page.context.set_offline(False)
    wait_until_saved(page)
    wait_for_item(page)
    expect(banner(page, "No connection")).to_be_hidden()
    stored = packed.decided()
    assert [(d.kind, d.item.public_id) for d in stored] == [("answer", first), ("answer", second)]
    assert stored[0].comment == "from the daughter"
    assert read_item_id(page) not in (first, second)


def test_an_answer_lost_on_its_way_is_asked_for_again_and_stored_once(reviewing, packed):
    page = reviewing()
    lost: list[str] = []

    def swallow(route: Route) -> None:
        if len(lost) < 2:
            lost.append(json.loads(route.request.post_data or "{}")["token"])
            route.fetch()
            route.abort()
        else:
            route.continue_()

    page.route("**/decide/", swallow)
    press_answer(page, "1")
    wait_until_saved(page)
    assert len(set(lost)) == 1, "the same token goes out again"
    assert packed.kinds() == ["answer"]


@pytest.mark.deep
def test_leaving_with_an_answer_on_its_way_is_asked_about(reviewing, page):
    reviewing()
    page.route("**/decide/", lambda route: route.abort())
    press_answer(page, "1")
    with page.expect_event("dialog") as asked:
        page.close(run_before_unload=True)
    assert asked.value.type == "beforeunload"
    asked.value.dismiss()
    page.unroute("**/decide/")
    press_try_now(page)
    wait_until_saved(page)


@pytest.mark.deep
def test_an_ended_session_costs_a_sign_in(reviewing, packed, client, live_server):
    page = reviewing()
    page.wait_for_selector("#review[data-ahead]")
    page.context.clear_cookies()
    first = press_answer(page, "5")
    signed_out = banner(page, "You were signed out")
    expect(signed_out).to_contain_text("Sign in as r.iyer in a new tab")
    expect(signed_out.get_by_role("link", name="Sign in in a new tab")).to_have_attribute(
        "target", "_blank"
    )
    page.keyboard.press("6")
    sign_in(page.context, packed.reviewer, live_server.url)
    signed_out.get_by_role("button", name="I have signed in").click()
    wait_until_saved(page)
    expect(signed_out).to_be_hidden()
    expect_pressed(page, "^6 Not a finding")
    assert [(d.kind, d.item.public_id) for d in packed.decided()] == [("answer", first)]


@pytest.mark.deep
def test_what_was_chosen_is_there_on_another_device(reviewing, packed, new_window):
    page = reviewing()
    item = read_item_id(page)
    page.keyboard.press("5")
    page.keyboard.press("t")
    page.keyboard.type("-12")
    page.keyboard.press("Enter")
    page.keyboard.press("c")
    with page.expect_response(
        lambda answer: (
            answer.url.endswith("/draft/") and "transfer" in (answer.request.post_data or "")
        )
    ) as response:
        page.keyboard.type("both miss the transfer")
        page.keyboard.press("Enter")
    assert response.value.ok
    other = reviewing(on=new_window())
    assert read_item_id(other) == item
    expect_pressed(other, "^5 Unclear")
    expect(other.get_by_label("Comment")).to_have_value("both miss the transfer")
    expect(other.get_by_label("Your own time")).to_have_value("−12 h")
    assert float(other.locator("[data-item]").get_attribute("data-seconds") or 0) > 0
    other.keyboard.press("Enter")
    wait_until_saved(other)
    (stored,) = packed.decided()
    assert (stored.own_time, stored.comment) == (-12.0, "both miss the transfer")


@pytest.mark.deep
def test_the_second_of_two_windows_is_told_what_stands(reviewing, packed, new_window):
    page = reviewing()
    other = reviewing(on=new_window())
    assert press_answer(page, "1") == press_answer(other, "2")
    wait_until_saved(page)
    wait_until_saved(other)
    late = (
        page
        if "decided on this item already" in page.locator("[data-notice]").inner_text()
        else other
    )
    expect(late.locator("[data-notice]")).to_contain_text("Your first answer was not changed")
    assert packed.kinds() == ["answer"]
    wait_for_item(late)


def decide_as_another(packed: PacketWorld, item_id: str) -> None:
    """The lease runs out, and somebody else answers the item."""
    person = factories.make_user(packed.packet.study, Role.REVIEWER)
    theirs = packets.assign(packet=packed.packet, person=person, by=packed.admin)
    Assignment.objects.filter(pk=theirs.pk).update(practised_at=packed.packet.opened_at)
    Slot.objects.filter(item__public_id=item_id).update(
        lease_expires_at=database_time(timedelta(seconds=-1))
    )
    item = PacketItem.objects.get(public_id=item_id)
    swapped = are_sides_swapped(theirs.seed, item_id)
    made = decisions.decide(
        assignment=theirs, item=item, answer="A", shown_swapped=swapped, token="other", by=person
    )
    assert not made.late


@pytest.mark.deep
def test_a_late_answer_is_told_so_and_kept(reviewing, packed):
    page = reviewing()
    item = read_item_id(page)
    page.wait_for_selector("#review[data-ahead]")
    decide_as_another(packed, item)
    page.keyboard.press("2")
    expect(page.locator("[data-notice]")).to_contain_text("another reviewer has it now")
    page.keyboard.press("Enter")
    expect(page.locator("[data-notice]")).to_contain_text("Your answer was late")
    assert packed.kinds() == ["answer", "late"]
    wait_for_item(page)
    assert read_item_id(page) != item


@pytest.mark.deep
def test_an_answer_after_closing_is_kept_as_late_and_ends_the_page(reviewing, packed):
    page = reviewing()
    page.wait_for_selector("#review[data-ahead]")
    packets.close_packet(packet=packed.packet, by=packed.admin)
    press_answer(page, "2")
    expect(page.locator("[data-notice]")).to_contain_text("the packet was closed")
    assert packed.kinds() == ["late"]
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="This review is closed")).to_be_visible()
    assert packed.kinds() == ["late", "late"]


@pytest.mark.deep
def test_an_impatient_hand_answers_once(reviewing, packed):
    page = reviewing()
    page.wait_for_selector("#review[data-ahead]")
    first = read_item_id(page)
    page.locator("[data-answer-value][aria-keyshortcuts='2']").dblclick()
    page.get_by_role("button", name=re.compile("Save, next")).dblclick()
    wait_until_saved(page)
    wait_for_item(page)
    stored = packed.decided()
    assert [(d.kind, d.item.public_id) for d in stored] == [("answer", first)]
    expect(page.get_by_role("button", name=re.compile("Save, next"))).to_be_disabled()


@pytest.mark.deep
def test_pausing_forgets_nothing_and_holds_no_item_twice(reviewing, packed, page):
    reviewing()
    before = read_item_id(page)
    page.keyboard.press("5")
    page.get_by_role("link", name="Pause").click()
    expect(page.get_by_role("heading", name="Validation sample")).to_be_visible()
    page.get_by_role("link", name="Start", exact=True).click()
    wait_for_item(page)
    assert read_item_id(page) == before
    expect_pressed(page, "^5 Unclear")
    leased = Slot.objects.filter(assignment=packed.assignment, decision__isnull=True)
    assert leased.count() <= 2, "the item on screen and the one after"
    assert slots.progress(assignment=packed.assignment).done == 0
    assert Decision.objects.count() == 0
