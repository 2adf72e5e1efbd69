"""Saving in a real browser, under difficulties.

They are a lost connection, a new sign-in, two windows, two authors at once.
"""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from accounts.models import Role
from tests import factories
from tests.functional.authoring.authoring_world import (
    assert_accessible,
    enter_time,
    find_row,
    load_draft,
    mark_occurrence,
    submit,
    take_picture,
    wait_until_saved,
)
from tests.functional.lost_connection import press_try_now
from tests.support.windows import sign_in
from timelines.authoring.actions import start_authoring
from timelines.models import Authoring, AuthoringEdit

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_lost_connection_in_mid_edit_loses_and_doubles_nothing(editor, world):
    page = editor()
    mark_occurrence(page, "Fell at home", when="-3 d")
    wait_until_saved(page)
    page.context.set_offline(True)
    mark_occurrence(page, "Denied headache", name="Headache denied", when="+0")
    find_row(page, "Fell at home").click()
    page.get_by_label("Name", exact=True).fill("Fall at home")
    page.get_by_label("Reason").fill("from the daughter")
    page.get_by_label("Reason").blur()
    banner = page.get_by_role("alert").filter(has_text="Not saved")
    expect(banner).to_contain_text("Trying again. Keep this page open.")
    expect(page.locator("[data-saved]")).to_have_text("Not saved")
    expect(find_row(page, "Headache denied")).to_contain_text("“+0”, not saved yet")
    kept = page.evaluate("JSON.stringify({...sessionStorage, ...localStorage})")
    words = ("headache", "Fell", "Fall", "daughter")
    assert not any(word in kept for word in words), (
        "text of the draft was put into the browser's storage"
    )
    assert_accessible(page)
    take_picture(page, "lost")
    page.context.set_offline(False)
    wait_until_saved(page)
    expect(banner).to_be_hidden()
    stored = load_draft(world)
    assert {name: o.draft.time for name, o in stored.items()} == {
        "Fall at home": -72.0,
        "Headache denied": 0.0,
    }
    assert stored["Fall at home"].draft.reason == "from the daughter"


@pytest.mark.deep
def test_an_answer_that_is_lost_on_its_way_is_asked_for_again_and_stored_once(editor, world):
    page = editor()
    lost = []

    def swallow(route):
        if len(lost) < 2:
            lost.append(json.loads(route.request.post_data)["token"])
            route.fetch()
            route.abort()
        else:
            route.continue_()

    page.route("**/edits/", swallow)
    mark_occurrence(page, "Fell at home")
    wait_until_saved(page)
    assert len(set(lost)) == 1, "the same token goes out again"
    assert AuthoringEdit.objects.count() == 1
    expect(page.locator("[data-rows] tr")).to_have_count(1)


@pytest.mark.deep
def test_leaving_with_unsaved_changes_is_asked_about(editor):
    page = editor()
    page.route("**/edits/", lambda route: route.abort())
    mark_occurrence(page, "Fell at home")
    with page.expect_event("dialog") as asked:
        page.close(run_before_unload=True)
    assert asked.value.type == "beforeunload"
    asked.value.dismiss()


@pytest.mark.deep
def test_after_signing_in_again_in_another_tab_the_waiting_changes_are_saved(
    editor, world, client, live_server
):
    page = editor()
    page.context.clear_cookies()
    mark_occurrence(page, "Fell at home", when="-3 d")
    banner = page.get_by_role("alert").filter(has_text="You were signed out")
    expect(banner).to_be_visible()
    expect(banner.get_by_role("link", name="Sign in in a new tab")).to_have_attribute(
        "target", "_blank"
    )
    client.logout()
    sign_in(page.context, world.clinician, live_server.url)
    banner.get_by_role("button", name="I have signed in").click()
    wait_until_saved(page)
    assert load_draft(world)["Fell at home"].draft.time == -72.0


