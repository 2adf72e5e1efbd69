"""What all processes have counted, as Prometheus reads it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric

from jobs.metrics.counters import KEY, Counter, Histogram, declared

Stored = Mapping[tuple[str, ...], float]


def load_stored(broker: Any) -> dict[tuple[str, ...], float]:
    """Return the sums: (name, values of labels …) → number."""
    return {tuple(json.loads(field)): float(sum_) for field, sum_ in broker.hgetall(KEY).items()}


def build_families(stored: Stored) -> Iterator[Metric]:
    """Yield every declared counter and histogram, even those without sums."""
    by_name: dict[str, dict[tuple[str, ...], float]] = defaultdict(dict)
    for (name, *values), amount in stored.items():
        by_name[name][tuple(values)] = amount
    for each in declared():
        if isinstance(each, Counter):
            yield _build_counter(each, by_name[each.name])
        else:
            sums = by_name[f"{each.name}_sum"]
            yield _build_histogram(each, by_name[f"{each.name}_bucket"], sums)


def _build_counter(counter: Counter, sums: Stored) -> Metric:
    family = CounterMetricFamily(counter.name, counter.help, labels=counter.labels)
    for values, amount in sorted(sums.items()):
        if len(values) == len(counter.labels):  # those of an earlier version may differ
            family.add_metric(values, amount)
    return family


def _build_histogram(histogram: Histogram, counts: Stored, sums: Stored) -> Metric:
    family = HistogramMetricFamily(histogram.name, histogram.help, labels=histogram.labels)
    bounds = [*(f"{bound:g}" for bound in histogram.bounds), "+Inf"]
    for values, total in sorted(sums.items()):
        if len(values) != len(histogram.labels):
            continue
        buckets, reached = [], 0.0
        for bound in bounds:
            reached += counts.get((*values, bound), 0.0)
            buckets.append((bound, reached))
        family.add_metric(values, buckets, total)
    return family
