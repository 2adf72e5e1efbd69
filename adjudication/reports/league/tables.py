"""The tables of a report on a judge run. No Django.

Used by pages, files and the command.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adjudication.domain import Grounding
from adjudication.judging.finding_words import CATEGORY_WORDS, GROUNDING_WORDS
from adjudication.reports.league.values import (
    CATEGORIES,
    JudgeReport,
    Overlap,
    Profile,
    SourceRatings,
)
from adjudication.scoring.errors import WEIGHTS
from timelines.evaluation.tables import Cell, Table, TableRow

EMPTY = "no game"


def ratings(report: JudgeReport) -> Table:
    """Return a row per source: rating, mean share, record, numbers of games."""
    heads = (
        "Source",
        "Games",
        "Rating",
        "Mean share, %",
        "W–L–T",
        "Draws",
        "Empty",
        "Judged in part",
        "Unjudged",
        "Flagged charges",
        "Without flagged",
    )
    without = {
        r.source: Cell(r.rating, r.low, r.high, 0, report.without_flagged.why)
        for r in report.without_flagged.ratings
    }
    rows: list[TableRow] = []
    for r in report.rated.ratings:
        rows.append(
            (
                r.source,
                r.games,
                Cell(r.rating, r.low, r.high, 0, report.rated.why),
                Cell(_percent(r.mean_share), decimals=1),
                f"{r.wins}–{r.losses}–{r.ties}",
                r.draws,
                r.empty,
                r.in_part,
                r.unjudged,
                r.flagged,
                without.get(r.source, Cell(None, why=EMPTY)),
            )
        )
    return Table("ratings", "Ratings", heads, tuple(rows))


def profile(report: JudgeReport) -> Table:
    """Return each source's errors per matchup, by category, and their cost."""
    return Table(
        "profile", "Errors per matchup", _profile_heads(), tuple(_profile_rows(report.profiles))
    )


def counts(report: JudgeReport) -> Table:
    """Return the same as raw counts."""
    heads = ("Source", "Games", *(CATEGORY_WORDS[c] for c in CATEGORIES))
    rows: list[TableRow] = [(p.source, p.games, *p.counts) for p in report.profiles]
    return Table("counts", "Errors counted", heads, tuple(rows))


def strata_profile(report: JudgeReport) -> Table:
    """Return errors per matchup by annotation protocol."""
    rows = [
        (name, *row)
        for name, profiles in report.stratum_profiles
        for row in _profile_rows(profiles)
    ]
    return Table(
        "strata-profile",
        "Errors per matchup by annotation protocol",
        ("Protocol", *_profile_heads()),
        tuple(rows),
    )


def sensitivity(report: JudgeReport) -> Table:
    """Return ratings under other weights: a row a scheme, a column a source."""
    rows: list[TableRow] = [(r.name, *_by_source(report, r), r.draws) for r in report.sensitivity]
    return Table(
        "sensitivity",
        "Ratings under other weights",
        ("Weights", *report.sources, "Draws"),
        tuple(rows),
    )


def strata(report: JudgeReport) -> Table:
    """Return ratings by annotation protocol, centred within each.

    A row per protocol, a column per source.
    """
    rows: list[TableRow] = [
        (r.name, r.games, *_by_source(report, r), r.draws) for r in report.strata
    ]
    return Table(
        "strata",
        "Ratings by annotation protocol",
        ("Protocol", "Games", *report.sources, "Draws"),
        tuple(rows),
    )


def tolerance(report: JudgeReport) -> Table:
    """Return ratings if only times beyond a tolerance are charged.

    A row per tolerance, a column per source.
    """
    rows: list[TableRow] = []
    for step in report.tolerance:
        rows.append(
            (
                step.words,
                step.charged,
                step.left_out,
                *_by_source(report, step.rated),
                step.rated.draws,
            )
        )
    heads = ("TIMING findings that count", "Charged", "Left out", *report.sources, "Draws")
    return Table("tolerance", "Ratings over a sweep of tolerances", heads, tuple(rows))


