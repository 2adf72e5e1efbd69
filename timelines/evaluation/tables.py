"""Tables of a report as plain cells, and as CSV, LaTeX and JSON.

Pages, command and downloads write the same ones. No Django. Every cell comes from the report; a
missing figure carries its reason.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from timelines.domain import RowLink
from timelines.evaluation.latex import tex_row
from timelines.evaluation.naming import split_source
from timelines.evaluation.published import MARK, ablation_table, main_table
from timelines.evaluation.spread import SPREAD_METRICS
from timelines.evaluation.values import (
    METRICS,
    Basis,
    BoundsGroup,
    BoundsOf,
    Estimate,
    Lost,
    Report,
    SourceKey,
    SourceResult,
    Step,
)
from timelines.pipeline.config import Variant

#: Figures in hours have two decimals, shares and indices three.
HOURS = ("median_error", "median_error_common", "width")
EXTRA_WORDS = {
    "median_error_common": "Median error on common events, h",
    "mean_log_error_common": "Mean ln(1 + error) on common events",
}
STEP_WORDS: Mapping[Step, str] = {
    Step.CANDIDATE: "Right series a candidate",
    Step.RETAINED: "Right series retained",
    Step.PRINTED: "Right row printed",
    Step.CITED: "Right row cited",
    Step.IN_TIME: "Time within tolerance",
}
LOST_WORDS: Mapping[Lost, str] = {
    Lost.NOT_FOUND: "Not among the candidates",
    Lost.BELOW_THRESHOLD: "Below threshold",
    Lost.OUTSIDE_TOP: "Outside the top series",
    Lost.OVER_BUDGET: "Rows over budget",
    Lost.NOT_SELECTED: "Rows not selected",
    Lost.NOT_CITED: "Printed but not cited",
    Lost.OTHER_ROW: "Another row cited",
    Lost.TIME_DIFFERS: "Time differs",
}
BOUNDS_WORDS: Mapping[BoundsOf, str] = {
    BoundsOf.ALL: "All",
    BoundsOf.STATED: "Stated",
    BoundsOf.NOT_STATED: "Not stated",
}
WAY_WORDS: Mapping[str, str] = {
    RowLink.CITED: "Row cited by the model",
    RowLink.INFERRED: "Row inferred from the same hour",
    RowLink.MATCHED: "Row matched by a rule",
    "": "Without row or rule",
}
#: Columns of the figures of bounds, and of their tenths by width.
BOUNDS_HEADS = ("Occurrences", "Coverage of bounds", "Median width, h", "Share open")
WIDTH_HEADS = ("Narrowest, h", "Widest, h", "Occurrences", "Coverage of bounds")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure of a table; `why` if it has no value."""

    value: float | None
    low: float | None = None
    high: float | None = None
    decimals: int = 3
    why: str = ""

    @property
    def words(self) -> str:
        """ "0.812 (0.780 to 0.840)", "–" for none."""
        if self.value is None:
            return "–"
        return (
            f"{self.format(self.value)} ({self.interval})"
            if self.interval
            else self.format(self.value)
        )

    @property
    def interval(self) -> str:
        """ "0.780 to 0.840"; empty for none."""
        return (
            ""
            if self.low is None or self.high is None
            else f"{self.format(self.low)} to {self.format(self.high)}"
        )

    def format(self, value: float) -> str:
        """With the cell's decimals; what rounds to 0 has no sign."""
        return f"{value:z.{self.decimals}f}"


#: Words, a count, or a figure.
Content = str | int | Cell
#: Words first, then figures.
TableRow = tuple[Content, ...]


