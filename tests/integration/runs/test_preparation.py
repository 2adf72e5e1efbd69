"""Preparation of runs over large cohorts.

The request stores the run alone. A job adds its cases, and survives a kill, a pause and a
cancellation.
"""

from __future__ import annotations

from collections import Counter

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import Role, User
from ehr.models import Dataset, Encounter, Note
from jobs.errors import LostLease
from jobs.leases.claims import claim
from jobs.leases.holding import make_hold
from jobs.models import JobState
from tests import factories
from tests.support.pages import extract_text
from timelines.models import CaseRun, Run, RunPreparation, StageRun
from timelines.pipeline.config import PipelineConfig, Variant
from timelines.runs import actions, preparing
from timelines.runs.bases import finished_full_runs
from timelines.runs.preparing import execute_preparation
from timelines.runs.progress import count_run
from timelines.runs.stages.execution import execute_stage

pytestmark = pytest.mark.django_db(transaction=True)
CASES = 25


@pytest.fixture(autouse=True)
def small_batches(monkeypatch) -> None:
    """Ten cases a batch; every cohort is too large for the request."""
    monkeypatch.setattr(preparing, "BATCH", 10)
    monkeypatch.setattr(preparing, "AT_ONCE", 0)


@pytest.fixture
def dataset() -> Dataset:
    """Return cases with a note, and one without.

    Their import order is not that of their ids.
    """
    made = factories.make_dataset(name="cohort")
    rows = [
        Encounter(dataset=made, case_id=f"c{(7 * n) % CASES:03}", admitted_at=factories.ADMITTED)
        for n in range(CASES)
    ]
    Encounter.objects.bulk_create(rows)
    Note.objects.bulk_create(
        Note(encounter=e, text="Fell at home.", sha256=Note.digest("Fell at home.")) for e in rows
    )
    factories.make_encounter(made, case_id="c005-without-note")
    return made


@pytest.fixture
def admin(dataset) -> User:
    return factories.make_user(dataset.study, Role.ADMIN)


def start(dataset: Dataset, **more) -> Run:
    return actions.start_run(dataset=dataset, backbone="rules", by=None, **more)


def ids(run: Run) -> list[str]:
    return list(run.cases.order_by("pk").values_list("encounter__case_id", flat=True))


def add_one_batch(run: Run) -> None:
    """What a worker that is lost afterwards leaves behind."""
    job = claim(RunPreparation, run.preparation.pk)
    assert job is not None
    preparing._add_batch(job, make_hold(job), preparing.find_stages(Variant.FULL))


def test_a_start_costs_the_same_however_large_the_cohort(dataset):
    def statements() -> int:
        with CaptureQueriesContext(connection) as asked:
            start(dataset)
        return len(asked)

    small = statements()
    more = [
        Encounter(dataset=dataset, case_id=f"m{n:04}", admitted_at=factories.ADMITTED)
        for n in range(1000)
    ]
    Encounter.objects.bulk_create(more)
    Note.objects.bulk_create(Note(encounter=e, text="x", sha256="x") for e in more)
    assert statements() == small
    assert not CaseRun.objects.exists()
    assert list(RunPreparation.objects.order_by("pk").values_list("total", flat=True)) == [
        CASES,
        CASES + 1000,
    ]


def test_the_job_adds_every_case_in_the_order_of_the_ids(dataset):
    run = start(dataset)
    assert execute_preparation(run.preparation.pk) == JobState.SUCCEEDED
    assert ids(run) == sorted(ids(run))
    assert len(ids(run)) == CASES
    for case_run in run.cases.all():
        found = list(case_run.stages.order_by("pk").values_list("stage", "state"))
        assert [s for s, _ in found] == list(preparing.find_stages(Variant.FULL))
        assert [s for _, s in found] == ["queued"] + ["blocked"] * 6
    assert execute_preparation(run.preparation.pk) is None, "a doubled message adds nothing"


def test_a_large_run_has_the_very_stages_of_a_small_one(dataset, monkeypatch):
    config = PipelineConfig(variant=Variant.UNIMODAL, max_attempts=5)
    late = start(dataset, config=config, cases=["c003", "c001"])
    execute_preparation(late.preparation.pk)
    monkeypatch.setattr(preparing, "AT_ONCE", 200)
    small = start(dataset, config=config, cases=["c003", "c001"])
    left_out = {"id", "case_run_id", "queued_at", "hinted_at"}
    columns = [f.attname for f in StageRun._meta.concrete_fields if f.attname not in left_out]
    rows = [
        list(StageRun.objects.filter(case_run__run=run).order_by("pk").values(*columns))
        for run in (late, small)
    ]
    assert rows[0] == rows[1]
    assert ids(late) == ids(small) == ["c001", "c003"]


