"""A note through all seven stages against a real server that is killed.

The timelines are complete, and no answer is paid for twice.
"""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import pytest
from django.db.models import Count, Sum

from jobs.models import JobState
from llm_runtime.models import ModelCall
from llm_runtime.roles import ModelRoles
from tests.verification.asking import load_plain_options
from tests.worlds.prompted import LOCAL_ROLES, finish_run, small_dataset
from timelines.backbones.rules.backbone import rules_backbone
from timelines.models import Entry, Run, StageRun, Timeline
from timelines.pipeline.config import Preset, preset_config
from timelines.runs import actions, tools
from timelines.runs.stages.execution import execute_stage

pytestmark = pytest.mark.django_db(transaction=True)

#: Without row numbers: a model this small cites rows whose hour is not the time that it gives.
CONFIG = preset_config(Preset.PUBLISHED, alternatives=1, infer_batch_size=1)
ANSWERED = "vllm:request_success_total"


def use(monkeypatch, server):
    """Let the real server serve every language role, one call at a time.

    The rules tag, because a model this small cannot.
    """
    served = {
        "provider": "openai",
        "base_url": server.base_url,
        "model": server.name,
        "reasoning": 0,
        "concurrency": 1,
    }
    roles = ModelRoles(
        {**LOCAL_ROLES, "language_model": "smol"},
        {"smol": {**served, "extra": load_plain_options(server), "backoff": 0.05}},
    )
    original = tools.build_prompted
    monkeypatch.setattr(tools, "roles", lambda: roles)
    monkeypatch.setattr(
        tools,
        "build_prompted",
        lambda *args: replace(original(*args), tagger=rules_backbone().tagger),
    )


def stage(run: Run, name: str) -> StageRun:
    return StageRun.objects.get(case_run__run=run, stage=name)


def kill_after(server, answers):
    """Kill the server's API process once it has given that many more answers."""
    until = server.metric(ANSWERED) + answers

    def watch():
        while server.metric(ANSWERED) < until:
            time.sleep(0.02)
        server.kill_api()

    watcher = threading.Thread(target=watch)
    watcher.start()
    return watcher


def test_a_run_survives_kill_9_of_the_server_and_pays_for_no_answer_twice(monkeypatch, server):
    use(monkeypatch, server)
    run = actions.start_run(dataset=small_dataset(), backbone="prompted", config=CONFIG, by=None)
    for name in ("tag", "uids"):
        assert execute_stage(stage(run, name).pk) == JobState.SUCCEEDED
    watcher = kill_after(server, 2)
    try:
        assert execute_stage(stage(run, "infer").pk) == JobState.QUEUED, "an outage ends no case"
    finally:
        watcher.join()
        server.stop()
        server.start()
    waiting = stage(run, "infer")
    assert (waiting.attempt, waiting.outages) == (0, 1)
    assert "Unavailable" in waiting.reasons[0]
    answered = ModelCall.objects.filter(response__isnull=False).count()
    assert answered >= 1
    assert not Timeline.objects.exists(), "half a stage is no timeline"

    StageRun.objects.update(not_before=None)
    finish_run(run)
    assert set(StageRun.objects.values_list("state", flat=True)) == {JobState.SUCCEEDED}
    assert ModelCall.objects.filter(reused=True).count() == answered, (
        "what was answered before is found"
    )
    paid = ModelCall.objects.filter(reused=False, response__isnull=False)
    assert not paid.values("request_id").annotate(times=Count("pk")).filter(times__gt=1).exists()

    inventory = Timeline.objects.get(kind="text_only").inventory
    uids = [o.uid4 for o in inventory.occurrences.order_by("ordinal")]
    assert 4 <= len(uids) <= 15
    for timeline in Timeline.objects.all():
        assert sorted(timeline.entries.values_list("occurrence__uid4", flat=True)) == sorted(uids)
    assert Timeline.objects.filter(kind="revised").count() == 1
    assert (
        Entry.objects.filter(timeline__kind="text_only")
        .exclude(decided_by__startswith="smol@")
        .count()
        == 0
    )
    accepted = paid.filter(outcome="accepted")
    assert {role for (role,) in accepted.values_list("role")} == {
        "timer",
        "query_writer",
        "reviser",
    }
    assert sorted(uid for call in accepted.filter(role="timer") for uid in call.covers) == sorted(
        uids
    )
    spent = paid.aggregate(
        read=Sum("tokens_in"), cached=Sum("tokens_cached"), written=Sum("tokens_out")
    )
    assert spent["read"] > spent["cached"] > 0
    assert spent["written"] > 0
    assert not paid.filter(tokens_cached__isnull=True).exists()
