"""The story of a stay: the intro case by hand, the points, and rules."""

from __future__ import annotations

import csv
import gzip
import json
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ehr.presentation.clock import Clock, Moment
from tests.paths import DEMO, ROOT
from timelines.domain import Lane, Polarity
from timelines.presentation.story import (
    LONGEST,
    MOST,
    WEIGHTS,
    Cited,
    Milestone,
    Reason,
    Story,
    StoryLine,
    build_story,
)

CLOCK = Clock(datetime(2147, 5, 11, 9, 12), 101.5)
#: What a clinician would tell of the intro case in one minute.
INTRO = """
Before the stay
13 h before | last dose of apixaban taken
2.5 h before | sudden headache
2.5 h before | left arm weakness
18 min before | blood pressure 212/108 in the emergency department
HD 1 · Thu
09:15 | CT of the head: right basal ganglia hemorrhage on CT done
10:06 | nicardipine started
11:36 | transferred to the neurosciences intensive care unit
15:42 | reversal agent given (andexanet alfa)
18:48 | repeat CT of the head: hemorrhage stable on repeat CT done
HD 2 · Fri
00:36 | fever to 38.6
12:42 | nicardipine weaned off
13:12 | amlodipine begun
HD 3 · Sat
10:24 | swallow study done
HD 5 · Mon
14:42 | discharged to a rehabilitation hospital
"""


def _intro() -> list[StoryLine]:
    folder = DEMO / "intro" / "intro-ich"
    with gzip.open(folder / "rows.csv.gz", "rt") as file:
        events = [row["event"] for row in csv.DictReader(file)]
    lines = []
    for n, line in enumerate((folder / "reference.jsonl").read_text().splitlines()):
        read = json.loads(line)
        lines.append(
            StoryLine(
                f"{n:04x}",
                read["mention"],
                Lane.FINDING,
                Polarity(read["polarity"]),
                read["time"],
                bool(read["known"]),
                cited=tuple(Cited(row, events[row]) for row in read["rows"]),
            )
        )
    return lines


def _shown(story: Story) -> list[Milestone]:
    return [m for day in story.days for m in day.milestones if m.rank <= story.shown]


def _lines(story: Story) -> str:
    lines = []
    for day in story.days:
        shown = [m for m in day.milestones if m.rank <= story.shown]
        lines += [day.heading.day] if shown else []
        lines += [f"{m.when.day} | {m.words} {m.act}".rstrip() for m in shown]
    return "\n".join(lines)


def test_the_story_of_the_intro_case():
    assert _lines(build_story(_intro(), CLOCK)) == INTRO.strip()


def _one(
    uid: str, mention: str, time: float | None, lane: Lane = Lane.FINDING, **more
) -> StoryLine:
    return StoryLine(uid, mention, lane, more.pop("polarity", Polarity.PRESENT), time, True, **more)


def test_denials_relatives_plans_and_unplaced_are_left_out():
    lines = [
        _one("0001", "no chest pain", 1, polarity=Polarity.ABSENT),
        _one("0002", "father had a stroke", 1, polarity=Polarity.FAMILY),
        _one("0003", "surgery", 1, polarity=Polarity.PLANNED),
        _one("0004", "intubated", None, Lane.PROCEDURE),
        _one("0005", "cardiology in 4 weeks", 800, Lane.PLAN, polarity=Polarity.PLANNED),
    ]
    assert [m.uid for m in _shown(build_story(lines, CLOCK))] == ["0005"]
    assert build_story(lines, CLOCK).days[0].heading == Moment("After the stay")


