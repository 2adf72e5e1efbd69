"""What the lanes of the case page draw, by hand-derived values."""

from __future__ import annotations

import pytest

from timelines.backbones.rules.querying.vocabulary import vocabulary
from timelines.domain import Lane
from timelines.presentation.lanes.classes import group_by_class
from timelines.presentation.lanes.courses import Bar, dose_words, find_course
from timelines.presentation.lanes.curves import choose_series, find_curve
from timelines.presentation.lanes.kinds import ShownLane, shown_lane
from timelines.presentation.lanes.rows import RecordRow, name_part
from timelines.presentation.lanes.subjects import find_subject
from timelines.presentation.lanes.tracks import Wanted, build_tracks, wanted_events
from timelines.presentation.lanes.words import LONGEST, short_words, words_beside


def row(hours: float, event: str, value: str = "", unit: str = "") -> RecordRow:
    number = float(value) if value.replace(".", "", 1).isdigit() else None
    return RecordRow(hours, event, value, number, unit)


@pytest.mark.parametrize(
    ("mention", "lane", "cited", "shown"),
    [
        ("BP 212/108 in the ED", Lane.FINDING, [], ShownLane.VITAL),
        ("sodium 121", Lane.FINDING, [], ShownLane.LAB),
        ("temperature 38.6", Lane.LAB, [], ShownLane.VITAL),
        ("leukocytosis", Lane.FINDING, [], ShownLane.FINDING),
        ("leukocytosis", Lane.FINDING, ["lab:white blood cells:blood"], ShownLane.LAB),
        ("leukocytosis", Lane.FINDING, ["chart:temperature celsius:"], ShownLane.FINDING),
        ("chest pressure at rest", Lane.FINDING, [], ShownLane.FINDING),
        ("headache 8/10", Lane.FINDING, [], ShownLane.FINDING),
        ("sodium 121", Lane.PLAN, [], ShownLane.PLAN),
        ("transferred to the ward", Lane.TRANSFER, [], ShownLane.COURSE),
    ],
)
def test_the_mention_and_its_evidence_choose_the_lane(mention, lane, cited, shown):
    hit = find_subject(mention, lane)
    measured = bool(hit and not hit.implied and any(c.isdigit() for c in mention))
    concept = hit.concept if hit else None
    assert shown_lane(lane, concept, measured=measured, cited=cited) is shown


def test_words_of_a_mark_are_cut_between_words_and_do_not_dangle():
    assert short_words("the patient was intubated") == "patient was intubated"
    assert short_words("  two \n lines ") == "two lines"
    long = "transferred to the neurosciences intensive care unit"
    assert short_words(long) == "transferred to the neurosciences…"
    assert short_words("x" * 80) == "x" * (LONGEST - 1) + "…"
    assert short_words("hemorrhage (large, left thalamic) seen on CT") == "hemorrhage seen on CT"


@pytest.mark.parametrize(
    ("mention", "lane", "words"),
    [
        ("hematocrit 27.4 on arrival", Lane.LAB, "27.4 on arrival"),
        ("the nicardipine weaned off", Lane.MEDICATION, "weaned off"),
        ("first furosemide 20 mg", Lane.MEDICATION, ""),
        ("INR", Lane.LAB, ""),
        ("leukocytosis of 20", Lane.LAB, ""),
    ],
)
def test_beside_its_name_a_mark_does_not_repeat_it(mention, lane, words):
    hit = find_subject(mention, lane)
    assert hit is not None
    assert words_beside(mention, hit) == words


def test_an_infusion_is_a_bar_and_a_start_without_an_end_is_a_dose():
    course = find_course(
        [
            row(10.0, "med:nicardipine:end"),
            row(1.0, "med:nicardipine:start", "5", "mg/hr"),
            row(10.1, "med:nicardipine:start", "5", "mg/hr"),
            row(12.0, "med:nicardipine:end"),
            row(0.5, "order:nicardipine:start", "5", "mg/hr"),
            row(60.0, "med:nicardipine:start", "15", "mg/hr"),
        ]
    )
    assert course is not None
    assert course.bars == (Bar(1.0, 12.0, "5 mg/hr"), Bar(60.0, 60.0, "15 mg/hr"))
    assert course.runs == ((1.0, 12.0), (60.0, 60.0)), "a gap of two days ends the course"
    assert course.dose == "5–15 mg/hr"
    assert not course.ordered


