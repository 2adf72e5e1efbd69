"""The table of hospital_days.md, row by row, and its length."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from tests.spec.table import read_table
from timelines.backbones.prompted.stay import MOST_DAYS, OF_A_CHART, hospital_days, stay_fields
from timelines.domain import Anchor, NotePart, Window

ROWS = read_table(Path(__file__).with_name("hospital_days.md"))


def window(admission: str, discharge: str) -> Window:
    return Window(
        Anchor(datetime.fromisoformat(admission)),
        None if discharge == "none" else float(discharge),
    )


@pytest.mark.parametrize("row", ROWS, ids=[row["day"] for row in ROWS])
def test_day(row: dict[str, str]) -> None:
    fields = stay_fields(window(row["admission"], row["discharge"]))
    assert fields["discharge"] == row["says"]
    assert row["day"].replace(" ; ", " | ") in fields["days"].split("\n")


@pytest.mark.parametrize(
    ("discharge", "days", "goes_on"),
    [
        ("0", 1, False),
        ("9.3", 1, False),
        ("9.4", 2, False),
        ("-3", 1, False),
        ("none", 7, True),
        ("1425", MOST_DAYS, False),
        ("9000", MOST_DAYS, True),
        ("1e12", MOST_DAYS, True),
    ],
)
def test_the_table_ends_with_the_day_of_discharge(discharge: str, days: int, goes_on: bool) -> None:
    lines = hospital_days(window("2180-03-04 14:38", discharge)).split("\n")[1:]
    assert len([line for line in lines if " | " in line]) == days
    assert lines[-1].startswith("and so on") == goes_on


def test_the_last_days_of_the_calendar_end_the_table() -> None:
    lines = hospital_days(window("9999-12-30 10:00", "none")).split("\n")
    assert [line.split(" | ")[1] for line in lines[1:3]] == ["9999-12-30", "9999-12-31"]


def test_a_chart_is_explained_and_a_single_note_is_not() -> None:
    stay = window("2180-03-04 14:38", "90")
    one, chart = stay_fields(stay), stay_fields(stay, (NotePart(0, 4, "progress note", 20.0),))
    assert one["discharge"] == "Discharge is at hour 90."
    assert chart == {**one, "discharge": f"{one['discharge']} {OF_A_CHART}"}
