"""The simulated cohort: every item in every stay, equal layouts."""

from __future__ import annotations

import csv

import polars as pl

from benchmarks.support.growth.cohort import (
    FIRST_STAY,
    KINDS,
    ROWS,
    SERIES,
    draw_layout,
    make_rows,
    name_series,
    read_notes,
    write_notes,
)


def test_every_series_occurs_in_every_stay_and_names_differ():
    names = name_series()
    assert len(names) == len(set(names)) == SERIES
    assert not any("," in name for name in names)
    items, times = draw_layout(0)
    assert len(items) == len(times) == ROWS
    assert len(set(items.tolist())) == SERIES
    assert list(times) == sorted(times)


def test_stays_with_the_same_note_have_the_same_rows_except_for_values():
    layouts = [draw_layout(kind) for kind in range(KINDS)]
    rows = make_rows(layouts, range(0, KINDS + 1))
    assert rows.height == (KINDS + 1) * ROWS
    first = rows.filter(pl.col("subject_id") == 0)
    again = rows.filter(pl.col("subject_id") == KINDS)
    other = rows.filter(pl.col("subject_id") == 1)
    assert first["itemid"].equals(again["itemid"])
    assert first["charttime"].equals(again["charttime"])
    assert not first["value"].equals(again["value"])
    assert not first["itemid"].equals(other["itemid"])
    assert set(again["hadm_id"]) == {FIRST_STAY + KINDS}


def test_notes_differ_in_a_line_of_one_length(tmp_path):
    write_notes(tmp_path / "discharge.csv", KINDS + 1)
    with (tmp_path / "discharge.csv").open(newline="", encoding="utf-8") as file:
        texts = [row["text"] for row in csv.DictReader(file)]
    assert len(set(texts)) == KINDS + 1
    line, _, rest = texts[0].partition("\n")
    other, _, same = texts[KINDS].partition("\n")
    assert (line, other) == ("Summary number 0000000.", f"Summary number {KINDS:07}.")
    # The number is read from this place again.
    assert texts[KINDS][15:22] == f"{KINDS:07}"
    assert rest == same == read_notes()[0].replace("\r\n", "\n")
