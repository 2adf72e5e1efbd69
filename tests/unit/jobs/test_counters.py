"""Counters and histograms: what is summed, and how Prometheus reads it."""

import json

import pytest
from prometheus_client import generate_latest
from prometheus_client.registry import CollectorRegistry

from jobs.metrics import counters, stored
from jobs.metrics.counters import Counter, Histogram


@pytest.fixture
def pending(monkeypatch, settings):
    """Sums that are not sent, and no thread that would send them."""
    settings.METRICS_TOKEN = "t" * 40
    made = counters._Pending()
    made._thread = object()
    monkeypatch.setattr(counters, "_pending", made)
    monkeypatch.setattr(counters, "_declared", {})
    return made


def sums(pending) -> dict:
    return {tuple(json.loads(field)): amount for field, amount in pending._sums.items()}


class Page:
    """Collects what is stored."""

    def __init__(self, found):
        self._found = found

    def collect(self):
        return stored.build_families(self._found)


def render(found) -> list[str]:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Page(found))
    lines = generate_latest(registry).decode().splitlines()
    return [line for line in lines if not line.startswith("#")]


def test_a_counter_adds_for_each_value_of_its_labels(pending):
    counter = Counter("made_total", "Made.", ("kind",))
    counter.add("a")
    counter.add("b", amount=2.5)
    counter.add("a")
    assert sums(pending) == {("made_total", "a"): 2, ("made_total", "b"): 2.5}
    assert render(sums(pending)) == ['made_total{kind="a"} 2.0', 'made_total{kind="b"} 2.5']


def test_a_duration_falls_into_the_first_bucket_that_reaches_it(pending):
    histogram = Histogram("took_seconds", "Took.", ("kind",), (1.0, 5.0))
    for seconds in (0.5, 1.0, 3.0, 60.0):
        histogram.observe("a", seconds=seconds)
    assert render(sums(pending)) == [
        'took_seconds_bucket{kind="a",le="1"} 2.0',
        'took_seconds_bucket{kind="a",le="5"} 3.0',
        'took_seconds_bucket{kind="a",le="+Inf"} 4.0',
        'took_seconds_count{kind="a"} 4.0',
        'took_seconds_sum{kind="a"} 64.5',
    ]


def test_labels_must_be_complete(pending):
    with pytest.raises(ValueError):
        Counter("made_total", "Made.", ("kind", "part")).add("a")


def test_sums_of_an_earlier_version_with_other_labels_are_left_out(pending):
    Counter("made_total", "Made.", ("kind", "part"))
    assert render({("made_total", "a"): 1, ("made_total", "a", "b"): 2}) == [
        'made_total{kind="a",part="b"} 2.0'
    ]


def test_nothing_is_counted_without_a_token(pending, settings):
    settings.METRICS_TOKEN = ""
    Counter("made_total", "Made.").add()
    assert sums(pending) == {}


def test_a_forked_process_does_not_send_the_sums_of_its_parent(pending):
    Counter("made_total", "Made.").add()
    pending.forget()
    assert sums(pending) == {}
