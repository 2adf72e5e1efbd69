"""Authoring in a real browser: by mouse, by keyboard alone, by two at once, from two windows, and over a lost connection.

Pictures go to ARTIFACTS (default `var/artifacts/authoring`), which is not committed.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.conf import settings
from django.core.cache import cache
from django.test import Client
from playwright.sync_api import Page, expect

from accounts.models import Role, User
from tests import demo_cases, factories
from tests.functional.authoring_world import all_saved, drag, drag_over, mark, place, row
from tests.functional.case_world import MARKUP, build_world
from timelines.authoring_actions import start_authoring
from timelines.authoring_edits import Edit, apply_edit
from timelines.models import AnchorSuggestion, Authoring, AuthoringEdit, Occurrence

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

WIDE, NARROW, PHONE = {"width": 1440, "height": 900}, {"width": 900, "height": 1100}, {"width": 390, "height": 844}


@pytest.fixture
def world():
    cache.clear()
    return build_world()


@pytest.fixture
def enter(live_server):
    """Signs a person into a browser window and opens a path."""

    def enter_(page: Page, person: User, path: str) -> Page:
        client = Client()
        client.force_login(person)
        page.context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": client.cookies["sessionid"].value, "url": live_server.url}])
        page.set_viewport_size(WIDE)
        page.complaints = []
        page.on("console", lambda message: page.complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.goto(f"{live_server.url}{path}")
        return page

    return enter_


@pytest.fixture
def new_window(browser):
    """A browser window with cookies of its own."""
    made = []

    def new_window_() -> Page:
        made.append(browser.new_context())
        return made[-1].new_page()

    yield new_window_
    for context in made:
        context.close()


@pytest.fixture
def editor(world, enter, page):
    """The editor of a draft of the world's case, begun by its clinician."""

    def editor_(protocol: str = "unaided", on: Page | None = None) -> Page:
        authoring, _ = start_authoring(encounter=world.encounter, protocol=Authoring.Protocol(protocol), by=world.clinician)
        opened = enter(on or page, world.clinician, f"/authoring/{authoring.public_id}/")
        opened.wait_for_selector("#authoring[data-ready]")
        return opened

    return editor_


def test_a_timeline_is_authored_with_the_mouse(editor, world):
    page = editor()
    expect(page.get_by_text("select its words in the note")).to_be_visible()
    mark(page, "Fell at home", name="Fall at home", when="-3 d")
    expect(row(page, "Fall at home")).to_contain_text("−3 d (21 Feb, 14:38)")
    mark(page, "Head CT showed a large left thalamic hemorrhage")
    expect(page.get_by_label("Name", exact=True)).to_have_value("Head CT showed a large left thalamic hemorrhage")
    page.get_by_label("Time", exact=True).fill("HD 1 15:40")
    expect(page.locator("[data-when-read]")).to_have_text("+1 h (HD 1, 15:40)")
    page.get_by_label("Not before").fill("+30 min")
    page.get_by_label("Not after").fill("HD 1 18:00")
    page.get_by_label("Not after").press("Tab")
    expect(page.locator("[data-when-read]")).to_contain_text("between")
    mark(page, "Diet was advanced")
    page.get_by_role("button", name="N/A").click()
    expect(row(page, "Diet was advanced")).to_contain_text("N/A")
    mark(page, "Denied headache", name="headache")
    page.get_by_label("is denied or absent").check()
    page.get_by_label("Context").select_option(label="Fall at home · −3 d (21 Feb, 14:38)")
    place(page, "0")
    expect(page.locator("[data-progress-words]")).to_have_text("4 of 4 placed")
    all_saved(page)
    stored = by_mention(world)
    assert stored["Fall at home"].draft.time == -72.0
    ct = stored["Head CT showed a large left thalamic hemorrhage"]
    assert (world.note.text[ct.start : ct.end], ct.draft.lower, ct.draft.upper) == (ct.mention, 0.5, pytest.approx(3.366667))
    assert (stored["headache"].polarity, stored["headache"].draft.context) == ("absent", [stored["Fall at home"].uid4])
    assert (stored["Diet was advanced"].draft.placed, stored["Diet was advanced"].draft.time) == (True, None)
    assert page.complaints == []


