"""The plot of a shipped case in a real browser.

Its window changes, and a walk goes through the largest changes.
"""

from __future__ import annotations

import pytest
from django.core.cache import cache
from playwright.sync_api import Page, expect

from accounts.models import Role
from ehr.models import Encounter
from tests import demo_cases, factories
from tests.marks import deep
from tests.worlds.kept import build_once

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

#: The marks of an occurrence: where it is drawn, and where it is in the window.
MARK = """uid => {
  const Case = window.CasePage;
  const item = Case.items[Case.byUid.get(uid)];
  const lanes = document.querySelector('[data-lanes]');
  const mark = lanes.querySelector(`.glyph[data-u="${uid}"]`);
  const [from, to] = Case.state.window;
  const svg = mark?.closest('svg');
  const left = parseFloat(getComputedStyle(lanes).getPropertyValue('--gutter'));
  return {
    pointed: mark?.classList.contains('is-pointed') ?? false,
    x: mark && Number(/translate\\(([-\\d.]+)/.exec(mark.getAttribute('transform'))[1]),
    expected: svg && left + (item.x - from) / (to - from) * (svg.clientWidth - 12 - left),
  };
}"""
#: Per lane: pixels of height, whether words of its head are cut, and its marks in the window.
LANES = """() => {
  const Case = window.CasePage;
  return [...document.querySelectorAll('.lane-row')].map((row) => ({
    name: row.querySelector('.lane-name').textContent,
    height: row.offsetHeight,
    clipped: [...row.querySelectorAll('.lane-head > *')].some((part) => part.scrollWidth > part.clientWidth + 1),
    inside: Case.items.filter((item) => Case.data.lanes[item.l].key === row.dataset.lane
      && item.x !== undefined && Case.inWindow(item)).length,
  }));
}"""
#: What is drawn or counted in the lanes, and what is placed in the window.
SHOWN = """() => {
  const Case = window.CasePage;
  const lanes = document.querySelector('[data-lanes]');
  const drawn = [...lanes.querySelectorAll('.glyph[data-u]')].map((mark) => mark.dataset.u);
  const counted = [...lanes.querySelectorAll('[data-more]')].flatMap((more) => more.dataset.more.split(' '));
  const [from, to] = Case.state.window;
  const placed = Case.items.filter((item) => item.x !== undefined && item.x >= from && item.x <= to);
  return { shown: [...drawn, ...counted].sort(), placed: placed.map((item) => item.u).sort() };
}"""


@build_once
def build_case() -> Encounter:
    return demo_cases.build(factories.make_dataset(), demo_cases.load_shipped()).encounter


@pytest.fixture
def case(enter, page) -> Page:
    """The first shipped case, opened by a clinician."""
    cache.clear()
    encounter = build_case()
    opened = enter(
        page,
        factories.make_user(encounter.dataset.study, Role.CLINICIAN),
        f"/cases/{encounter.public_id}/",
    )
    opened.wait_for_selector("#case[data-ready]")
    # The page's own state: a module that is loaded already is not loaded again.
    opened.evaluate("async () => { window.CasePage = await import('/static/js/case/state.js'); }")
    opened.keyboard.press("2")
    opened.wait_for_selector("[data-lanes][data-record]")
    return opened


def wait_until_drawn(page: Page) -> None:
    """Wait until the lanes show the window that is chosen."""
    page.wait_for_function(
        "() => document.querySelector('[data-lanes]').dataset.window === CasePage.state.window.join(' ')"
    )


@pytest.mark.deep
def test_the_mark_of_what_is_pointed_at_goes_with_its_occurrence(case, complaints):
    uid = case.evaluate(
        "CasePage.items.find((item) => item.x > CasePage.data.zero && item.x < CasePage.data.discharge).u"
    )
    case.evaluate("uid => CasePage.selectUid(uid, 'keys')", uid)
    case.locator(f'.seg[data-o~="{uid}"]').first.hover()
    for change in (
        "CasePage.setWindow(item.x - 0.02, item.x + 0.3)",
        "CasePage.setWindow(item.x - 0.05, item.x + 0.1)",
        "CasePage.setWindow(0, 1)",
    ):
        case.evaluate(
            f"uid => {{ const item = CasePage.items[CasePage.byUid.get(uid)]; {change}; }}", uid
        )
        wait_until_drawn(case)
        mark = case.evaluate(MARK, uid)
        assert mark["pointed"], change
        assert mark["x"] == pytest.approx(mark["expected"], abs=1.5), change
    case.evaluate(
        "uid => { const { x } = CasePage.items[CasePage.byUid.get(uid)]; CasePage.setWindow(x + 0.01, x + 0.2); }",
        uid,
    )
    wait_until_drawn(case)
    assert case.evaluate(MARK, uid)["x"] is None
    case.mouse.move(2, 2)
    assert complaints == []


def test_every_placed_occurrence_is_drawn_or_counted(case):
    for window in ("0, 1", "CasePage.data.zero, CasePage.data.zero + 0.1", "0.4, 0.9"):
        case.evaluate(f"CasePage.setWindow({window})")
        wait_until_drawn(case)
        found = case.evaluate(SHOWN)
        assert found["shown"] == found["placed"]
        assert found["placed"], window
    case.evaluate("CasePage.setWindow(0, 1)")
    wait_until_drawn(case)
    hidden = case.evaluate(
        "document.querySelector('[data-lanes] [data-more]')?.dataset.more.split(' ').at(-1)"
    )
    if hidden:
        case.evaluate("uid => CasePage.selectUid(uid, 'note')", hidden)
        expect(case.locator(f'.glyph[data-u="{hidden}"].is-selected')).to_be_attached()