def test_orders_alone_are_marked_as_orders():
    course = find_course(
        [row(2.0, "order:aspirin:start", "81", "mg"), row(50.0, "order:aspirin:stop")]
    )
    assert course is not None
    assert (course.bars, course.ordered) == ((Bar(2.0, 50.0, "81 mg"),), True)
    assert find_course([]) is None
    assert find_course([row(3.0, "med:heparin:end", "40")]) is None, "an end alone began nowhere"


def test_doses_in_words():
    assert dose_words(["", ""]) == ""
    assert dose_words(["1 g", "1 g", ""]) == "1 g × 2"
    assert dose_words(["20 mg", "5 mg"]) == "5–20 mg"
    assert dose_words(["1 g", "500 mg"]) == "1 g, then 500 mg"


def test_the_curve_is_of_the_cited_series_and_keeps_its_extremes():
    long = [row(float(n), "chart:heart rate:", str(60 + n % 7), "bpm") for n in range(1000)]
    long[500] = row(500.0, "chart:heart rate:", "181", "bpm")
    curve = find_curve(long)
    assert curve is not None
    assert (curve.low, curve.high, curve.words) == (60.0, 181.0, "60–181 bpm")
    assert len(curve.points) <= 120
    assert (500.0, 181.0) in curve.points
    few = [row(1.0, "lab:glucose:blood", "90", "mg/dL")]
    series = {"lab:glucose:blood": few, "chart:glucose:": long}
    assert choose_series(series, ["lab:glucose:blood"]) is few
    assert choose_series(series, []) is long
    assert find_curve([row(1.0, "lab:culture:", "no growth")]) is None


def test_classes_have_all_their_drugs_in_the_order_of_the_note():
    named = [("a", "vancomycin"), ("b", "aspirin"), ("c", "ceftriaxone"), ("d", "antibiotic")]
    found = group_by_class(named)
    assert found["Antibiotics"] == ["a", "c", "d"]
    assert found["Antiplatelets"] == ["b"]
    assert list(found) == sorted(found)


def test_tracks_join_note_and_record():
    events = {
        "med:vancomycin:start": "1",
        "med:vancomycin:end": "",
        "order:senna:start": "8.6",
        "chart:non invasive blood pressure systolic:": "120",
        "lab:sodium:blood": "140",
        "procedure:arterial line:start": "",
        "chart:braden nutrition:": "3",
    }
    names = ["systolic pressure", "blood pressure", "arterial line", "antibiotic"]
    wanted = [Wanted(vocabulary().by_name[name]) for name in names]
    needed = wanted_events(wanted, events)
    assert needed == set(events) - {"lab:sodium:blood", "chart:braden nutrition:"}
    rows = [row(1.0 + n, e, events[e], "g") for n, e in enumerate(sorted(needed, reverse=True))]
    found = build_tracks(
        wanted, rows, lambda hours: hours / 100, {"med:vancomycin:start": ["a001"]}
    )
    tracks = {track["name"]: track for track in found["tracks"]}
    assert set(tracks) == {"Blood pressure", "Vancomycin", "Senna", "Arterial line"}
    assert tracks["Blood pressure"]["keys"] == ["systolic pressure", "blood pressure"]
    assert tracks["Vancomycin"]["uids"] == ["a001"]
    assert tracks["Vancomycin"]["classes"] == ["Antibiotics"]
    assert (tracks["Vancomycin"]["named"], tracks["Senna"]["named"]) == (True, False)
    assert tracks["Senna"]["ordered"]


def test_names_of_events_are_read_without_category_and_act():
    assert name_part("med:insulin - regular:start") == "insulin - regular"
    assert name_part("med:ratio 1:2:start") == "ratio 1:2"
    assert name_part("order:heparin") == "heparin"
