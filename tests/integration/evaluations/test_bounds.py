"""Bounds of a demo case, compared with its stored entries."""

from __future__ import annotations

from statistics import median

import pytest

from ehr.models import Dataset
from tests.integration.evaluations.test_funnel import REVISED, evaluate
from timelines.evaluation.plain import case_from_plain, report_from_plain
from timelines.evaluation.values import BoundsOf
from timelines.models import Entry, EvaluationCase

pytestmark = pytest.mark.django_db(transaction=True)


def load_entries(dataset: Dataset, kind: str) -> dict[str, Entry]:
    entries = Entry.objects.filter(
        timeline__encounter__dataset=dataset, timeline__kind=kind, timeline__alternative=1
    )
    return {e.occurrence.uid4: e for e in entries.select_related("occurrence") if e.occurrence}


def test_the_figures_are_those_of_the_stored_entries(dataset: Dataset) -> None:
    evaluation = evaluate(dataset)
    report = report_from_plain(evaluation.report)
    assert [b.key for b in report.bounds] == [
        r.key for r in report.results if r.key.alternative == 1
    ]
    (found,) = (b for b in report.bounds if b.key == REVISED)
    stored = case_from_plain(EvaluationCase.objects.get(evaluation=evaluation).result)
    (source,) = (s for s in stored.sources if s.key == REVISED)
    reference, predicted = load_entries(dataset, "reference"), load_entries(dataset, "revised")
    groups: dict[tuple[BoundsOf, str], list[tuple[bool, float | None]]] = {}
    for pair in source.pairs:
        time, entry = reference[pair.reference].time, predicted[pair.predicted]
        if time is None:
            continue
        low, high = entry.lower, entry.upper
        inside = (low is None or time >= low - 0.02) and (high is None or time <= high + 0.02)
        width = None if low is None or high is None else high - low
        for group in (
            (BoundsOf.ALL, ""),
            (BoundsOf.STATED if entry.known else BoundsOf.NOT_STATED, ""),
            (BoundsOf.WAY, entry.link or entry.decided_by),
        ):
            groups.setdefault(group, []).append((inside, width))
    assert len(groups) > 6
    assert {(g.of, g.way) for g in found.groups} == set(groups)
    for g in found.groups:
        facts = groups[g.of, g.way]
        widths = [width for _, width in facts if width is not None]
        assert g.occurrences == len(facts)
        assert g.open.value == pytest.approx(1 - len(widths) / len(facts))
        assert g.width.value == (pytest.approx(median(widths)) if widths else None)
        if g.coverage.value is not None:
            assert g.coverage.value == pytest.approx(sum(i for i, _ in facts) / len(facts))
    overall = found.groups[0]
    assert overall.coverage.value is not None
    assert 0 < overall.coverage.value < 1
    assert sum(w.coverage.n for w in found.widths) == overall.width.n
