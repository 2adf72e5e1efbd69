"""The sections of evaluations: main table, variants, sweeps, errors."""

from __future__ import annotations

from collections.abc import Iterator

from accounts.wording import format_count
from adjudication.study_report.values import Dot, Figure, Section, name_section
from timelines.evaluation.plain import report_from_plain
from timelines.evaluation.tables import Table, ablation, all_tables, backbones, main, metric_words
from timelines.evaluation.values import Basis, Difference, Estimate, Report, SourceResult
from timelines.models import Evaluation

#: The way of pairing of the published figures.
LEADING = Basis.EMBEDDING
#: The published metrics, drawn for every source.
DRAWN = ("match_rate", "concordance", "aultc")


def evaluation_sections(key: str, evaluation: Evaluation) -> Iterator[Section]:
    """Yield a section for each basis of pairing."""
    if evaluation.report is None:
        yield Section(name_section(key), key.capitalize(), missing="The evaluation has no report.")
        return
    report = report_from_plain(evaluation.report)
    for basis in report.settings.bases:
        yield Section(
            f"{name_section(key)}-{basis.value}",
            f"{key.capitalize()}, pairs by {basis.value}",
            tuple(_sentences(report, basis)),
            tuple(_tables(report, basis)),
            tuple(_figures(report, basis)),
            # The published metrics pair by embedding; other ways lead only without it.
            leads=basis is LEADING or LEADING not in report.settings.bases,
        )


def _tables(report: Report, basis: Basis) -> Iterator[Table]:
    """Yield every table, with the published figures beside ours."""
    yield main(report, basis, published=True)
    for number, source in enumerate(backbones(report)):
        table = ablation(report, basis, source, published=not number)
        if len(table.rows) > 2:
            yield table
    yield from (t for t in all_tables(report, basis) if t.name not in ("main", "ablation"))


def _sentences(report: Report, basis: Basis) -> Iterator[str]:
    """Say which source is best, and which differences are clear.

    No source is called best whose interval overlaps another's, and no difference is called clear
    whose interval contains 0. Differences that are 0 by design, as of timelines with one
    inventory, are passed over.
    """
    for metric in DRAWN:
        if sentence := _describe_best(report, basis, metric):
            yield sentence
    unclear = 0
    for difference in report.differences:
        for metric in DRAWN if difference.basis is basis else ():
            change = difference.metrics.get(metric)
            if change is None or change.value is None or change.low is None or change.high is None:
                continue
            if change.low > 0 or change.high < 0:
                yield _describe_change(difference, _name_metric(metric, basis), change)
            else:
                unclear += change.low < change.high
    if unclear:
        yield f"{format_count(unclear, 'further difference')} between sources: not clear."


def _describe_change(difference: Difference, name: str, change: Estimate) -> str:
    """Return one clear difference, with the digits that its interval needs."""
    assert change.value is not None  # checked by the caller
    assert change.low is not None
    assert change.high is not None
    ends = sorted((abs(change.low), abs(change.high)))
    words = "higher" if change.value > 0 else "lower"
    digits = 3 if ends[0] >= 0.0005 else 4
    size, low, high = (f"{x:.{digits}f}" for x in (abs(change.value), *ends))
    return (
        f"{difference.second.label} has a {words} {name} than {difference.first.label}:"
        f" by {size} (95 % CI {low} to {high})."
    )


def _describe_best(report: Report, basis: Basis, metric: str) -> str:
    """Return who is highest by a metric, or that the difference is not clear."""
    dots = sorted(
        _dots([r for r in report.results if r.basis is basis and r.key.alternative == 1], metric),
        key=lambda dot: -dot.value,
    )
    if len(dots) < 2:
        return ""
    best, others = dots[0], dots[1:]
    near = [o for o in others if o.high is None or best.low is None or o.high >= best.low]
    name = _name_metric(metric, basis)
    name = name[:1].upper() + name[1:]
    if near:
        count = format_count(len(near), "other source")
        return (
            f"{name}: no clear best source. {best.label} has {best.value:.3f}, and the interval of"
            f" {count} overlaps with its own."
        )
    return (
        f"{name} is highest for {best.label}: {best.value:.3f}"
        f" (95 % CI {best.low:.3f} to {best.high:.3f})."
    )


def _name_metric(metric: str, basis: Basis) -> str:
    """Return a metric with the way in which occurrences were paired."""
    words = metric_words(metric, basis)
    return (
        words
        if basis is Basis.SPAN and metric == "match_rate"
        else f"{words} ({basis.value} pairs)"
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