@dataclass(frozen=True)
class Table:
    """Rows of words and figures.

    `heads` names every column; the first `labels` of them are words.
    """

    name: str
    title: str
    heads: tuple[str, ...]
    rows: tuple[TableRow, ...]

    def to_csv(self) -> str:
        """Return the table as CSV, safe for spreadsheets.

        Each value has one column. A figure has one more for each end of the interval if any line
        has an interval.
        """
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        ends = [self._ends(at) for at in range(len(self.heads))]
        writer.writerow(
            [
                _safe(words)
                for head, has in zip(self.heads, ends, strict=True)
                for words in (head, *(f"{head} {e}" for e in has))
            ]
        )
        for row in self.rows:
            cells: list[object] = []
            for cell, has in zip(row, ends, strict=True):
                if isinstance(cell, Cell):
                    cells += [
                        _drop_zero_sign(cell.value),
                        *(_drop_zero_sign(getattr(cell, end)) for end in has),
                    ]
                else:
                    cells += [_safe(cell) if isinstance(cell, str) else cell, *("" for _ in has)]
            writer.writerow(["" if c is None else c for c in cells])
        return out.getvalue()

    def _ends(self, at: int) -> list[str]:
        """Which ends of intervals a column has anywhere."""
        cells = [cell for row in self.rows if isinstance(cell := row[at], Cell)]
        return [
            end for end in ("low", "high") if any(getattr(cell, end) is not None for cell in cells)
        ]

    def to_latex(self) -> str:
        """A booktabs table; needs \\usepackage{booktabs}."""
        words = [[format_words(c) for c in row] for row in self.rows]
        columns = "".join(
            "r" if any(isinstance(row[at], int | Cell) for row in self.rows) else "l"
            for at in range(len(self.heads))
        )
        lines = [
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            tex_row(self.heads),
            r"\midrule",
            *map(tex_row, words),
        ]
        return "\n".join(
            [f"% {' '.join(self.title.split())}", *lines, r"\bottomrule", r"\end{tabular}", ""]
        )

    def plain(self) -> dict[str, Any]:
        """Return heads, and rows of words, counts, or {value, low, high, why}."""
        rows = [[_plain(cell) for cell in row] for row in self.rows]
        return {"name": self.name, "title": self.title, "heads": self.heads, "rows": rows}

    def to_json(self) -> str:
        """Return the plain values as JSON."""
        return json.dumps(self.plain(), ensure_ascii=False, indent=1)

    def to_text(self) -> str:
        """For a terminal: columns aligned."""
        words = [list(self.heads), *([format_words(c) for c in row] for row in self.rows)]
        widths = [max(len(row[at]) for row in words) for at in range(len(self.heads))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in words
        ]
        return "\n".join([self.title, lines[0], "  ".join("-" * w for w in widths), *lines[1:]])


def format_words(content: Content) -> str:
    """As people read it."""
    return content.words if isinstance(content, Cell) else str(content)


def metric_words(metric: str, basis: Basis | None = None) -> str:
    """The head of a metric's column; on spans the match rate is span recall."""
    if metric == "match_rate" and basis is Basis.SPAN:
        return "Span recall"
    return EXTRA_WORDS.get(metric) or METRICS.get(metric, metric)


def cell(estimate: Estimate | None, metric: str) -> Cell:
    """A figure as it is shown."""
    decimals = 2 if metric in HOURS else 3
    return (
        Cell(None, why="not computed")
        if estimate is None
        else Cell(estimate.value, estimate.low, estimate.high, decimals, estimate.why)
    )


def main(report: Report, basis: Basis, *, published: bool = False) -> Table:
    """Return every source, text-only and revised, with every metric.

    Figures are over the available cases and, if cases are missing, with these as 0. Variants whose
    full source is in the report are in its ablation table instead.
    """
    whole = set(backbones(report))
    results = [
        r
        for r in report.results
        if r.basis is basis and r.key.alternative == 1 and not _is_variant(r.key.source, whole)
    ]
    missing = any(r.missing_cases for r in results)
    heads = ["Source", "Timeline", "Cases", *(metric_words(m, basis) for m in METRICS)]
    heads += [f"{metric_words(m, basis)}, missing as 0" for m in METRICS] if missing else []
    rows: list[TableRow] = []
    for r in results:
        row: list[Content] = [
            r.key.source,
            r.key.kind.replace("_", "-"),
            _cases(r),
            *(cell(r.available.get(m), m) for m in METRICS),
        ]
        rows.append(
            (*row, *(cell(r.missing_as_zero.get(m), m) for m in METRICS)) if missing else tuple(row)
        )
    if published and basis is not Basis.SPAN:
        rows += _published_rows(len(heads))
    return Table(
        "main",
        f"Timelines against {report.reference}, {_basis_words(report, basis)}",
        tuple(heads),
        tuple(rows),
    )


