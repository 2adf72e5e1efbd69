"""Runs are frozen at their start, cancelled, paused, resumed and retried.

Stages are released one by one.
"""

from __future__ import annotations

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from accounts.models import AuditEvent, Role, User
from ehr.models import Dataset
from jobs.actions import end_abandoned_jobs
from jobs.leases.claims import claim
from jobs.registry import find_kind
from tests import factories
from tests.unit.timelines.pipeline.reconstruction import NOTE, ScriptedBackbone, script
from tests.worlds.job_rows import expire_lease
from timelines.models import CaseRun, Run, StageBatch, StageRun, Timeline
from timelines.pipeline.config import PipelineConfig, Variant
from timelines.runs import actions, following, tools
from timelines.runs.stages import execution as stages
from timelines.runs.stages.execution import execute_stage

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def backbone(monkeypatch) -> ScriptedBackbone:
    """Replace the rules by the scripted backbone.

    The embedder is the small one that needs no weights.
    """
    scripted = script()
    monkeypatch.setattr(tools, "backbone", lambda name, *_: scripted.backbone())
    roles = tools.ModelRoles(
        {"embedder": {"provider": "hashing"}, "reranker": {"provider": "lexical"}}
    )
    monkeypatch.setattr(tools, "roles", lambda: roles)
    return scripted


@pytest.fixture
def hints(monkeypatch) -> list[tuple[str, int]]:
    """The messages to the broker: (queue, stage id)."""
    sent: list[tuple[str, int]] = []
    monkeypatch.setattr(
        "timelines.tasks.run_stage.apply_async",
        lambda args, queue, **_: sent.append((queue, args[0])),
    )
    return sent


@pytest.fixture
def dataset() -> Dataset:
    """Return two cases with the same note and a row each, and one without."""
    made = factories.make_dataset(name="cohort")
    for case_id in ("a", "b"):
        encounter = factories.make_encounter(made, case_id=case_id)
        factories.make_note(encounter, NOTE)
        event = "med:andexanet alfa:administered"
        factories.make_series(
            encounter,
            event,
            [factories.make_row(encounter, event, 6.5)],
            summary="andexanet alfa administered",
        )
    factories.make_encounter(made, case_id="c")
    return made


@pytest.fixture
def admin(dataset) -> User:
    return factories.make_user(dataset.study, Role.ADMIN)


def states(run: Run, case: str = "a") -> str:
    """First letters of the states of a case's stages, in order: "srbbbbb"."""
    return "".join(
        s.state[0]
        for s in StageRun.objects.filter(
            case_run__run=run, case_run__encounter__case_id=case
        ).order_by("pk")
    )


def stage(run: Run, name: str, case: str = "a") -> StageRun:
    return StageRun.objects.get(case_run__run=run, case_run__encounter__case_id=case, stage=name)


def work_all(run: Run) -> None:
    """Execute queued stages until none is left."""
    while waiting := list(
        StageRun.objects.filter(case_run__run=run, state="queued", not_before=None).values_list(
            "pk", flat=True
        )
    ):
        for pk in waiting:
            execute_stage(pk)


def test_a_run_freezes_what_it_runs_and_queues_the_first_stages(backbone, hints, dataset, admin):
    run = actions.start_run(
        dataset=dataset,
        backbone="rules",
        config=PipelineConfig(alternatives=2, seed=5),
        label="first",
        by=admin,
    )
    assert PipelineConfig.from_dict(run.config) == PipelineConfig(alternatives=2, seed=5)
    assert (run.source, run.variant, run.label, run.created_by) == ("rules", "full", "first", admin)
    assert run.tools == {
        "backbone": "scripted 1",
        "embedder": "hashing-64",
        "reranker": "lexical-cosine-overlap-value",
    }
    assert run.code_revision
    assert "django" in run.package_versions
    assert [c.encounter.case_id for c in run.cases.order_by("encounter__case_id")] == ["a", "b"]
    assert (states(run, "a"), states(run, "b")) == ("qbbbbbb", "qbbbbbb")
    assert sorted(hints) == sorted(("pipeline", stage(run, "tag", case).pk) for case in "ab")
    assert AuditEvent.objects.get(action="run.start").detail == {"cases": 2}


def test_each_stage_releases_the_next_onto_its_queue(backbone, hints, dataset):
    run = actions.start_run(dataset=dataset, backbone="rules", cases=["a"], by=None)
    for done, name in enumerate(
        ("tag", "uids", "infer", "retrieve", "expand", "revise", "provenance"), start=1
    ):
        assert hints[-1] == ("embed" if name == "retrieve" else "pipeline", stage(run, name).pk)
        assert execute_stage(stage(run, name).pk) == "succeeded"
        assert states(run) == ("s" * done + "q" + "b" * 6)[:7]
    assert execute_stage(stage(run, "tag").pk) is None, "a doubled message finds nothing to do"
    assert backbone.calls == ["tag", "infer", "write", "revise"]
    revised = Timeline.objects.get(kind="revised", alternative=1)
    assert list(revised.entries.order_by("occurrence__ordinal").values_list("time", flat=True)) == [
        1.0,
        6.5,
        3.0,
    ]
    assert find_kind(StageRun).job_class is StageRun


