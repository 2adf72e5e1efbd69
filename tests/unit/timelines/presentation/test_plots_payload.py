"""The input of the page's scripts.

Words come from one place, positions from the axis, and nothing more is included.
"""

from __future__ import annotations

from datetime import datetime

from timelines.domain import Anchor, Lane
from timelines.presentation.axis import MARGIN, StayAxis
from timelines.presentation.case_plot import Item, Tick, payload
from timelines.presentation.status import Status

ANCHOR = Anchor(datetime(2131, 2, 24, 14, 38))


def item(key: str, time: float | None, **more) -> Item:
    values = {
        "lower": None,
        "upper": None,
        "status": Status.INFERRED,
        "lane": Lane.MEDICATION,
        "mention": key,
        "number": 1,
        **more,
    }
    return Item(key=key, time=time, **values)


def test_a_moved_occurrence_carries_both_times_its_shift_and_its_evidence():
    moved = item(
        "andexanet alfa given",
        6.5,
        status=Status.MOVED,
        text_time=1.5,
        revised=True,
        lower=6.0,
        upper=7.0,
        evidence=(Tick(6.5, True), Tick(9.0, False)),
        reference_time=6.5,
        reference_key="0abc",
    )
    data = payload([moved], ANCHOR, 40.0)
    axis = StayAxis.covering([6.5, 1.5], 40.0)
    found = data["items"][0]
    assert (found["w"], found["c"], found["tw"], found["sw"], found["d"]) == (
        "+6.5 h",
        "HD 1 · 21:08",
        ["HD 1 · 16:08", "+1.5 h"],
        "5 h later",
        5.0,
    )
    assert found["b"] == ["HD 1 · 20:38 to 21:38", "+6 h to +7 h"]
    assert found["x"] == round(axis.position(6.5), 5)
    assert [adopted for _, adopted in found["e"]] == [1, 0]
    assert (found["rw"], found["ru"]) == (["HD 1 · 21:08", "+6.5 h"], "0abc")
    assert data["zero"] == MARGIN
    assert data["ticks"]["day"][0] == [MARGIN, "14:38", 0]
    assert data["ticks"]["hours"][0] == [MARGIN, "0 h", 0]
    assert data["days"]["hours"][1][2] == "+24 h"


def test_an_occurrence_without_time_has_words_and_no_place():
    data = payload([item("diet", None, status=Status.UNPLACED)], ANCHOR, None)
    medications = [lane["key"] for lane in data["lanes"]].index("medication")
    assert data["items"] == [
        {
            "u": "diet",
            "n": 1,
            "m": "diet",
            "h": "diet",
            "l": medications,
            "s": "unplaced",
            "w": "not placed",
            "p": None,
        }
    ]
    assert data["lanes"][medications] == {
        "key": "medication",
        "label": "Medications",
        "count": 1,
        "unplaced": 1,
    }
    assert data["discharge"] is None
    assert sum(data["density"]) == 0


def test_open_bounds_reach_the_edge():
    found = payload([item("a", 0.0, upper=0.0)], ANCHOR, 24.0)["items"][0]
    assert (found["lo"], found["hi"]) == (0.0, MARGIN)
    assert found["b"] == ["not after HD 1 · 14:38", "not after 0 h"]


def test_an_occurrence_that_evidence_left_alone_has_no_shift():
    found = payload([item("a", 2.0, text_time=2.0, revised=True)], ANCHOR, 24.0)["items"][0]
    assert "sw" not in found
    assert "d" not in found


def test_nothing_to_draw_is_no_error():
    data = payload([], ANCHOR, None)
    assert data["items"] == []
    assert [lane["count"] for lane in data["lanes"]] == [0] * 8


def test_a_drug_that_mention_and_evidence_name_is_among_medications():
    def lane(mention: str, event: str) -> str:
        ticks = (Tick(1.0, True, event),)
        one = item("a", 1.0, mention=mention, lane=Lane.TRANSFER, evidence=ticks)
        data = payload([one], ANCHOR, 24.0)
        return data["lanes"][data["items"][0]["l"]]["key"]

    assert lane("insulin drip came off", "med:insulin - regular:end") == "medication"
    assert lane("insulin drip came off", "transfer:icu:") == "course"
    assert lane("came off", "med:insulin - regular:end") == "course"
