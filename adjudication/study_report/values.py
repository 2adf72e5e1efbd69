"""A study's report: sentences, tables and figures. No Django."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from timelines.evaluation.tables import Cell, Content, Table


@dataclass(frozen=True, slots=True)
class Dot:
    """One value of a figure with its interval; published ones are hollow."""

    label: str
    value: float
    low: float | None = None
    high: float | None = None
    published: bool = False


@dataclass(frozen=True, slots=True)
class Figure:
    """Values with intervals (`dots`), or curves over a setting (`lines`)."""

    name: str
    title: str
    axis: str
    dots: tuple[Dot, ...] = ()
    #: Name of a curve → its (setting, value) pairs.
    lines: Mapping[str, tuple[tuple[float, float], ...]] = field(default_factory=dict)
    setting: str = ""


def name_section(key: str) -> str:
    """Return a name for addresses and files from the key of a step."""
    return "".join(c if c.isalnum() else "-" for c in key)


def name_table_file(section: Section, number: int) -> str:
    """Return the path in the archive of a section's table, counted from 1."""
    return f"tables/{section.name}-{number:02}-{section.tables[number - 1].name}"


@dataclass(frozen=True, slots=True)
class Section:
    """One part: what was found in sentences, then tables and figures.

    A section without either says in `missing` why it is not part of this study.
    """

    name: str
    title: str
    found: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    missing: str = ""
    #: Its sentences are among those that the report begins with.
    leads: bool = True


@dataclass(frozen=True, slots=True)
class StudyReport:
    """All of a report. `found` has the sentences that it begins with."""

    title: str
    about: str
    found: tuple[str, ...]
    sections: tuple[Section, ...]
    #: What differs from the published design, in sentences.
    differences: tuple[str, ...] = ()
    #: What is needed to repeat the study: groups of (name, value).
    settings: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)

    @property
    def tables(self) -> list[tuple[Section, Table]]:
        return [(section, table) for section in self.sections for table in section.tables]


def to_plain(report: StudyReport) -> dict[str, Any]:
    """Return JSON values."""
    return {
        "title": report.title,
        "about": report.about,
        "found": list(report.found),
        "differences": list(report.differences),
        "settings": {name: [list(p) for p in pairs] for name, pairs in report.settings.items()},
        "sections": [_section_to_plain(section) for section in report.sections],
    }


def from_plain(plain: Mapping[str, Any]) -> StudyReport:
    """Build it from `to_plain`'s result."""
    return StudyReport(
        plain["title"],
        plain["about"],
        tuple(plain["found"]),
        tuple(_section_from_plain(section) for section in plain["sections"]),
        tuple(plain["differences"]),
        {name: tuple((k, v) for k, v in pairs) for name, pairs in plain["settings"].items()},
    )


def _section_to_plain(section: Section) -> dict[str, Any]:
    return {
        "name": section.name,
        "title": section.title,
        "found": list(section.found),
        "missing": section.missing,
        "leads": section.leads,
        "tables": [
            {"name": t.name, "title": t.title, "heads": list(t.heads), "rows": _rows(t)}
            for t in section.tables
        ],
        "figures": [
            {
                "name": f.name,
                "title": f.title,
                "axis": f.axis,
                "setting": f.setting,
                "dots": [[d.label, d.value, d.low, d.high, d.published] for d in f.dots],
                "lines": {name: [list(p) for p in points] for name, points in f.lines.items()},
            }
            for f in section.figures
        ],
    }


def _section_from_plain(plain: Mapping[str, Any]) -> Section:
    return Section(
        plain["name"],
        plain["title"],
        tuple(plain["found"]),
        tuple(
            Table(t["name"], t["title"], tuple(t["heads"]), tuple(map(_row, t["rows"])))
            for t in plain["tables"]
        ),
        tuple(
            Figure(
                f["name"],
                f["title"],
                f["axis"],
                tuple(Dot(*dot) for dot in f["dots"]),
                {name: tuple((x, y) for x, y in points) for name, points in f["lines"].items()},
                f["setting"],
            )
            for f in plain["figures"]
        ),
        plain["missing"],
        plain.get("leads", True),
    )


def _rows(table: Table) -> list[list[Any]]:
    return [[_cell(cell) for cell in row] for row in table.rows]


def _cell(cell: Content) -> Any:
    """A figure as a list, so that it differs from words and counts."""
    if isinstance(cell, Cell):
        return [cell.value, cell.low, cell.high, cell.decimals, cell.why]
    return cell


def _row(plain: list[Any]) -> tuple[Content, ...]:
    return tuple(Cell(*cell) if isinstance(cell, list) else cell for cell in plain)