@pytest.mark.parametrize(
    ("variant", "lack"),
    [(Variant.NO_ROWS, "from summaries alone"), (Variant.NO_UID, "without identifiers")],
)
def test_a_variant_that_the_backbone_cannot_run_is_refused_with_what_it_lacks(
    backbone, dataset, variant, lack
):
    with pytest.raises(
        actions.RunRefused,
        match=f"the variant {variant} needs a revision {lack}, which the backbone scripted lacks",
    ):
        actions.start_run(
            dataset=dataset, backbone="rules", config=PipelineConfig(variant=variant), by=None
        )
    assert not Run.objects.exists()


def test_what_cannot_be_run_is_refused_with_words(dataset):
    with pytest.raises(tools.UnknownBackbone, match="known: llm_timeline, prompted, rules, tkw2"):
        actions.start_run(dataset=dataset, backbone="nobody", by=None)
    with pytest.raises(actions.RunRefused, match="without a note: c, z"):
        actions.start_run(dataset=dataset, backbone="rules", cases=["a", "c", "z"], by=None)
    with pytest.raises(actions.RunRefused, match="no case of this dataset has a note"):
        actions.start_run(dataset=factories.make_dataset(), backbone="rules", by=None)
    assert not Run.objects.exists()


def test_cancel_keeps_what_is_stored_and_retry_goes_on_from_there(backbone, hints, dataset, admin):
    run = actions.start_run(dataset=dataset, backbone="rules", by=admin)
    execute_stage(stage(run, "tag").pk)
    assert actions.cancel_run(run=run, by=admin) == 13
    assert (states(run, "a"), states(run, "b")) == ("scccccc", "ccccccc")
    run.refresh_from_db()
    assert run.cancelled_at is not None
    hints.clear()
    assert actions.retry_failed(run=run, by=admin) == 2
    assert (states(run, "a"), states(run, "b")) == ("sqbbbbb", "qbbbbbb")
    assert sorted(pk for _, pk in hints) == sorted(
        [stage(run, "uids", "a").pk, stage(run, "tag", "b").pk]
    )
    work_all(run)
    assert states(run, "a") == states(run, "b") == "sssssss"
    assert backbone.calls.count("tag") == 2, "the stage that was stored was not done again"


def test_a_paused_run_starts_no_stage_until_it_is_resumed(backbone, hints, dataset, admin):
    run = actions.start_run(dataset=dataset, backbone="rules", cases=["a"], by=admin)
    actions.pause_run(run=run, by=admin)
    assert execute_stage(stage(run, "tag").pk) is None
    assert not find_kind(StageRun).runnable(StageRun.objects.all()).exists()
    hints.clear()
    actions.resume_run(run=run, by=admin)
    assert hints == [("pipeline", stage(run, "tag").pk)]
    work_all(run)
    assert states(run) == "sssssss"


def test_a_failed_case_keeps_its_reasons_and_leaves_the_others_alone(
    backbone, hints, dataset, admin, monkeypatch
):
    run = actions.start_run(
        dataset=dataset, backbone="rules", config=PipelineConfig(max_attempts=1), by=admin
    )
    work = backbone.infer

    def infer(note, anchor, discharge):
        if len(backbone.calls) < 3:
            backbone.calls.append("broken")
            raise ValueError(note.text)
        return work(note, anchor, discharge)

    monkeypatch.setattr(backbone, "infer", infer)
    work_all(run)
    failed = StageRun.objects.get(state="failed")
    assert failed.stage == "infer"
    assert failed.reasons == ["attempt 1: ValueError"], "no text of the note"
    case = failed.case_run.encounter.case_id
    assert states(run, case) == "ssfbbbb"
    assert states(run, "b" if case == "a" else "a") == "sssssss"
    assert actions.retry_case(case_run=failed.case_run, by=admin) == 1
    work_all(run)
    assert states(run, case) == "sssssss"