def test_a_timeline_is_authored_with_the_keyboard_alone(editor, world):
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
    expect(row(page, "Fall njku? at home")).to_contain_text("−3 d")

    # Words to the right of the mark: the Hebrew one, where the note has CRLF, a tab and an accent of two characters before it.
    for _ in range(18):
        keys.press("ArrowRight")
    expect(page.locator("[data-announce]")).to_have_text("שלום")
    keys.press("Enter")
    keys.press("Enter")
    keys.type("HD 2 08:00")
    keys.press("Enter")
    expect(row(page, "שלום")).to_contain_text("(HD 2, 08:00)")

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
    expect(row(page, "Triage wrot")).to_have_count(0)
    keys.press("Control+z")
    expect(row(page, "Triage wrot")).to_have_count(1)
    keys.press("Control+Shift+z")
    expect(row(page, "Triage wrot")).to_have_count(0)

    keys.press("k")
    keys.press("k")
    keys.press("t")
    expect(page.get_by_label("Time", exact=True)).to_be_focused()
    keys.press("Escape")
    keys.press("?")
    expect(page.get_by_role("dialog", name="Keys and signs")).to_be_visible()
    keys.press("Delete")
    keys.press("Escape")
    all_saved(page)
    stored = by_mention(world)
    assert set(stored) == {"Fall njku? at home", "שלום"}, "a key typed into a field or through a dialog did something else"
    for occurrence in stored.values():
        assert world.note.text[occurrence.start : occurrence.end] in {"Fell at home", "שלום"}
    assert page.complaints == []


def test_marks_are_split_merged_moved_and_taken_back(editor, world):
    page = editor()
    mark(page, "left thalamic hemorrhage with intraventricular extension", when="+1")
    drag_over(page, "intraventricular extension")
    page.get_by_role("button", name="Split here").click()
    expect(page.locator("[data-rows] tr")).to_have_count(2)
    expect(row(page, "left thalamic hemorrhage with")).to_contain_text("+1 h")
    page.get_by_role("button", name="End one word earlier").click()
    expect(row(page, "left thalamic hemorrhage")).to_be_visible()
    drag_over(page, "large")
    page.get_by_role("button", name="Move mark here").click()
    expect(row(page, "large")).to_be_visible()
    keys = page.keyboard
    for _ in range(2):
        keys.press("Control+z")
    expect(row(page, "left thalamic hemorrhage with")).to_be_visible()

    row(page, "left thalamic hemorrhage with").get_by_role("checkbox").check()
    page.get_by_role("button", name="Merge").is_disabled()
    row(page, "intraventricular extension").click(modifiers=["Control"])
    page.get_by_role("button", name="Merge 2").click()
    expect(page.locator("[data-rows] tr")).to_have_count(1)
    expect(page.locator("[data-span-text]")).to_have_text("left thalamic hemorrhage with intraventricular extension")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("[data-rows] tr")).to_have_count(2)
    page.get_by_role("button", name="Redo").click()
    expect(page.locator("[data-rows] tr")).to_have_count(1)
    all_saved(page)
    assert [(o.mention, o.draft.time) for o in by_mention(world).values()] == [("left thalamic hemorrhage with", 1.0)]
    page.reload()
    page.wait_for_selector("#authoring[data-ready]")
    keys.press("Control+z")
    expect(page.locator("[data-rows] tr")).to_have_count(2)
    assert page.complaints == []


def test_overlapping_and_nested_marks_stay_visible_and_reachable(editor, world):
    page = editor()
    mark(page, "Head CT showed a large left thalamic hemorrhage")
    page.keyboard.press("Escape")
    drag(page, "thalamic", "intraventricular extension")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    drag(page, "thalamic", "hemorrhage")
    page.keyboard.press("Enter")
    expect(page.locator("[data-rows] tr")).to_have_count(3)
    all_saved(page)
    inner = page.locator(".seg").filter(has_text="thalamic hemorrhage").first
    assert inner.locator(".u").count() == 3
    page.keyboard.press("Escape")
    names = []
    for _ in range(3):
        inner.click()
        names.append(page.locator("[data-form-title]").inner_text())
    assert len(set(names)) == 3
    shown = page.evaluate("[...document.querySelectorAll('.note-text')].map((part) => part.textContent).join('')")
    assert shown == world.note.text