@pytest.mark.parametrize("killed_in", [0, 1, 2])
def test_a_preparation_that_is_killed_goes_on_after_the_last_batch(dataset, monkeypatch, killed_in):
    run = start(dataset)
    add, batches = preparing._add_stages, []

    def killed(*arguments):
        batches.append(1)
        add(*arguments)
        if len(batches) == killed_in + 1:
            raise LostLease("the worker is gone")

    monkeypatch.setattr(preparing, "_add_stages", killed)
    assert execute_preparation(run.preparation.pk) is None
    monkeypatch.setattr(preparing, "_add_stages", add)
    assert len(ids(run)) == 10 * killed_in, "a batch is stored whole or not at all"
    RunPreparation.objects.update(lease_expires_at="2000-01-01T00:00Z")
    assert execute_preparation(run.preparation.pk) == JobState.SUCCEEDED
    assert Counter(ids(run)) == Counter(f"c{n:03}" for n in range(CASES))
    assert StageRun.objects.count() == 7 * CASES


def test_a_run_that_is_cancelled_while_it_is_prepared_gets_no_further_stage(
    dataset, admin, monkeypatch
):
    run = start(dataset)
    add = preparing._add_batch

    def cancelled_after(*arguments) -> bool:
        added = add(*arguments)
        actions.cancel_run(run=run, by=admin)
        return added

    monkeypatch.setattr(preparing, "_add_batch", cancelled_after)
    assert execute_preparation(run.preparation.pk) == JobState.CANCELLED
    monkeypatch.setattr(preparing, "_add_batch", add)
    assert len(ids(run)) == 10
    assert set(StageRun.objects.values_list("state", flat=True)) == {"cancelled"}
    counts = count_run(run)
    assert not counts.active
    assert counts.retryable
    assert actions.retry_failed(run=run, by=admin) == 10
    assert count_run(run).preparing
    assert execute_preparation(run.preparation.pk) == JobState.SUCCEEDED
    assert len(ids(run)) == CASES
    assert count_run(run).by_case == {"waiting": CASES}


def test_a_paused_run_is_prepared_and_starts_nothing(dataset, admin):
    run = start(dataset)
    actions.pause_run(run=run, by=admin)
    assert execute_preparation(run.preparation.pk) == JobState.SUCCEEDED
    assert len(ids(run)) == CASES
    assert execute_stage(StageRun.objects.filter(state="queued").first().pk) is None


def test_the_page_follows_the_preparation(client, dataset, admin):
    run = start(dataset)
    client.force_login(admin)
    address = reverse("timelines:run", args=[run.public_id])
    response = client.get(address)
    assert "Preparing: 0 of 25 cases" in extract_text(response)
    assert 'hx-trigger="every 2s"' in response.content.decode()
    RunPreparation.objects.update(
        state="failed", prepared=20, reasons=["attempt 3: OperationalError"]
    )
    response = client.get(address)
    assert (
        "Preparation failed after 20 of 25 cases. Retry adds the others. attempt 3: OperationalError"
        in extract_text(response)
    )
    assert "every 2s" not in response.content.decode()
    client.post(reverse("timelines:run_action", args=[run.public_id, "retry"]))
    RunPreparation.objects.update(prepared=0)
    execute_preparation(run.preparation.pk)
    shown = extract_text(client.get(address))
    assert "Prepar" not in shown
    assert "0 of 175 stages done over 25 cases" in shown


def test_launching_says_how_many_cases_there_will_be(client, dataset, admin):
    client.force_login(admin)
    asked = {
        "dataset": dataset.public_id,
        "backbone": "rules",
        "variant": "unimodal",
        "preset": "default",
        "set_alternatives": "1",
    }
    assert "The run over 25 cases has started." in extract_text(
        client.post(reverse("timelines:run_new"), asked, follow=True)
    )


def test_missing_leaves_out_cases_that_are_about_to_be_added(dataset):
    run = start(dataset, cases=[f"c{n:03}" for n in range(20)])
    assert actions.missing_cases(dataset, "rules") == [f"c{n:03}" for n in range(20, CASES)]
    add_one_batch(run)
    assert actions.missing_cases(dataset, "rules") == [f"c{n:03}" for n in range(20, CASES)]


def test_a_run_that_is_still_prepared_is_nobodys_base(dataset):
    run = start(dataset)
    add_one_batch(run)
    StageRun.objects.update(state="succeeded")
    assert not finished_full_runs().exists()
    with pytest.raises(
        actions.RunRefused, match=r"not all cases of the run .* have been added yet"
    ):
        start(dataset, config=PipelineConfig(variant=Variant.NO_UID), based_on=run)
    RunPreparation.objects.update(state="succeeded", lease_expires_at=None)
    assert finished_full_runs().get() == run


def test_a_run_on_a_base_takes_over_its_inventories(dataset):
    base = start(dataset)
    execute_preparation(base.preparation.pk)
    for case_run in base.cases.select_related("encounter"):
        case_run.inventory = factories.make_inventory(case_run.encounter.notes.get(), base)
        case_run.save()
    StageRun.objects.update(state="succeeded")
    derived = start(
        dataset,
        config=PipelineConfig(variant=Variant.NO_UID),
        based_on=base,
        cases=["c004", "c002"],
    )
    execute_preparation(derived.preparation.pk)
    taken = {
        c.encounter_id: c.inventory_id
        for c in base.cases.filter(encounter__case_id__in=["c002", "c004"])
    }
    assert {c.encounter_id: c.inventory_id for c in derived.cases.all()} == taken
    assert set(derived.cases.first().stages.values_list("stage", flat=True)) == {
        "infer",
        "retrieve",
        "expand",
        "revise",
        "provenance",
    }
