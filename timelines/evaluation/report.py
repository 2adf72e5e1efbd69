"""Compare every source, kind and alternative with the reference.

With intervals (protocol section 3). No Django: a notebook gives `evaluate` its cases and gets
values back. Every interval of a report comes from the same resamples of its cases, so differences
are paired; matching is done once a case and source, and everything else cuts or counts it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from timelines.evaluation.aultc import aultc, aultc_ref
from timelines.evaluation.bounds import evaluate_bounds
from timelines.evaluation.collecting import Collected, Embed, embed_mentions
from timelines.evaluation.comparisons import differences
from timelines.evaluation.figures import (
    Cases,
    cumulative_errors,
    error_cdf,
    errors_by_distance,
    metrics,
)
from timelines.evaluation.funnel import FunnelCounts, follow
from timelines.evaluation.resamples import Resamples
from timelines.evaluation.scoring import Paired, has_span, list_matches
from timelines.evaluation.values import (
    Basis,
    CaseFunnel,
    CaseResult,
    CaseSource,
    Estimate,
    EvaluatedCase,
    EvaluationSettings,
    Report,
    RhoPoint,
    SourceKey,
    SourceResult,
    StratumResult,
)

#: (threshold, match rate, concordance, AULTC), by threshold.
Sweep = tuple[tuple[float, float | None, float | None, float | None], ...]

CONFOUNDED = (
    "The cases come from several datasets, which differ in more than their source: a comparison"
    " across them is descriptive, not causal."
)
ROWS_KNOWN = (
    "The reference cites source rows: its author saw the record, which favours times that rest on"
    " rows over times from text."
)
SOME_LOCATED = (
    "{}: {} of {} occurrences have no span and cannot be paired by spans, which lowers the figures"
    " on that basis."
)
FEW_CASES = "Fewer than ten cases: intervals over cases are rough."


def evaluate(
    cases: Iterable[EvaluatedCase],
    *,
    settings: EvaluationSettings,
    reference: str,
    embed: Embed | None = None,
    embedder: str = "",
    rho: Mapping[SourceKey, tuple[str, float]] | None = None,
    rho_runs: Mapping[SourceKey, tuple[str, float]] | None = None,
    on_case: Callable[[CaseResult], None] = lambda result: None,
) -> Report:
    """Compare every timeline of `cases` with their references.

    Cases are taken one by one and passed to `on_case` when paired. `rho` names the timelines that
    are a source's revision at a reranker threshold; they give the ρ sweep and no result of their
    own. `rho_runs` names those that are runs in their own right: results, and points of the sweep
    if `rho` has none at that threshold. Raises ValueError if basis `embedding` is requested without
    `embed`.
    """
    by_vectors = Basis.EMBEDDING in settings.bases
    if by_vectors and embed is None:
        raise ValueError("the basis embedding needs an embedder")
    scored, swept = Collected(settings), rho or {}
    funnel = FunnelCounts()
    for case in cases:
        found = scored.add(
            case, embed_mentions(case, embed) if by_vectors and embed is not None else None
        )
        result = _case_result(case, found, scored, settings, swept)
        for each in result.funnel:
            funnel.add(each.key, each.lines)
        on_case(result)
    resamples = Resamples.draw(len(scored.sizes), settings.resamples, settings.seed)
    s_max = {basis.value: scored.s_max(basis) for basis in settings.bases}
    by_key = {
        known: Cases(
            _cut_at_threshold(paired, settings, known[1]),
            scored.sizes,
            scored.timed,
            resamples,
            s_max[known[1].value],
        )
        for known, paired in scored.pairs.items()
        if scored.comparable(*known)
    }
    main = {known: found for known, found in by_key.items() if known[0] not in swept}
    ordered = sorted(main, key=lambda known: (settings.bases.index(known[1]), order_key(known[0])))
    results = tuple(
        describe_source(*known, main[known], _sweep(scored, *known, resamples, s_max))
        for known in ordered
    )
    return Report(
        settings=settings,
        reference=reference,
        embedder=embedder,
        cases=len(scored.sizes),
        s_max=s_max,
        results=results,
        differences=differences({known: main[known] for known in ordered}),
        alternatives=_alternatives(main, settings),
        strata=_strata(main, ordered, scored, settings, s_max),
        rho=_rho(by_key, rho_runs or {}, swept, settings),
        funnel=funnel.results(sorted(funnel.keys, key=order_key)),
        bounds=tuple(
            evaluate_bounds(*known, main[known]) for known in ordered if known[0].alternative == 1
        ),
        warnings=_warnings(scored, swept),
    )


def _cut_at_threshold(
    paired: Sequence[Paired | None], settings: EvaluationSettings, basis: Basis
) -> list[Paired | None]:
    """The pairs that count at the report's threshold."""
    threshold = None if basis is Basis.SPAN else settings.threshold
    return [None if p is None else p.upto(threshold) for p in paired]


