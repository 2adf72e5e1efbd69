"""Words of data as LaTeX, by hand."""

from __future__ import annotations

import pytest

from timelines.evaluation.latex import tex, tex_row
from timelines.evaluation.tables import Cell, Table


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (r"\input{x}", r"\textbackslash{}input\{x\}"),
        ("50 % & a_b $5 #1", r"50 \% \& a\_b \$5 \#1"),
        ("~ ^", r"\textasciitilde{} \textasciicircum{}"),
        ("[1em] x", "{}[1em] x"),
        ("*", "{}*"),
        ("a [b] *", "a [b] *"),
        ("a--b---c", "a-{}-b-{}-{}-c"),
        ("''q'' ,,r", "'{}'q'{}' ,{},r"),
        ("one\n\n two\tthree\x00four", "one two three four"),
        ("κ ≥ ½ Δ λ", r"$\kappa$ $\geq$ $\frac{1}{2}$ $\Delta$ $\lambda$"),
        ("–", r"\textendash{}"),
        ("École Łódź", "École Łódź"),
        ("", ""),
    ],
)
def test_text_stays_text(words, expected):
    assert tex(words) == expected


def test_a_row_ends_once_whatever_is_in_its_cells():
    assert tex_row(["a & b", r"c \\"]) == (
        r"a \& b & c \textbackslash{}\textbackslash{} \\"  # one `&` between two cells
    )


def test_a_table_is_no_place_for_commands():
    table = Table("t", "A\ntitle % more", ("Name", "Share"), (("[2pt] x_1", Cell(0.5)),))
    assert table.to_latex() == (
        "% A title % more\n"
        "\\begin{tabular}{lr}\n"
        "\\toprule\n"
        "Name & Share \\\\\n"
        "\\midrule\n"
        "{}[2pt] x\\_1 & 0.500 \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}\n"
    )
