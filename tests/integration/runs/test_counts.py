"""Counts of a run equal a count of its stages under concurrent changes.

A poll reads the counts alone.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable
from itertools import product

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from accounts.models import Role, User
from ehr.models import Encounter
from jobs.actions import fail, finish, requeue, stop
from jobs.errors import LostLease
from jobs.leases.claims import claim
from jobs.leases.holding import make_hold
from tests import factories
from tests.support.rows_read import count_rows_read
from timelines.case_state import case_state
from timelines.models import STAGE_ORDER, CaseRun, Run, RunCount, Stage, StageRun
from timelines.runs import actions
from timelines.runs.page.grid import PAGE_SIZE
from timelines.runs.preparing import _add_stages
from timelines.runs.progress import count_run
from timelines.runs.stages.execution import release_next

pytestmark = pytest.mark.django_db(transaction=True)


def make_run(cases: int) -> Run:
    """A run of that many cases with all stages, the first ones queued."""
    dataset = factories.make_dataset()
    run = factories.make_run(dataset)
    encounters = Encounter.objects.bulk_create(
        Encounter(dataset=dataset, case_id=f"c{n:05}", admitted_at=factories.ADMITTED)
        for n in range(cases)
    )
    case_runs = CaseRun.objects.bulk_create(CaseRun(run=run, encounter=e) for e in encounters)
    _add_stages([c.pk for c in case_runs], tuple(Stage), run)
    return run


def check(run: Run) -> None:
    """Every count, and every case's state, is what a look at all stages finds."""
    stages = list(
        StageRun.objects.filter(case_run__run=run).values_list("case_run", "stage", "state")
    )
    by_case: dict[int, list[str]] = {pk: [] for pk in run.cases.values_list("pk", flat=True)}
    by_stage: dict[str, Counter[str]] = {}
    for case_run, stage, state in stages:
        by_case[case_run].append(state)
        by_stage.setdefault(stage, Counter())[state] += 1
    states = {pk: case_state(found) for pk, found in by_case.items()}
    counts = count_run(run)
    assert counts.by_stage == by_stage
    assert counts.by_case == Counter(states.values())
    assert dict(run.cases.values_list("pk", "state")) == states


def test_counts_follow_every_kind_of_change(django_user_model):
    run, other = make_run(3), make_run(2)
    admin = django_user_model.objects.create(username="admin")
    check(run)
    job = claim(StageRun, StageRun.objects.filter(case_run__run=run, state="queued").first().pk)
    check(run)
    finish(hold=make_hold(job), then=lambda: release_next(job))
    check(run)
    with transaction.atomic():
        StageRun.objects.update(state="failed")
        transaction.set_rollback(True)
    check(run)
    actions.cancel_run(run=run, by=admin)
    check(run)
    actions.retry_failed(run=run, by=admin)
    check(run)
    Encounter.objects.filter(pk=run.cases.first().encounter_id).delete()
    check(run)
    StageRun.objects.filter(case_run=run.cases.first()).delete()
    check(run)
    check(other)
    run.dataset.delete()
    assert not RunCount.objects.filter(run_id=run.pk).exists()
    check(other)


def test_counts_are_exact_after_random_work_on_several_connections(django_user_model):
    """Concurrent workers and admins cause no deadlock and no lost count."""
    run, admin = make_run(8), django_user_model.objects.create(username="admin")
    errors: list[BaseException] = []
    threads = [
        threading.Thread(target=_run, args=(_worker, run, admin, seed, errors)) for seed in range(4)
    ]
    threads += [
        threading.Thread(target=_run, args=(_admin, run, admin, seed, errors)) for seed in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not errors, errors
    assert not any(thread.is_alive() for thread in threads)
    check(run)
    assert StageRun.objects.filter(state="succeeded").exists(), "nothing was done"
    assert RunCount.objects.filter(run=run).count() < 200, "rows are replaced by their sum"


def _run(
    do: Callable[[Run, User, random.Random], None],
    run: Run,
    admin: User,
    seed: int,
    errors: list[BaseException],
) -> None:
    try:
        do(run, admin, random.Random(seed))
    except BaseException as error:
        errors.append(error)
    finally:
        connection.close()


def _worker(run: Run, admin: User, draw: random.Random) -> None:
    for _ in range(80):
        waiting = list(
            StageRun.objects.filter(case_run__run=run, state__in=("queued", "running")).values_list(
                "pk", flat=True
            )
        )
        job = claim(StageRun, draw.choice(waiting)) if waiting else None
        if job is None:
            continue
        try:
            with transaction.atomic():
                _end(job, draw.random())
                if draw.random() < 0.1:
                    raise ZeroDivisionError
        except (LostLease, ZeroDivisionError):
            running = StageRun.objects.filter(
                pk=job.pk, state="running", lease_expires_at=job.lease_expires_at
            )
            running.filter(cancel_requested=False).update(state="queued", lease_expires_at=None)
            running.update(state="cancelled", lease_expires_at=None)


def _end(job: StageRun, drawn: float) -> None:
    """Mostly finished, sometimes failed, handed on or stopped."""
    hold = make_hold(job)
    if drawn < 0.7:
        finish(hold=hold, then=lambda: release_next(job))
    elif drawn < 0.8:
        fail(hold=hold, reasons=["made up"], retryable=False)
    elif drawn < 0.9:
        requeue(hold=hold)
    else:
        stop(hold=hold)


def _admin(run: Run, admin: User, draw: random.Random) -> None:
    for _ in range(12):
        draw.choice([actions.cancel_run, actions.retry_failed, actions.retry_failed])(
            run=run, by=admin
        )


def test_a_poll_reads_what_it_shows_and_not_the_run(client):
    """A poll of 14,000 stages reads the rows of one page and the counts.

    The rows are those of EXPLAIN ANALYZE.
    """
    run = make_run(2000)
    for n, state in enumerate(("succeeded", "failed", "running", "queued")):
        lease = timezone.now() if state == "running" else None
        found = StageRun.objects.filter(
            case_run__run=run, case_run__encounter__case_id__endswith=str(n)
        )
        # By key: an update that joins may be planned for the empty tables of an earlier test.
        stages = StageRun.objects.filter(pk__in=list(found.values_list("pk", flat=True)))
        stages.update(state=state, lease_expires_at=lease)
    with connection.cursor() as cursor:
        # Also of the rows' visibility: without it the plan depends on what earlier tests left.
        cursor.execute("VACUUM ANALYZE")
    client.force_login(factories.make_user(run.study, Role.ADMIN))
    address = reverse("timelines:run", args=[run.public_id])
    client.get(address)
    for show, page in product(("", "running", "waiting", "done", "failed"), (1, 4)):
        with CaptureQueriesContext(connection) as asked:
            poll = client.get(address, {"show": show, "page": page}, headers={"HX-Request": "true"})
        assert poll.status_code == 200
        rows = {
            sql: count_rows_read(sql)
            for sql in (q["sql"] for q in asked)
            if sql.startswith("SELECT") and '"timelines_' in sql
        }
        worst = max(rows, key=lambda sql: rows[sql])
        skipped = PAGE_SIZE * (page - 1)  # the entries of an index that come before the page
        assert rows[worst] <= 2 * (len(STAGE_ORDER) + 2) * PAGE_SIZE + skipped, (
            f"{show} {page}: {rows[worst]} rows: {worst}"
        )