def describe_source(key: SourceKey, basis: Basis, cases: Cases, sweep: Sweep) -> SourceResult:
    """Return everything about one source under one basis."""
    here = int(cases.available.sum())
    return SourceResult(
        key=key,
        basis=basis,
        cases=here,
        missing_cases=len(cases.available) - here,
        reference_events=sum(cases.sizes(missing=False)),
        predicted_events=sum(cases.counts("predicted")),
        matched_events=sum(cases.counts("matched")),
        available=metrics(cases),
        missing_as_zero=metrics(cases, missing=True),
        cumulative=cumulative_errors(cases),
        by_distance=errors_by_distance(cases),
        sweep=sweep,
        error_cdf=error_cdf(cases),
    )


def _sweep(
    scored: Collected,
    key: SourceKey,
    basis: Basis,
    resamples: Resamples,
    s_max: Mapping[str, float | None],
) -> Sweep:
    """Return threshold → match rate, concordance, AULTC.

    Only available cases count. An assignment is made for one threshold and has no sweep.
    """
    if basis is Basis.SPAN or scored.settings.method != "greedy":
        return ()
    found = []
    for threshold in scored.settings.sweep:
        cut = [None if p is None else p.upto(threshold) for p in scored.pairs[key, basis]]
        cases = Cases(cut, scored.sizes, scored.timed, resamples, s_max[basis.value])
        found.append((threshold, *_points(cases)))
    return tuple(found)


def _points(cases: Cases) -> tuple[float | None, float | None, float | None]:
    matched, size = sum(cases.counts("matched")), sum(cases.sizes(missing=False))
    orders = [v for v in cases.orders("concordance", missing=False) if v is not None]
    pooled = np.concatenate([*cases.errors, np.empty(0)])
    area = aultc(pooled, cases.s_max) if cases.s_max is not None and pooled.size else None
    return (matched / size if size else None), (float(np.median(orders)) if orders else None), area


def _alternatives(
    main: Mapping[tuple[SourceKey, Basis], Cases], settings: EvaluationSettings
) -> tuple[SourceResult, ...]:
    """Return figures of the alternatives 1…A of a source.

    They cover the cases for which all alternatives are valid; nothing for a source with a single
    one.
    """
    found = []
    for basis in settings.bases:
        families: dict[tuple[str, str], list[SourceKey]] = {}
        for key, known in main:
            if known is basis:
                families.setdefault((key.source, key.kind), []).append(key)
        for keys in families.values():
            if len(keys) > 1:
                common = np.logical_and.reduce([main[key, basis].available for key in keys])
                found += [
                    describe_source(key, basis, main[key, basis].only(common), ())
                    for key in sorted(keys, key=order_key)
                ]
    return tuple(found)


def _strata(
    main: Mapping[tuple[SourceKey, Basis], Cases],
    ordered: Sequence[tuple[SourceKey, Basis]],
    scored: Collected,
    settings: EvaluationSettings,
    s_max: Mapping[str, float | None],
) -> tuple[StratumResult, ...]:
    """Return each dataset separately if there are several.

    Each has resamples of its own cases.
    """
    names = sorted(set(scored.strata))
    if len(names) < 2:
        return ()
    found = []
    for name in names:
        at = [i for i, stratum in enumerate(scored.strata) if stratum == name]
        resamples = Resamples.draw(len(at), settings.resamples, settings.seed)
        results = []
        for key, basis in ordered:
            whole = main[key, basis]
            part = Cases(
                [whole.paired[i] for i in at],
                [scored.sizes[i] for i in at],
                [scored.timed[i] for i in at],
                resamples,
                s_max[basis.value],
            )
            results.append(describe_source(key, basis, part, ()))
        found.append(StratumResult(name, len(at), tuple(results)))
    return tuple(found)