def _is_variant(source: str, whole: set[str]) -> bool:
    base, variant = split_source(source)
    return bool(variant) and base in whole


def _published_rows(width: int) -> list[TableRow]:
    rows: list[TableRow] = []
    for source in main_table():
        for kind, figures in (("text-only", source.text_only), ("revised", source.revised)):
            if figures is not None:
                cells = [Cell(figures.get(m), why="not published") for m in METRICS]
                empty = [Cell(None, why="not published")] * (width - 3 - len(cells))
                rows.append((f"{source.name} ({MARK})", kind, 40, *cells, *empty))
    return rows


def ablation(report: Report, basis: Basis, source: str, *, published: bool = False) -> Table:
    """Return the variants of one backbone.

    Full, text-only, and each run that omits a part.
    """
    results = {r.key: r for r in report.results if r.basis is basis}
    keys = [("full", SourceKey(source, "revised")), ("unimodal", SourceKey(source, "text_only"))]
    keys += [
        (v.value, SourceKey(f"{source}/{v}", "revised"))
        for v in Variant
        if v.value not in ("full", "unimodal")
    ]
    shown = (
        "match_rate",
        "concordance",
        "aultc",
        "median_error",
        "within_tolerance",
        "evidence_precision",
        "evidence_recall",
    )
    rows: list[TableRow] = [
        (name, _cases(results[key]), *(cell(results[key].available.get(m), m) for m in shown))
        for name, key in keys
        if key in results
    ]
    if published and basis is not Basis.SPAN:
        for ablation in ablation_table():
            figures = ablation.revised or ablation.text_only or {}
            rows.append(
                (
                    f"{ablation.name} ({MARK})",
                    40,
                    *(Cell(figures.get(m), why="not published") for m in shown),
                )
            )
    heads = ("Variant", "Cases", *(metric_words(m, basis) for m in shown))
    return Table(
        "ablation", f"Variants of {source}, {_basis_words(report, basis)}", heads, tuple(rows)
    )


def strata(report: Report, basis: Basis) -> Table:
    """Return cumulative shares of errors, and errors by distance.

    The distance is that of the reference from admission.
    """
    results = [r for r in report.results if r.basis is basis]
    heads = ("Source", "Group", "Events", "Median error, h", "Share")
    rows: list[TableRow] = []
    for r in results:
        rows += [
            (r.key.label, f"within {w}", e.n, Cell(None), cell(e, "share")) for w, e in r.cumulative
        ]
        rows += [
            (r.key.label, w, n, cell(m, "median_error"), cell(t, "within_tolerance"))
            for w, n, m, t in r.by_distance
        ]
    return Table("strata", f"Errors in groups, {_basis_words(report, basis)}", heads, tuple(rows))


def differences(report: Report, basis: Basis) -> Table:
    """Second minus first, metric by metric, with paired intervals."""
    rows: list[TableRow] = [
        (d.first.label, d.second.label, metric_words(metric, basis), cell(e, metric), _verdict(e))
        for d in report.differences
        if d.basis is basis
        for metric in (*METRICS, *EXTRA_WORDS)
        if (e := d.metrics.get(metric)) is not None
    ]
    heads = ("First", "Second", "Figure", "Second − first", "Interval excludes 0")
    return Table(
        "differences",
        f"Differences on common cases, {_basis_words(report, basis)}",
        heads,
        tuple(rows),
    )


def sweep(report: Report, basis: Basis) -> Table:
    """Match rate, concordance and AULTC at every threshold."""
    rows: list[TableRow] = [
        (r.key.label, Cell(threshold, decimals=2), Cell(rate), Cell(order), Cell(area))
        for r in report.results
        if r.basis is basis
        for threshold, rate, order, area in r.sweep
    ]
    return Table(
        "sweep",
        f"Threshold sweep, {_basis_words(report, basis)}",
        ("Source", "Threshold", "Event match rate", "Concordance", "AULTC"),
        tuple(rows),
    )


