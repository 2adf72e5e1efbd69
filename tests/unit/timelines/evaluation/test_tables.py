"""Tables as files.

Counts are numbers, columns are aligned like numbers, and missing values stay missing.
"""

from __future__ import annotations

import csv
import io
import json

from timelines.evaluation.tables import Cell, Table

TABLE = Table(
    "t",
    "Title",
    ("Case", "Games", "Shown of", "Rating", "Share"),
    (
        ("007", 24, 40, Cell(1500.4, 1480.0, 1520.0, 0), Cell(-0.0001)),
        ("008", 0, "3/4", Cell(None, why="no game"), Cell(-0.0)),
        ("009", 3, 4, Cell(1499.6, None, None, 0), Cell(-0.25)),
    ),
)


def test_json_holds_counts_as_numbers_and_names_of_digits_as_words() -> None:
    rows = json.loads(TABLE.to_json())["rows"]
    assert [row[:3] for row in rows] == [["007", 24, 40], ["008", 0, "3/4"], ["009", 3, 4]]
    assert rows[1][3] == {"value": None, "low": None, "high": None, "why": "no game"}
    assert "-0.0," not in TABLE.to_json()


def test_latex_sets_columns_with_numbers_to_the_right() -> None:
    assert r"\begin{tabular}{lrrrr}" in TABLE.to_latex()


def test_csv_has_ends_of_intervals_only_where_a_line_has_them() -> None:
    lines = list(csv.reader(io.StringIO(TABLE.to_csv())))
    assert lines[0] == ["Case", "Games", "Shown of", "Rating", "Rating low", "Rating high", "Share"]
    assert lines[1] == ["007", "24", "40", "1500.4", "1480.0", "1520.0", "-0.0001"]
    assert lines[2] == ["008", "0", "3/4", "", "", "", "0.0"]
    one_end = Table("t", "Title", ("A", "B"), (("x", Cell(1.0, low=0.5)), ("words", "none")))
    assert one_end.to_csv() == "A,B,B low\nx,1.0,0.5\nwords,none,\n"


def test_what_rounds_to_zero_has_no_sign() -> None:
    assert [row[4].words for row in TABLE.rows if isinstance(row[4], Cell)] == [
        "0.000",
        "0.000",
        "-0.250",
    ]
    assert Cell(-0.0004, -0.0004, 0.0004).words == "0.000 (0.000 to 0.000)"
    assert "-0.000" not in TABLE.to_text() + TABLE.to_latex()
    assert "-0.250" in TABLE.to_text()