def test_a_drug_class_shows_its_drugs_and_when(case):
    name, uids = case.evaluate("Object.entries(CasePage.data.classes)[0]")
    placed = case.evaluate(
        "uids => uids.filter((uid) => CasePage.items[CasePage.byUid.get(uid)].x !== undefined)",
        uids,
    )
    chip = case.get_by_role("button", name=name, exact=True)
    chip.focus()
    case.keyboard.press("Enter")
    expect(chip).to_have_attribute("aria-pressed", "true")
    expect(chip).to_be_focused()
    row = '.lane-row[data-lane="medication"]'
    shown = case.evaluate(
        f"[...document.querySelectorAll('{row} .glyph')].map((mark) => mark.dataset.u)"
    )
    counted = case.evaluate(
        f"[...document.querySelectorAll('{row} [data-more]')].flatMap((m) => m.dataset.more.split(' '))"
    )
    assert set(placed) <= {*shown, *counted}
    chip.click()
    expect(chip).to_have_attribute("aria-pressed", "false")


def test_what_the_record_changed_is_shown_on_demand(case):
    expect(case.locator(".lane-under .shift")).to_have_count(0)
    case.get_by_role("button", name="What the record changed").click()
    assert case.locator(".lane-under .shift").count() > 0
    assert case.locator(".glyph.is-dim").count() > 0
    case.get_by_role("button", name="What the record changed").click()
    expect(case.locator(".lane-under .shift")).to_have_count(0)


@pytest.mark.deep
def test_lanes_take_the_height_that_their_occurrences_in_the_window_need(case):
    whole = case.evaluate(LANES)
    case.evaluate("CasePage.setWindow(CasePage.data.zero, CasePage.data.zero + 0.02)")
    wait_until_drawn(case)
    zoomed = case.evaluate(LANES)
    assert sum(lane["inside"] for lane in zoomed) < sum(lane["inside"] for lane in whole) / 2, (
        "the window must leave much out"
    )
    assert sum(lane["height"] for lane in zoomed) < sum(lane["height"] for lane in whole)
    case.keyboard.press("Escape")
    wait_until_drawn(case)
    assert case.evaluate(LANES) == whole


@pytest.mark.deep
def test_dragging_chooses_a_window_and_then_pans_it(case):
    box = case.locator(".lane-drawing").nth(1).bounding_box()
    y = box["y"] + 10

    def drag(start: float, end: float) -> list[float]:
        case.mouse.move(box["x"] + box["width"] * start, y)
        case.mouse.down()
        case.mouse.move(box["x"] + box["width"] * end, y, steps=4)
        case.mouse.up()
        return case.evaluate("CasePage.state.window")

    chosen = drag(0.4, 0.8)
    assert 0.3 < chosen[1] - chosen[0] < 0.6
    panned = drag(0.6, 0.5)
    assert panned[0] > chosen[0]
    assert panned[1] - panned[0] == pytest.approx(chosen[1] - chosen[0], abs=1e-6)
    assert case.evaluate("CasePage.selectedItem()") is None, "a drag is no click"


@pytest.mark.deep
@pytest.mark.parametrize("width", [390, *deep(1440, 820)])
def test_names_of_lanes_and_labels_of_the_axis_are_whole(case, width):
    case.set_viewport_size({"width": width, "height": 900})
    for _ in range(2):
        wait_until_drawn(case)
        case.wait_for_function(
            "() => document.querySelector('.lanes-axis').clientWidth === document.querySelector('[data-lanes]').clientWidth"
        )
        assert [lane["name"] for lane in case.evaluate(LANES) if lane["clipped"]] == []
        outside = """() => {
          const plot = document.querySelector('.lanes-axis').getBoundingClientRect();
          const boxes = [...document.querySelectorAll('.lanes-axis .tick')].map((label) => label.getBoundingClientRect());
          return boxes.filter((box) => box.left < plot.left - 0.5 || box.right > plot.right + 0.5).length;
        }"""
        assert case.evaluate(outside) == 0
        case.evaluate("CasePage.setWindow(CasePage.data.zero, CasePage.data.zero + 0.1)")


@pytest.mark.deep
def test_the_walk_through_changes_begins_with_the_largest_one(case):
    order = case.evaluate("CasePage.byShift.map((index) => CasePage.items[index].u)")
    assert len(order) >= 4

    def selected() -> str:
        return case.evaluate("CasePage.selectedItem()?.u ?? ''")

    case.evaluate("uid => CasePage.selectUid(uid, 'note')", order[2])
    walked = []
    for key in ("[", "[", "[", "]"):
        case.keyboard.press(key)
        walked.append(selected())
    assert walked == [order[0], order[1], order[2], order[1]]
    case.evaluate("uid => CasePage.selectUid(uid, 'note')", order[3])
    case.keyboard.press("]")
    assert selected() == order[0], "another selection begins the walk anew, in either direction"
    case.evaluate("uid => CasePage.selectUid(uid, 'note')", order[3])
    case.evaluate("uid => CasePage.selectUid(uid, 'note')", order[0])
    case.get_by_role("button", name="Largest change").click()
    assert selected() == order[1], "the largest change is selected already"
