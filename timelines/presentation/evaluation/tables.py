"""The tables of an evaluation as a page shows them.

Figures in words, best values marked, differences explained in a sentence.

No Django here, and nothing is computed anew: every value comes from a
`timelines.evaluation.values.Report`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ehr.presentation.wording import MINUS
from timelines.evaluation.naming import VARIANTS, split_source
from timelines.evaluation.published import PublishedRow
from timelines.evaluation.spread import SPREAD_METRICS, find_spread
from timelines.evaluation.tables import HOURS, metric_words
from timelines.evaluation.values import (
    METRICS,
    Basis,
    Difference,
    Estimate,
    Report,
    RhoPoint,
    SourceKey,
    SourceResult,
)
from timelines.pipeline.config import Variant

BASIS_WORDS: Mapping[Basis, str] = {
    Basis.SPAN: "Spans",
    Basis.EMBEDDING: "Embeddings",
    Basis.LEVENSHTEIN: "Spelling",
}
BASIS_SENTENCES: Mapping[Basis, str] = {
    Basis.SPAN: (
        "Paired one-to-one by the overlap of their spans in the note (intersection over union),"
        " largest first."
    ),
    Basis.EMBEDDING: (
        "Paired one-to-one by the cosine distance of sentence embeddings of the mentions."
    ),
    Basis.LEVENSHTEIN: "Paired one-to-one by the normalised Levenshtein distance of the mentions.",
}
#: The columns of a main table; the others are in a table of their own.
HEADLINE = ("match_rate", "concordance", "aultc", "median_error", "within_tolerance")
FURTHER = (
    "precision",
    "concordance_ref",
    "aultc_ref",
    "numeric_share",
    "evidence_precision",
    "evidence_recall",
)
LOWER_IS_BETTER = frozenset({*HOURS, "mean_log_error_common"})
#: Metrics that describe a timeline and do not measure its quality.
NEUTRAL = frozenset({"numeric_share"})
AVAILABLE, MISSING_AS_ZERO = "available", "missing as 0"
NO_FIGURE = "–"


@dataclass(frozen=True, slots=True)
class Figure:
    """One cell: "0.812" with "0.78 to 0.84" below; without a value the reason."""

    words: str
    interval: str = ""
    why: str = ""
    best: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """One column: a metric.

    Read over the available cases or with missing cases counted as 0.
    """

    metric: str
    head: str
    treatment: str = AVAILABLE
    #: Shown under a head that it shares with its other reading.
    split: bool = False


@dataclass(frozen=True)
class Row:
    """One timeline's figures.

    `first` of its group carries the group's name over `span` rows.
    """

    key: SourceKey
    name: str
    kind: str
    cases: str
    figures: tuple[Figure, ...]
    first: bool = True
    span: int = 1


@dataclass(frozen=True)
class Head:
    """A head over one or two columns."""

    words: str
    span: int


@dataclass(frozen=True)
class Table:
    """A table of figures.

    `treatments` is empty if every column is read in one way only.
    """

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]

    @property
    def width(self) -> int:
        """Columns in all, with source, timeline and cases."""
        return 3 + len(self.columns)

    @property
    def heads(self) -> list[Head]:
        """The upper row of heads: one a metric."""
        words = {c.metric: c.head for c in self.columns}
        return [
            Head(head, sum(c.metric == metric for c in self.columns))
            for metric, head in words.items()
        ]

    @property
    def treatments(self) -> list[str]:
        """Return the lower row of heads if missing cases give two readings."""
        twofold = any(c.treatment != AVAILABLE for c in self.columns)
        return [c.treatment for c in self.columns] if twofold else []


@dataclass(frozen=True, slots=True)
class DifferenceRow:
    """One metric of one comparison, with what its interval says."""

    metric: str
    words: str
    interval: str
    verdict: str
    excludes_zero: bool


@dataclass(frozen=True)
class Comparison:
    """Second minus first, metric by metric."""

    first: str
    second: str
    rows: tuple[DifferenceRow, ...]


def value_words(metric: str, value: float | None, *, signed: bool = False) -> str:
    """Format a figure.

    Shares have three decimals, hours two below ten and one above; a minus sign is a real one.
    """
    if value is None:
        return NO_FIGURE
    places = 3 if metric not in HOURS else 2 if abs(value) < 10 else 1
    said = f"{abs(value):.{places}f}"
    negative = value < 0 and float(said) != 0
    return (MINUS if negative else "+" if signed and float(said) != 0 else "") + said


def interval_words(metric: str, estimate: Estimate, *, signed: bool = False) -> str:
    """ "0.781 to 0.842"; empty without an interval."""
    if estimate.low is None or estimate.high is None:
        return ""
    return (
        f"{value_words(metric, estimate.low, signed=signed)} to"
        f" {value_words(metric, estimate.high, signed=signed)}"
    )


def figure(metric: str, estimate: Estimate | None) -> Figure:
    """A cell of one estimate."""
    if estimate is None or estimate.value is None:
        return Figure(NO_FIGURE, why=(estimate.why if estimate else "") or "no data")
    return Figure(value_words(metric, estimate.value), interval_words(metric, estimate))


@dataclass(frozen=True)
class SpreadRow:
    """One timeline over several references.

    A figure of each of `SPREAD_METRICS`, as "0.71 to 0.78".
    """

    name: str
    kind: str
    references: int
    figures: tuple[Figure, ...]


def spread_rows(report: Report, basis: Basis) -> list[SpreadRow]:
    """Return the spread of every timeline; variants are left out."""
    return [
        SpreadRow(
            spread.key.source,
            kind_words(spread.key),
            spread.references,
            tuple(_range_figure(m, spread.figures.get(m)) for m in SPREAD_METRICS),
        )
        for spread in find_spread(report, basis)
        if is_primary(spread.key)
    ]


def _range_figure(metric: str, ends: tuple[float, float] | None) -> Figure:
    if ends is None:
        return Figure(NO_FIGURE, why="no data")
    low, high = (value_words(metric, value) for value in ends)
    return Figure(low if low == high else f"{low} to {high}")


def main_results(report: Report, basis: Basis) -> list[SourceResult]:
    """Return what the main table compares.

    Everything but variants and further alternatives.
    """
    return [r for r in report.results if r.basis is basis and is_primary(r.key)]


def is_primary(key: SourceKey) -> bool:
    """Return whether a timeline belongs in main tables.

    It is neither a variant's nor a further alternative.
    """
    return key.alternative == 1 and not split_source(key.source)[1]


def ablation_results(report: Report, basis: Basis) -> list[SourceResult]:
    """Return each backbone with variants: the full timelines first.

    Empty if there are no variants. A variant that revises keeps the text-only times of the full
    run, so these appear only once.
    """
    of_basis = [r for r in report.results if r.basis is basis and r.key.alternative == 1]
    varied = {split_source(r.key.source)[0] for r in of_basis if _is_ablation(r.key)}
    shown = [
        r
        for r in of_basis
        if r.key.source in varied
        or (_is_ablation(r.key) and (r.key.kind == "revised" or _is_unimodal(r.key)))
    ]
    return sorted(
        shown, key=lambda r: (split_source(r.key.source)[0], split_source(r.key.source)[1] != "")
    )


def build_table(results: Sequence[SourceResult], metrics: Sequence[str], basis: Basis) -> Table:
    """Build a table that compares several timelines.

    A metric has two columns if a compared timeline misses a case.
    """
    twofold = any(r.missing_cases for r in results)
    columns = []
    for metric in metrics:
        words, split = (
            metric_words(metric, basis),
            twofold and any(_counts_missing(r, metric) for r in results),
        )
        columns.append(Column(metric, words, split=split))
        if split:
            columns.append(Column(metric, words, MISSING_AS_ZERO, split=True))
    rows = [_row(r, columns) for r in results]
    marked = _mark_best(rows, columns, results)
    return Table(tuple(columns), tuple(_group_rows(marked)))


def comparisons(
    differences: Iterable[Difference], basis: Basis, *, variants: bool
) -> list[Comparison]:
    """Return what evidence changed within a source.

    With `variants`: what a variant changed compared with the full one.
    """
    chosen = [d for d in differences if d.basis is basis]
    return [
        _comparison(d)
        for d in chosen
        if (_is_ablation(d.first) or _is_ablation(d.second)) == variants
    ]


def rho_rows(
    points: Sequence[RhoPoint], metrics: Sequence[str]
) -> list[tuple[str, str, int, list[Figure]]]:
    """Return (source, ρ, number of rows, figures) by source and ρ."""
    ordered = sorted(points, key=lambda p: (p.source, p.rho))
    return [
        (p.source, f"{p.rho:g}", p.rows, [figure(m, p.metrics.get(m)) for m in metrics])
        for p in ordered
    ]


def _counts_missing(result: SourceResult, metric: str) -> bool:
    """Return whether missing cases give this metric a second figure."""
    estimate = result.missing_as_zero.get(metric)
    return estimate is not None and estimate.value is not None


def _is_ablation(key: SourceKey) -> bool:
    return split_source(key.source)[1].split("/")[0] in VARIANTS


def _is_unimodal(key: SourceKey) -> bool:
    return split_source(key.source)[1].split("/")[0] == Variant.UNIMODAL


def _row(result: SourceResult, columns: Sequence[Column]) -> Row:
    figures = []
    for column in columns:
        estimates = result.available if column.treatment == AVAILABLE else result.missing_as_zero
        figures.append(figure(column.metric, estimates.get(column.metric)))
    total = result.cases + result.missing_cases
    cases = f"{result.cases} of {total}" if result.missing_cases else str(result.cases)
    return Row(result.key, result.key.source, kind_words(result.key), cases, tuple(figures))


def kind_words(key: SourceKey) -> str:
    """ "text-only", "revised", "revised 2"."""
    return SourceKey("", key.kind, key.alternative).label.removeprefix(" · ")


def _mark_best(
    rows: Sequence[Row], columns: Sequence[Column], results: Sequence[SourceResult]
) -> list[Row]:
    """Mark the best of each column.

    Equal words are equally best. A column has no best if its values are equal, or if its figures
    are of different cases, as over the available cases if a timeline misses a case.
    """
    missing = any(r.missing_cases for r in results)
    best: list[str | None] = []
    for column in columns:
        values = [
            e.value
            for r in results
            if (
                e := (r.available if column.treatment == AVAILABLE else r.missing_as_zero).get(
                    column.metric
                )
            )
            and e.value is not None
        ]
        said = {value_words(column.metric, v) for v in values}
        if column.metric in NEUTRAL or len(said) < 2 or (missing and column.treatment == AVAILABLE):
            best.append(None)
        else:
            best.append(
                value_words(
                    column.metric, min(values) if column.metric in LOWER_IS_BETTER else max(values)
                )
            )
    return [
        replace(
            row,
            figures=tuple(
                replace(f, best=f.words == b) for f, b in zip(row.figures, best, strict=True)
            ),
        )
        for row in rows
    ]


def _group_rows(rows: Sequence[Row]) -> list[Row]:
    """Group the rows of one source, its name over all of them."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.name, []).append(row)
    return [
        replace(row, first=n == 0, span=len(group))
        for group in groups.values()
        for n, row in enumerate(group)
    ]


