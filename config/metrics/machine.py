"""What this machine knows: its disks and versions."""

from __future__ import annotations

import platform
from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily, Metric

from config.health.installation import find_disks
from timelines.runs.versions import code_revision


def collect() -> Iterator[Metric]:
    """Yield free and total bytes of the disks, and the versions."""
    free = GaugeMetricFamily("occurrent_disk_free_bytes", "Free bytes.", labels=["place"])
    total = GaugeMetricFamily("occurrent_disk_bytes", "Size of the disk.", labels=["place"])
    for disk in find_disks():
        free.add_metric([disk.place], disk.free)
        total.add_metric([disk.place], disk.total)
    build = GaugeMetricFamily(
        "occurrent_build_info", "What runs; always 1.", labels=["revision", "python"]
    )
    build.add_metric([code_revision(), platform.python_version()], 1)
    yield from (free, total, build)
