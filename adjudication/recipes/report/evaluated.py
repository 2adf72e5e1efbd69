"""The sections of evaluations: main table, variants, sweeps, errors, evidence."""

from __future__ import annotations

from collections.abc import Iterator

from adjudication.study_report.values import Dot, Figure, Section
from timelines.evaluation.plain import report_from_plain
from timelines.evaluation.tables import ablation, all_tables, backbones, main, metric_words
from timelines.evaluation.values import Basis, Report, SourceResult
from timelines.models import Evaluation

#: The published metrics, drawn for every source.
DRAWN = ("match_rate", "concordance", "aultc")


def evaluation_sections(key: str, evaluation: Evaluation) -> Iterator[Section]:
    """Yield a section for each basis of pairing."""
    if evaluation.report is None:
        yield Section(_name(key), key.capitalize(), missing="The evaluation has no report.")
        return
    report = report_from_plain(evaluation.report)
    for basis in report.settings.bases:
        yield Section(
            f"{_name(key)}-{basis.value}",
            f"{key.capitalize()}, pairs by {basis.value}",
            tuple(_sentences(report, basis)),
            tuple(_tables(report, basis)),
            tuple(_figures(report, basis)),
        )


def _name(key: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in key)


def _tables(report: Report, basis: Basis):  # type: ignore[no-untyped-def]
    """Yield every table; those of the publication with its figures beside ours."""
    yield main(report, basis, published=True)
    for number, source in enumerate(backbones(report)):
        table = ablation(report, basis, source, published=not number)
        if len(table.rows) > 2:
            yield table
    yield from (t for t in all_tables(report, basis) if t.name not in ("main", "ablation"))


def _sentences(report: Report, basis: Basis) -> Iterator[str]:
    """Say which source is best by each published metric, and what the record changes."""
    for metric in DRAWN:
        found = [
            (r, e)
            for r in report.results
            if r.basis is basis
            and r.key.alternative == 1
            and (e := r.available.get(metric)) is not None
            and e.value is not None
        ]
        if not found:
            continue
        best, figure = max(found, key=lambda pair: pair[1].value or 0.0)
        interval = "" if figure.low is None else f" (95 % CI {figure.low:.3f} to {figure.high:.3f})"
        yield (
            f"{metric_words(metric, basis)} is highest for {best.key.label}:"
            f" {figure.value:.3f}{interval}, over {best.cases} cases."
        )
    for difference in report.differences:
        if difference.basis is not basis:
            continue
        for metric in DRAWN:
            change = difference.metrics.get(metric)
            if change is None or change.value is None or change.low is None or change.high is None:
                continue
            clear = change.low > 0 or change.high < 0
            words = "changes" if clear else "does not clearly change"
            yield (
                f"{difference.second.label} against {difference.first.label}"
                f" {words} {metric_words(metric, basis)}: {change.value:+.3f}"
                f" ({change.low:+.3f} to {change.high:+.3f})."
            )


def _figures(report: Report, basis: Basis) -> Iterator[Figure]:
    results = [r for r in report.results if r.basis is basis and r.key.alternative == 1]
    for metric in DRAWN:
        dots = tuple(_dots(results, metric))
        if dots:
            words = metric_words(metric, basis)
            yield Figure(f"sources-{metric}", f"{words} by source", words, dots)
    yield from _sweeps(results)
    errors = {r.key.label: r.error_cdf for r in results if r.error_cdf}
    if errors:
        yield Figure("errors", "Errors in time, cumulative", "Share", lines=errors, setting="Hours")
    yield from _rho(report, basis)


def _dots(results: list[SourceResult], metric: str) -> Iterator[Dot]:
    for result in results:
        found = result.available.get(metric)
        if found is not None and found.value is not None:
            yield Dot(result.key.label, found.value, found.low, found.high)


def _sweeps(results: list[SourceResult]) -> Iterator[Figure]:
    """Yield a curve of each source, variants too, over the matching threshold."""
    for at, metric in enumerate(DRAWN, 1):
        lines = {
            r.key.label: tuple((step[0], step[at]) for step in r.sweep if step[at] is not None)
            for r in results
            if r.sweep
        }
        if lines:
            words = metric_words(metric)
            yield Figure(
                f"threshold-{metric}",
                f"{words} by matching threshold",
                words,
                lines=lines,  # type: ignore[arg-type]  # None is left out above
                setting="Threshold",
            )


def _rho(report: Report, basis: Basis) -> Iterator[Figure]:
    if not report.rho or basis is not report.settings.bases[0]:
        return
    for metric in DRAWN:
        lines: dict[str, list[tuple[float, float]]] = {}
        for point in report.rho:
            found = point.metrics.get(metric)
            if found is not None and found.value is not None:
                lines.setdefault(point.source, []).append((point.rho, found.value))
        if lines:
            words = metric_words(metric, basis)
            yield Figure(
                f"rho-{metric}",
                f"{words} by ρ",
                words,
                lines={name: tuple(sorted(points)) for name, points in lines.items()},
                setting="ρ",
            )
