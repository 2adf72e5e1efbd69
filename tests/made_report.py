"""A report made by hand, for tests of pages and files.

No Django: figures are chosen, none is computed. Two sources (one with markup in its name), an
ablation, one missing case, all three kinds of intervals: above zero, below zero, around zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from timelines.evaluation.values import (
    Basis,
    BoundsGroup,
    BoundsOf,
    BoundsResult,
    CaseFunnel,
    CaseResult,
    CaseSource,
    Difference,
    Estimate,
    EvaluationSettings,
    FunnelLine,
    FunnelResult,
    Lost,
    MatchedPair,
    ReferenceResult,
    Report,
    RhoPoint,
    SourceKey,
    SourceResult,
    Step,
    StratumResult,
    WidthGroup,
)

MARKUP = '<img src=x onerror="window.hit=1"><script>window.hit=1</script>{{ 7|add:1 }}'
FOREIGN = f"other {MARKUP}"
TEXT, REVISED = SourceKey("rules", "text_only"), SourceKey("rules", "revised")
SECOND = SourceKey("rules", "revised", 2)
NO_ROWS = SourceKey("rules/no_rows", "revised")
OTHER = SourceKey(FOREIGN, "text_only")
SETTINGS = EvaluationSettings(bases=(Basis.SPAN, Basis.EMBEDDING), rho_sweep=(0.0, 0.1, 0.3))


def make_estimate(value: float | None, half: float = 0.03, n: int = 120, why: str = "") -> Estimate:
    """A figure with a symmetric interval."""
    return (
        Estimate(None, why=why) if value is None else Estimate(value, value - half, value + half, n)
    )


def make_figures(
    match: float, concordance: float, aultc: float, error: float
) -> dict[str, Estimate]:
    """The metrics of one timeline; evidence has no data."""
    return {
        "match_rate": make_estimate(match),
        "precision": make_estimate(match - 0.05),
        "concordance": make_estimate(concordance),
        "concordance_ref": make_estimate(concordance - 0.01),
        "aultc": make_estimate(aultc),
        "aultc_ref": make_estimate(aultc - 0.02),
        "median_error": make_estimate(error, 0.4),
        "within_tolerance": make_estimate(0.71),
        "numeric_share": make_estimate(0.93),
        "evidence_precision": make_estimate(None, why="the reference cites no row"),
        "evidence_recall": make_estimate(None, why="the reference cites no row"),
    }


def make_result(
    key: SourceKey, basis: Basis, values: Mapping[str, Estimate], *, missing: int = 0
) -> SourceResult:
    """One source under one basis with curves whose shape is plausible."""
    worse = {
        m: replace(e, value=e.value - 0.08) if e.value is not None and m != "median_error" else e
        for m, e in values.items()
    }
    match, concordance, aultc = (
        values[m].value or 0.0 for m in ("match_rate", "concordance", "aultc")
    )
    sweep = tuple(
        (n / 100, match + (n - 10) * 0.004, concordance - n * 0.001, aultc - n * 0.0008)
        for n in range(1, 51)
    )
    near = {"1 hour": 0.4, "1 day": 0.65, "1 week": 0.8, "1 month": 0.92, "1 year": 0.99}
    bands = (
        "up to 1 hour from admission",
        "1 hour to 1 day",
        "1 day to 1 week",
        "1 week to 1 month",
        "1 month to 1 year",
        "more than 1 year",
    )
    shift = (key.kind == "revised") * 0.06 - (key.source != "rules") * 0.1
    return SourceResult(
        key=key,
        basis=basis,
        cases=4 - missing,
        missing_cases=missing,
        reference_events=160,
        predicted_events=150,
        matched_events=120,
        available=values,
        missing_as_zero=worse if missing else values,
        cumulative=tuple(
            (words, make_estimate(min(1.0, share + shift), 0.02)) for words, share in near.items()
        ),
        by_distance=tuple(
            (
                words,
                30 - 4 * n,
                make_estimate(0.5 * 4**n, 0.2 * 4**n),
                make_estimate(0.8 - 0.05 * n),
            )
            for n, words in enumerate(bands)
        ),
        sweep=() if basis is Basis.SPAN else sweep,
        error_cdf=tuple((0.05 * 1.35**n, min(1.0, 0.2 + shift + n * 0.02)) for n in range(42)),
    )


def _results(basis: Basis) -> list[SourceResult]:
    lower = 0.2 if basis is Basis.EMBEDDING else 0.0
    return [
        make_result(TEXT, basis, make_figures(0.742 - lower, 0.861, 0.743, 6.2)),
        make_result(REVISED, basis, make_figures(0.742 - lower, 0.894, 0.792, 3.1)),
        make_result(NO_ROWS, basis, make_figures(0.742 - lower, 0.871, 0.751, 5.4)),
        make_result(OTHER, basis, make_figures(0.512 - lower, 0.803, 0.661, 11.5), missing=1),
    ]


def _difference(basis: Basis, first: SourceKey, second: SourceKey) -> Difference:
    values = {
        "concordance": Estimate(0.033, 0.012, 0.051, 4),
        "aultc": Estimate(0.049, -0.004, 0.09, 4),
        "median_error_common": Estimate(-3.1, -4.2, -1.4, 118),
        "evidence_precision": Estimate(None, why="the reference cites no row"),
    }
    return Difference(first, second, basis, values)


def make_funnel(key: SourceKey, kind: str, *counts: int) -> FunnelResult:
    """Return the funnel of one source and kind.

    `counts` are all occurrences and those that reach each step.
    """
    occurrences, *reached = counts
    lost = dict.fromkeys(Lost, 0)
    lost[Lost.NOT_SELECTED] = occurrences - min(reached)
    return FunnelResult(key, kind, occurrences, dict(zip(Step, reached, strict=True)), lost)


def make_bounds(key: SourceKey, basis: Basis, coverage: float) -> BoundsResult:
    """Return bounds of five groups, one without any bound."""

    def make_group(of: BoundsOf, way: str, occurrences: int, shift: float) -> BoundsGroup:
        return BoundsGroup(
            of,
            way,
            occurrences,
            make_estimate(coverage + shift, n=occurrences),
            make_estimate(14.0 - 40 * shift, 1.5, occurrences - 10),
            make_estimate(0.125, n=occurrences),
        )

    unbounded = BoundsGroup(
        BoundsOf.WAY,
        "",
        3,
        make_estimate(None, why="no entry has a bound"),
        make_estimate(None, why="no entry has bounds on both sides"),
        Estimate(1.0, 1.0, 1.0, 3),
    )
    return BoundsResult(
        key,
        basis,
        (
            make_group(BoundsOf.ALL, "", 110, 0.0),
            make_group(BoundsOf.STATED, "", 45, 0.06),
            make_group(BoundsOf.NOT_STATED, "", 65, -0.04),
            make_group(BoundsOf.WAY, "matched", 107, 0.05),
            unbounded,
        ),
        tuple(
            WidthGroup(
                0.5 * 2**n, 0.9 * 2**n, 0.7 * 2**n, make_estimate(coverage - 0.2 + n / 30, n=10)
            )
            for n in range(9)
        ),
    )


def make_report(**changes: object) -> Report:
    """The whole report; `changes` replace fields."""
    bases = (Basis.SPAN, Basis.EMBEDDING)
    both = [r for basis in bases for r in _results(basis)]
    differences = [
        _difference(b, *pair) for b in bases for pair in ((TEXT, REVISED), (REVISED, NO_ROWS))
    ]
    strata = [
        StratumResult(name, 2, tuple(r for r in both if r.key in (TEXT, REVISED)))
        for name in ("introduction", f"stays {MARKUP}")
    ]
    rho = [
        RhoPoint("rules", r, n, make_figures(0.7, 0.88 + r / 20, 0.78, 3.4))
        for r, n in ((0.0, 310), (0.1, 240), (0.3, 90))
    ]
    report = Report(
        settings=SETTINGS,
        reference="reference",
        embedder="sentence-transformers/all-MiniLM-L6-v2",
        cases=4,
        s_max={"span": 2160.0, "embedding": 2400.0},
        results=tuple(both),
        differences=tuple(differences),
        alternatives=tuple(
            make_result(k, b, make_figures(0.742, 0.89, 0.79, 3.2))
            for b in bases
            for k in (REVISED, SECOND)
        ),
        strata=tuple(strata),
        rho=tuple(rho),
        funnel=(
            make_funnel(REVISED, "", 40, 36, 34, 30, 24, 28),
            make_funnel(REVISED, "lab", 25, 24, 23, 20, 18, 21),
            make_funnel(REVISED, "medication", 15, 12, 11, 10, 6, 7),
            make_funnel(NO_ROWS, "", 40, 36, 34, 0, 0, 22),
        ),
        bounds=tuple(
            make_bounds(key, basis, coverage)
            for basis in bases
            for key, coverage in ((TEXT, 0.62), (REVISED, 0.81), (NO_ROWS, 0.7), (OTHER, 0.55))
        ),
        references=tuple(
            ReferenceResult(
                source,
                2,
                tuple(
                    make_result(k, b, make_figures(match, 0.9, 0.8, error))
                    for b in bases
                    for k in (TEXT, REVISED)
                ),
            )
            for source, match, error in (
                ("reference", 0.75, 3.2),
                (f"author:{MARKUP}", 0.7, 12.5),
            )
        ),
        warnings=(
            "The annotator of the reference knew the rows of the record: figures of revised timelines favour evidence.",
        ),
    )
    return replace(report, **changes)  # type: ignore[arg-type]  # a test names fields of the report


def make_case(
    case_id: str, stratum: str = "introduction", pairs: tuple[MatchedPair, ...] = ()
) -> CaseResult:
    """One case in which the other source is missing."""
    common = {
        "reference_events": 10,
        "predicted_events": 9,
        "pairs": pairs,
        "metrics": make_figures(0.8, 0.9, 0.8, 2.0),
    }
    sources = [
        CaseSource(key=key, basis=basis, available=True, **common)  # type: ignore[arg-type]  # see above
        for basis in (Basis.SPAN, Basis.EMBEDDING)
        for key in (TEXT, REVISED)
    ]
    missing = [CaseSource(OTHER, basis, False, 10, 0) for basis in (Basis.SPAN, Basis.EMBEDDING)]
    line = FunnelLine("a0", "b0", "lab", 7.25, 1.5, (Step.CANDIDATE,), Lost.BELOW_THRESHOLD)
    funnel = CaseFunnel(REVISED, "deleted", (line,))
    return CaseResult(case_id, stratum, (*sources, *missing), (funnel,))