def test_a_submitted_timeline_is_locked_and_opened_again_with_a_reason(editor, world):
    page = editor()
    mark(page, "Fell at home", when="-3 d")
    mark(page, "Diet was advanced")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Submit…").click()
    dialog = page.get_by_role("dialog", name="Submit this timeline")
    expect(dialog).to_contain_text("1 occurrence is not placed yet")
    expect(dialog.get_by_role("button", name="Submit and lock")).to_be_disabled()
    dialog.get_by_role("button", name="Diet was advanced").click()
    expect(page.get_by_label("Time", exact=True)).to_be_focused()
    place(page, "N/A")
    all_saved(page)
    page.get_by_role("button", name="Submit…").click()
    dialog.get_by_role("button", name="Submit and lock").click()
    page.wait_for_selector("#authoring.is-locked[data-ready]")
    expect(page.get_by_role("region", name="Submitted")).to_contain_text("It is locked")
    row(page, "Fell at home").click()
    expect(page.get_by_label("Name", exact=True)).to_be_disabled()
    expect(page.get_by_role("button", name="Remove occurrence")).to_have_count(0)
    page.locator("[data-note]").focus()
    page.keyboard.press("n")
    page.keyboard.press("Delete")
    expect(page.locator("[data-rows] tr")).to_have_count(2)

    page.get_by_text("Open again…").click()
    page.get_by_label("Why does it have to change?").fill("the fall was a day later")
    page.get_by_role("button", name="Open for changes").click()
    page.wait_for_selector("#authoring:not(.is-locked)[data-ready]")
    row(page, "Fell at home").click()
    place(page, "-2 d")
    all_saved(page)
    assert by_mention(world)["Fell at home"].draft.time == -48.0
    assert page.complaints == []


def test_a_lost_connection_in_mid_edit_loses_and_doubles_nothing(editor, world):
    page = editor()
    mark(page, "Fell at home", when="-3 d")
    all_saved(page)
    page.context.set_offline(True)
    mark(page, "Denied headache", name="Headache denied", when="+0")
    row(page, "Fell at home").click()
    page.get_by_label("Name", exact=True).fill("Fall at home")
    page.get_by_label("Reason").fill("told by the daughter")
    page.get_by_label("Reason").blur()
    banner = page.get_by_role("alert").filter(has_text="Not saved")
    expect(banner).to_contain_text("trying again. Keep this page open.")
    expect(page.locator("[data-saved]")).to_have_text("Not saved")
    expect(row(page, "Headache denied")).to_contain_text("“+0”, read once saved")
    kept = page.evaluate("JSON.stringify({...sessionStorage, ...localStorage})")
    assert not any(words in kept for words in ("headache", "Fell", "Fall", "daughter")), "text of the draft was put into the browser's storage"
    page.context.set_offline(False)
    all_saved(page)
    expect(banner).to_be_hidden()
    stored = by_mention(world)
    assert {name: o.draft.time for name, o in stored.items()} == {"Fall at home": -72.0, "Headache denied": 0.0}
    assert stored["Fall at home"].draft.reason == "told by the daughter"


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
    mark(page, "Fell at home")
    all_saved(page)
    assert len(set(lost)) == 1, "the same token goes out again"
    assert AuthoringEdit.objects.count() == 1
    expect(page.locator("[data-rows] tr")).to_have_count(1)


