"""A report on demo cases against the definitions, pair by pair.

The definitions are written out plainly: no shared code, no arrays.
"""

from __future__ import annotations

import json
import math
import random
import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.demo_cases import COHORT
from timelines.evaluation.report import evaluate
from timelines.evaluation.values import (
    METRICS,
    Basis,
    EvaluatedCase,
    EvaluationSettings,
    PlacedEvent,
    SourceKey,
)

CASES = ("20338077", "20626031", "21133938")
KEY = SourceKey("shaken", "revised")
Pairs = list[tuple[PlacedEvent, PlacedEvent]]


def make_reference(case: str) -> tuple[PlacedEvent, ...]:
    lines = [
        json.loads(line)
        for line in (COHORT / case / "reference.jsonl").read_text(encoding="utf-8").splitlines()
        if line
    ]
    return tuple(
        PlacedEvent(str(n), r["mention"], r["time"], r["start"], r["end"], tuple(r["rows"]))
        for n, r in enumerate(lines)
    )


def shake(reference: tuple[PlacedEvent, ...], rng: random.Random) -> tuple[PlacedEvent, ...]:
    """Return the plausible output of a system.

    Some events are lost, spans a little off or split, times off or equal or missing, rows right or
    wrong.
    """
    found = []
    for n, e in enumerate(reference):
        assert e.start is not None
        assert e.end is not None
        if rng.random() < 0.1:
            continue
        start = max(0, e.start + rng.randint(-4, 4))
        end = max(start + 1, e.end + rng.randint(-8, 8))
        off = rng.choice([0, 0, 0, 0.5, -2, 12, -300, 3.0])
        time = None if e.time is None or rng.random() < 0.05 else round(e.time + off)
        rows = rng.choice([e.rows, e.rows[:1], (*e.rows, 99_999), (99_998,), ()])
        found.append(PlacedEvent(str(n), e.mention, time, start, end, tuple(rows)))
        if rng.random() < 0.1:
            found.append(
                PlacedEvent(f"{n}b", "extra", 0.0, start, start + max(1, (end - start) // 2))
            )
    return tuple(found)


@pytest.fixture(scope="module")
def compared() -> list[EvaluatedCase]:
    rng = random.Random(7)
    references = {case: make_reference(case) for case in CASES}
    return [
        EvaluatedCase(case, "demo", ref, {KEY: shake(ref, rng)}) for case, ref in references.items()
    ]


def pair_events(case: EvaluatedCase) -> Pairs:
    """Return pairs by overlap, largest first.

    Ties go to the lower reference, then predicted index.
    """
    overlaps = []
    for r, ref in enumerate(case.reference):
        for p, pred in enumerate(case.timelines[KEY]):
            a, b = (
                set(range(ref.start or 0, ref.end or 0)),
                set(range(pred.start or 0, pred.end or 0)),
            )
            if len(a & b) / len(a | b) >= 0.4:
                overlaps.append((-len(a & b) / len(a | b), r, p))
    taken: list[tuple[int, int]] = []
    for _, r, p in sorted(overlaps):
        if all(r != other and p != used for other, used in taken):
            taken.append((r, p))
    return [(case.reference[r], case.timelines[KEY][p]) for r, p in taken]


def find_time_pairs(pairs: Pairs) -> list[tuple[float, float]]:
    return [(r.time, p.time) for r, p in pairs if r.time is not None and p.time is not None]


def compute_order_share(times: list[tuple[float, float]], *, ties: bool) -> float:
    """Return the share of pairs in the reference's order.

    The pairs are every two events with different reference times; predicted ties count ½, or not at
    all.
    """
    found: list[float] = []
    for i, (a, x) in enumerate(times):
        for b, y in times[:i]:
            if a != b and (x != y or ties):
                found.append(0.5 if x == y else float((a - b) * (x - y) > 0))
    return sum(found) / len(found)


def test_the_demo_cohort_by_definition(compared: list[EvaluatedCase]) -> None:
    pairs = [pair_events(case) for case in compared]
    everything = [pair for found in pairs for pair in found]
    times = [find_time_pairs(found) for found in pairs]
    pooled = [time for found in times for time in found]
    errors = sorted(abs(r - p) for r, p in pooled)
    logs = [math.log(1 + e) for e in errors]
    horizon, longest = math.log(60 * 24 * 365.26), math.log(1 + errors[-1])
    steps = zip([0.0, *logs], logs, range(1, len(logs) + 1), strict=False)
    citing = [(set(r.rows), set(p.rows)) for r, p in everything if p.rows]
    wanted = [(set(r.rows), set(p.rows)) for r, p in everything if r.rows]
    expected = {
        "match_rate": len(everything) / sum(len(c.reference) for c in compared),
        "precision": len(everything) / sum(len(c.timelines[KEY]) for c in compared),
        "concordance": statistics.median(compute_order_share(found, ties=False) for found in times),
        "concordance_ref": statistics.median(
            compute_order_share(found, ties=True) for found in times
        ),
        "aultc": (sum((x - before) * i / len(logs) for before, x, i in steps) + longest - logs[-1])
        / longest,
        "aultc_ref": 1 - statistics.mean(min(x, horizon) for x in logs) / horizon,
        "median_error": statistics.median(errors),
        "within_tolerance": statistics.mean(
            abs(r - p) < max(3, 0.1 * max(abs(r), abs(p))) for r, p in pooled
        ),
        "numeric_share": len(pooled) / sum(r.time is not None for r, _ in everything),
        "evidence_precision": sum(bool(a & b) for a, b in citing) / len(citing),
        "evidence_recall": sum(bool(a & b) for a, b in wanted) / len(wanted),
    }
    report = evaluate(
        compared, settings=EvaluationSettings(bases=(Basis.SPAN,)), reference="reference"
    )
    (result,) = report.results
    assert list(expected) == list(METRICS)
    assert {name: e.value for name, e in result.available.items()} == pytest.approx(expected)
    assert report.s_max["span"] == errors[-1]
    assert 0 < result.matched_events < result.reference_events


def test_intervals_hold_their_figures(compared: list[EvaluatedCase]) -> None:
    (result,) = evaluate(
        compared, settings=EvaluationSettings(bases=(Basis.SPAN,)), reference="reference"
    ).results
    for name, found in result.available.items():
        assert found.value is not None
        assert found.low is not None
        assert found.high is not None
        assert found.low <= found.value <= found.high, name


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9)), min_size=10, max_size=40),
    st.integers(0, 2**32 - 1),
)
def test_an_interval_of_a_pooled_share_holds_the_share(
    counts: list[tuple[int, int]], seed: int
) -> None:
    """A pooled share is within the middle 95 % of its resamples.

    Each case has n events, of which k are detected; there are ten cases or more.
    """
    cases = []
    for name, (n, k) in enumerate(counts):
        reference = tuple(
            PlacedEvent(str(i), f"event {i}", 0.0, 10 * i, 10 * i + 5) for i in range(n)
        )
        cases.append(
            EvaluatedCase(
                str(name),
                "demo",
                reference,
                {KEY: (*reference[:k], PlacedEvent("x", "else", 0.0, 900, 905))},
            )
        )
    (result,) = evaluate(
        cases, settings=EvaluationSettings(bases=(Basis.SPAN,), seed=seed), reference="reference"
    ).results
    share = result.available["match_rate"]
    assert share.value is not None
    assert share.value == pytest.approx(
        sum(min(n, k) for n, k in counts) / sum(n for n, _ in counts)
    )
    assert share.low is not None
    assert share.high is not None
    assert share.low - 1e-9 <= share.value <= share.high + 1e-9