def test_two_windows_meet_and_the_person_decides_per_occurrence(editor, world, new_window):
    first = editor()
    mark_occurrence(first, "Fell at home", when="-3 d")
    mark_occurrence(first, "Denied headache", when="0")
    wait_until_saved(first)
    second = editor(on=new_window())
    find_row(second, "Fell at home").click()
    enter_time(second, "-2 d")
    wait_until_saved(second)

    # What touches another occurrence is saved on top, without a question.
    find_row(first, "Denied headache").click()
    enter_time(first, "+1")
    wait_until_saved(first)
    expect(first.locator("[data-notice]")).to_contain_text(
        "changed in another window: 1 occurrence was updated"
    )
    expect(find_row(first, "Fell at home")).to_contain_text("−2 d")

    # The same occurrences: one has my edit, the other theirs.
    for mention, when in (("Fell at home", "-4 d"), ("Denied headache", "+2")):
        find_row(second, mention).click()
        enter_time(second, when)
        if mention == "Fell at home":
            expect(second.locator("[data-notice]")).to_be_visible()
        wait_until_saved(second)
    first.route("**/edits/", lambda route: route.abort())
    find_row(first, "Fell at home").click()
    enter_time(first, "-5 d")
    find_row(first, "Denied headache").click()
    enter_time(first, "+3")
    expect(find_row(first, "Denied headache")).to_contain_text("+3 h")
    first.unroute("**/edits/")
    press_try_now(first)
    dialog = first.get_by_role("dialog", name="Changed in another window")
    expect(dialog).to_be_visible()
    fall = dialog.get_by_role("group", name="Fell at home")
    expect(fall).to_contain_text("−5 d")
    expect(fall).to_contain_text("−4 d")
    expect(dialog.get_by_role("button", name="Save my choices")).to_be_disabled()
    fall.get_by_label("Keep mine").check()
    assert_accessible(first)
    take_picture(first, "conflict")
    dialog.get_by_role("group", name="Denied headache").get_by_label("Take theirs").check()
    dialog.get_by_role("button", name="Save my choices").click()
    wait_until_saved(first)
    stored = load_draft(world)
    assert (stored["Fell at home"].draft.time, stored["Denied headache"].draft.time) == (
        -120.0,
        2.0,
    )


@pytest.mark.deep
def test_two_authors_at_once_see_nothing_of_each_other_until_both_submitted(
    enter, world, new_window
):
    second_person = factories.make_user(world.study, Role.CLINICIAN)
    pages = {}
    for person, protocol in ((world.clinician, "unaided"), (second_person, "assisted")):
        authoring, _ = start_authoring(
            encounter=world.encounter, protocol=Authoring.Protocol(protocol), by=person
        )
        page = pages[person] = enter(new_window(), person, f"/authoring/{authoring.public_id}/")
        page.wait_for_selector("#authoring[data-ready]")
    first, second = pages.values()
    mark_occurrence(first, "Fell at home", name="fall of the first author", when="-3 d")
    mark_occurrence(second, "Fell at home", name="fall of the second author", when="-2 d")
    mark_occurrence(second, "Diet was advanced", when="N/A")
    for page in (first, second):
        wait_until_saved(page)
    other = Authoring.objects.get(author=world.clinician)
    second.goto(
        second.url.replace(Authoring.objects.get(author=second_person).public_id, other.public_id)
    )
    expect(second.get_by_role("heading", level=1)).not_to_contain_text("timeline")
    second.go_back()
    second.wait_for_selector("#authoring[data-ready]")

    submit(first)
    agreement = f"/cases/{world.encounter.public_id}/agreement/"
    for path in (world.address, agreement, "/authoring/"):
        second.goto(second.url.split("/", 3)[0] + "//" + second.url.split("/")[2] + path)
        assert "first author" not in second.content()
        assert f"author:{world.clinician.username}" not in second.content()
    first.goto(first.url.split("/authoring/")[0] + agreement)
    assert "second author" not in first.content()

    enter(
        second,
        second_person,
        f"/authoring/{Authoring.objects.get(author=second_person).public_id}/",
    )
    second.wait_for_selector("#authoring[data-ready]")
    expect(find_row(second, "fall of the second author")).to_be_visible()
    submit(second)
    for page in (first, second):
        page.goto(page.url.split("/", 3)[0] + "//" + page.url.split("/")[2] + agreement)
        expect(page.get_by_role("main")).to_contain_text("fall of the first author")
        expect(page.get_by_role("main")).to_contain_text("fall of the second author")
        assert_accessible(page)
        take_picture(page, "agreement")