def test_leaving_with_unsaved_changes_is_asked_about(editor):
    page = editor()
    page.route("**/edits/", lambda route: route.abort())
    mark(page, "Fell at home")
    asked = []
    page.once("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    page.close(run_before_unload=True)
    page.wait_for_timeout(300)
    assert asked == ["beforeunload"]


def test_after_signing_in_again_in_another_tab_the_waiting_changes_are_saved(editor, world, client, live_server):
    page = editor()
    page.context.clear_cookies()
    mark(page, "Fell at home", when="-3 d")
    banner = page.get_by_role("alert").filter(has_text="You were signed out")
    expect(banner).to_be_visible()
    expect(banner.get_by_role("link", name="Sign in in a new tab")).to_have_attribute("target", "_blank")
    client.logout()
    client.force_login(world.clinician)
    page.context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": client.cookies["sessionid"].value, "url": live_server.url}])
    banner.get_by_role("button", name="I have signed in").click()
    all_saved(page)
    assert by_mention(world)["Fell at home"].draft.time == -72.0


def test_two_windows_meet_and_the_person_decides_per_occurrence(editor, world, new_window):
    first = editor()
    mark(first, "Fell at home", when="-3 d")
    mark(first, "Denied headache", when="0")
    all_saved(first)
    second = editor(on=new_window())
    row(second, "Fell at home").click()
    place(second, "-2 d")
    all_saved(second)

    # What touches another occurrence is saved on top, without a question.
    row(first, "Denied headache").click()
    place(first, "+1")
    all_saved(first)
    expect(first.locator("[data-notice]")).to_contain_text("changed in another window: 1 occurrence was brought up to date")
    expect(row(first, "Fell at home")).to_contain_text("−2 d")

    # The same occurrences: mine of one is kept, theirs of the other is taken.
    for mention, when in (("Fell at home", "-4 d"), ("Denied headache", "+2")):
        row(second, mention).click()
        place(second, when)
        if mention == "Fell at home":
            expect(second.locator("[data-notice]")).to_be_visible()
        all_saved(second)
    first.route("**/edits/", lambda route: route.abort())
    row(first, "Fell at home").click()
    place(first, "-5 d")
    row(first, "Denied headache").click()
    place(first, "+3")
    expect(row(first, "Denied headache")).to_contain_text("+3 h")
    first.unroute("**/edits/")
    first.get_by_role("button", name="Try now").click()
    dialog = first.get_by_role("dialog", name="Changed in another window")
    expect(dialog).to_be_visible(timeout=15_000)
    fall = dialog.get_by_role("group", name="Fell at home")
    expect(fall).to_contain_text("−5 d")
    expect(fall).to_contain_text("−4 d")
    expect(dialog.get_by_role("button", name="Save what I chose")).to_be_disabled()
    fall.get_by_label("Keep mine").check()
    dialog.get_by_role("group", name="Denied headache").get_by_label("Take theirs").check()
    dialog.get_by_role("button", name="Save what I chose").click()
    all_saved(first)
    stored = by_mention(world)
    assert (stored["Fell at home"].draft.time, stored["Denied headache"].draft.time) == (-120.0, 2.0)


def test_a_row_of_the_record_gives_its_time_and_is_cited(editor, world):
    page = editor()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    mark(page, "Andexanet alfa was given")
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
    expect(page.locator("[data-when-read]")).to_have_text("+6.5 h (HD 1, 21:08)")
    expect(page.locator("[data-cited]")).to_contain_text("med andexanet alfa started")
    expect(page.locator(".u-moved")).to_have_text("Andexanet alfa was given")
    all_saved(page)
    page.reload()
    page.wait_for_selector("#authoring[data-ready]")
    row(page, "Andexanet alfa was given").click()
    expect(page.locator("[data-cited]")).to_contain_text("med andexanet alfa started")
    assert_accessible(page)
    draft = by_mention(world)["Andexanet alfa was given"].draft
    assert (draft.time, len(draft.rows)) == (6.5, 1)
    page.get_by_role("button", name="Do not rest on").click()
    expect(page.locator("[data-cited] li")).to_have_count(0)
    all_saved(page)
    assert not any("suggestions" in url for url in asked), "an unaided page asked for suggestions"
    assert page.evaluate("window.hit") is None
    assert page.complaints == []


def test_in_the_assisted_protocol_suggestions_stand_beside_the_occurrence(editor, world):
    page = editor("assisted")
    mark(page, "Andexanet alfa was given")
    suggested = page.get_by_role("group", name="Suggested")
    expect(suggested).to_contain_text("med andexanet alfa started", timeout=20_000)
    picture(page, "assisted")
    assert_accessible(page)
    suggested.get_by_role("button", name="Use med andexanet alfa started").click()
    expect(page.locator("[data-when-read]")).to_have_text("+6.5 h (HD 1, 21:08)")
    expect(suggested).to_contain_text("accepted")
    all_saved(page)
    taken = AnchorSuggestion.objects.get(accepted_at__isnull=False)
    assert by_mention(world)["Andexanet alfa was given"].draft.rows == [taken.row_index]


def test_the_history_tells_every_edit(editor):
    page = editor()
    mark(page, "Fell at home", when="-3 d")
    expect(row(page, "Fell at home")).to_contain_text("−3 d")
    all_saved(page)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Undo").click()
    all_saved(page)
    page.get_by_role("button", name="History").click()
    lines = page.get_by_role("dialog", name="History").get_by_role("listitem")
    expect(lines).to_have_count(3)
    expect(lines.nth(0)).to_contain_text("Undid: changed Fell at home")
    expect(lines.nth(1)).to_contain_text("time not placed yet → −3 d (21 Feb, 14:38)")
    assert_accessible(page)
    picture(page, "history")


def test_two_authors_at_once_see_nothing_of_each_other_until_both_submitted(enter, world, new_window):
    second_person = factories.make_user(world.study, Role.CLINICIAN)
    pages = {}
    for person, protocol in ((world.clinician, "unaided"), (second_person, "assisted")):
        authoring, _ = start_authoring(encounter=world.encounter, protocol=Authoring.Protocol(protocol), by=person)
        page = pages[person] = enter(new_window(), person, f"/authoring/{authoring.public_id}/")
        page.wait_for_selector("#authoring[data-ready]")
    first, second = pages.values()
    mark(first, "Fell at home", name="fall of the first author", when="-3 d")
    mark(second, "Fell at home", name="fall of the second author", when="-2 d")
    mark(second, "Diet was advanced", when="N/A")
    for page in (first, second):
        all_saved(page)
    other = Authoring.objects.get(author=world.clinician)
    second.goto(second.url.replace(Authoring.objects.get(author=second_person).public_id, other.public_id))
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

    enter(second, second_person, f"/authoring/{Authoring.objects.get(author=second_person).public_id}/")
    second.wait_for_selector("#authoring[data-ready]")
    expect(row(second, "fall of the second author")).to_be_visible()
    submit(second)
    for page in (first, second):
        page.goto(page.url.split("/", 3)[0] + "//" + page.url.split("/")[2] + agreement)
        expect(page.get_by_role("main")).to_contain_text("fall of the first author")
        expect(page.get_by_role("main")).to_contain_text("fall of the second author")
        assert_accessible(page)
        picture(page, "agreement")


def submit(page: Page) -> None:
    page.get_by_role("button", name="Submit…").click()
    page.get_by_role("button", name="Submit and lock").click()
    page.wait_for_selector("#authoring.is-locked[data-ready]")


def test_a_case_is_chosen_and_the_protocol_said_before_anything_is_seen(enter, world, page):
    enter(page, world.clinician, "/authoring/")
    expect(page.get_by_role("heading", name="You have not begun a timeline")).to_be_visible()
    assert_accessible(page)
    page.get_by_role("main").get_by_role("link", name="Choose a case").first.click()
    page.get_by_role("link", name="Author a timeline of").click()
    assert_accessible(page)
    picture(page, "start")
    page.get_by_role("radio", name="Unaided").check()
    page.get_by_role("button", name="Begin").click()
    page.wait_for_selector("#authoring[data-ready]")
    expect(page.locator(".case-stay")).to_contain_text("unaided")
    page.goto(page.url.split("/authoring/")[0] + "/")
    expect(page.get_by_role("main")).to_contain_text("0 of 0 placed")
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Authoring").click()
    expect(page.get_by_role("region", name="My timelines")).to_contain_text("Unaided")
    assert_accessible(page)
    picture(page, "list")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_and_pictures_are_taken(editor, enter, world, page, theme):
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    built = demo_cases.build(world.encounter.dataset, demo_cases.shipped())
    opened = editor()
    assert_accessible(opened)
    picture(opened, f"empty-{theme}")
    authoring = drafted(built, world.clinician)
    for name, size in (("wide", WIDE), ("narrow", NARROW), ("phone", PHONE)):
        enter(page, world.clinician, f"/authoring/{authoring.public_id}/")
        page.set_viewport_size(size)
        page.wait_for_selector("#authoring[data-ready]")
        wide = "[...document.querySelectorAll('*')].filter((e) => e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.className).slice(0, 9)"
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), page.evaluate(wide)
        assert_accessible(page)
        page.locator("[data-rows] tr").nth(5).click()
        assert_accessible(page)
        picture(page, f"{name}-{theme}")
    page.set_viewport_size(WIDE)
    page.get_by_role("button", name="Submit…").click()
    assert_accessible(page)
    picture(page, f"submit-{theme}")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    assert_accessible(page)
    picture(page, f"help-{theme}")
    assert page.complaints == []


