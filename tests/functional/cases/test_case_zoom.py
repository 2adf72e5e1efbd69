"""The plot of a shipped case in a real browser.

Its window changes, and a walk goes through the largest changes.
"""

from __future__ import annotations

import pytest
from django.core.cache import cache
from playwright.sync_api import Page, expect

from accounts.models import Role
from tests import demo_cases, factories
from tests.marks import deep

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

#: The places of the pointer's ring and of its occurrence, in pixels of the plot.
RING = """uid => {
  const Case = window.CasePage;
  const ring = document.querySelector('.plot-pointer');
  const item = Case.items[Case.byUid.get(uid)];
  const canvas = document.querySelector('[data-plot]');
  const [from, to] = Case.state.window;
  const drawn = canvas._fullLayout;
  const trace = canvas.data.findIndex((t) => t.customdata?.includes(Case.byUid.get(uid)));
  const at = trace < 0 ? -1 : canvas.data[trace].customdata.indexOf(Case.byUid.get(uid));
  return {
    hidden: ring.hidden,
    left: parseFloat(ring.style.left) - canvas.offsetLeft,
    top: parseFloat(ring.style.top),
    x: (item.x - from) / (to - from) * canvas.clientWidth,
    y: at < 0 ? null : drawn.yaxis.l2p(canvas.data[trace].y[at]),
    range: drawn.xaxis.range.map((end) => Math.round(end * 1000)),
    window: [Math.round(from * 1000), Math.round(to * 1000)],
  };
}"""
#: Per lane: pixels of height, and how many rows the marks in the window use.
LANES = """() => {
  const Case = window.CasePage;
  const lanes = [...document.querySelectorAll('.lane')];
  return lanes.map((lane, index) => ({
    name: lane.querySelector('.lane-name').textContent,
    height: lane.offsetHeight,
    clipped: [...lane.children].some((part) => part.getBoundingClientRect().bottom > lane.getBoundingClientRect().bottom + 0.5
      || part.scrollWidth > part.clientWidth + 1),
    inside: Case.items.filter((item) => item.l === index && item.x !== undefined && Case.inWindow(item)).length,
  }));
}"""


@pytest.fixture
def case(enter, page) -> Page:
    """The first shipped case, opened by a clinician."""
    cache.clear()
    dataset = factories.make_dataset()
    built = demo_cases.build(dataset, demo_cases.load_shipped())
    opened = enter(
        page,
        factories.make_user(dataset.study, Role.CLINICIAN),
        f"/cases/{built.encounter.public_id}/",
    )
    opened.wait_for_selector("#case[data-ready]")
    # The page's own state: a module that is loaded already is not loaded again.
    opened.evaluate("async () => { window.CasePage = await import('/static/js/case/state.js'); }")
    expect(opened.locator(".lane").first).to_be_visible()
    return opened


def wait_until_drawn(page: Page) -> None:
    """Wait until the plot shows the window that is chosen."""
    page.wait_for_function(
        "() => { const [from, to] = document.querySelector('[data-plot]')._fullLayout.xaxis.range;"
        "const wanted = CasePage.state.window; return Math.abs(from - wanted[0]) < 1e-3 && Math.abs(to - wanted[1]) < 1e-3; }"
    )


@pytest.mark.deep
def test_the_ring_of_what_is_pointed_at_goes_with_its_occurrence(case, complaints):
    uid = case.evaluate(
        "CasePage.items.find((item) => item.x > CasePage.data.zero && item.x < CasePage.data.discharge).u"
    )
    case.locator(f'.seg[data-o~="{uid}"]').first.hover()
    expect(case.locator(".plot-pointer")).to_be_visible()
    for change in (
        "CasePage.setWindow(item.x - 0.02, item.x + 0.3)",
        "CasePage.setWindow(item.x - 0.05, item.x + 0.1)",
        "CasePage.setWindow(0, 1)",
    ):
        case.evaluate(
            f"uid => {{ const item = CasePage.items[CasePage.byUid.get(uid)]; {change}; }}", uid
        )
        wait_until_drawn(case)
        ring = case.evaluate(RING, uid)
        assert not ring["hidden"]
        assert ring["left"] == pytest.approx(ring["x"], abs=1.5), change
        assert ring["top"] == pytest.approx(ring["y"], abs=1.5), change
    case.evaluate(
        "uid => { const { x } = CasePage.items[CasePage.byUid.get(uid)]; CasePage.setWindow(x + 0.01, x + 0.2); }",
        uid,
    )
    expect(case.locator(".plot-pointer")).to_be_hidden()
    case.mouse.move(2, 2)
    assert complaints == []


@pytest.mark.deep
def test_lanes_take_the_height_that_their_occurrences_in_the_window_need(case):
    whole = case.evaluate(LANES)
    case.get_by_role("button", name="Stay", exact=True).click()
    wait_until_drawn(case)
    case.evaluate("CasePage.setWindow(CasePage.data.zero, CasePage.data.zero + 0.02)")
    wait_until_drawn(case)
    zoomed = case.evaluate(LANES)
    assert sum(lane["inside"] for lane in zoomed) < sum(lane["inside"] for lane in whole) / 2, (
        "the window must leave much out"
    )
    for lane in zoomed:
        row = 16
        assert lane["height"] <= max(36, (lane["inside"] + 1.8) * row), (
            f"{lane['name']} keeps empty height"
        )
    case.keyboard.press("Escape")
    wait_until_drawn(case)
    assert case.evaluate(LANES) == whole


@pytest.mark.deep
@pytest.mark.parametrize("width", [390, *deep(1440, 820)])
def test_names_of_lanes_and_labels_of_the_axis_are_whole(case, width):
    case.set_viewport_size({"width": width, "height": 900})
    for _ in range(2):
        wait_until_drawn(case)
        case.wait_for_function(
            "() => { const p = document.querySelector('[data-plot]'); return p._fullLayout.width === p.clientWidth; }"
        )
        assert [lane["name"] for lane in case.evaluate(LANES) if lane["clipped"]] == []
        outside = """() => {
          const plot = document.querySelector('[data-plot-root]').getBoundingClientRect();
          const boxes = [...document.querySelectorAll('.tick-label, .plot-unit')].map((label) => label.getBoundingClientRect());
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
