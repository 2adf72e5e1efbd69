"""What a piece of work costs: seconds of processors, and bytes.

Processors' seconds do not depend on who else uses the machine; the clock's do.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from config.services.paths import default_paths
from config.services.processes import find_processes


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds: of the clock, of this process, and of the database."""

    wall: float
    client: float
    server: float

    @property
    def cpu(self) -> float:
        """Seconds of processors, wherever."""
        return self.client + self.server

    def plain(self) -> dict[str, float]:
        """Return the seconds for a file."""
        return {name: round(value, 4) for name, value in asdict(self).items()}


def measure(work: Callable[[], object]) -> Cost:
    """Return what the work costs."""
    data = default_paths().postgres_data
    begun, mine, theirs = time.perf_counter(), client_seconds(), server_seconds(data)
    work()
    return Cost(time.perf_counter() - begun, client_seconds() - mine, server_seconds(data) - theirs)


def client_seconds() -> float:
    """Return the processors' seconds of this process and its ended children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def server_seconds(data: Path) -> float:
    """Return the processors' seconds of the database and its ended sessions.

    A session that ends while it is read counts with its parent the next time.
    """
    while True:
        with suppress(psutil.NoSuchProcess):
            times = [process.cpu_times() for process in find_processes(data)]
            return sum(t.user + t.system + t.children_user + t.children_system for t in times)


def peak_megabytes() -> float:
    """Return the largest memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


#: Group of tables → parts of their names.
GROUPS = {
    "rows": ("ehr_sourcerow",),
    "series": ("ehr_eventseries",),
    "vectors": ("ehr_seriesembedding",),
    "notes": ("ehr_note", "ehr_encounter"),
    "candidates": ("timelines_query", "timelines_candidate"),
    "evidence": ("timelines_evidence",),
    "timelines": ("timelines_timeline", "timelines_entry"),
    "occurrences": ("timelines_inventory", "timelines_occurrence"),
    "jobs": ("timelines_stage", "timelines_caserun", "timelines_run"),
    "evaluations": ("timelines_evaluation",),
    "judging": ("adjudication_",),
}
_SIZES = """
SELECT relname, pg_total_relation_size(oid) FROM pg_class
WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
"""


def find_bytes() -> dict[str, int]:
    """Return the bytes on disk, by group of tables."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(_SIZES)
        sizes = cursor.fetchall()
    found = dict.fromkeys((*GROUPS, "other"), 0)
    for table, size in sizes:
        name = next((g for g, parts in GROUPS.items() if table.startswith(parts)), "other")
        found[name] += size
    return found
