"""The tables of a report on a judge run, as pages, files and the command show them. No Django here."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adjudication.reporting.values import CATEGORIES, JudgeReport, Overlap, Profile, Rated
from adjudication.scoring.errors import WEIGHTS, Category
from timelines.evaluation.tables import Cell, Table, TableRow

CATEGORY_WORDS = {
    Category.OVER_ANNOTATION: "over-annotation",
    Category.FALSE_DUPLICATE: "false duplicate",
    Category.WRONG_TIME: "wrong time",
    Category.WRONG_VALUE: "wrong value",
    Category.MISSED_POSITIVE: "missed event",
    Category.MISSED_NEGATIVE: "missed absence",
    Category.MISSED_RECURRENCE: "missed recurrence",
}
EMPTY = "no game"


def ratings(report: JudgeReport) -> Table:
    """A line a source: rating, mean share, record, and what stands behind it."""
    heads = ("Source", "Games", "Rating", "Mean share, %", "W–L–T", "Draws", "Empty", "Unjudged", "Flagged charges", "Without flagged")
    without = {r.source: Cell(r.rating, r.low, r.high, 0, report.without_flagged.why) for r in report.without_flagged.ratings}
    rows: list[TableRow] = []
    for r in report.rated.ratings:
        rows.append(
            (
                r.source,
                str(r.games),
                Cell(r.rating, r.low, r.high, 0, report.rated.why),
                Cell(_percent(r.mean_share), decimals=1),
                f"{r.wins}–{r.losses}–{r.ties}",
                str(r.draws),
                str(r.empty),
                str(r.unjudged),
                str(r.flagged),
                without.get(r.source, Cell(None, why=EMPTY)),
            )
        )
    return Table("ratings", "Ratings", heads, tuple(rows))


def profile(report: JudgeReport) -> Table:
    """Errors a matchup of each source, by category, and what they cost."""
    return Table("profile", "Errors a matchup", _profile_heads(), tuple(_profile_rows(report.profiles)))


def counts(report: JudgeReport) -> Table:
    """The same as raw counts."""
    heads = ("Source", "Games", *(CATEGORY_WORDS[c] for c in CATEGORIES))
    rows = [(p.source, str(p.games), *(str(n) for n in p.counts)) for p in report.profiles]
    return Table("counts", "Errors counted", heads, tuple(rows))


def strata_profile(report: JudgeReport) -> Table:
    """Errors a matchup by annotation protocol."""
    rows = [(name, *row) for name, profiles in report.stratum_profiles for row in _profile_rows(profiles)]
    return Table("strata-profile", "Errors a matchup by annotation protocol", ("Protocol", *_profile_heads()), tuple(rows))


def sensitivity(report: JudgeReport) -> Table:
    """Ratings under other weights."""
    return _by_rating("sensitivity", "Ratings under other weights", "Weights", report.sensitivity)


def strata(report: JudgeReport) -> Table:
    """Ratings by annotation protocol, each centred by itself."""
    return _by_rating("strata", "Ratings by annotation protocol", "Protocol", report.strata)


def tolerance(report: JudgeReport) -> Table:
    """Ratings when only times apart beyond a tolerance are charged."""
    rows: list[TableRow] = []
    for step in report.tolerance:
        for r in step.rated.ratings:
            rating = Cell(r.rating, r.low, r.high, 0, step.rated.why)
            rows.append((step.words, str(step.kept), str(step.left_out), r.source, rating))
    heads = ("TIMING findings that count", "Kept", "Left out", "Source", "Rating")
    return Table("tolerance", "Ratings over a sweep of tolerances", heads, tuple(rows))


def matchups(report: JudgeReport) -> Table:
    """A line a pair: the first one's share of all points, and the record game by game."""
    rows: list[TableRow] = []
    for m in report.matchups:
        c = m.result
        share = Cell(_percent(c.share), _percent(c.low), _percent(c.high), 1, "nothing was charged")
        record = f"{c.wins}–{c.losses}–{c.ties}"
        told = (str(c.cases), str(m.findings), Cell(c.points, decimals=1), share, "yes" if c.separated else "no")
        rows.append((m.first, m.second, *told, record, str(c.empty), str(m.unjudged), str(m.open)))
    heads = (
        "First", "Second", "Games", "Findings", "Points", "First's share, %", "Separated", "W–L–T", "Empty", "Unjudged", "Not judged yet",
    )  # fmt: skip
    return Table("matchups", "Pair by pair", heads, tuple(rows))


def swap(report: JudgeReport) -> Table:
    """What recurs when A and B are exchanged."""
    return overlap_table("swap", "The same comparisons in exchanged positions", ("First positions", "Exchanged"), report.swap)


def overlap_table(name: str, title: str, judgings: tuple[str, str], overlaps: Sequence[Overlap]) -> Table:
    """Two judgings of the same comparisons, a line a type of finding."""
    rows = [
        (
            o.type,
            str(o.first),
            str(o.second),
            str(o.both),
            Cell(_percent(o.shared), decimals=1, why="neither told any"),
            Cell(_percent(o.same), decimals=1, why="none was told by both"),
            Cell(o.kappa, why="too few, or all one side"),
        )
        for o in overlaps
    ]
    heads = ("Type", *judgings, "In both", "In both, of all, %", "Same verdict, %", "κ of the side held right")
    return Table(name, title, heads, tuple(rows))


#: By the name that addresses and files use.
TABLES: dict[str, Callable[[JudgeReport], Table]] = {
    "ratings": ratings,
    "profile": profile,
    "counts": counts,
    "strata": strata,
    "strata-profile": strata_profile,
    "sensitivity": sensitivity,
    "tolerance": tolerance,
    "matchups": matchups,
    "swap": swap,
}


def _profile_heads() -> tuple[str, ...]:
    return ("Source", "Games", *(f"{CATEGORY_WORDS[c]} ({WEIGHTS[c]:g})" for c in CATEGORIES), "Penalty a matchup")


def _profile_rows(profiles: Sequence[Profile]) -> list[TableRow]:
    return [
        (p.source, str(p.games), *(Cell(n, decimals=2, why=EMPTY) for n in p.a_matchup), Cell(p.penalty, decimals=1, why=EMPTY))
        for p in profiles
    ]


def _by_rating(name: str, title: str, head: str, several: Sequence[Rated]) -> Table:
    rows: list[TableRow] = []
    for rated in several:
        for r in rated.ratings:
            rating = Cell(r.rating, r.low, r.high, 0, rated.why)
            rows.append((rated.name, r.source, str(r.games), rating, Cell(_percent(r.mean_share), decimals=1), str(rated.draws)))
    return Table(name, title, (head, "Source", "Games", "Rating", "Mean share, %", "Draws in all"), tuple(rows))


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value
