"""The table of names.md, row by row, and lists that are too long."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spec.table import read_table
from timelines.backbones.prompted.notes import list_names

ROWS = read_table(Path(__file__).with_name("names.md"))


@pytest.mark.parametrize("row", ROWS, ids=[row["names"][:40] for row in ROWS])
def test_lines(row: dict[str, str]) -> None:
    shown = list_names(row["names"].split(" ; "), 1000)
    assert shown.text.split("\n") == row["lines"].split(" ; ")
    assert shown.cut == ""


def test_a_list_that_is_too_long_keeps_a_share_of_every_group_and_says_what_it_left_out() -> None:
    names = [f"chart:value number {n:03}:" for n in range(300)] + ["lab:sodium:blood"]
    shown = list_names(names, 500)
    assert len(shown.text) < 600
    chart, lab = shown.text.split("\n")
    assert chart.startswith("chart: value number 000; value number 001")
    left = int(chart.rsplit("; and ", 1)[1].removesuffix(" more"))
    assert chart.count("value number") + left == 300
    assert lab == "lab (blood): sodium"
    assert shown.cut == "names of 301 series shown in 500 characters"


def test_no_names_are_no_text() -> None:
    assert list_names([], 100).text == ""
