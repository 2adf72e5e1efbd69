"""Measure how long it takes to start and follow large runs.

Run `python -m benchmarks.starting`: a run and a judge run of 100,000 cases. For each it times the
request that starts it (goal: under a second), the preparation that adds its cases or games, and a
poll of its page. The yardstick of a preparation is one INSERT … SELECT of the very same rows into a
table with the same indexes and keys, without triggers. The goal is a fifth of its rate: the
preparation also adds cases, counts, resumes after a kill, and lets others in between. A judge run's
preparation also chooses the timelines of each case and makes comparisons; its goal is a twentieth.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from benchmarks.support.database import private_database

if TYPE_CHECKING:
    from django.test import Client

    from adjudication.models import JudgeRun
    from ehr.models import Dataset
    from timelines.models import Run

GOAL_START, GOAL_RATIO, GOAL_POLL = 1.0, 0.2, 0.5
GOAL_JUDGE_RATIO = 0.05
POLLS = 5


def main() -> int:
    """Print the seconds and the ratio; return 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=100_000)
    count = parser.parse_args().cases
    with private_database():
        client, dataset = make_world(count)
        missed = measure_run(client, dataset, count) + measure_judging(client, dataset, count)
    return 1 if missed else 0


def measure_run(client: Client, dataset: Dataset, count: int) -> int:
    """Print the figures of a run; return how many goals are missed."""
    start_run(client, dataset, "c0000000")  # what a web process loads once
    started = measure_seconds(lambda: start_run(client, dataset))
    run = dataset.runs.latest("pk")
    prepared = measure_seconds(lambda: prepare(run))
    polled = min(
        measure_seconds(lambda: poll_page(client, "timelines:run", run.public_id))
        for _ in range(POLLS)
    )
    limit = measure_seconds(
        lambda: insert_again(
            "timelines_stagerun", "FOREIGN KEY (case_run_id) REFERENCES timelines_caserun"
        )
    )
    return print_figures(f"run of {count:,} cases", started, prepared, limit, polled, GOAL_RATIO)


def measure_judging(client: Client, dataset: Dataset, count: int) -> int:
    """Print the figures of a judge run over two sources of every case.

    Returns how many goals are missed.
    """
    add_timelines(dataset)
    judge(client, dataset, "c0000000")
    started = measure_seconds(lambda: judge(client, dataset))
    run = dataset.judge_runs.latest("pk")
    prepared = measure_seconds(lambda: prepare_games(run))
    polled = min(
        measure_seconds(lambda: poll_page(client, "adjudication:judge_run", run.public_id))
        for _ in range(POLLS)
    )
    keys = (
        "FOREIGN KEY (comparison_id) REFERENCES adjudication_comparison",
        "FOREIGN KEY (run_id) REFERENCES adjudication_judgerun",
    )
    limit = measure_seconds(lambda: insert_again("adjudication_game", *keys))
    return print_figures(
        f"judge run of {count:,} cases", started, prepared, limit, polled, GOAL_JUDGE_RATIO
    )


def print_figures(
    what: str, started: float, prepared: float, limit: float, polled: float, goal: float
) -> int:
    """Print the figures; return how many goals are missed."""
    print(f"{what}: launch request {started:.2f} s (goal {GOAL_START} s)")
    print(
        f"  preparation {prepared:.1f} s; one INSERT of its rows {limit:.1f} s; ratio"
        f" {limit / prepared:.2f} (goal {goal})"
    )
    print(f"  poll of its page {polled:.3f} s (goal {GOAL_POLL} s)")
    return (started > GOAL_START) + (limit / prepared < goal) + (polled > GOAL_POLL)


