"""How wide tables are parted, by hand."""

from __future__ import annotations

import pytest

from adjudication.study_report.layout import (
    LINE,
    column_widths,
    is_published,
    split_columns,
)
from timelines.evaluation.tables import Cell, Table


def make_table(columns, words="123456"):
    heads = ("Source", *(f"c{n}" for n in range(columns)))
    return Table("t", "Title", heads, (("rules", *(words for _ in range(columns))),))


def test_a_table_that_fits_is_one_part_with_the_widths_that_it_wishes():
    table = Table("t", "T", ("Source", "N"), (("two words", 7),))
    assert split_columns(table) == [table]
    # The longest text of each column and two characters beside it.
    assert column_widths(table) == [11.0, 3.0]


def test_a_wide_table_is_parted_and_each_part_repeats_the_labels():
    # Labels: "Source" 6 + 2 and c0 6 + 2. The other columns need 8 each: 19 fit in 168 - 16.
    parts = split_columns(make_table(45))
    assert [len(part.heads) for part in parts] == [21, 21, 8]
    assert {part.heads[:2] for part in parts} == {("Source", "c0")}
    shown = [head for part in parts for head in part.heads[2:]]
    assert shown == [f"c{n}" for n in range(1, 45)]
    assert all(sum(column_widths(part)) <= LINE for part in parts)
    assert all(part.rows[0][:1] == ("rules",) for part in parts)


def test_labels_end_where_figures_begin():
    heads = ("Source", "Cases", *(f"head{n:04}" for n in range(40)))
    table = Table("t", "T", heads, (("rules", 3, *(Cell(0.5) for _ in range(40))),))
    parts = split_columns(table)
    assert len(parts) > 1
    assert all(part.heads[0] == "Source" for part in parts)
    assert [part.heads[1] for part in parts].count("Cases") == 1


@pytest.mark.parametrize("words", ["w" * 500, "many words " * 500])
def test_widths_never_exceed_the_line(words):
    table = Table("t", "T", ("Setting", "Value"), (("name", words),))
    assert sum(column_widths(table)) <= LINE
    assert column_widths(table)[0] == 9.0


def test_a_table_without_columns_has_no_part():
    assert split_columns(Table("t", "T", (), ())) == []


def test_published_lines_are_known_by_their_mark():
    assert is_published(("rules (published)", 3))
    assert not is_published(("rules", 3))
    assert not is_published((3, "rules (published)"))