def alternatives(report: Report, basis: Basis) -> Table:
    """Return timelines 1…A on the cases for which all of them are valid."""
    shown = ("match_rate", "concordance", "aultc", "median_error", "within_tolerance")
    rows: list[TableRow] = [
        (r.key.source, r.key.alternative, r.cases, *(cell(r.available.get(m), m) for m in shown))
        for r in report.alternatives
        if r.basis is basis
    ]
    heads = ("Source", "Timeline", "Common cases", *(metric_words(m, basis) for m in shown))
    return Table(
        "alternatives",
        f"Alternatives on common valid cases, {_basis_words(report, basis)}",
        heads,
        tuple(rows),
    )


def datasets(report: Report, basis: Basis) -> Table:
    """Return each dataset separately."""
    shown = ("match_rate", "concordance", "aultc", "median_error", "within_tolerance")
    rows: list[TableRow] = [
        (s.stratum, r.key.label, r.cases, *(cell(r.available.get(m), m) for m in shown))
        for s in report.strata
        for r in s.results
        if r.basis is basis
    ]
    heads = ("Dataset", "Source", "Cases", *(metric_words(m, basis) for m in shown))
    return Table("datasets", f"By dataset, {_basis_words(report, basis)}", heads, tuple(rows))


def references(report: Report, basis: Basis) -> Table:
    """Return every timeline against each of several references.

    "closest" is the closest one of each case.
    """
    found = [
        (r.key.label, reference.reference, r)
        for reference in (*report.references, *([report.closest] if report.closest else ()))
        for r in reference.results
        if r.basis is basis
    ]
    rows: list[TableRow] = [
        (label, against, r.cases, *(cell(r.available.get(m), m) for m in SPREAD_METRICS))
        for label, against, r in sorted(found, key=lambda line: line[:2])
    ]
    heads = ("Source", "Reference", "Cases", *(metric_words(m, basis) for m in SPREAD_METRICS))
    title = f"Several references, {_basis_words(report, basis)}"
    return Table("references", title, heads, tuple(rows))


def rho(report: Report, basis: Basis) -> Table:
    """Return revised timelines over the reranker's threshold.

    The sweep is made on the report's first basis, for any requested basis.
    """
    first = report.settings.bases[0]
    shown = (
        "concordance",
        "aultc",
        "median_error",
        "within_tolerance",
        "evidence_precision",
        "evidence_recall",
    )
    rows: list[TableRow] = [
        (p.source, Cell(p.rho, decimals=2), p.rows, *(cell(p.metrics.get(m), m) for m in shown))
        for p in report.rho
    ]
    return Table(
        "rho",
        f"Sensitivity to the reranker's threshold, {_basis_words(report, first)}",
        ("Source", "ρ", "Rows cited", *(metric_words(m, first) for m in shown)),
        tuple(rows),
    )


def funnel(report: Report, basis: Basis) -> Table:
    """Return the evidence funnel: shares of the steps, then counts of reasons.

    It is made on the report's first basis, for any requested basis.
    """
    first = report.settings.bases[0]
    rows: list[TableRow] = [
        (
            r.key.source,
            r.key.kind.replace("_", "-"),
            r.kind or "all",
            r.occurrences,
            *(Cell(r.reached[step] / r.occurrences) for step in STEP_WORDS),
            *(r.lost[reason] for reason in LOST_WORDS),
        )
        for r in report.funnel
    ]
    heads = ("Source", "Timeline", "Kind", "Occurrences")
    return Table(
        "funnel",
        f"Evidence funnel against {report.reference}, {_basis_words(report, first)}",
        (*heads, *STEP_WORDS.values(), *LOST_WORDS.values()),
        tuple(rows),
    )


