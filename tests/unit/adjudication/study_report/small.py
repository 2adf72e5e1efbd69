"""A small report whose names try to be markup, commands or formulas."""

from __future__ import annotations

from adjudication.study_report.values import Dot, Figure, Section, StudyReport
from timelines.evaluation.tables import Cell, Table

#: What LaTeX, ReportLab or a spreadsheet could read as something else than text.
HOSTILE = (
    r"\input{/etc/passwd}",
    "50 % & more_than $5 #1 ~ ^",
    "{brace} }{",
    "[1em] star",
    "*star",
    "<b>bold</b> &amp; <para>",
    "a -- b --- c ''d'' `e` \"f\"",
    "line one\n\nline two\tend",
    "κ ≥ ½, ρ → θ ± 1 · Δ – … × ≈ Σ −",
    "École Łódź",
)


def make_report(**changes: object) -> StudyReport:
    """A report with every part; the published line has our figures above it."""
    rows = (
        ("rules", "revised", 2, Cell(0.8125, 0.75, 0.875), Cell(None, why="not computed")),
        ("rules (published)", "revised", 40, Cell(0.9), Cell(1.25, decimals=2)),
    )
    heads = ("Source", "Timeline", "Cases", "Match rate", "Median error, h")
    names = tuple((name, number) for number, name in enumerate(HOSTILE))
    section = Section(
        "main-span",
        "Main, pairs by span",
        ("Match rate is highest for rules: 0.812 (95 % CI 0.750 to 0.875), over 2 cases.",),
        (
            Table("main", "Timelines against reference", heads, rows),
            Table("names", "Hostile names & more", ("Name", "Number"), names),
        ),
        (Figure("match", "Match rate by source", "Match rate", (Dot("rules", 0.8125, 0.7, 0.9),)),),
    )
    plain: dict[str, object] = {
        "title": "A small study",
        "about": "Two cases.",
        "found": section.found,
        "sections": (section, Section("no-judge", "Judge", missing="Not part of this study.")),
        "differences": ("2 cases with a reference, where 40 were published.",),
        "settings": {"Launch": (("SHA-256 of the recipe", "ab" * 32), ("threshold", "0.1"))},
    }
    return StudyReport(**{**plain, **changes})  # type: ignore[arg-type]  # plain values, by name