def verdicts(report: JudgeReport) -> Table:
    """Return counts of verdicts and grounding, a row per type."""
    rows: list[TableRow] = []
    for v in report.verdicts:
        judged = (v.findings, v.decisive, v.both, v.neither, v.unclear, v.flagged)
        rows.append((v.type, *judged, *(n for _, n in v.groundings)))
    grounds = tuple(f"Rests on {GROUNDING_WORDS[g]}" for g in Grounding)
    heads = (
        "Type",
        "Findings",
        "For one side",
        "Both stand",
        "Neither",
        "Unclear",
        "Within tolerance",
        *grounds,
    )
    return Table("verdicts", "How findings were judged", heads, tuple(rows))


def matchups(report: JudgeReport) -> Table:
    """Return a row per pair: the first one's share of points, and the record."""
    rows: list[TableRow] = []
    for m in report.matchups:
        c = m.result
        share = Cell(_percent(c.share), _percent(c.low), _percent(c.high), 1, "nothing was charged")
        record = f"{c.wins}–{c.losses}–{c.ties}"
        counts = (
            c.cases,
            m.findings,
            Cell(c.points, decimals=1),
            share,
            "yes" if c.separated else "no",
        )
        others = (c.empty, m.in_part, m.unjudged, m.open)
        rows.append((m.first, m.second, m.differ or "–", *counts, record, *others))
    heads = (
        "First", "Second", "Differ in", "Games", "Findings", "Points", "First's share, %", "Separated", "W–L–T", "Empty",
        "Judged in part", "Unjudged", "Not judged yet",
    )  # fmt: skip
    return Table("matchups", "Pair by pair", heads, tuple(rows))


def swap(report: JudgeReport) -> Table:
    """Return the agreement after exchanging A and B."""
    return overlap_table(
        "swap",
        "The same comparisons in exchanged positions",
        ("First positions", "Exchanged"),
        report.swap,
    )


def overlap_table(
    name: str, title: str, judgings: tuple[str, str], overlaps: Sequence[Overlap]
) -> Table:
    """Compare two judgings of the same comparisons, a row per type of finding."""
    rows = [
        (
            o.type,
            o.first,
            o.second,
            o.both,
            Cell(_percent(o.shared), decimals=1, why="neither reported any"),
            Cell(_percent(o.same), decimals=1, why="both reported none"),
            Cell(
                _percent(o.charged_alike / o.both if o.both else None),
                decimals=1,
                why="both reported none",
            ),
            o.turned,
            Cell(o.kappa, why="too few, or all one side"),
        )
        for o in overlaps
    ]
    heads = (
        "Type",
        *judgings,
        "In both",
        "In both, of all, %",
        "Same verdict, %",
        "Same charge, %",
        "Turned",
        "κ of the side judged right",
    )
    return Table(name, title, heads, tuple(rows))


#: Tables by their names in addresses and files.
TABLES: dict[str, Callable[[JudgeReport], Table]] = {
    "ratings": ratings,
    "profile": profile,
    "counts": counts,
    "strata": strata,
    "strata-profile": strata_profile,
    "sensitivity": sensitivity,
    "tolerance": tolerance,
    "matchups": matchups,
    "verdicts": verdicts,
    "swap": swap,
}


def _profile_heads() -> tuple[str, ...]:
    return (
        "Source",
        "Games",
        *(f"{CATEGORY_WORDS[c]} ({WEIGHTS[c]:g})" for c in CATEGORIES),
        "Penalty a matchup",
    )


def _profile_rows(profiles: Sequence[Profile]) -> list[TableRow]:
    return [
        (
            p.source,
            p.games,
            *(Cell(n, decimals=2, why=EMPTY) for n in p.a_matchup),
            Cell(p.penalty, decimals=1, why=EMPTY),
        )
        for p in profiles
    ]


def _by_source(report: JudgeReport, rated: SourceRatings) -> list[Cell]:
    """Return ratings in the order of the report's sources."""
    found = {r.source: Cell(r.rating, r.low, r.high, 0, rated.why) for r in rated.ratings}
    return [found.get(source, Cell(None, why=EMPTY)) for source in report.sources]


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value