def test_a_stored_batch_is_never_computed_again(backbone, hints, dataset, monkeypatch):
    """The worker is lost after the queries and one batch of searches.

    The next worker does only the rest.
    """
    run = actions.start_run(
        dataset=dataset,
        backbone="rules",
        config=PipelineConfig(query_batch_size=1),
        cases=["a"],
        by=None,
    )
    for name in ("tag", "uids", "infer"):
        execute_stage(stage(run, name).pk)
    searched: list[int] = []
    search = stages.search

    def lost_in_the_second(queries, record, used):
        searched.append(len(queries))
        if len(searched) == 2:
            expire_lease(stage(run, "retrieve"))
            assert claim(StageRun, stage(run, "retrieve").pk, worker="another") is not None
        return search(queries, record, used)

    monkeypatch.setattr(stages, "search", lost_in_the_second)
    assert execute_stage(stage(run, "retrieve").pk) is None
    assert sorted(
        StageBatch.objects.filter(stage_run=stage(run, "retrieve")).values_list(
            "ordinal", flat=True
        )
    ) == [0, 1]
    expire_lease(stage(run, "retrieve"))
    assert execute_stage(stage(run, "retrieve").pk) == "succeeded"
    assert len(searched) == 4, "first, second (lost), second again, third"
    assert backbone.calls.count("write") == 1
    assert stage(run, "retrieve").reasons == [
        "attempt 1: the worker stopped answering",
        "attempt 2: the worker stopped answering",
    ]
    work_all(run)
    assert states(run) == "sssssss"


def test_an_abandoned_last_attempt_fails_with_words(backbone, hints, dataset):
    run = actions.start_run(
        dataset=dataset,
        backbone="rules",
        config=PipelineConfig(max_attempts=1),
        cases=["a"],
        by=None,
    )
    assert claim(StageRun, stage(run, "tag").pk) is not None
    expire_lease(stage(run, "tag"))
    assert end_abandoned_jobs(jobs=StageRun.objects.all()) == 1
    assert stage(run, "tag").reasons == ["the worker stopped answering in the last attempt"]


def test_a_broker_that_is_away_does_not_stop_a_start(backbone, dataset, monkeypatch):
    from kombu.exceptions import OperationalError

    def away(*args, **kwargs):
        raise OperationalError("away")

    monkeypatch.setattr("timelines.tasks.run_stage.apply_async", away)
    run = actions.start_run(dataset=dataset, backbone="rules", by=None)
    assert states(run) == "qbbbbbb"


def command(*arguments: str) -> str:
    said = StringIO()
    call_command("reconstruct", *arguments, stdout=said, stderr=said)
    return said.getvalue()


def test_the_command_works_inline_and_tells_how_far_it_is(backbone, hints, dataset, monkeypatch):
    monkeypatch.setattr(following, "POLL_SECONDS", 0)  # counts after every stage
    said = command("--dataset", "cohort", "--cases", "a", "--alternatives", "1", "--inline")
    run = Run.objects.get()
    assert said.splitlines()[0] == f"run {run.public_id}: 1 case by rules"
    assert "3 of 7 stages done" in said
    assert said.splitlines()[-2:] == ["7 of 7 stages done", "finished"]
    assert Timeline.objects.filter(kind="revised").count() == 1


def test_the_command_exits_with_the_reasons_of_what_failed(backbone, hints, dataset, monkeypatch):
    monkeypatch.setattr(backbone, "tag", lambda *note: (_ for _ in ()).throw(ValueError(note)))
    said = StringIO()
    monkeypatch.setattr("jobs.actions.FIRST_BACKOFF", timedelta(0))
    with pytest.raises(CommandError, match="2 of 2 cases failed"):
        call_command("reconstruct", "--dataset", "cohort", "--inline", stdout=said, stderr=said)
    assert (
        "a: tag occurrences failed: attempt 1: ValueError; attempt 2: ValueError; attempt 3: ValueError"
        in said.getvalue()
    )
    assert "apixaban" not in said.getvalue()


def test_waiting_without_any_worker_says_so_and_offers_to_work_inline(
    backbone, dataset, services, monkeypatch
):
    monkeypatch.setattr("timelines.runs.following.PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr("timelines.runs.following.POLL_SECONDS", 0.05)
    with pytest.raises(CommandError, match=r"no worker answers on pipeline.*--inline"):
        command("--dataset", "cohort", "--wait")
    assert CaseRun.objects.count() == 2, "the run waits for a worker"


def test_missing_leaves_out_cases_that_are_done_or_under_way(backbone, hints, dataset):
    command("--dataset", "cohort", "--cases", "a", "--inline")
    said = command("--dataset", "cohort", "--missing", "--inline")
    assert "1 case by rules" in said
    assert [c.encounter.case_id for c in Run.objects.latest("pk").cases.all()] == ["b"]
    assert (
        command("--dataset", "cohort", "--missing", "--inline")
        == "every case has a timeline by rules, finished or in progress\n"
    )
    assert Run.objects.count() == 2
    command("--dataset", "cohort", "--missing", "--inline", "--variant", "unimodal")
    assert Run.objects.latest("pk").cases.count() == 2, "another source has cases of its own"
