"""A judge run whose model answers by files."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from accounts.models import AuditEvent
from adjudication.judge_runs import actions, following
from adjudication.judge_runs import tools as judge_tools
from adjudication.models import Finding, Game, JudgeRun
from adjudication.ratings.data import compute_report
from jobs.models import JobState
from llm_runtime.calls.exchange_files import scan_folder
from llm_runtime.models import ModelCall, Outcome
from llm_runtime.roles import ModelRoles
from tests import factories
from tests.worlds.judged import KEYS, make_case
from tests.worlds.prompted import LOCAL_ROLES

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def run(monkeypatch) -> JudgeRun:
    """Two cases with two sources each: two games, both waiting for answers."""
    outside = {"provider": "exchange", "model": "strong"}
    roles = ModelRoles({**LOCAL_ROLES, "language_model": outside})
    for module in (judge_tools, actions):
        monkeypatch.setattr(module, "roles", lambda: roles)
    dataset = factories.make_dataset()
    for case in ("one", "two"):
        make_case(dataset, case)
    started = actions.start_judging(
        study=dataset.study, datasets=[dataset], sources=KEYS[:2], judge="prompted", by=None
    )
    said: list[str] = []
    following.judge_inline(started, said.append)
    assert said[-1] == (
        "2 requests wait for answers from outside: manage.py exchange export --run"
        f" {started.public_id} --out FOLDER"
    )
    return started


def exchange(direction: str, run: JudgeRun, folder: Path, *more: str) -> list[str]:
    out = StringIO()
    place = "--out" if direction == "export" else "--in"
    call_command(
        "exchange", direction, "--run", run.public_id, place, str(folder), *more, stdout=out
    )
    return out.getvalue().splitlines()


def answer(folder: Path, findings: list[dict[str, object]]) -> None:
    for path in scan_folder(folder).unanswered:
        text = json.dumps({"reasoning": "r", "findings": findings})
        path.with_name(f"{path.stem}.answer.txt").write_text(text)


def test_a_judge_run_is_exported_checked_imported_and_finished(run, tmp_path):
    assert exchange("export", run, tmp_path) == [f"2 requests in {tmp_path}"]
    names = (tmp_path / "UNANSWERED.txt").read_text().splitlines()
    assert [name[:14] for name in names] == ["r01-judge-001-", "r01-judge-002-"]
    answer(tmp_path, [])
    assert exchange("check", run, tmp_path) == [
        "answers: 2 valid, 0 rejected; 0 requests have no answer"
    ]
    assert not ModelCall.objects.exclude(outcome=Outcome.PENDING).exists()
    printed = exchange("import", run, tmp_path, "--inline")
    assert printed[0] == "2 answers imported, 0 were there already"
    assert printed[-1] == f"run {run.public_id} is finished: 2 of 2 games judged"
    assert set(run.games.values_list("state", "outcome")) == {
        (JobState.SUCCEEDED, Game.Outcome.JUDGED)
    }
    report = compute_report(run)
    assert (report.games, report.unjudged) == (2, 0), "the ratings count them as any other"
    events = AuditEvent.objects.filter(action__startswith="exchange.")
    assert set(events.values_list("object_type", "object_id")) == {
        ("adjudication.judgerun", run.public_id)
    }


def test_the_judge_s_validator_rejects_a_made_up_quote_before_the_import(run, tmp_path):
    exchange("export", run, tmp_path)
    wrong = {"type": "A_ONLY", "verdict": "A", "note_evidence": "words that no note has"}
    answer(tmp_path, [wrong])
    out, err = StringIO(), StringIO()
    with pytest.raises(CommandError, match="nothing was imported"):
        call_command("exchange", "check", "--in", str(tmp_path), stdout=out, stderr=err)
    assert out.getvalue() == "answers: 0 valid, 2 rejected; 0 requests have no answer\n"
    assert len(err.getvalue().splitlines()) == 2
    assert set(run.games.values_list("state", flat=True)) == {JobState.QUEUED}
    assert not Finding.objects.exists()
    exchange("import", run, tmp_path, "--inline")
    reasons = ModelCall.objects.filter(outcome=Outcome.REJECTED).values_list("reasons", flat=True)
    assert sorted(line.partition(": ")[2] for line in err.getvalue().splitlines()) == sorted(
        "; ".join(one) for one in reasons
    )
    assert exchange("export", run, tmp_path) == [f"2 requests in {tmp_path}"]
    assert len(list(tmp_path.glob("r02-judge-*.json"))) == 2


def test_the_command_leaves_a_judge_run_that_waits(run):
    out = StringIO()
    (dataset,) = run.datasets.all()
    call_command(
        "judge",
        "--dataset",
        dataset.public_id,
        "--sources",
        ",".join(key.written for key in KEYS[:2]),
        "--judge",
        "prompted",
        "--missing",
        "--inline",
        stdout=out,
    )
    assert "2 requests wait for answers from outside" in out.getvalue()
    assert out.getvalue().endswith("not finished: waiting for answers\n")
