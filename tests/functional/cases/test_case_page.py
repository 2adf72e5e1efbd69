"""The case page in a real browser: keyboard, exact text, axe, pictures.

Both themes are covered. Pictures go to ARTIFACTS (default `var/artifacts/case-page`), which is not
committed.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.conf import settings
from django.core.cache import cache
from playwright.sync_api import expect

from tests import demo_cases, factories
from tests.functional.cases.case_world import MARKUP, build_world
from tests.support.windows import collect_complaints, sign_in
from timelines.domain import TimelineKind

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

WIDE, TABLET = {"width": 1440, "height": 900}, {"width": 820, "height": 1180}
PANEL = "#chain-pane"


@pytest.fixture
def world():
    cache.clear()
    return build_world()


@pytest.fixture
def opened(world, live_server, page, complaints):
    """Open a path of the case signed in, at the wide size.

    It collects the console's errors.
    """
    sign_in(page.context, world.clinician, live_server.url)
    page.set_viewport_size(WIDE)
    collect_complaints(page, complaints)

    def open_(path: str = ""):
        page.goto(f"{live_server.url}{world.address}{path}")
        page.wait_for_selector("#case[data-ready]")
        return page

    return open_


def read_selected(page) -> str | None:
    # The window's own address: Playwright hears of a change of it a moment later.
    found = re.search(r"[?&]o=([0-9a-f]{4})", page.evaluate("location.search"))
    return found.group(1) if found else None


def test_the_whole_page_is_walked_with_the_keyboard_alone(opened, world):
    page = opened()
    keys = page.keyboard
    keys.press("j")
    assert read_selected(page) == world.uid("fall")
    expect(page.locator(f"{PANEL} h2")).to_have_text("Fell at home")
    expect(page.locator(f"{PANEL} #step-3")).to_contain_text("−3 d")
    keys.press("[")
    assert read_selected(page) == world.uid("andexanet")
    expect(page.locator(f"{PANEL} .chain-when")).to_contain_text(
        "HD 1 · 21:08 (+6.5 h) · from the record · 5 h later · text HD 1 · 16:08"
    )
    expect(page.locator(f"{PANEL} #step-8")).to_contain_text("rules 1.0 / adopt-row")
    expect(page.locator(".seg.is-selected").first).to_be_focused()
    keys.press("k")
    assert read_selected(page) == world.uid("bleed")

    keys.press("/")
    keys.type("andexj[?")
    assert read_selected(page) == world.uid("bleed"), "a key typed into a field did something else"
    expect(page.locator("#case-search-count")).to_have_text("0 in the note · 0 series")
    for _ in range(3):
        keys.press("Backspace")
    expect(page.locator("#case-search-count")).to_have_text("1 in the note · 1 series")
    keys.press("Enter")
    assert read_selected(page) == world.uid("andexanet")
    keys.press("Escape")
    expect(page.locator("#case-search")).to_have_value("")

    keys.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    keys.press("j")
    assert read_selected(page) == world.uid("andexanet"), "a key went through the dialog"
    keys.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    keys.press("Escape")
    assert read_selected(page) is None


def test_the_plot_and_its_window_answer_to_keys(opened, world):
    page = opened()
    page.keyboard.press("2")
    page.locator("[data-plot-scroll]").focus()
    page.keyboard.press("ArrowRight")
    assert read_selected(page) == world.uid("fall"), "the earliest occurrence comes first"
    page.keyboard.press("ArrowRight")
    assert read_selected(page) == world.uid("apixaban")
    page.keyboard.press("+")
    page.keyboard.press("+")
    page.keyboard.press("+")
    expect(page.locator("[data-window-words]")).to_contain_text(" of 10 in window")
    expect(page.locator(f'.seg[data-o="{world.uid("second ct")}"]')).to_have_class(
        re.compile("is-dim")
    )
    page.get_by_role("slider", name="Start of the time window").focus()
    before = page.get_by_role("slider", name="Start of the time window").get_attribute(
        "aria-valuenow"
    )
    page.keyboard.press("ArrowLeft")
    assert int(
        page.get_by_role("slider", name="Start of the time window").get_attribute("aria-valuenow")
    ) < int(before)
    page.keyboard.press("Escape")
    expect(page.locator("[data-window-words]")).to_have_text("")
    page.locator(".lane-button").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".lane-button").first).to_have_attribute("aria-expanded", "false")
    expect(page.locator(".lane-button").first).to_be_focused()
    drawn = page.evaluate_handle("document.activeElement")
    page.set_viewport_size({"width": WIDE["width"] - 100, "height": WIDE["height"]})
    page.wait_for_function("lane => !lane.isConnected", arg=drawn)
    expect(page.locator(".lane-button").first).to_be_focused()


def test_the_switch_turns_every_time_of_the_page_to_hours(opened, world):
    page = opened(f"?o={world.uid('andexanet')}")
    ribbon, story = page.locator(".ribbon"), page.locator("#panel-story")
    answer = page.locator(f"{PANEL} .answer")
    expect(answer).to_contain_text("HD 1 · 21:08")
    expect(ribbon).to_contain_text("HD 2")
    page.keyboard.press("t")
    expect(answer).to_contain_text("+6.5 h")
    expect(page.locator(f"{PANEL} .chain-when")).to_contain_text("text +1.5 h")
    expect(ribbon).to_contain_text("+24 h")
    clock = re.compile(r"HD \d|\d\d:\d\d")
    for part in (ribbon, story, answer):
        assert not clock.search(part.inner_text()), part.inner_text()
    page.keyboard.press("2")
    axis = page.locator(".lanes-axis")
    expect(axis).to_contain_text("+24 h")
    assert not clock.search(axis.text_content())
    # It applies to what is loaded later, and after the page is opened again.
    page.reload()
    page.wait_for_selector("#case[data-ready]")
    expect(answer).to_contain_text("+6.5 h")
    page.keyboard.press("2")
    expect(axis).to_contain_text("+24 h")
    page.keyboard.press("t")
    expect(axis).to_contain_text("HD 2")
    expect(answer).to_contain_text("HD 1 · 21:08")


def test_the_table_sorts_filters_and_moves_with_keys(opened, world):
    page = opened()
    page.keyboard.press("3")
    expect(page.locator("#tab-table")).to_be_focused()
    rows = page.locator(".case-table tbody tr")
    expect(rows).to_have_count(10)
    page.get_by_role("button", name="Shift", exact=True).focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    expect(page.locator("th[aria-sort]")).to_have_attribute("aria-sort", "descending")
    expect(rows.first).to_contain_text("5 h later")
    rows.first.focus()
    page.keyboard.press("ArrowDown")
    assert read_selected(page) == rows.nth(1).get_attribute("data-u")
    expect(page.locator(".seg.is-selected").first).to_be_attached()
    page.get_by_label("Filter by Kind").select_option("Procedures, lines")
    expect(rows).to_have_count(2)
    expect(page.locator(".table-bar [role=status]")).to_have_text("2 of 10 occurrences")
    page.locator(".columns summary").click()
    page.get_by_label("Bounds", exact=True).uncheck()
    page.reload()
    expect(page.locator(".case-table thead th", has_text="Bounds")).to_be_hidden()


@pytest.mark.deep
def test_thousands_of_rows_come_as_they_are_needed(opened, world):
    timeline = factories.make_bare_timeline(
        world.encounter, {f"event {n}": float(n) for n in range(2500)}, source="single step"
    )
    page = opened(f"?t={timeline.public_id}")
    page.locator("#tab-lanes").press("ArrowRight")
    rows = page.locator(".case-table tbody tr")
    expect(page.locator(".case-table table")).to_have_attribute("aria-rowcount", "2502")
    assert rows.count() < 600
    rows.first.press("End")
    expect(rows).to_have_count(2500)
    expect(rows.last).to_be_focused()
    page.get_by_label("Filter by Occurrence").fill("770 event")
    expect(rows).to_have_text([re.compile("event 770"), re.compile("event 1770")])


def test_note_plot_table_and_address_follow_one_selection(opened, world):
    page = opened()
    inner = page.locator(f'.seg[data-o="{world.uid("dose")} {world.uid("apixaban")}"]')
    inner.click()
    assert read_selected(page) == world.uid("dose")
    inner.click()
    assert read_selected(page) == world.uid("apixaban"), (
        "the second click goes to the enclosing occurrence"
    )
    both = page.locator(f'.seg[data-o="{world.uid("ct")} {world.uid("bleed")}"]')
    expect(both).to_have_text("left thalamic hemorrhage")
    assert both.locator(".u").count() == 2
    both.click()
    page.keyboard.press("2")
    expect(page.locator(".lane-over .ring")).to_be_visible()
    expect(page.locator(".margin-selected")).to_contain_text("HD 1")
    page.goto(page.url)
    expect(page.locator(f"{PANEL} h2")).to_have_text(
        "Head CT showed a large left thalamic hemorrhage"
    )
    page.goto(page.url.split("?")[0] + f"o/{world.uid('andexanet')}/")
    page.locator("[data-how] > summary").click()
    context = page.locator(f"{PANEL} [data-select]").first
    context.click()
    assert read_selected(page) == world.uid("ct"), "a context occurrence is linked"


@pytest.mark.deep
def test_a_mark_of_the_plot_selects_its_occurrence(opened, world):
    page = opened(f"?o={world.uid('andexanet')}")
    page.keyboard.press("2")
    page.wait_for_selector("[data-lanes][data-record]")
    expect(page.locator(".lane-over .ring")).to_be_visible()
    ring = page.locator(".lane-over .ring").bounding_box()
    page.keyboard.press("Escape")
    assert read_selected(page) is None
    page.mouse.move(ring["x"] + ring["width"] / 2 - 30, ring["y"] + 60)
    page.mouse.move(ring["x"] + ring["width"] / 2, ring["y"] + ring["height"] / 2, steps=4)
    expect(page.locator("[data-tip]")).to_contain_text("5 h later than the text (HD 1 · 16:08)")
    page.mouse.click(ring["x"] + ring["width"] / 2, ring["y"] + ring["height"] / 2)
    page.wait_for_url(f"**o={world.uid('andexanet')}")


@pytest.mark.deep
def test_dragging_over_the_overview_filters_the_note(opened, world):
    page = opened()
    strip = page.locator("[data-overview]").bounding_box()
    middle = strip["y"] + strip["height"] / 2
    admitted = page.evaluate("JSON.parse(document.getElementById('case-data').textContent).zero")
    page.mouse.move(strip["x"] + strip["width"] * (admitted + 0.005), middle)
    page.mouse.down()
    page.mouse.move(strip["x"] + strip["width"] * 0.99, middle, steps=6)
    page.mouse.up()
    inside = page.locator("[data-window-words]").inner_text()
    assert re.fullmatch(r"[1-9] of 10 in window", inside)
    expect(page.locator(f'.seg[data-o="{world.uid("fall")}"]')).to_have_class(re.compile("is-dim"))
    expect(page.locator(f'.seg[data-o="{world.uid("andexanet")}"]')).not_to_have_class(
        re.compile("is-dim")
    )
    page.keyboard.press("j")
    assert read_selected(page) in {
        world.uid(name) for name in ("ct", "bleed", "andexanet", "second ct")
    }, "what is filtered away is passed over"
    page.keyboard.press("2")
    page.get_by_role("button", name="All", exact=True).click()
    expect(page.locator(".seg.is-dim")).to_have_count(0)


@pytest.mark.deep
def test_a_candidate_series_opens_its_rows_in_place(opened, world):
    page = opened(f"?o={world.uid('andexanet')}")
    page.locator("[data-how] > summary").click()
    button = page.get_by_role("button", name="med:andexanet alfa:start")
    button.press("Enter")
    expect(page.locator(".series-rows")).to_contain_text(MARKUP)
    expect(button).to_have_attribute("aria-expanded", "true")
    assert_accessible(page)
    button.press("Enter")
    expect(page.locator(".series-rows")).to_have_count(0)


def test_the_search_finds_words_of_the_note_that_are_no_occurrence_and_of_the_record(opened, world):
    page = opened()
    page.keyboard.press("/")
    page.keyboard.type("UNDER CLOSE")
    expect(page.locator("#case-search-count")).to_have_text("30 in the note · 0 series")
    assert page.evaluate("CSS.highlights.get('note-hits').size") == 30
    seen = page.locator("[data-note]").evaluate("box => box.scrollTop")
    page.keyboard.press("Shift+Enter")
    expect(page.locator("#case-search-count")).to_contain_text("30 of 30")
    assert page.locator("[data-note]").evaluate("box => box.scrollTop") > seen
    assert read_selected(page) is None, "the word is of no occurrence"
    page.locator("#case-search").fill("etat")
    expect(page.locator("#case-search-count")).to_contain_text("1 in the note")
    shown = page.evaluate("[...CSS.highlights.get('note-hits')][0].toString()")
    assert shown == "e\u0301tat", "accents are folded, and the mark has the stored letters"
    page.locator("#case-search").fill("andexanet")
    expect(page.locator("#case-search-count")).to_have_text("1 in the note · 1 series")
    page.keyboard.press("Escape")
    expect(page.locator("#case-search-count")).to_have_text("")
    assert page.evaluate("CSS.highlights.get('note-hits').size") == 0


def test_a_class_of_drugs_finds_its_drugs(opened, world):
    page = opened()
    page.keyboard.press("/")
    page.keyboard.type("anticoagulant")
    expect(page.locator("#case-search-count")).to_contain_text("1 found")
    dim = re.compile("is-dim")
    expect(page.locator(f'.seg[data-o~="{world.uid("apixaban")}"]').first).not_to_have_class(dim)
    expect(page.locator(f'.seg[data-o="{world.uid("andexanet")}"]').first).to_have_class(dim)
    page.keyboard.press("Enter")
    assert read_selected(page) == world.uid("apixaban")
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    page.keyboard.type("anticoagulant")
    option = page.get_by_role("option").filter(has_text="apixaban").first
    expect(option).to_be_visible()


def test_the_palette_goes_anywhere_by_keyboard(opened, world):
    other = factories.make_encounter(
        world.encounter.dataset, case_id="second-stay", title="Sepsis of the second stay"
    )
    page = opened()
    keys = page.keyboard
    keys.press("Control+k")
    expect(page.get_by_role("combobox", name="Go to")).to_be_focused()
    assert_accessible(page)
    keys.type("second")
    option = page.get_by_role("option")
    expect(option.first).to_contain_text("second head CT")
    expect(option.filter(has_text="Sepsis of the second stay")).to_be_visible()
    keys.press("Enter")
    assert read_selected(page) == world.uid("second ct")
    keys.press("Control+k")
    keys.type("uncert")
    keys.press("Enter")
    expect(page.locator("[data-note-body]")).to_have_attribute("data-mode", "uncertainty")
    keys.press("Control+k")
    keys.type("andexanet")
    expect(option.filter(has_text="andexanet alfa started")).to_be_visible()
    keys.press("ArrowDown")
    keys.press("Enter")
    expect(page.locator("#panel-record .rows-wrap")).to_contain_text("400")
    assert "andexanet" not in page.url, "no address has searched words"
    keys.press("Control+k")
    keys.type("second stay")
    expect(option.filter(has_text="Sepsis of the second stay")).to_be_visible()
    keys.press("Enter")
    page.wait_for_url(f"**/cases/{other.public_id}/")
    page.get_by_role("link", name="Previous case").click()
    page.wait_for_url(f"**{world.address}")


def test_the_row_behind_a_time_opens_in_the_record_tab(opened, world):
    page = opened(f"?o={world.uid('andexanet')}")
    page.locator(f"{PANEL} [data-jump=row]").click()
    row = page.locator("#panel-record tr[aria-current]")
    expect(row).to_contain_text("400")
    expect(row).to_be_in_viewport()
    assert_accessible(page)
    asked = page.evaluate(
        """() => {
          const root = document.getElementById("case");
          const heard = [];
          for (const name of ["correct", "comment", "flag"]) {
            root.addEventListener(`case:${name}`, (event) => heard.push(name + event.detail.item.u));
          }
          window.heard = heard;
        }"""
    )
    assert asked is None
    for key in "ecf":
        page.locator("#chain").press(key)
    uid = world.uid("andexanet")
    assert page.evaluate("window.heard") == [f"correct{uid}", f"comment{uid}", f"flag{uid}"]
    # The form of the flag has the focus now, and letters are words there.
    page.locator("#chain").press("m")
    expect(page.locator("#note-pane")).to_be_hidden()
    page.locator("#chain").press("m")
    expect(page.locator("#note-pane")).to_be_visible()


@pytest.mark.deep
def test_on_a_phone_everything_can_be_read(opened):
    page = opened()
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    expect(page.locator(".note-text").first).to_be_visible()
    page.locator("#tabs-pane").scroll_into_view_if_needed()
    page.locator("#tab-lanes").click()
    expect(page.locator(".lane-button").first).to_be_visible()


@pytest.mark.deep
def test_the_note_is_shown_with_exactly_its_stored_characters(opened, world):
    page = opened()
    shown = page.evaluate(
        "[...document.querySelectorAll('.note-text')].map((part) => part.textContent).join('')"
    )
    assert shown == world.note.text
    assert "\r\n" in shown


def test_markup_of_the_record_runs_nowhere(opened, world, complaints):
    page = opened(f"?o={world.uid('markup')}")
    expect(page.locator(f"{PANEL} h2")).to_have_text(MARKUP)
    page.keyboard.press("[")
    expect(page.locator(f"{PANEL} #step-6")).to_contain_text(MARKUP)
    page.locator("#tab-table").click()
    expect(page.locator(".case-table")).to_contain_text(MARKUP)
    assert page.evaluate("window.hit") is None
    assert complaints == []


@pytest.mark.deep
def test_panes_resize_with_keys_and_are_remembered(opened):
    page = opened()
    splitter = page.get_by_role("separator", name="Width of the note")
    before = page.locator("#note-pane").bounding_box()["width"]
    splitter.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert splitter.get_attribute("aria-valuenow") == "46"
    assert page.locator("#note-pane").bounding_box()["width"] > before + 50
    page.reload()
    assert (
        page.get_by_role("separator", name="Width of the note").get_attribute("aria-valuenow")
        == "46"
    )


@pytest.mark.deep
def test_the_theme_is_chosen_and_remembered(opened):
    page = opened()
    toggle = page.locator("[data-theme-toggle]")
    toggle.click()
    toggle.click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.reload()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark
    assert toggle.get_attribute("aria-label") == "Colour theme: dark"


@pytest.mark.deep
def test_switching_the_timeline_keeps_the_occurrence(opened, world):
    page = opened(f"?o={world.uid('andexanet')}")
    page.get_by_role("link", name="From the note").click()
    page.wait_for_url("**t=*")
    page.wait_for_selector("#case[data-ready]")
    assert read_selected(page) == world.uid("andexanet")
    expect(page.locator(f"{PANEL} .chain-when")).to_contain_text("HD 1 · 16:08 (+1.5 h)")
    page.locator(".switch summary").click()
    page.get_by_role("link", name="Reference").first.click()
    page.wait_for_url("**o=b007")
    page.wait_for_selector("#case[data-ready]")
    assert read_selected(page) == "b007"
    expect(page.locator(f"{PANEL} h2")).to_have_text("Andexanet alfa was given")


@pytest.mark.deep
def test_many_references_do_not_cover_the_name_of_the_case(opened, world):
    times = dict.fromkeys(world.reference.inventory.occurrences.all(), 1.0)
    for source in ("author:ana", "author:ben", "author:a.third.clinician", "ward-system"):
        factories.make_timeline(
            world.reference.inventory, times, kind=TimelineKind.REFERENCE, source=source
        )
    page = opened()
    for width in (1440, 1250):
        page.set_viewport_size({"width": width, "height": 900})
        name, switch = (
            page.locator(part).bounding_box() for part in (".case-name h1", "nav.switch")
        )
        assert name["y"] + name["height"] <= switch["y"] or name["x"] + name["width"] <= switch["x"]
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator(".switch summary").click()
    expect(page.get_by_role("link", name="Reference by ben")).to_be_in_viewport()


@pytest.mark.deep
def test_on_a_tablet_the_chain_is_a_drawer(opened, world):
    page = opened()
    page.set_viewport_size(TABLET)
    expect(page.locator(PANEL)).to_be_hidden()
    page.locator(f'.seg[data-o="{world.uid("andexanet")}"]').click()
    expect(page.locator(PANEL)).to_be_visible()
    page.get_by_role("button", name="Close", exact=True).click()
    expect(page.locator(PANEL)).to_be_hidden()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator("#tab-table").click()
    row = page.locator(".case-table tbody tr").first
    row.click()
    expect(page.locator(PANEL)).to_be_visible()
    expect(page.locator(PANEL)).to_have_class(re.compile("is-above"))
    page.wait_for_timeout(250)
    sheet, tapped = page.locator(PANEL).bounding_box(), row.bounding_box()
    assert sheet["y"] + sheet["height"] <= tapped["y"], "the sheet hides what was tapped"
    expect(page.locator("#tabs-pane")).to_be_in_viewport()


@pytest.mark.deep
def test_the_page_on_paper_has_the_whole_note_and_every_event(opened, world):
    page = opened()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    expect(page.locator(".case-title-line")).to_be_visible()
    expect(page.locator(".note-text").last).to_be_visible()
    expect(page.locator(".case-table tbody tr")).to_have_count(10)
    expect(page.locator(".case-table tbody tr").last).to_be_visible()
    for part in (PANEL, "#panel-lanes", "#panel-record", ".case-tools"):
        expect(page.locator(part)).to_be_hidden()
    box = page.locator("[data-note]").evaluate("box => [box.clientHeight, box.scrollHeight]")
    assert box[0] == box[1], "the note is cut off"
    parts = ("#panel-story", "#note-pane", "#panel-table")
    tops = [page.locator(part).bounding_box()["y"] for part in parts]
    assert tops == sorted(tops), "story, note, table"


@pytest.mark.deep
@pytest.mark.parametrize("theme", ["dark", "light"])
def test_axe_finds_nothing_and_pictures_are_taken(
    opened, world, live_server, page, theme, complaints
):
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    built = demo_cases.build(world.encounter.dataset, demo_cases.load_shipped())
    for name, size in (("wide", WIDE), ("tablet", TABLET)):
        page.set_viewport_size(size)
        opened(f"?o={world.uid('andexanet')}")
        page.set_viewport_size(size)
        assert_accessible(page)
        page.locator("#tab-lanes").press("ArrowRight")
        assert_accessible(page)
        page.locator("#tab-table").press("ArrowLeft")
        page.goto(f"{live_server.url}/cases/{built.encounter.public_id}/")
        page.wait_for_selector("#case[data-ready]")
        page.keyboard.press("[")
        page.wait_for_selector("[data-chain] .answer")
        picture(page, f"{name}-{theme}")
    assert complaints == []


@pytest.mark.deep
def test_a_large_case_answers_a_click(opened, world, live_server, page):
    built = demo_cases.build(factories.make_dataset(world.study), demo_cases.make_large())
    opened()
    page.goto(f"{live_server.url}/cases/{built.encounter.public_id}/")
    page.wait_for_selector("#case[data-ready]")
    assert page.locator(".seg").count() >= 290
    uid = built.occurrences[150].uid4
    page.locator(f'.seg[data-o~="{uid}"]').first.click()
    page.wait_for_selector(f"[data-chain][data-shown='{uid}']")


def assert_accessible(page) -> None:
    page.wait_for_timeout(200)
    found = Axe().run(page)
    violations = [
        (v["id"], [node["html"][:160] for node in v["nodes"]][:3])
        for v in found.response["violations"]
    ]
    assert violations == []


def picture(page, name: str) -> None:
    folder = (
        Path(os.environ.get("ARTIFACTS", Path(settings.BASE_DIR) / "var" / "artifacts"))
        / "case-page"
    )
    folder.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=folder / f"{name}.png")
