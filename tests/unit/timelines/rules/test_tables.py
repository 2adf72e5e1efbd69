"""Tables whose values carry a date: what is one entry, and when it was."""

from __future__ import annotations

from datetime import datetime

import pytest

from timelines.backbones.rules.tables import find_rows
from timelines.backbones.rules.tagging.tagger import RuleTagger
from timelines.backbones.rules.timing.timer import RuleTimer
from timelines.domain import Anchor, Inventory, Occurrence, TaggedNote

#: Admitted on 4 March at 22:00.
ANCHOR = Anchor(datetime(2150, 3, 4, 22, 0))

ROW_DATES = """LABORATORY              RESULT  FLAG  COLLECTED
  SODIUM (135-145)        131     L     05-MAR 0600
                          138           06-MAR 0600
  ALBUMIN                 2.9     L     05-MAR 0600
"""
COLUMN_DATES = """RESULTS
             3/5/2150   3/6/2150
             06:00      18:30
Sodium       131 L      138
Albumin      --         2.9
"""
FIRST_DATES = """Date/Time          BP       Pulse
3/5/2150 07:00     101/60   92
3/6/2150 07:00     118/70   80
"""
ORDERS = """Drug                  Start            Stop
Cefazolin 1 g IV      3/5/2150 02:00   3/6/2150 10:00
Aspirin 81 mg         3/6/2150 09:00   D/C
"""


def read(text: str) -> dict[str, float | None]:
    note = f"Admission date: 3/4/2150\n\nHOSPITAL COURSE:\nExtubated at noon on HD3.\n\n{text}"
    spans = RuleTagger().tag(note)
    occurrences = [
        Occurrence(f"{i:04x}", i, s.mention, s.start, s.end) for i, s in enumerate(spans)
    ]
    entries = RuleTimer().infer(TaggedNote(note, Inventory(tuple(occurrences))), ANCHOR).by_uid
    return {o.mention: entries[o.uid].time for o in occurrences}


@pytest.mark.parametrize(
    ("table", "times"),
    [
        (
            ROW_DATES,
            {"SODIUM (135-145) 131 L": 8, "SODIUM (135-145) 138": 32, "ALBUMIN 2.9 L": 8},
        ),
        (COLUMN_DATES, {"Sodium 131 L": 8, "Sodium 138": 44.5, "Albumin 2.9": 44.5}),
        (
            FIRST_DATES,
            {"BP 101/60": 9, "Pulse 92": 9, "BP 118/70": 33, "Pulse 80": 33},
        ),
        (
            ORDERS,
            {
                "Cefazolin 1 g IV": 4,
                "Cefazolin 1 g IV stopped": 36,
                "Aspirin 81 mg": 35,
            },
        ),
    ],
    ids=["row", "column", "first", "orders"],
)
def test_a_value_takes_the_date_of_its_row_or_column(table: str, times: dict[str, float]) -> None:
    found = read(table)
    assert {m: found.get(m) for m in times} == pytest.approx(times, abs=0.1)
    assert len(set(found) - set(times)) <= 1


def test_the_story_goes_on_after_a_table() -> None:
    found = read(f"{ORDERS}\nThat evening she walked.\n")
    assert found["walked, that evening"] == pytest.approx(45.5)


@pytest.mark.parametrize(
    "line",
    [
        "Motor strength   5/5   4/5",
        "She walked.  She ate well on 3/5.",
        "Pain 8/10   at rest",
        "HD3    Hgb 8.2 WBC 9.1",
        "a   b   c",
        " | | ",
    ],
)
def test_other_lines_are_text(line: str) -> None:
    assert not any(row.items for row in find_rows(line))