def drafted(built, author: User) -> Authoring:
    """A draft with the occurrences of a built case: every third one is still to place, one has no time."""
    authoring, _ = start_authoring(encounter=built.encounter, protocol=Authoring.Protocol.UNAIDED, by=author)
    for n, o in enumerate(built.occurrences):
        values = {"start": o.start, "end": o.end, "mention": o.mention, "polarity": o.polarity, "lane": o.lane}
        if n % 3 != 2:
            values |= {"time_text": "N/A" if n == 4 else f"{'-' if n % 2 else '+'}{n * n} h" if n % 4 else "HD 2"}
        apply_edit(authoring=authoring, edit=Edit(f"t{n}", n, "add", values=values), by=author)
    return authoring


def assert_accessible(page: Page) -> None:
    page.wait_for_timeout(200)
    found = Axe().run(page)
    violations = [(v["id"], [node["html"][:160] for node in v["nodes"]][:3]) for v in found.response["violations"]]
    assert violations == []


def picture(page: Page, name: str) -> None:
    folder = Path(os.environ.get("ARTIFACTS", Path(settings.BASE_DIR) / "var" / "artifacts")) / "authoring"
    folder.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=folder / f"{name}.png")


def by_mention(world) -> dict[str, Occurrence]:
    """The stored draft of the world's clinician."""
    found = Occurrence.objects.filter(inventory__authoring__author=world.clinician).select_related("draft")
    return {occurrence.mention: occurrence for occurrence in found}