def _rho(
    by_key: Mapping[tuple[SourceKey, Basis], Cases],
    runs: Mapping[SourceKey, tuple[str, float]],
    swept: Mapping[SourceKey, tuple[str, float]],
    settings: EvaluationSettings,
) -> tuple[RhoPoint, ...]:
    """The sweep on the report's first basis that the timelines take part in."""
    points = {}
    for key, (source, threshold) in (*runs.items(), *swept.items()):
        cases = next(
            (by_key[key, basis] for basis in settings.bases if (key, basis) in by_key), None
        )
        if cases is not None:
            rows = sum(p.predicted_rows for p in cases.paired if p is not None)
            points[source, threshold] = RhoPoint(source, threshold, rows, metrics(cases))
    return tuple(points[at] for at in sorted(points))


def _case_result(
    case: EvaluatedCase,
    found: Mapping[tuple[SourceKey, Basis], Paired],
    scored: Collected,
    settings: EvaluationSettings,
    swept: Mapping[SourceKey, tuple[str, float]],
) -> CaseResult:
    sources, funnel = [], []
    for (key, basis), paired in found.items():
        # Without a span in it a timeline was not paired by spans, which is not the same as finding
        # none.
        if key not in swept and (
            basis is not Basis.SPAN or any(has_span(e) for e in case.timelines[key])
        ):
            at = paired.upto(None if basis is Basis.SPAN else settings.threshold)
            pairs = list_matches(at, case.reference, case.timelines[key])
            sizes = len(case.reference), at.predicted_events
            sources.append(
                CaseSource(key, basis, True, *sizes, pairs, _case_metrics(at, len(case.reference)))
            )
            if basis is settings.bases[0] and key in case.trails:
                lines = follow(at, case, key)
                funnel.append(CaseFunnel(key, case.trails[key].timeline, lines))
    return CaseResult(case.case_id, case.stratum, tuple(sources), tuple(funnel))


def _case_metrics(paired: Paired, size: int) -> dict[str, Estimate]:
    """Return the figures of one case, which has no interval.

    AULTC only with its fixed horizon: S_max is known once every case is paired.
    """
    citing, with_rows, right = paired.evidence
    placed = len(paired.errors)

    def share(above: int, below: int, why: str) -> Estimate:
        return Estimate(above / below if below else None, n=below, why="" if below else why)

    median = float(np.median(paired.errors)) if placed else None
    order = paired.order.concordance
    return {
        "match_rate": share(len(paired), size, "the reference has no occurrence"),
        "precision": share(len(paired), paired.predicted_events, "nothing was predicted"),
        "concordance": Estimate(
            order,
            n=placed,
            why="" if order is not None else "no two occurrences whose order can be compared",
        ),
        "aultc_ref": Estimate(
            aultc_ref(paired.errors),
            n=placed,
            why="" if placed else "no pair has a time on both sides",
        ),
        "median_error": Estimate(
            median, n=placed, why="" if placed else "no pair has a time on both sides"
        ),
        "within_tolerance": share(paired.tolerated, placed, "no pair has a time on both sides"),
        "evidence_precision": share(right, citing, "no paired occurrence cites a row"),
        "evidence_recall": share(right, with_rows, "no paired reference occurrence has rows"),
    }


def _warnings(scored: Collected, swept: Iterable[SourceKey]) -> tuple[str, ...]:
    general = [
        (ROWS_KNOWN, scored.reference_rows),
        (CONFOUNDED, len(set(scored.strata)) > 1),
        (FEW_CASES, len(scored.sizes) < 10),
    ]
    counted = {
        key.label: spans
        for key, spans in scored.spans.items()
        if key.alternative == 1 and key not in swept
    }
    spans = {"The reference": scored.reference_spans, **counted} if scored.spans else {}
    located = [
        (SOME_LOCATED.format(name, total - located, total), 0 < located < total)
        for name, (located, total) in spans.items()
    ]
    return tuple(words for words, applies in (*general, *located) if applies)


def order_key(key: SourceKey) -> tuple[str, int, int]:
    """Return the place of a source among others."""
    kinds = ("text_only", "revised", "reference")
    return key.source, kinds.index(key.kind) if key.kind in kinds else len(kinds), key.alternative