def _comparison(difference: Difference) -> Comparison:
    order = {metric: n for n, metric in enumerate(METRICS)}
    metrics = sorted(difference.metrics.items(), key=lambda found: order.get(found[0], len(order)))
    rows = tuple(_difference(metric, estimate, difference.basis) for metric, estimate in metrics)
    return Comparison(difference.first.label, difference.second.label, rows)


def _difference(metric: str, estimate: Estimate, basis: Basis) -> DifferenceRow:
    excludes = (
        estimate.low is not None
        and estimate.high is not None
        and (estimate.low > 0 or estimate.high < 0)
    )
    return DifferenceRow(
        metric_words(metric, basis),
        value_words(metric, estimate.value, signed=True),
        _interval_of_difference(metric, estimate),
        _verdict(metric, estimate, excludes),
        excludes,
    )


def _interval_of_difference(metric: str, estimate: Estimate) -> str:
    """Format the interval of a difference with its signs.

    A bound that rounds to zero says on which side it is.
    """
    if estimate.low is None or estimate.high is None:
        return ""
    low, high = (value_words(metric, bound, signed=True) for bound in (estimate.low, estimate.high))
    if estimate.low > 0 and low[0] != "+":
        low = "just above 0"
    if estimate.high < 0 and high[0] != MINUS:
        high = "just below 0"
    return f"{low} to {high}"


