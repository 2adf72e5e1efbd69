"""Everything on the page /metrics.

Sums of all processes come from the broker, states from the database by limited queries. A part that
fails leaves the others alone and is named.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack

from django.db import connection, transaction
from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from config.health.checks import checker
from config.metrics import broker, database, machine

logger = logging.getLogger(__name__)

Part = Callable[[], Iterator[Metric]]
#: By name; those of DATABASE need the database.
PARTS: Mapping[str, Part] = {
    "machine": machine.collect,
    "broker": broker.collect,
    "jobs": database.collect_jobs,
    "trail": database.collect_trail,
    "messages": database.collect_messages,
}
DATABASE = frozenset({"jobs", "trail", "messages"})
#: Most milliseconds of one query.
STATEMENT_MILLISECONDS = 2000


def build_registry() -> CollectorRegistry:
    """Return a registry with what this installation shows now."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Installation(PARTS))
    return registry


class Installation(Collector):
    """Collects the parts one after the other."""

    def __init__(self, parts: Mapping[str, Part]) -> None:
        self._parts = parts

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics, and which checks and parts are good."""
        passed = checker.run()
        yield _build_switches("occurrent_ready", "Checks of /readyz that pass.", "check", passed)
        good = {}
        for name, part in self._parts.items():
            families = [] if name in DATABASE and not passed["database"] else _collect(name, part)
            yield from families
            good[name] = bool(families)
        yield _build_switches("occurrent_collected", "Parts of this page that work.", "part", good)


def _collect(name: str, part: Part) -> list[Metric]:
    """Return the metrics of a part; none if it fails."""
    try:
        with ExitStack() as stack:
            if name in DATABASE:
                stack.enter_context(transaction.atomic())
                with connection.cursor() as cursor:
                    cursor.execute("SET LOCAL statement_timeout = %s", [STATEMENT_MILLISECONDS])
            return list(part())
    except Exception:  # the page names the part, and the log says more
        logger.warning("the metrics of %s could not be collected", name, exc_info=True)
        return []


def _build_switches(name: str, help: str, label: str, values: Mapping[str, bool]) -> Metric:
    family = GaugeMetricFamily(name, help, labels=[label])
    for each, good in values.items():
        family.add_metric([each], float(good))
    return family
