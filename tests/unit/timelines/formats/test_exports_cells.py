"""Cells that a spreadsheet would calculate."""

from __future__ import annotations

import pytest

from timelines.formats.tables.writer import safe_cell


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("+1", "'+1"),
        ("-0.5", "'-0.5"),
        ("@sum(a1)", "'@sum(a1)"),
        ("\tx", "'\tx"),
        ("\rx", "'\rx"),
        ("fever", "fever"),
        ("lactate = 4", "lactate = 4"),
        ("", ""),
    ],
)
def test_text_that_begins_like_a_formula_is_shown_not_calculated(text, cell):
    assert safe_cell(text) == cell