def bounds(report: Report, basis: Basis) -> Table:
    """Return coverage and width of bounds, overall and in groups."""
    rows: list[TableRow] = [
        (
            r.key.label,
            group_words(g),
            g.occurrences,
            cell(g.coverage, "share"),
            cell(g.width, "width"),
            cell(g.open, "share"),
        )
        for r in report.bounds
        if r.basis is basis
        for g in r.groups
    ]
    return Table(
        "bounds",
        f"Coverage and width of bounds, {_basis_words(report, basis)}",
        ("Source", "Group", *BOUNDS_HEADS),
        tuple(rows),
    )


def reliability(report: Report, basis: Basis) -> Table:
    """Return the coverage of closed bounds in tenths by width."""
    rows: list[TableRow] = [
        (
            r.key.label,
            Cell(w.narrowest, decimals=2),
            Cell(w.widest, decimals=2),
            w.coverage.n,
            cell(w.coverage, "share"),
        )
        for r in report.bounds
        if r.basis is basis
        for w in r.widths
    ]
    return Table(
        "reliability",
        f"Coverage of closed bounds by width, {_basis_words(report, basis)}",
        ("Source", *WIDTH_HEADS),
        tuple(rows),
    )


def group_words(group: BoundsGroup) -> str:
    """Return the name of a group; rules have the name that the chain shows."""
    if group.of is not BoundsOf.WAY:
        return BOUNDS_WORDS[group.of]
    return WAY_WORDS.get(group.way) or f"Rule: {group.way.removeprefix('rules: ')}"


#: Name in addresses and files → how the table is made.
TABLES: Mapping[str, Callable[[Report, Basis], Table]] = {
    "main": main,
    "differences": differences,
    "strata": strata,
    "sweep": sweep,
    "alternatives": alternatives,
    "datasets": datasets,
    "references": references,
    "rho": rho,
    "funnel": funnel,
    "bounds": bounds,
    "reliability": reliability,
}
#: Made on the report's first basis alone.
_OF_FIRST_BASIS = ("rho", "funnel")


def backbones(report: Report) -> list[str]:
    """Return the sources of full runs.

    They are not variants and have a revision of their own.
    """
    sources = list(dict.fromkeys(key.source for key in report.keys))
    return [
        s
        for s in sources
        if not split_source(s)[1]
        and any(key.source == s and key.kind == "revised" for key in report.keys)
    ]


def all_tables(report: Report, basis: Basis) -> list[Table]:
    """Return every table of the report that has rows.

    Ablations are included; the ρ sweep and the evidence funnel are those of the first basis.
    """
    found = [
        make(report, basis)
        for name, make in TABLES.items()
        if name not in _OF_FIRST_BASIS or basis is report.settings.bases[0]
    ]
    found[1:1] = [
        table
        for source in backbones(report)
        if len((table := ablation(report, basis, source)).rows) > 2
    ]
    return [table for table in found if table.rows]


def _cases(result: SourceResult) -> str | int:
    return (
        f"{result.cases}/{result.cases + result.missing_cases}"
        if result.missing_cases
        else result.cases
    )


def _basis_words(report: Report, basis: Basis) -> str:
    if basis is Basis.SPAN:
        return f"paired by span overlap (IoU ≥ {report.settings.iou:g})"
    how = f"embeddings of {report.embedder}" if basis is Basis.EMBEDDING else "Levenshtein distance"
    return f"paired by {how} below {report.settings.threshold:g} ({report.settings.method})"


def _verdict(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return "no interval"
    return "yes" if estimate.low > 0 or estimate.high < 0 else "no"


def _plain(content: Content) -> object:
    if not isinstance(content, Cell):
        return content
    why = content.why if content.value is None else ""
    return {
        "value": _drop_zero_sign(content.value),
        "low": _drop_zero_sign(content.low),
        "high": _drop_zero_sign(content.high),
        "why": why,
    }


def _drop_zero_sign(value: float | None) -> float | None:
    """The figure as it is, but 0 for the -0.0 that sums of nothing can be."""
    return 0.0 if value == 0 else value


def _safe(text: str) -> str:
    return f"'{text}" if text.lstrip("'").startswith(_FORMULA) else text