def make_world(count: int) -> tuple[Client, Dataset]:
    """A signed-in admin, and a cohort of that many cases with a note."""
    from django.test import Client

    from accounts.actions import add_role, create_study
    from accounts.models import Role, User
    from ehr.models import Dataset, Encounter, Note

    study, admin = create_study(name="benchmark", by=None), User.objects.create_user("admin")
    add_role(study=study, user=admin, role=Role.ADMIN, by=None)
    dataset = Dataset.objects.create(
        study=study, name="cohort", format="cases", state=Dataset.State.READY
    )
    cases = (
        Encounter(dataset=dataset, case_id=f"c{n:07}", admitted_at=datetime(2150, 1, 1))
        for n in range(count)
    )
    stored = Encounter.objects.bulk_create(cases, batch_size=5000)
    Note.objects.bulk_create(
        (Note(encounter=e, text="Fell at home.", sha256="x") for e in stored), batch_size=5000
    )
    client = Client(SERVER_NAME="localhost")
    client.force_login(admin)
    analyze()
    return client, dataset


def start_run(client: Client, dataset: Dataset, cases: str = "") -> None:
    """What the button does."""
    from django.urls import reverse

    form = {
        "dataset": dataset.public_id,
        "backbone": "rules",
        "variant": "full",
        "preset": "default",
        "set_alternatives": "1",
        "cases": cases,
    }
    assert client.post(reverse("timelines:run_new"), form).status_code == 302


def prepare(run: Run) -> None:
    """What the worker does."""
    from timelines.runs.preparing import execute_preparation

    assert execute_preparation(run.preparation.pk) == "succeeded"
    analyze()


def add_timelines(dataset: Dataset) -> None:
    """Add two finished timelines of every case.

    They have no entries, because nothing is judged here.
    """
    from timelines.models import Timeline

    cases = list(dataset.encounters.values_list("pk", flat=True))
    made = (
        Timeline(encounter_id=pk, source=source, kind="revised")
        for pk in cases
        for source in ("one", "two")
    )
    Timeline.objects.bulk_create(made, batch_size=5000)
    analyze()


def judge(client: Client, dataset: Dataset, cases: str = "") -> None:
    """What the button does."""
    from django.urls import reverse

    form = {
        "datasets": [dataset.public_id],
        "sources": ["one@revised", "two@revised"],
        "judge": "rules",
        "tolerance": "scaled",
        "cases": cases,
        "seed": "1",
    }
    answer = client.post(reverse("adjudication:judge_run_new"), form)
    assert answer.status_code == 302, "the form refused the judge run"


def prepare_games(run: JudgeRun) -> None:
    """What the worker does."""
    from adjudication.judge_runs.preparing import execute_preparation

    assert execute_preparation(run.preparation.pk) == "succeeded"
    analyze()


def poll_page(client: Client, name: str, public_id: str) -> None:
    """What each open page of the run asks every two seconds."""
    from django.urls import reverse

    assert (
        client.get(reverse(name, args=[public_id]), headers={"HX-Request": "true"}).status_code
        == 200
    )


def insert_again(table: str, *keys: str) -> None:
    """Store the same rows once more, in one statement."""
    import psycopg
    from django.conf import settings
    from psycopg import sql

    of, again = sql.Identifier(table), sql.Identifier(f"{table}_again")
    with psycopg.connect(settings.DATABASE_OWNER_URL) as connection:
        connection.execute(sql.SQL("CREATE TABLE {} (LIKE {} INCLUDING ALL)").format(again, of))
        for key in keys:
            connection.execute(
                sql.SQL("ALTER TABLE {} ADD {} DEFERRABLE INITIALLY DEFERRED").format(
                    again, sql.SQL(key)
                )
            )
        connection.execute(sql.SQL("INSERT INTO {} SELECT * FROM {}").format(again, of))


def analyze() -> None:
    """Update the planner's statistics, as autovacuum does.

    It runs as the owner, because the application's role may not.
    """
    import psycopg
    from django.conf import settings

    with psycopg.connect(settings.DATABASE_OWNER_URL) as connection:
        connection.execute("ANALYZE")


def measure_seconds(do: Callable[[], object]) -> float:
    """How long it takes."""
    begun = time.perf_counter()
    do()
    return time.perf_counter() - begun


if __name__ == "__main__":
    raise SystemExit(main())
