"""The course of a stay, from rows of transfers."""

from __future__ import annotations

from datetime import datetime

import pytest

from timelines.domain import Anchor
from timelines.presentation.axis import StayAxis
from timelines.presentation.ribbon import Move, PlaceKind, find_course, ribbon

ADMITTED = Anchor(datetime(2147, 5, 11, 9, 12))
MOVES = (
    Move(-0.45, "admission:ed registration:", ""),
    Move(-0.45, "transfer:ed:", "Emergency Department"),
    Move(2.4, "transfer:admit:", "Neuro Surgical Intensive Care Unit (Neuro SICU)"),
    Move(34.6, "transfer:transfer:", "Neurology"),
    Move(101.5, "admission:discharge:rehab", ""),
    Move(101.6, "transfer:discharge:", ""),
)


def test_places_follow_the_transfers_to_the_way_out():
    course = find_course(MOVES, 101.5, 101.5)
    assert [(p.name, p.kind, p.start, p.end) for p in course.places] == [
        ("ED", PlaceKind.EMERGENCY, -0.45, 2.4),
        ("Neuro SICU", PlaceKind.ICU, 2.4, 34.6),
        ("Neurology", PlaceKind.WARD, 34.6, 101.5),
    ]
    assert course.way_out == "rehab"


@pytest.mark.parametrize(
    ("event", "value", "name", "kind"),
    [
        ("transfer:medical intensive care unit (micu):", "", "MICU", PlaceKind.ICU),
        ("transfer:emergency department observation", "", "ED", PlaceKind.EMERGENCY),
        ("transfer:med/surg:", "", "Med/surg", PlaceKind.WARD),
        ("transfer:transfer:", "PACU", "PACU", PlaceKind.THEATRE),
        ("transfer:transfer:", "UNKNOWN", "Stay", PlaceKind.STAY),
        ("service:service:", "NSURG", "Stay", PlaceKind.STAY),
    ],
)
def test_a_place_is_named_briefly(event, value, name, kind):
    (place,) = find_course([Move(0.0, event, value)], 48.0, 48.0).places
    assert (place.name, place.kind) == (name, kind)


@pytest.mark.parametrize(
    ("event", "value", "words"),
    [
        ("admission:hospital discharge:", "HOME HEALTH CARE", "home health care"),
        ("admission:hospital discharge:", "DIED", "died"),
        ("admission:discharge:rehab", "", "rehab"),
        ("admission:hospital admission:", "URGENT", ""),
    ],
)
def test_the_way_out_is_where_the_patient_went(event, value, words):
    assert find_course([Move(48.0, event, value)], 48.0, 48.0).way_out == words


def test_a_stay_without_transfers_is_one_band_and_returns_to_a_place_are_kept():
    (stay,) = find_course([], None, 30.0).places
    assert (stay.kind, stay.start, stay.end) == (PlaceKind.STAY, 0.0, 30.0)
    back = [
        Move(h, "transfer:transfer:", name) for h, name in ((0, "A"), (5, "A"), (9, "B"), (20, "A"))
    ]
    places = find_course(back, 30.0, 30.0).places
    assert [(p.name, p.start, p.end) for p in places] == [("A", 0, 9), ("B", 9, 20), ("A", 20, 30)]


def test_the_ribbon_has_places_days_and_nights_on_the_axis():
    axis = StayAxis.covering([-2.0, 101.5], 101.5)
    drawn = ribbon(find_course(MOVES, 101.5, 101.5), axis, ADMITTED)
    ed, icu, ward = drawn["places"]
    assert ed["to"] == icu["from"] == round(axis.position(2.4), 5)
    assert ward["to"] == drawn["end"] == round(axis.discharge, 5)
    assert icu["words"] == [
        "Neuro SICU, from HD 1 · 11:36, 32.2 h",
        "Neuro SICU, from +2.4 h, 32.2 h",
    ]
    days, hours = ([words for _, _, words in drawn["days"][way]] for way in ("day", "hours"))
    assert days == ["HD 1", "HD 2", "HD 3", "HD 4", "HD 5"]
    assert hours == ["0 h", "+24 h", "+2 d", "+3 d", "+4 d"]
    assert len(drawn["nights"]) == 4
