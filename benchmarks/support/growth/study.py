"""One size of the simulated study, in a process and a database of its own.

`python -m benchmarks.support.growth.study STAYS FILE` writes the costs to FILE as JSON.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.support.database import private_database
from benchmarks.support.growth import steps
from benchmarks.support.growth.cohort import KINDS, ROWS, SERIES, write_cohort
from benchmarks.support.growth.meter import Cost, find_bytes, peak_megabytes
from benchmarks.support.growth.stored import WHOLE, add_references, store_for_all

#: Vectors of the size of MiniLM's.
ROLES = {
    "embedder": {"provider": "hashing", "dimension": 384},
    "reranker": {"provider": "lexical"},
}


def main() -> None:
    """Measure one size and write the file."""
    stays, file = int(sys.argv[1]), Path(sys.argv[2])
    # A long lease: this process may be stopped for a while, and nobody else works.
    own = {"MODEL_ROLES": json.dumps(ROLES), "OMP_NUM_THREADS": "1", "JOB_LEASE_SECONDS": "7200"}
    os.environ |= own
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        steps.say(began, f"{stays:,} stays")
        cohort = write_cohort(Path(folder) / "cohort", stays)
        with private_database():
            found = measure_study(cohort, stays, began)
    file.write_text(json.dumps(found, indent=1) + "\n")


def measure_study(cohort: Path, stays: int, began: float) -> dict[str, Any]:
    """Return the costs of every step."""
    dataset, cost = steps.import_cohort(cohort, "growth")
    costs, imported = {"import": cost}, find_bytes()
    memory = {"import": peak_megabytes()}
    steps.say(began, f"imported: {cost}")
    analyzed = steps.maintain()
    run, prepared = steps.prepare_run(dataset)
    costs |= prepared
    by_stage = steps.run_stages(run, KINDS)
    steps.say(began, f"stages: {by_stage}")
    store_for_all(run, stays, KINDS)
    add_references(run)
    steps.say(began, "results stored")
    reconstructed = find_bytes()
    if stays <= WHOLE:
        costs["embedding of one stay"] = steps.embed(run)
    costs["vacuum"] = steps.add([analyzed, steps.maintain()])
    choose_study_timeline(run)
    costs |= steps.evaluate(dataset)
    memory["evaluation"] = peak_megabytes()
    steps.say(began, f"evaluated: {costs['evaluation']}")
    judged, more = steps.judge(dataset)
    memory["report of a judge run"] = peak_megabytes()
    costs |= more
    pages = steps.ask_pages(sign_in(dataset), dataset, run, judged)
    steps.say(began, f"pages: { ({name: round(c.cpu * 1000) for name, c in pages.items()}) }")
    size, costs["backup"] = steps.dump(cohort.parent)
    steps.say(began, f"dumped: {costs['backup']}")
    return {
        "stays": stays,
        "rows": stays * ROWS,
        "series": stays * SERIES,
        "cores": os.cpu_count(),
        "costs": _plain(costs),
        "stages": _plain(by_stage) | {"stays": KINDS},
        "judged": steps.JUDGED,
        "pages": _plain(pages),
        "bytes": {"imported": imported, "reconstructed": reconstructed, "all": find_bytes()},
        "backup_bytes": size,
        "peak_megabytes": {name: round(value) for name, value in memory.items()},
    }


def choose_study_timeline(run: Any) -> None:
    """Choose the run, as its last stage does."""
    from timelines.models import StudyTimeline
    from timelines.runs.study_timeline.actions import choose_if_finished

    choose_if_finished(run)
    assert StudyTimeline.objects.filter(run=run).exists()


def sign_in(dataset: Any) -> Any:
    """Return a client of an admin of the study."""
    from django.test import Client

    from accounts.actions import add_role
    from accounts.models import Role, User

    admin = User.objects.create_user("admin")
    for role in (Role.ADMIN, Role.CLINICIAN):
        add_role(study=dataset.study, user=admin, role=role, by=None)
    client = Client(SERVER_NAME="localhost")
    client.force_login(admin)
    return client


def _plain(costs: dict[str, Cost]) -> dict[str, Any]:
    return {name: cost.plain() for name, cost in costs.items()}


if __name__ == "__main__":
    main()
