"""How long it takes to start and follow a large run: `python -m benchmarks.starting`, 100,000 cases.

Timed: the request that starts the run (goal: under a second), the preparation that adds its cases, and a poll of its page. The yardstick
of the preparation is one INSERT … SELECT of the very same stage rows into a table with the same indexes and keys, without triggers.
The goal is a fifth of its rate: the preparation also adds cases, counts, resumes after a kill, and lets others in between.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, LiteralString

from benchmarks.support.database import private_database

if TYPE_CHECKING:
    from django.test import Client

    from ehr.models import Dataset
    from timelines.models import Run

GOAL_START, GOAL_RATIO, GOAL_POLL = 1.0, 0.2, 0.5
POLLS = 5


def main() -> int:
    """Print the seconds and the ratio; 1 where a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=100_000)
    count = parser.parse_args().cases
    with private_database():
        client, dataset = world(count)
        launch(client, dataset, "c0000000")  # what a web process loads once
        started = seconds(lambda: launch(client, dataset))
        run = dataset.runs.latest("pk")
        prepared = seconds(lambda: prepare(run))
        polled = min(seconds(lambda: poll(client, run)) for _ in range(POLLS))
        limit = seconds(insert_again)
    print(f"{count:,} cases: launch request {started:.2f} s (goal {GOAL_START} s)")
    print(f"preparation {prepared:.1f} s; one INSERT of its stages {limit:.1f} s; ratio {limit / prepared:.2f} (goal {GOAL_RATIO})")
    print(f"poll of the run's page {polled:.3f} s (goal {GOAL_POLL} s)")
    return 0 if started <= GOAL_START and limit / prepared >= GOAL_RATIO and polled <= GOAL_POLL else 1


def world(count: int) -> tuple[Client, Dataset]:
    """A signed-in admin, and a cohort of that many cases with a note."""
    from django.test import Client

    from accounts.actions import add_role, create_study
    from accounts.models import Role, User
    from ehr.models import Dataset, Encounter, Note

    study, admin = create_study(name="benchmark", by=None), User.objects.create_user("admin")
    add_role(study=study, user=admin, role=Role.ADMIN, by=None)
    dataset = Dataset.objects.create(study=study, name="cohort", format="cases", state=Dataset.State.READY)
    cases = (Encounter(dataset=dataset, case_id=f"c{n:07}", admitted_at=datetime(2150, 1, 1)) for n in range(count))
    stored = Encounter.objects.bulk_create(cases, batch_size=5000)
    Note.objects.bulk_create((Note(encounter=e, text="Fell at home.", sha256="x") for e in stored), batch_size=5000)
    client = Client(SERVER_NAME="localhost")
    client.force_login(admin)
    analyze()
    return client, dataset


def launch(client: Client, dataset: Dataset, cases: str = "") -> None:
    """What the button does."""
    from django.urls import reverse

    form = {"dataset": dataset.public_id, "backbone": "rules", "variant": "full", "alternatives": "1", "cases": cases}
    assert client.post(reverse("timelines:run_new"), form).status_code == 302


def prepare(run: Run) -> None:
    """What the worker does."""
    from timelines.preparing import execute_preparation

    assert execute_preparation(run.preparation.pk) == "succeeded"
    analyze()


def poll(client: Client, run: Run) -> None:
    """What each open page of the run asks every two seconds."""
    from django.urls import reverse

    assert client.get(reverse("timelines:run", args=[run.public_id]), headers={"HX-Request": "true"}).status_code == 200


def insert_again() -> None:
    """Store the same stages once more, in one statement."""
    as_owner(
        "CREATE TABLE again (LIKE timelines_stagerun INCLUDING ALL)",
        "ALTER TABLE again ADD FOREIGN KEY (case_run_id) REFERENCES timelines_caserun DEFERRABLE INITIALLY DEFERRED",
        "INSERT INTO again SELECT * FROM timelines_stagerun",
    )


def analyze() -> None:
    """Let the planner know what is there, as autovacuum does."""
    as_owner("ANALYZE")


def as_owner(*statements: LiteralString) -> None:
    """Do what the application's role may not."""
    import psycopg
    from django.conf import settings

    with psycopg.connect(settings.DATABASE_OWNER_URL) as connection:
        for statement in statements:
            connection.execute(statement)


def seconds(do: Callable[[], object]) -> float:
    """How long it takes."""
    begun = time.perf_counter()
    do()
    return time.perf_counter() - begun


if __name__ == "__main__":
    raise SystemExit(main())
