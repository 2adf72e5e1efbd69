"""The tables of a report card, for pages, files and the API. No Django."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from adjudication.reports.card.compute import reviews_needed
from adjudication.reports.card.values import STRATA, Agreement, Item, Rate, ReportCard
from adjudication.searching.rates import ReviewerSearches, Share
from timelines.evaluation.tables import Cell, Table, TableRow

#: Widths of interval for which the table gives the number of reviews still needed.
WIDTHS = (0.20, 0.15, 0.10, 0.05)
ANSWERS = ("A", "B", "BOTH", "NEITHER", "UNCLEAR", "NOT_A_FINDING")
NONE_DECIDED = "nothing decided yet"


def uphold(card: ReportCard) -> Table:
    """Return a row per reviewer with raw and standardised rates, in percent.

    The raw rate has Wilson's interval; the other is standardised to the corpus.
    """
    rows = []
    for r in card.reviewers:
        s = r.standardised
        shown = Cell(_percent(s.rate), _percent(s.low), _percent(s.high), 1, s.why)
        rows.append((r.reviewer, r.decided, r.raw.upheld, percent(r.raw), shown))
    heads = (
        "Reviewer",
        "Decided",
        "Upheld",
        "Raw, % (95 % Wilson)",
        "Standardised, % (95 %, 20,000 resamples)",
    )
    return Table("uphold", "How often reviewers upheld the judge", heads, tuple(rows))


def strata(card: ReportCard) -> Table:
    """Return a row for each stratum of the primary reviewer.

    In the form of the published table, with the stratum's share of the corpus.
    """
    primary = next((r for r in card.reviewers if r.reviewer == card.primary), None)
    rows = []
    for name in STRATA:
        found = next((s for s in primary.strata if s.stratum == name), None) if primary else None
        rate = found.rate if found else Rate(0, 0)
        corpus = Cell(
            _percent(found.corpus if found else None),
            decimals=1,
            why="the judge run has no findings in the five strata",
        )
        rows.append((name, rate.n, rate.upheld, percent(rate), corpus))
    return Table(
        "strata",
        f"Uphold rate by stratum: {card.primary or 'nobody'}",
        ("Stratum", "n", "Upheld", "Rate, %", "Corpus, %"),
        tuple(rows),
    )


def pairings(card: ReportCard) -> Table:
    """Return a row for each pairing of the primary reviewer."""
    primary = next((r for r in card.reviewers if r.reviewer == card.primary), None)
    rows = [
        (name, rate.n, rate.upheld, percent(rate))
        for name, rate in (primary.pairings if primary else ())
    ]
    return Table(
        "pairings",
        f"Uphold rate by pairing: {card.primary or 'nobody'}",
        ("Pairing", "n", "Upheld", "Rate, %"),
        tuple(rows),
    )


def agreement(card: ReportCard) -> Table:
    """Return a row for each pair of reviewers, raw agreement first."""
    rows: list[TableRow] = [
        (
            f"{a.first} and {a.second}",
            a.raw.n,
            percent(a.raw),
            Cell(a.kappa, why="both gave the same answer to every item"),
            Cell(a.pabak),
            *(n for pair in a.table for n in pair),
        )
        for a in card.agreements
    ]
    heads = (
        "Reviewers",
        "Shared",
        "Raw agreement, %",
        "Cohen's κ",
        "PABAK",
        "Both uphold",
        "Only first",
        "Only second",
        "Both reject",
    )
    return Table("agreement", "How reviewers agree on upholding", heads, tuple(rows))


def confusion(found: Agreement, words: Mapping[str, str] | None = None) -> Table:
    """Return the first reviewer's answers by the second's.

    `words` replace the stored answers; files have the stored ones.
    """
    names = [(words or {}).get(a, a) for a in ANSWERS]
    rows: list[TableRow] = [
        (name, *(found.answers.get((a, b), 0) for b in ANSWERS))
        for a, name in zip(ANSWERS, names, strict=True)
    ]
    return Table(
        "confusion",
        f"Answers: {found.first} (lines) by {found.second} (columns)",
        ("", *names),
        tuple(rows),
    )


def disagreements(card: ReportCard) -> Table:
    """Return every item on which two reviewers answered differently.

    Each is classified, with any decision of a third person.
    """
    rows: list[TableRow] = []
    for a in card.agreements:
        for d in a.disagreements:
            answers = (f"{a.first}: {d.first}", f"{a.second}: {d.second}")
            rows.append(
                (
                    d.number,
                    d.case,
                    d.stratum,
                    d.verdict,
                    *answers,
                    d.about,
                    _format_bool(d.splits),
                    d.adjudicated or "open",
                )
            )
    heads = (
        "Item",
        "Case",
        "Stratum",
        "Judge",
        "First",
        "Second",
        "About",
        "Splits on upholding",
        "Third person",
    )
    return Table("disagreements", "Where reviewers disagree", heads, tuple(rows))


def concentration(card: ReportCard) -> Table:
    """Return how the items that split reviewers are spread over cases."""
    rows = [
        (f"{a.first} and {a.second}", case, split, n)
        for a in card.agreements
        for case, split, n in a.by_case
    ]
    return Table(
        "concentration",
        "Split items by case",
        ("Reviewers", "Case", "Split", "Shared items"),
        tuple(rows),
    )


def needed(card: ReportCard) -> Table:
    """Return how many reviews an interval of each width needs.

    At the primary reviewer's rate, and how many of them are still to come.
    """
    primary = next((r for r in card.reviewers if r.reviewer == card.primary), None)
    rate = primary.raw.rate if primary else None
    rows: list[TableRow] = []
    for width in WIDTHS:
        n = None if rate is None else reviews_needed(rate, width)
        left = None if n is None or primary is None else max(0, n - primary.raw.n)
        cells = (
            Cell(None if v is None else float(v), decimals=0, why=NONE_DECIDED) for v in (n, left)
        )
        rows.append((f"{100 * width:.0f} points wide (±{50 * width:g})", *cells))
    return Table(
        "needed",
        "Reviews that an interval takes",
        ("Interval of the raw rate", "Reviews", "Still needed"),
        tuple(rows),
    )


def seconds(card: ReportCard) -> Table:
    """Return active seconds per item, by reviewer."""
    why = "no time was measured"
    rows: list[TableRow] = []
    for r in card.reviewers:
        low, high = r.quartiles or (None, None)
        rows.append((r.reviewer, Cell(r.median_seconds, low, high, 0, why), r.not_a_finding))
    heads = (
        "Reviewer",
        "Median seconds an item (quartiles)",
        "Said that it should not have been raised",
    )
    return Table("seconds", "Time per item", heads, tuple(rows))


def decisions(items: Sequence[Item]) -> Table:
    """Return a row for each current decision."""
    rows: list[TableRow] = []
    for i in items:
        for d in i.decisions:
            measured = (Cell(d.active_seconds, decimals=1), Cell(d.own_time, decimals=2))
            answers = (i.verdict, d.reviewer, d.answer, _format_bool(i.upheld(d.answer)))
            rows.append(
                (
                    i.number,
                    i.case,
                    i.pairing,
                    i.stratum,
                    *answers,
                    *measured,
                    _format_bool(d.flagged),
                    _format_bool(d.amended),
                )
            )
    heads = (
        "Item",
        "Case",
        "Pairing",
        "Stratum",
        "Judge",
        "Reviewer",
        "Answer",
        "Upheld",
        "Seconds",
        "Own time, h",
        "Flagged",
        "Amended",
    )
    return Table("decisions", "Current decisions", heads, tuple(rows))


def search(card: ReportCard) -> Table:
    """Return recall and precision of the judge by searcher and kind."""
    return search_table(card.searches)


def search_table(searches: Sequence[ReviewerSearches]) -> Table:
    """Return a row for each searcher and kind of difference."""
    rows = [
        (
            found.reviewer,
            found.pairs,
            line.kind,
            line.listed,
            line.reported,
            line.matched,
            _share(line.recall),
            _share(line.precision),
        )
        for found in searches
        for line in found.lines
    ]
    heads = (
        "Reviewer",
        "Pairs",
        "Kind",
        "Listed",
        "Reported by the judge",
        "Both",
        "Recall, % (95 % Wilson)",
        "Precision, % (95 % Wilson)",
    )
    return Table("search", "Recall of the judge against people", heads, tuple(rows))


#: Tables by their names in addresses and files.
TABLES = {
    "uphold": uphold,
    "strata": strata,
    "pairings": pairings,
    "agreement": agreement,
    "disagreements": disagreements,
    "concentration": concentration,
    "search": search,
    "needed": needed,
    "seconds": seconds,
}


def percent(rate: Rate) -> Cell:
    """Return a rate in percent with its interval."""
    return Cell(_percent(rate.rate), _percent(rate.low), _percent(rate.high), 1, NONE_DECIDED)


def _share(share: Share) -> Cell:
    low, high = share.interval or (None, None)
    return Cell(_percent(share.rate), _percent(low), _percent(high), 1, "none of this kind")


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value


def _format_bool(value: bool) -> str:
    return "yes" if value else "no"
