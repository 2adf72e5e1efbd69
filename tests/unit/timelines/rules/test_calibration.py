"""Margins of bounds, learned from references and added to estimates."""

from __future__ import annotations

import pytest

from timelines.backbones.rules.learn_calibration import learn
from timelines.backbones.rules.timing.calibration import (
    Margins,
    calibrate,
    learned_margins,
    narrow,
    time_scale,
    way_of,
)
from timelines.backbones.rules.timing.estimate import Estimate, Strength
from timelines.backbones.rules.timing.estimate import entry as make_entry
from timelines.domain import Entry

MARGINS = {"hour, stated": Margins(2.0, 1.0), "narrative": Margins(10.0, 5.0)}


def estimate(
    time: float | None, low: float | None, high: float | None, *, rule: str = "hour"
) -> Estimate:
    return Estimate(time, low, high, Strength.EXPLICIT, rule, "", known=rule == "hour")


@pytest.mark.parametrize(
    ("given", "discharge", "low", "high"),
    [
        # 10 h: the unit is an hour
        (estimate(10.0, 9.0, 11.0), None, 7.0, 12.0),
        # 100 h before admission: the unit is a tenth, 10 h
        (estimate(-100.0, -110.0, -90.0), None, -130.0, -80.0),
        (estimate(10.0, None, 11.0), None, None, 12.0),
        (estimate(10.0, 9.0, None), 40.0, 7.0, None),
        # the stay ends at 11.5 h
        (estimate(10.0, 9.0, 11.0), 11.5, 7.0, 11.5),
        # what was placed after the discharge stays there
        (estimate(50.0, 49.0, 51.0), 40.0, 47.0, 52.0),
        (estimate(10.0, 9.0, 11.0, rule="narrative"), None, -1.0, 16.0),
        # a way of decision that was never seen
        (estimate(10.0, 9.0, 11.0, rule="other"), None, 9.0, 11.0),
    ],
)
def test_bounds_are_widened_by_the_margins_of_their_way(
    given: Estimate, discharge: float | None, low: float | None, high: float | None
) -> None:
    widened = calibrate(given, discharge, MARGINS)
    assert (widened.low, widened.high) == (low, high)
    assert (widened.time, widened.reason) == (given.time, given.reason)


@pytest.mark.parametrize(
    ("given", "low", "high"),
    [
        # margins of 2 h and 1 h count whole
        (estimate(10.0, 9.0, 11.0), 7.0, 12.0),
        # of 20 h and 10 h, 2 h count
        (estimate(-100.0, -110.0, -90.0), -112.0, -88.0),
        (estimate(10.0, None, 11.0), None, 12.0),
        (estimate(None, None, None), None, None),
        # of 10 h and 5 h, 2 h count
        (estimate(10.0, 9.0, 11.0, rule="narrative"), 7.0, 13.0),
    ],
)
def test_rows_are_judged_with_two_hours_of_margin_at_most(
    given: Estimate, low: float | None, high: float | None
) -> None:
    judged = narrow(make_entry("00aa", calibrate(given, None, MARGINS)), MARGINS)
    assert (judged.lower, judged.upper, judged.time) == (low, high, given.time)


def test_narrowed_bounds_never_exclude_the_time() -> None:
    cut = make_entry("00aa", calibrate(estimate(11.5, 9.0, 11.5), 11.5, MARGINS))
    narrowed = narrow(cut, MARGINS)
    assert (narrowed.lower, narrowed.time, narrowed.upper) == (7.0, 11.5, 11.5)


def entry(rule: str, *, known: bool, low: float, high: float) -> Entry:
    middle = (low + high) / 2
    return Entry("00aa", middle, low, high, known, (), rule, "")


def test_learned_margins_reach_the_shares_and_leave_the_dearest_misses() -> None:
    # 100 times of each way between 9 and 11 h. Of the stated, 90 are right and 10 are 1 h late; of
    # the others, 80 are right, 15 are 2 h early, and 5 are 500 h early.
    stated = [(entry("hour", known=True, low=9, high=11), 10.0)] * 90
    stated += [(entry("hour", known=True, low=9, high=11), 12.0)] * 10
    others = [(entry("narrative", known=False, low=9, high=11), 10.0)] * 80
    others += [(entry("narrative", known=False, low=9, high=11), 7.0)] * 15
    others += [(entry("narrative", known=False, low=9, high=11), -491.0)] * 5
    margins = learn([*stated, *others])
    assert margins == {"hour, stated": Margins(0.0, 1.0), "narrative": Margins(2.0, 0.0)}


def test_a_rare_way_takes_the_margins_of_all_rare_ones() -> None:
    common = [(entry("hour", known=True, low=9, high=11), 10.0)] * 40
    rare = [(entry("age", known=True, low=9, high=11), 10.0)] * 5
    other = [(entry("year", known=True, low=9, high=11), 8.0)] * 5
    margins = learn([*common, *rare, *other])
    assert margins["age, stated"] == margins["year, stated"] == Margins(1.0, 0.0)
    assert margins["hour, stated"] == Margins(0.0, 0.0)


def test_shipped_margins_are_finite_and_name_known_ways() -> None:
    margins = learned_margins()
    assert {way_of("hour", known=True), way_of("narrative", known=False)} <= margins.keys()
    assert all(0 <= m.before < 1000 and 0 <= m.after < 1000 for m in margins.values())


def test_the_unit_of_margins_grows_with_the_distance_before_admission() -> None:
    assert [time_scale(t) for t in (-8760.0, -5.0, 0.0, 300.0)] == [876.0, 1.0, 1.0, 1.0]