def _verdict(metric: str, estimate: Estimate, excludes_zero: bool) -> str:
    if estimate.value is None:
        return f"No figure: {estimate.why or 'no data'}"
    if estimate.low is None or estimate.high is None:
        return "No interval: too few cases"
    if not excludes_zero:
        return "No clear difference (95 % CI includes 0)"
    if metric in NEUTRAL:
        return f"{'Higher' if estimate.value > 0 else 'Lower'} (95 % CI excludes 0)"
    better = (estimate.value < 0) if metric in LOWER_IS_BETTER else (estimate.value > 0)
    return f"{'Better' if better else 'Worse'} (95 % CI excludes 0)"


@dataclass(frozen=True)
class PublishedLine:
    """One published timeline.

    It has figures for the columns of our table, empty if none was published.
    """

    name: str
    kind: str
    figures: tuple[Figure, ...]
    first: bool
    span: int


def published_lines(rows: Sequence[PublishedRow], table: Table) -> list[PublishedLine]:
    """Return published figures under the columns of our table.

    They have no intervals, and none of them is marked as best.
    """
    found = []
    for source in rows:
        kinds = [
            (kind, values)
            for kind, values in (("text-only", source.text_only), ("revised", source.revised))
            if values is not None
        ]
        for n, (kind, values) in enumerate(kinds):
            figures = tuple(
                (
                    Figure(value_words(c.metric, values[c.metric]))
                    if c.treatment == AVAILABLE and c.metric in values
                    else Figure(NO_FIGURE, why="not published")
                )
                for c in table.columns
            )
            found.append(PublishedLine(source.name, kind, figures, n == 0, len(kinds)))
    return found


@dataclass(frozen=True)
class BandGroup:
    """Errors of one timeline by the reference time's distance.

    Each is (words, events, median error, share near enough).
    """

    label: str
    bands: tuple[tuple[str, int, Figure, Figure], ...]


def band_groups(results: Sequence[SourceResult]) -> list[BandGroup]:
    """One group a timeline that has any."""
    return [
        BandGroup(
            r.key.label,
            tuple(
                (words, n, figure("median_error", median), figure("within_tolerance", share))
                for words, n, median, share in r.by_distance
            ),
        )
        for r in results
        if r.by_distance
    ]