def test_two_mentions_of_one_act_are_one_milestone_and_the_note_time_is_said():
    row = (Cited(39, "med:andexanet alfa:start"),)
    lines = [
        _one(
            "0001",
            "reversal agent",
            6.5,
            Lane.MEDICATION,
            text=1.5,
            text_known=True,
            revised=True,
            cited=row,
        ),
        _one("0002", "andexanet given", 6.5, Lane.MEDICATION, cited=row),
        _one("0003", "lactate 6.1", 2, Lane.LAB),
        _one("0004", "lactate 6.1 (admission labs)", 3, Lane.LAB),
        _one("0005", "lactate 4.4", 9, Lane.LAB),
    ]
    drug, lactate, later = sorted(_shown(build_story(lines, CLOCK)), key=lambda m: m.uid)
    assert (drug.uids, drug.noted, drug.act) == (
        ("0001", "0002"),
        Moment("10:42", "+1.5 h"),
        "given",
    )
    assert Reason.CONFLICT in drug.reasons
    assert lactate.uids == ("0003", "0004")
    assert Reason.EXTREME in lactate.reasons
    assert Reason.EXTREME not in later.reasons


@pytest.mark.parametrize(
    ("mention", "extreme"),
    [
        ("blood pressure 212/108", True), ("systolic pressure of 102", False), ("systolic fell to 80", True),
        ("temperature 103.0 two hours later", True), ("febrile to 38.6", True), ("temperature 99.7", False), ("fever to 38.6", True),
        ("lactate 3.9", False), ("potassium of 2.7", True), ("hemoglobin 13.9 on arrival", False),
        ("pH 7.21", False), ("initial gas 7.00/63", True), ("glucose of 942", True), ("INR 1.4", False),
    ],
)  # fmt: skip
def test_extreme_values_by_hand(mention, extreme):
    story = build_story([_one("0001", mention, 5)], CLOCK)
    assert (Reason.EXTREME in _shown(story)[0].reasons) is extreme


def test_pins_lead_and_are_always_told():
    plain = [_one(f"{n:04x}", f"procedure number {n}", n, Lane.PROCEDURE) for n in range(18)]
    dull = _one("00ff", "itching of the nose", 50)
    story = build_story([*plain, dull], CLOCK, pins={"00ff"})
    assert [m.uid for m in story.pinned] == ["00ff"]
    assert "00ff" in {m.uid for m in _shown(story)}
    assert len(_shown(story)) == MOST
    assert "00ff" not in {m.uid for m in _shown(build_story([*plain, dull], CLOCK))}


_TOLD = st.builds(
    StoryLine,
    uid=st.integers(0, 0xFFFF).map("{:04x}".format),
    mention=st.text(min_size=1, max_size=40) | st.sampled_from(["intubated", "died", "BP 70/40", "to the floor"]),
    lane=st.sampled_from(Lane),
    polarity=st.sampled_from(Polarity),
    time=st.none() | st.floats(-1e7, 1e7),
    text=st.none() | st.floats(-1e7, 1e7),
    revised=st.booleans(),
    cited=st.lists(st.builds(Cited, st.integers(0, 5), st.sampled_from(["med:x:start", "", "lab:"])), max_size=2).map(tuple),
)  # fmt: skip


@given(st.lists(_TOLD, max_size=40, unique_by=lambda t: t.uid))
def test_any_timeline_has_a_story(lines):
    story = build_story(lines, CLOCK)
    milestones = [m for day in story.days for m in day.milestones]
    assert sorted(m.rank for m in milestones) == list(range(1, len(milestones) + 1))
    assert story.count == len(milestones) <= LONGEST
    assert len(_shown(story)) == story.shown <= MOST
    uids = [uid for m in milestones for uid in m.uids]
    assert len(uids) == len(set(uids))
    by_uid = {t.uid: t for t in lines}
    for m in milestones:
        assert all(by_uid[uid].polarity not in (Polarity.ABSENT, Polarity.FAMILY) for uid in m.uids)


def test_the_documentation_has_the_points_of_the_code():
    page = (ROOT / "docs" / "reference" / "story.md").read_text(encoding="utf-8")
    table = [line for line in page.splitlines() if line.startswith("| ")][1:]
    assert table == [
        f"| {reason.value} | {points:+g} |".replace("-", "−") for reason, points in WEIGHTS.items()
    ]
    assert set(WEIGHTS) == set(Reason)
