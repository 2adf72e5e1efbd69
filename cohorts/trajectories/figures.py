"""The figures of a trajectory page: what its plots draw and its tables say.

A table is rows of plain values with heads; plots get the same numbers.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.urls import reverse

from cohorts.trajectories.aligning import count_density, find_courses
from cohorts.trajectories.choices import Choice
from cohorts.trajectories.lanes import MOST_LANES, cut_lanes, order_stays
from cohorts.trajectories.loading import Bin, Loaded
from cohorts.trajectories.survival import TICKS, Curve, draw_curves, find_intervals
from timelines.cases.listing import title_line

#: The tables of a page, by name.
TABLES = ("lanes", "density", "curve", "changes", "survival", "courses")


@dataclass(frozen=True, slots=True)
class Table:
    """A tidy table: one observation in each row."""

    heads: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...] = ()


@dataclass(frozen=True)
class Survival:
    """Curves with the stays that they leave out."""

    curves: tuple[Curve, ...] = ()
    before: int = 0
    ticks: tuple[float, ...] = TICKS


@dataclass(frozen=True)
class Figures:
    """All tables of a page by name, and what its plots get."""

    tables: Mapping[str, Table]
    plots: Mapping[str, Any]
    survival: Survival
    lanes: int
    drawn: int
    exposed: tuple[str, ...] = field(default=())


def make_figures(
    loaded: Loaded,
    choice: Choice,
    names: Mapping[str, str],
    curve: Sequence[Bin],
    changes: Sequence[tuple[int, float, float]],
) -> Figures:
    """Return the figures of aligned stays; `names`: words of each concept."""
    stays = order_stays(loaded.aligned, choice.order, loaded.groups)
    lanes, lane_table = _draw_lanes(loaded, stays, choice, names)
    density = _density(loaded, choice, names)
    survival = _survival(loaded, choice)
    tables = {
        "lanes": lane_table,
        "density": density,
        "curve": Table(
            ("hours", "lower quartile", "median", "upper quartile", "values", "stays"),
            tuple((b.at, b.low, b.median, b.high, b.values, b.stays) for b in curve),
        ),
        "changes": Table(
            ("case", "before", "after", "change"),
            tuple(
                (loaded.encounters[stay].case_id, before, after, round(after - before, 6))
                for stay, before, after in changes
            ),
        ),
        "survival": _survival_table(survival),
        "courses": _courses(loaded, choice, names),
    }
    plots = {
        "lanes": lanes,
        "density": [list(row) for row in density.rows],
        "curve": [[b.at, b.low, b.median, b.high] for b in curve],
        "changes": [[before, after] for _, before, after in changes],
        "survival": [
            {"group": c.group, "t": c.times, "low": c.lowest, "high": c.highest}
            for c in survival.curves
        ],
        "names": sorted({names[key] for key in names if key in _shown(choice)}),
        "range": [choice.start, choice.stop],
        "step": choice.step,
        "zero": names.get(choice.zero, "admission"),
    }
    drawn = stays[:MOST_LANES]
    return Figures(
        tables,
        plots,
        survival,
        len(stays),
        len(drawn),
        tuple(loaded.encounters[stay].public_id for stay in drawn),
    )


def _shown(choice: Choice) -> set[str]:
    return {choice.zero, choice.target, choice.group, *choice.concepts}


def _draw_lanes(
    loaded: Loaded, stays: Sequence[int], choice: Choice, names: Mapping[str, str]
) -> tuple[dict[str, Any], Table]:
    ends = dict(loaded.aligned.stays.select("stay", "end").iter_rows())
    zeros = dict(loaded.aligned.stays.select("stay", "zero").iter_rows())
    drawn = list(stays[:MOST_LANES])
    marks = cut_lanes(loaded.aligned, drawn).select(
        "lane", "concept", "at", "lower", "upper", "stay"
    )
    rows = list(marks.iter_rows())
    plot = {
        "stays": [
            {
                "title": title_line(loaded.encounters[stay]),
                "url": reverse("timelines:case", args=[loaded.encounters[stay].public_id]),
                "start": -zeros[stay],
                "end": ends[stay],
                "group": loaded.groups.get(stay, ""),
            }
            for stay in drawn
        ],
        "marks": [[lane, names.get(concept, concept), at] for lane, concept, at, *_ in rows],
        "total": len(stays),
    }
    table = Table(
        ("case", "lane", "concept", "hours", "earliest", "latest"),
        tuple(
            (
                loaded.encounters[stay].case_id,
                lane + 1,
                names.get(concept, concept),
                at,
                lower,
                upper,
            )
            for lane, concept, at, lower, upper, stay in rows
        ),
    )
    return plot, table


def _density(loaded: Loaded, choice: Choice, names: Mapping[str, str]) -> Table:
    counted = count_density(loaded.aligned, choice.start, choice.stop, choice.step)
    rows = (
        (names.get(concept, concept), round(at, 4), facts, stays)
        for concept, at, facts, stays in counted.iter_rows()
    )
    return Table(("concept", "hours", "occurrences", "stays"), tuple(rows))


def _survival(loaded: Loaded, choice: Choice) -> Survival:
    if not choice.target:
        return Survival()
    times = find_intervals(loaded.aligned, choice.target)
    return Survival(draw_curves(times.intervals, loaded.groups or None), len(times.before))


def _survival_table(survival: Survival) -> Table:
    rows = (
        (curve.group, at, low, high)
        for curve in survival.curves
        for at, low, high in zip(curve.times, curve.lowest, curve.highest, strict=True)
    )
    return Table(("group", "hours", "lowest share without", "highest share without"), tuple(rows))


def _courses(loaded: Loaded, choice: Choice, names: Mapping[str, str]) -> Table:
    rows = [
        (loaded.encounters[stay].case_id, names.get(concept, concept), onset, recurrences, last)
        for concept in choice.concepts
        for stay, onset, recurrences, last in find_courses(loaded.facts, concept).iter_rows()
    ]
    return Table(("case", "concept", "onset", "recurrences", "last"), tuple(rows))


@dataclass(frozen=True, slots=True)
class Course:
    """How often stays had a condition, and again."""

    concept: str
    stays: int
    onset: float
    recurring: int


def summarise_courses(table: Table) -> list[Course]:
    """Return a line for each concept of the table of courses."""
    found: dict[str, list[tuple[Any, ...]]] = {}
    for row in table.rows:
        found.setdefault(row[1], []).append(row)
    return [
        Course(
            concept,
            len(rows),
            statistics.median(row[2] for row in rows),
            sum(row[3] > 0 for row in rows),
        )
        for concept, rows in found.items()
    ]


def describe_changes(changes: Sequence[tuple[int, float, float]]) -> str:
    """Return the median change as a sentence; "" without stays."""
    if not changes:
        return ""
    differences = [after - before for _, before, after in changes]
    median = statistics.median(differences)
    words = (
        "did not change"
        if median == 0
        else f"{'rose' if median > 0 else 'fell'} by {abs(median):g}"
    )
    return (
        f"In {len(changes)} stay{'s' if len(changes) != 1 else ''} with a value before and after, "
        f"the middle one {words}. That one came after the other does not show that it was its effect."
    )
