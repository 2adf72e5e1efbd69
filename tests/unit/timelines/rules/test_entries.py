"""Notes written during the stay, one below the other, and logs.

Admission is Wednesday, 4 March 2150, 22:00, so 5 March begins at +2 and 6 March at +26.
"""

from __future__ import annotations

from datetime import datetime

import pytest

from timelines.backbones.rules.timing.timer import RuleTimer
from timelines.domain import Anchor, Entry, Inventory, Occurrence, TaggedNote

ANCHOR = Anchor(datetime(2150, 3, 4, 22, 0))
CHART = """{first}
S: A 50-year-old man with cough for two days.
O: Temperature 38.9. Potassium 3.1 at 22:40.
P: Fluids.

{second}
S: Slept badly last night. No cough since yesterday evening.
O: Lungs clear. Oxygen was stopped at 06:15, a film taken at 23:30.
P: Warfarin this evening. Physiotherapy tomorrow.

{third}
S: Walked this morning.
O: Creatinine 1.0. Drain out.
"""
HEADS = [
    ("3/4 23:30 ADMIT", "3/5 08:10 POD1", "3/6 10:00 D/C"),
    (
        "ADMISSION NOTE, written March 4, 23:30",
        "PROGRESS NOTE 1 - March 5, 08:10, hospital day 2",
        "PROGRESS NOTE 2 - March 6, 10:00, hospital day 3",
    ),
    ("4 March 2150, 23:30 - Admission", "5 March 2150, 08:10 - Ward round", "HD 3, 10:00"),
]


def times(note: str, *words: str) -> list[Entry]:
    spans = sorted((note.index(w), w) for w in words)
    inventory = Inventory(
        tuple(Occurrence(f"{i:04x}", i, w, at, at + len(w)) for i, (at, w) in enumerate(spans))
    )
    found = RuleTimer(margins={}).infer(TaggedNote(note, inventory), ANCHOR, 40.0).entries
    return [found[[w for _, w in spans].index(word)] for word in words]


@pytest.mark.parametrize("heads", HEADS)
def test_an_entry_is_read_from_when_it_was_written(heads: tuple[str, str, str]) -> None:
    note = CHART.format(first=heads[0], second=heads[1], third=heads[2])
    expected = {
        "cough for two days": -48.0,  # the story of the first entry
        "Temperature 38.9": 1.5,  # undated: so when it was written, 23:30
        "Potassium 3.1": 0.67,
        "Lungs clear": 10.17,  # 5 March, 08:10
        "Oxygen was stopped": 8.25,
        "a film taken": 1.5,  # the last 23:30 before it
        "Warfarin": 10.17,  # a plan is at the hour it was made
        "Physiotherapy": 10.17,
        "Creatinine 1.0": 36.0,
        "Drain out": 36.0,
    }
    for (words, hours), entry in zip(expected.items(), times(note, *expected), strict=True):
        assert entry.time == pytest.approx(hours, abs=0.3), (words, entry.reason)


def test_what_an_entry_says_without_a_time_is_not_older_than_the_entry_before_it() -> None:
    note = CHART.format(first=HEADS[0][0], second=HEADS[0][1], third=HEADS[0][2])
    (clear, plan) = times(note, "Lungs clear", "Warfarin")
    assert clear.lower == pytest.approx(1.5)
    assert clear.upper == clear.time
    assert not clear.known
    assert plan.upper is not None
    assert plan.upper >= 21.0, "this evening"


@pytest.mark.parametrize(
    "heads",
    [
        ("3/4 ADMIT", "3/5 POD1", "3/6 D/C"),  # no hours
        ("3/6 10:00 ADMIT", "3/5 08:10 POD1", "3/4 23:30 D/C"),  # backwards
        ("On 3/4 at 23:30 he was admitted.", "On 3/5 at 08:10 he slept.", "On 3/6 he left."),
    ],
)
def test_other_lines_with_dates_are_no_heads(heads: tuple[str, str, str]) -> None:
    note = CHART.format(first=heads[0], second=heads[1], third=heads[2])
    assert times(note, "Lungs clear")[0].decided_by != "entry"


LOG = """ED COURSE (arrived on 3/4)
2215 (3/4)  fluids wide open.
2340  film clear.
0050  potassium 6.1. Calcium 0105.
0410  handed over, nights > days.
0530 (3/6)  potassium 4.0.
"""


def test_the_lines_of_a_log_follow_each_other() -> None:
    expected = {
        "fluids": 0.25,
        "film clear": 1.67,
        "potassium 6.1": 2.83,
        "Calcium": 3.08,
        "handed over": 6.17,
        "potassium 4.0": 31.5,
    }
    for (words, hours), entry in zip(expected.items(), times(LOG, *expected), strict=True):
        assert entry.time == pytest.approx(hours, abs=0.1), (words, entry.reason)


def test_today_is_the_day_of_leaving_and_in_a_copied_note_that_note_s_day() -> None:
    note = "HOSPITAL COURSE:\nOn HD2 he was intubated. Prednisone was stopped today.\n"
    assert times(note, "Prednisone")[0].time == pytest.approx(39.0, abs=11), "6 March is day 3"
    copied = "HOSPITAL COURSE (carried forward from the HD2 note):\nPrednisone was stopped today.\n"
    (stopped,) = times(copied, "Prednisone")
    assert stopped.time is not None
    assert 2.0 <= stopped.time <= 26.0
