"""Runs by language models on a real database.

The test decides every answer of their server.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection

from accounts.models import Role
from config.logging import JsonFormatter
from jobs.models import JobState
from llm_runtime.base import ModelRequest
from llm_runtime.models import ModelCall, ModelRequestText
from llm_runtime.servers.stored_facts import StoredFacts
from tests import factories
from tests.marks import deep
from tests.model_server import GRAMMAR, TOO_LONG, Answer, ModelServer
from tests.unit.timelines.prompted.answers import make_good_answer
from tests.worlds.job_rows import expire_lease
from tests.worlds.prompted import (
    LOCAL_ROLES,
    NOTE,
    finish_run,
    make_answer,
    make_server,
    small_dataset,
    use_server,
)
from tests.worlds.reconstructed import LIGHT_ROLES
from timelines.backbones.prompted.notes import list_names
from timelines.models import Entry, Query, Run, StageRun, Timeline
from timelines.pipeline.config import PipelineConfig, Variant
from timelines.runs import actions, tools
from timelines.runs.record import load_names
from timelines.runs.stages.execution import execute_stage

pytestmark = pytest.mark.django_db(transaction=True)

CONFIG = PipelineConfig(alternatives=2, infer_batch_size=3, query_batch_size=2)


def started(variant: Variant = Variant.FULL, config: PipelineConfig = CONFIG, **more) -> Run:
    dataset = more.pop("dataset", None) or small_dataset()
    return actions.start_run(
        dataset=dataset,
        backbone="prompted",
        config=replace(config, variant=variant),
        by=None,
        **more,
    )


def states(run: Run) -> str:
    return "".join(s.state[0] for s in StageRun.objects.filter(case_run__run=run).order_by("pk"))


def stage(run: Run, name: str) -> StageRun:
    return StageRun.objects.get(case_run__run=run, stage=name)


def calls(run: Run, name: str):
    return ModelCall.objects.filter(
        owner_type="timelines.stagerun", owner_id=str(stage(run, name).pk)
    )


@pytest.mark.parametrize("output", ["schema", "table"])
def test_a_whole_case_through_all_seven_stages(monkeypatch, output):
    with make_server(monkeypatch, output=output) as server:
        run = finish_run(started())
    assert states(run) == "sssssss"
    assert run.source == "prompted:fake"
    assert run.language_models["reviser"] == {
        "entry": "",
        "name": f"fake@{server.url[7:-3]}",
        "endpoint": server.url[7:-3],
        "context": None,
        "concurrency": 8,
        "output": output,
        "thinking": "answer",
        "reasoning": 4000,
        "extra": {},
    }
    assert run.tools["reviser"] == run.tools["tagger"] == f"fake@{server.url[7:-3]}"
    assert "timelines/revise" in run.prompt_hashes
    assert not [name for name in run.prompt_hashes if name.startswith("parts/")]
    assert sorted(Timeline.objects.values_list("kind", "alternative")) == [
        ("revised", 1),
        ("revised", 2),
        ("text_only", 1),
    ]
    inventory = Timeline.objects.get(kind="text_only").inventory
    assert inventory is not None
    for timeline in Timeline.objects.all():
        assert timeline.entries.count() == inventory.occurrences.count() > 0
    assert Query.objects.filter(text__startswith="rows of").exists()
    asked = [
        text
        for request in server.requests
        if "one to three search texts" in (text := request.messages[1].content)
    ]
    encounter = run.cases.get().encounter
    listed = list_names(load_names(encounter), run.config["query_names_characters"]).text
    assert listed
    assert all(text.count(listed) == 1 for text in asked)
    assert len({text.split("<<<BEGIN MENTIONS")[0] for text in asked}) == 1
    assert Entry.objects.filter(decided_by=run.tools["timer"]).exists()
    made = ModelCall.objects.filter(reused=False)
    assert made.count() == len(server.requests)
    assert set(made.values_list("outcome", flat=True)) == {"accepted"}
    assert {name for (name,) in made.values_list("role")} == {
        "tagger",
        "timer",
        "query_writer",
        "reviser",
    }
    assert {uid for call in calls(run, "infer") for uid in call.covers} == {
        o.uid4 for o in inventory.occurrences.all()
    }


@pytest.mark.parametrize(
    "variant",
    # In test_variants.py, scripted backbones run every variant on a finished run.
    [
        Variant.UNIMODAL,
        Variant.NO_UID,
        Variant.NO_ROWS,
        *deep(Variant.NO_QUERY, Variant.NO_RERANKER),
    ],
)
def test_every_variant_on_a_finished_run(monkeypatch, variant):
    def answer(request: ModelRequest, number: int) -> str:
        if "mention|time|bounds|known" in request.messages[1].content:
            tables = [
                {
                    "timeline_id": f"timeline_{n}",
                    "data": "mention|time|bounds|known|rows|near\ncough|-48|[-60,-24]|1|[]|[]",
                    "reasoning": "r",
                }
                for n in (1, 2)
            ]
            return json.dumps({"reasoning_summary": "r", "timelines": tables})
        return make_good_answer(request)

    with make_server(monkeypatch, answer) as server:
        base = finish_run(started())
        run = finish_run(started(variant, dataset=base.dataset, based_on=base))
    assert set(states(run)) == {"s"}
    assert run.source == f"prompted:fake/{variant.value}"
    revised = Timeline.objects.filter(case_run__run=run, kind="revised")
    assert revised.count() == (0 if variant is Variant.UNIMODAL else 2)
    if variant is Variant.NO_UID:
        assert list(revised[0].entries.values_list("event", "time", "lower", "upper", "known")) == [
            ("cough", -48.0, -60.0, -24.0, True)
        ]
        (request,) = [
            r for r in server.requests if "mention|time|bounds|known" in r.messages[1].content
        ]
        uids = base.cases.get().inventory.occurrences.values_list("uid4", flat=True)
        assert not [uid for uid in uids if f"<{uid}>" in request.messages[1].content]
    if variant is Variant.NO_ROWS:
        assert "vancomycin administered at 6.5 h" in server.requests[-1].messages[1].content


def test_an_answered_call_is_never_paid_for_twice(monkeypatch):
    """The stage dies before it stores; its next worker finds every answer."""
    with make_server(monkeypatch) as server:
        run = started()
        for name in ("tag", "uids"):
            execute_stage(stage(run, name).pk)
        monkeypatch.setattr("timelines.runs.stages.execution._save_timelines", _die)
        with pytest.raises(SystemExit):
            execute_stage(stage(run, "infer").pk)
        paid = len(server.requests)
        assert calls(run, "infer").count() >= 2
        monkeypatch.undo()
        use_server(monkeypatch, server)
        expire_lease(stage(run, "infer"))
        assert execute_stage(stage(run, "infer").pk) == JobState.SUCCEEDED
        assert len(server.requests) == paid
    assert (
        calls(run, "infer").filter(reused=True).count()
        == calls(run, "infer").filter(reused=False).count()
    )


def _die(*arguments: object) -> None:
    raise SystemExit(9)


def test_a_second_run_over_the_same_cases_finds_the_answers_of_the_first(monkeypatch):
    with make_server(monkeypatch) as server:
        first = finish_run(started())
        paid = len(server.requests)
        finish_run(started(dataset=first.dataset))
        assert len(server.requests) == paid
    assert ModelCall.objects.filter(reused=True).count() == paid
    first.delete()
    assert ModelCall.objects.count() == paid
    Run.objects.all().delete()
    assert (ModelCall.objects.count(), ModelRequestText.objects.count()) == (0, 0)


def test_a_run_whose_answers_are_all_stored_needs_no_server(monkeypatch):
    """The first run learns the context and counts prompts at the server.

    The second run has no server, and its batches were split by a refusal.
    """

    def answer(request: ModelRequest, number: int) -> Answer | str:
        asked = (
            len(request.schema["properties"]) - 1
            if request.schema is not None and _infers(request)
            else 0
        )
        return Answer(status=400, message=GRAMMAR) if asked > 1 else make_good_answer(request)

    with make_server(monkeypatch, answer) as server:
        use_server(monkeypatch, server, facts=StoredFacts())
        first = finish_run(started())
        made = ModelCall.objects.exclude(response=None).count()
    paid = len(server.requests)
    use_server(monkeypatch, server, facts=StoredFacts())
    second = finish_run(started(dataset=first.dataset))
    assert states(second) == "sssssss"
    assert (len(server.requests), ModelCall.objects.filter(reused=True).count()) == (paid, made)
    entries = [
        list(
            Timeline.objects.filter(case_run__run=run)
            .order_by("kind", "alternative")
            .values_list("entries__time", flat=True)
        )
        for run in (first, second)
    ]
    assert sorted(map(str, entries[0])) == sorted(map(str, entries[1]))


def test_a_case_that_fails_every_attempt_is_failed_with_reasons_and_a_retry_starts_a_new_round(
    monkeypatch,
):
    wrong = {"left": 3}

    def answer(request: ModelRequest, number: int) -> str:
        if "batch" in request.messages[1].content or not _infers(request) or not wrong["left"]:
            return make_good_answer(request)
        wrong["left"] -= 1
        return "I would rather not."

    with make_server(monkeypatch, answer, concurrency=1) as server:
        run = finish_run(started(config=replace(CONFIG, infer_batch_size=60)))
        failed = stage(run, "infer")
        assert (failed.state, failed.attempt) == ("failed", 1)
        assert "AttemptsExhausted: infer batch 1 of 1" in failed.reasons[0]
        assert "not valid JSON" in failed.reasons[0]
        assert states(run) == "ssfbbbb"
        assert calls(run, "infer").filter(outcome="rejected").count() == 3
        assert actions.retry_failed(run=run, by=factories.make_user(run.study, Role.ADMIN)) == 1
        paid = len(server.requests)
        finish_run(run)
    assert states(run) == "sssssss"
    assert run.cases.get().rounds == 1
    again = calls(run, "infer").order_by("pk")[3:]
    assert [(c.reused, c.attempt, c.outcome) for c in again] == [
        (True, 1, "rejected"),
        (True, 2, "rejected"),
        (True, 3, "rejected"),
        (False, 4, "accepted"),
    ]
    assert server.requests[paid].seed == 4


def _infers(request: ModelRequest) -> bool:
    return (
        request.schema is not None
        and "row" in request.schema.get("$defs", {})
        and "timelines" not in request.schema["properties"]
    )


def test_a_server_that_is_away_delays_the_case_and_fails_nothing(monkeypatch):
    server = make_server(monkeypatch)
    run = started()
    gone = ModelServer(make_answer)
    gone.__enter__()
    gone.__exit__(None, None, None)
    use_server(monkeypatch, gone)
    Run.objects.filter(pk=run.pk).update(language_models={})
    assert execute_stage(stage(run, "tag").pk) == JobState.QUEUED
    waiting = stage(run, "tag")
    assert (waiting.attempt, waiting.outages) == (0, 1)
    assert waiting.not_before is not None
    assert "Unavailable" in waiting.reasons[0]
    with server:
        use_server(monkeypatch, server)
        StageRun.objects.update(not_before=None)
        finish_run(run)
    assert states(run) == "sssssss"


def test_a_schema_or_prompt_that_is_too_large_is_split_and_nothing_is_dropped(monkeypatch):
    def answer(request: ModelRequest, number: int) -> Answer | str:
        asked = (
            len(request.schema["properties"]) - 1
            if request.schema is not None and _infers(request)
            else 0
        )
        if asked > 1:
            return Answer(status=400, message=GRAMMAR if number % 2 else TOO_LONG)
        return make_good_answer(request)

    with make_server(monkeypatch, answer):
        run = finish_run(started())
    assert states(run) == "sssssss"
    assert set(calls(run, "infer").values_list("outcome", flat=True)) <= {
        "accepted",
        "schema_refused",
        "too_long",
    }
    text_only = Timeline.objects.get(kind="text_only")
    assert text_only.entries.count() == text_only.inventory.occurrences.count()


def test_a_request_that_the_server_refuses_for_good_fails_the_case_at_once(monkeypatch):
    with make_server(monkeypatch, lambda request, number: Answer(status=401)):
        run = finish_run(started())
    failed = stage(run, "tag")
    assert (failed.state, failed.attempt) == ("failed", 1)
    assert failed.reasons == ["attempt 1: RequestRefused: the server refuses the key (401)"]


def test_cancelling_hangs_up_on_the_server(monkeypatch, settings):
    settings.JOB_LEASE_SECONDS = 6
    with make_server(
        monkeypatch, lambda request, number: Answer(make_good_answer(request), seconds=600)
    ) as server:
        run = started()
        admin = factories.make_user(run.study, Role.ADMIN)

        def cancel_once_asked() -> None:
            while not server.requests:
                time.sleep(0.02)
            StageRun.objects.filter(case_run__run=run, stage="tag").update(cancel_requested=True)
            connection.close()

        canceller = threading.Thread(target=cancel_once_asked, daemon=True)
        canceller.start()
        begun = time.monotonic()
        assert execute_stage(stage(run, "tag").pk) == JobState.CANCELLED
        assert time.monotonic() - begun < 120
        canceller.join()
        until = time.monotonic() + 60
        while not server.aborted and time.monotonic() < until:
            time.sleep(0.05)
    assert server.aborted >= 1
    assert actions.cancel_run(run=run, by=admin) >= 0


def test_a_stage_says_how_many_answers_have_come(monkeypatch):
    said = []

    def answer(request: ModelRequest, number: int) -> str:
        said.append(
            StageRun.objects.filter(state="running").values_list("progress", flat=True).first()
        )
        connection.close()  # this is the server's own thread
        return make_good_answer(request)

    with make_server(monkeypatch, answer, concurrency=1):
        run = started(config=replace(CONFIG, infer_batch_size=1))
        for name in ("tag", "uids", "infer"):
            assert execute_stage(stage(run, name).pk) == JobState.SUCCEEDED
    # A request may leave before the answers to earlier ones are counted; no count runs ahead.
    done = [progress.get("done", 0) for progress in said[1:]]
    assert done == sorted(done)
    assert all(count <= before for before, count in enumerate(done))
    assert done[-1] >= 1
    assert said[-1]["words"].startswith(f"{done[-1]} answer")
    counted = len(done)
    assert stage(run, "infer").progress == {
        "done": counted,
        "total": 0,
        "words": f"{counted} answers of the model",
    }


def test_models_are_chosen_by_name_for_a_run_and_make_sources_of_their_own(monkeypatch):
    with (
        ModelServer(make_answer, model="org/large") as large,
        ModelServer(make_answer, model="small") as small,
    ):
        entries = {"large": large.options(), "small": small.options()}
        roles = tools.ModelRoles(
            {
                **LIGHT_ROLES,
                "language_model": "small",
            },
            entries,
        )
        monkeypatch.setattr(tools, "roles", lambda: roles)
        dataset = small_dataset()
        mixed = finish_run(
            started(dataset=dataset, models={"language_model": "small", "reviser": "large"})
        )
        out = StringIO()
        call_command(
            "reconstruct",
            dataset="cohort",
            backbone="prompted",
            model=["large"],
            inline=True,
            stdout=out,
        )
    assert mixed.source == "prompted:small+large"
    assert {r.seed for r in large.requests} == {1}
    assert mixed.language_models["reviser"]["entry"] == "large"
    whole = Run.objects.exclude(pk=mixed.pk).get()
    assert (whole.source, set(states(whole))) == ("prompted:large", {"s"})
    with pytest.raises(actions.RunRefused, match="no model is named 'huge'"):
        started(dataset=dataset, models={"reviser": "huge"})
    with pytest.raises(actions.RunRefused, match="unknown role 'chef'"):
        started(dataset=dataset, models={"chef": "large"})
    with pytest.raises(actions.RunRefused, match="rules uses no language model"):
        actions.start_run(dataset=dataset, backbone="rules", models={"reviser": "large"}, by=None)


def test_queries_are_written_where_models_are_asked_and_searched_for_where_texts_are_embedded(
    monkeypatch,
):
    hints = []
    monkeypatch.setattr(
        "timelines.tasks.run_stage.apply_async",
        lambda args, queue, **rest: hints.append((queue, args[0])),
    )
    with make_server(monkeypatch) as server:
        run = started()
        for name in ("tag", "uids", "infer"):
            execute_stage(stage(run, name).pk)
        retrieve = stage(run, "retrieve")
        assert hints[-1] == ("generate", retrieve.pk)
        assert execute_stage(retrieve.pk) == JobState.QUEUED
        asked = len(server.requests)
        retrieve.refresh_from_db()
        assert (retrieve.attempt, retrieve.reasons, retrieve.not_before) == (0, [], None)
        assert hints[-1] == ("embed", retrieve.pk)
        assert execute_stage(retrieve.pk) == JobState.SUCCEEDED
        assert len(server.requests) == asked
        assert hints[-1] == ("pipeline", stage(run, "expand").pk)
        assert [queue for queue, _ in hints] == [
            "generate",
            "pipeline",
            "generate",
            "generate",
            "embed",
            "pipeline",
        ]


def test_an_entry_that_names_another_model_since_stops_the_run(monkeypatch):
    with make_server(monkeypatch) as server:
        run = started()
        other = ModelServer(make_answer, model="other")
        use_server(monkeypatch, other)
        assert execute_stage(stage(run, "tag").pk) == JobState.FAILED
        assert "start another run" in stage(run, "tag").reasons[0]
        assert server.requests == []


def test_an_entry_whose_settings_were_changed_since_stops_the_run(monkeypatch):
    with make_server(monkeypatch, extra={"reasoning_effort": "high"}) as server:
        run = started()
        use_server(monkeypatch, server, extra={"reasoning_effort": "low"})
        assert execute_stage(stage(run, "tag").pk) == JobState.FAILED
        assert "other `extra` fields" in stage(run, "tag").reasons[0]
    assert server.requests == []


def test_without_a_model_the_launch_says_what_is_missing(monkeypatch):
    roles = tools.ModelRoles(LIGHT_ROLES)
    monkeypatch.setattr(tools, "roles", lambda: roles)
    with pytest.raises(actions.RunRefused, match="no model is set for the role 'tagger'"):
        started()


def test_no_log_holds_a_word_of_the_note_or_the_key(monkeypatch):
    """No log has a word of the note or the key at the most verbose level.

    Success, refusal, outage and an answer that quotes the note are covered.
    """
    stream = StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    monkeypatch.setenv("FAKE_KEY", "zyxkey-hunter2")
    replies = [
        Answer(status=400, message=f"cannot take {NOTE}"),
        Answer(NOTE),
        Answer(status=500, message=NOTE),
        Answer("x", broken=True),
    ]
    try:
        for reply in replies:
            with make_server(
                monkeypatch, lambda request, number, reply=reply: reply, api_key_env="FAKE_KEY"
            ) as server:
                run = started(dataset=small_dataset())
                execute_stage(stage(run, "tag").pk)
            assert server.headers[0]["authorization"] == "Bearer zyxkey-hunter2"
            complaints = [
                reason for s in StageRun.objects.filter(case_run__run=run) for reason in s.reasons
            ]
            assert complaints
            assert not [
                word
                for word in ("Vancomycin", "zyxkey", "Cough")
                for reason in complaints
                if word in reason
            ]
            assert "zyxkey" not in json.dumps([run.language_models, run.tools, run.config])
            assert not ModelCall.objects.filter(reasons__icontains="vancomycin").exists()
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
    text = stream.getvalue()
    assert "timelines" in text or "jobs" in text
    assert not [word for word in ("Vancomycin", "Cough", "zyxkey", "Pressors") if word in text]
    assert not [
        call
        for call in ModelCall.objects.select_related("request")
        if "zyxkey" in call.request.body + (call.response or "")
    ]


WORKER = """
import json, sys
import django
django.setup()
from llm_runtime.roles import ModelRoles
from timelines.runs import tools
from timelines.runs.stages import execution
roles = ModelRoles(json.loads(sys.argv[2]), {"fake": json.loads(sys.argv[3])})
tools.roles = lambda: roles
execution.execute_stage(int(sys.argv[1]))
"""


@pytest.mark.slow
def test_kill_9_in_the_middle_of_a_stage_pays_for_no_answered_call_again(
    monkeypatch, process_environment
):
    """The worker dies while it waits for the third of three batches."""
    hang = threading.Event()

    def answer(request: ModelRequest, number: int) -> Answer | str:
        return Answer(make_good_answer(request), seconds=60 if number == 3 and hang.is_set() else 0)

    config = replace(CONFIG, infer_batch_size=1)
    with ModelServer(lambda request, number: make_good_answer(request)) as tagging:
        use_server(monkeypatch, tagging)
        run = started(config=config)
        for name in ("tag", "uids"):
            execute_stage(stage(run, name).pk)
    Run.objects.filter(pk=run.pk).update(language_models={})
    infer = stage(run, "infer")
    with make_server(monkeypatch, answer, concurrency=1) as server:
        hang.set()
        spec = json.dumps(server.options(concurrency=1))
        command = [
            sys.executable,
            "-c",
            WORKER,
            str(infer.pk),
            json.dumps({**LOCAL_ROLES, "language_model": "fake"}),
            spec,
        ]
        worker = subprocess.Popen(command, env=process_environment)
        try:
            until = time.monotonic() + 600
            # The third is asked a moment before the second's answer is stored.
            while (
                len(server.requests) < 3 or calls(run, "infer").count() < 2
            ) and time.monotonic() < until:
                time.sleep(0.05)
            os.kill(worker.pid, signal.SIGKILL)
        finally:
            worker.kill()
            worker.wait()
        hang.clear()
        assert calls(run, "infer").count() == 2
        expire_lease(infer)
        assert execute_stage(infer.pk) == JobState.SUCCEEDED
        batches = StageRun.objects.get(pk=infer.pk).batches.get().payload["entries"]
        assert len(server.requests) == batches + 1, (
            "only the call that never came back was made again"
        )
    assert calls(run, "infer").filter(reused=True).count() == 2
