"""A run whose model answers by files until it is done.

A script plays the model outside.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.template.loader import render_to_string

from accounts.models import AuditEvent
from llm_runtime.accounting import Spent, spent_by_owner, total
from llm_runtime.base import ModelRequest
from llm_runtime.calls.exchange_files import parse_request, scan_folder
from llm_runtime.models import ModelCall, ModelRequestText, Outcome
from llm_runtime.roles import ModelRoles
from tests import factories
from tests.unit.timelines.prompted.answers import make_good_answer
from tests.unit.timelines.prompted.baseline_answers import baseline_answer
from tests.worlds.prompted import LOCAL_ROLES, NOTE, finish_run, small_dataset
from timelines.models import Run, StageBatch, StageRun, Timeline
from timelines.pipeline.config import PipelineConfig, Variant
from timelines.runs import actions, following, tools
from timelines.runs.calls import run_spent
from timelines.runs.following import waiting_words
from timelines.runs.stages.execution import execute_stage

pytestmark = pytest.mark.django_db(transaction=True)

CONFIG = PipelineConfig(alternatives=2, infer_batch_size=3, query_batch_size=2)


@pytest.fixture(autouse=True)
def outside(monkeypatch) -> ModelRoles:
    return use(monkeypatch, {"provider": "exchange", "model": "strong"})


def use(monkeypatch: pytest.MonkeyPatch, spec: dict[str, str]) -> ModelRoles:
    roles = ModelRoles({**LOCAL_ROLES, "language_model": spec})
    monkeypatch.setattr(tools, "roles", lambda: roles)
    return roles


def start_run(backbone: str = "prompted", variant: Variant = Variant.FULL, **more) -> Run:
    dataset = more.pop("dataset", None) or small_dataset()
    return actions.start_run(
        dataset=dataset, backbone=backbone, config=replace(CONFIG, variant=variant), by=None, **more
    )


def exchange(direction: str, run: Run, folder: Path, *more: str) -> str:
    out = StringIO()
    call_command(
        "exchange",
        direction,
        "--run",
        run.public_id,
        "--out" if direction == "export" else "--in",
        str(folder),
        *more,
        stdout=out,
    )
    return out.getvalue().strip()


def answer_all(folder: Path, answer: Callable[[ModelRequest], str] = make_good_answer) -> int:
    """The model outside: it sees the files alone."""
    count = 0
    for path in scan_folder(folder).unanswered:
        path.with_name(f"{path.stem}.answer.txt").write_text(
            answer(parse_request(json.loads(path.read_text())))
        )
        count += 1
    return count


def exchange_until_done(
    run: Run, folder: Path, answer: Callable[[ModelRequest], str] = make_good_answer
) -> list[int]:
    """Until the run is done; how many answers each round took."""
    rounds = []
    while waiting_words(finish_run(run)):
        exchange("export", run, folder)
        rounds.append(answer_all(folder, answer))
        assert rounds[-1]
        exchange("import", run, folder)
    return rounds


def states(run: Run) -> str:
    return "".join(s.state[0] for s in StageRun.objects.filter(case_run__run=run).order_by("pk"))


def times() -> list[float | None]:
    entries = Timeline.objects.order_by("kind", "alternative", "entries__occurrence__ordinal")
    return list(entries.values_list("entries__time", flat=True))


def test_a_case_goes_through_all_stages_by_files(tmp_path):
    run = start_run()
    rounds = exchange_until_done(run, tmp_path)
    assert states(run) == "sssssss"
    assert run.source == "prompted:strong"
    assert sorted(Timeline.objects.values_list("kind", "alternative")) == [
        ("revised", 1),
        ("revised", 2),
        ("text_only", 1),
    ]
    assert len(rounds) == 4, (
        "one for each stage that asks: all batches of a stage are out in one go"
    )
    assert rounds[1] >= 2
    asked = sum(rounds)
    assert ModelCall.objects.filter(outcome=Outcome.PENDING).count() == asked
    posts = ModelCall.objects.filter(outcome=Outcome.ANSWERED)
    assert (posts.count(), set(posts.values_list("endpoint", flat=True))) == (asked, {"exchange"})
    spent = total(spent_by_owner(ModelCall.objects.all()).values())
    assert (spent.calls, spent.reused, spent.refused) == (asked, 0, {})
    assert not StageRun.objects.filter(outages__gt=0).exists()
    assert set(StageRun.objects.values_list("attempt", flat=True)) == {1}
    assert (
        AuditEvent.objects.filter(action="exchange.export").count()
        == AuditEvent.objects.filter(action="exchange.import").count()
        == 4
    )
    run.delete()
    assert (ModelCall.objects.count(), ModelRequestText.objects.count()) == (0, 0)


def test_the_same_folder_replays_the_run_without_anyone_outside(monkeypatch, tmp_path):
    first = start_run()
    exchange_until_done(first, tmp_path)
    dataset, made = first.dataset, times()

    first.delete()
    use(monkeypatch, {"provider": "replay", "model": "strong", "folder": str(tmp_path)})
    again = finish_run(start_run(dataset=dataset))
    assert states(again) == "sssssss"
    assert times() == made


def test_a_refused_answer_comes_back_as_a_new_request_that_says_why(tmp_path):
    run = start_run("tkw2", Variant.UNIMODAL)
    wrong = {"left": 1}

    def answer(request: ModelRequest) -> str:
        if wrong["left"]:
            wrong["left"] -= 1
            return "I would rather not."
        return baseline_answer(request)

    finish_run(run)
    exchange("export", run, tmp_path)
    answer_all(tmp_path, answer)
    exchange("import", run, tmp_path)
    finish_run(run)
    exchange("export", run, tmp_path)
    (retry,) = [
        p for p in tmp_path.glob("*.json") if not (tmp_path / f"{p.stem}.answer.txt").exists()
    ]
    request = json.loads(retry.read_text())
    assert request["seed"] == 2
    assert "not valid JSON" in request["messages"][-1]["content"]
    assert exchange_until_done(run, tmp_path, answer) == [1, 1, 1, 1]
    assert states(run) == "ss"
    spent = total(spent_by_owner(ModelCall.objects.all()).values())
    assert spent.refused == {"rejected": 1}


def test_waiting_is_no_failure_and_posts_nothing_twice(tmp_path):
    run = start_run()
    finish_run(run)
    stage = StageRun.objects.get(case_run__run=run, stage="tag")
    for _ in range(3):
        StageRun.objects.filter(pk=stage.pk).update(not_before=None)
        assert execute_stage(stage.pk) == "queued"
    stage.refresh_from_db()
    assert (stage.attempt, stage.outages, len(stage.reasons)) == (0, 0, 1)
    assert "Pending: the answer comes from outside" in stage.reasons[0]
    assert NOTE[:20] not in stage.reasons[0]
    assert ModelCall.objects.count() == 1
    assert waiting_words(run).startswith(
        "1 request waits for answers from outside: manage.py exchange export --run "
    )
    assert exchange("export", run, tmp_path) == f"1 request in {tmp_path}"
    assert exchange("export", run, tmp_path) == f"1 request in {tmp_path}"
    assert len(list(tmp_path.glob("r01-tag-001-*.json"))) == 1


def test_bad_files_are_refused_by_name_and_the_good_ones_kept(tmp_path):
    run = start_run(dataset=small_dataset(3))
    finish_run(run)
    exchange("export", run, tmp_path)
    assert answer_all(tmp_path) == 3
    first, second, third = sorted(p.name.partition(".")[0] for p in tmp_path.glob("*.answer.txt"))
    (tmp_path / f"{first}.answer.json").write_text('{"text": "another"}')
    request = tmp_path / f"{second}.json"
    request.write_text(request.read_text().replace('"seed": 1', '"seed": 9'))
    (tmp_path / f"{'0' * 64}.answer.txt").write_text("whose?")
    (tmp_path / "notes.answer.txt").write_text("whose?")
    err = StringIO()
    with pytest.raises(CommandError, match="4 answers were rejected; the others are stored"):
        call_command(
            "exchange",
            "import",
            "--run",
            run.public_id,
            "--in",
            str(tmp_path),
            stdout=StringIO(),
            stderr=err,
        )
    faults = err.getvalue().splitlines()
    assert len(faults) == 4
    assert [line.partition(":")[0] for line in faults] == [
        f"{'0' * 64}.answer.txt",
        "notes.answer.txt",
        f"{first}.answer.txt",
        f"{second}.answer.txt",
    ]
    stored = ModelCall.objects.filter(outcome=Outcome.ANSWERED).get()
    assert stored.request_id == third.rpartition("-")[2]
    for name in (
        f"{first}.answer.json",
        f"{'0' * 64}.answer.txt",
        "notes.answer.txt",
        f"{second}.json",
    ):
        (tmp_path / name).unlink()
    exchange("export", run, tmp_path)
    assert exchange("import", run, tmp_path).splitlines() == [
        "2 answers imported, 1 were there already",
        f"run {run.public_id} continues: 0 of 21 stages done",
    ]
    (tmp_path / f"{third}.answer.txt").write_text("changed my mind")
    with pytest.raises(CommandError, match="1 answers were rejected"):
        exchange("import", run, tmp_path)
    assert ModelCall.objects.filter(outcome=Outcome.ANSWERED).count() == 3
    (tmp_path / f"{third}.answer.txt").unlink()
    exchange_until_done(run, tmp_path)
    assert set(states(run)) == {"s"}


def test_an_answer_names_who_brought_it_and_wrong_requests_are_reported(tmp_path):
    run = start_run()
    finish_run(run)
    user = factories.make_user(run.study, username="carrier")
    exchange("export", run, tmp_path, "--by", "carrier")
    answer_all(tmp_path)
    exchange("import", run, tmp_path, "--by", "carrier")
    (answered,) = ModelCall.objects.filter(outcome=Outcome.ANSWERED)
    assert json.loads(answered.response)["raw"]["by"] == "carrier"
    assert set(
        AuditEvent.objects.filter(action__startswith="exchange").values_list("actor", flat=True)
    ) == {user.pk}
    with pytest.raises(CommandError, match="there is no run nope"):
        call_command("exchange", "export", "--run", "nope", "--out", str(tmp_path))
    with pytest.raises(CommandError, match="there is no account nobody"):
        exchange("export", run, tmp_path, "--by", "nobody")
    with pytest.raises(CommandError, match="export writes to --out FOLDER, check and import read"):
        call_command("exchange", "export", "--run", run.public_id, "--in", str(tmp_path))
    with pytest.raises(CommandError):
        exchange("import", run, tmp_path / "none")


def test_the_launch_command_leaves_a_run_that_waits(tmp_path):
    small_dataset()
    out = StringIO()
    call_command("reconstruct", dataset="cohort", backbone="llm_timeline", inline=True, stdout=out)
    assert "1 request waits for answers from outside: manage.py exchange export" in out.getvalue()
    assert out.getvalue().endswith("not finished: waiting for answers\n")
    out = StringIO()
    call_command(
        "reconstruct",
        dataset="cohort",
        backbone="llm_timeline",
        missing=True,
        inline=True,
        stdout=out,
    )
    assert "finished or in progress" in out.getvalue()


def test_without_workers_the_import_goes_on_by_itself(tmp_path, monkeypatch):
    monkeypatch.setattr(following, "POLL_SECONDS", 0)  # counts after every stage
    run = finish_run(start_run("llm_timeline", Variant.UNIMODAL))
    exchange("export", run, tmp_path)
    answer_all(tmp_path, baseline_answer)
    printed = exchange("import", run, tmp_path, "--inline")
    assert printed.splitlines() == [
        "1 answers imported, 0 were there already",
        "0 of 2 stages done",
        "1 of 2 stages done",
        "2 of 2 stages done",
        f"run {run.public_id} is finished: 2 of 2 stages done",
    ]
    assert states(run) == "ss"
    assert (
        exchange("export", run, tmp_path) == f"run {run.public_id} is finished: 2 of 2 stages done"
    )


def test_unreported_tokens_are_not_zero(tmp_path):
    run = start_run()
    exchange_until_done(run, tmp_path)
    spent = run_spent(run).total
    assert (spent.calls > 0, spent.tokens_in, spent.tokens_cached, spent.tokens_out) == (
        True,
        None,
        None,
        None,
    )
    out = StringIO()
    call_command(
        "export_model_calls",
        run=run.public_id,
        format="csv",
        out=tmp_path / "calls.csv",
        stdout=out,
    )
    assert "tokens – in (– cached), – out" in out.getvalue()
    cells = render_to_string("timelines/calls/_spent_cells.html", {"s": spent})
    assert cells.count("–") == 4, "three of tokens, and nothing was refused"
    reported = Spent(calls=1, tokens_in=7, tokens_cached=None, tokens_out=0)
    both = total([spent, reported, Spent(reused=2)])
    assert (both.tokens_in, both.tokens_cached, both.tokens_out) == (7, None, 0), (
        "reported tokens count, even 0"
    )
    assert total([]).tokens_in == 0
    assert total([spent]).figures()["tokens_in"] is None


def test_two_runs_share_a_folder_and_each_takes_its_own_answers(tmp_path):
    first, second = start_run(), start_run("llm_timeline", Variant.UNIMODAL)
    for run in (first, second):
        finish_run(run)
        exchange("export", run, tmp_path)
    assert (
        answer_all(
            tmp_path, lambda r: baseline_answer(r) if r.schema is None else make_good_answer(r)
        )
        == 2
    )
    assert exchange("import", first, tmp_path).startswith(
        "1 answers imported, 0 were there already, 1 of other runs left to them"
    )
    for request in tmp_path.glob("*.json"):
        request.unlink()
    message = "1 answers imported, 0 were there already, 1 of other runs left to them"
    assert exchange("import", second, tmp_path).startswith(message), (
        "what others posted is known without its request, too"
    )
    assert ModelCall.objects.filter(outcome=Outcome.ANSWERED).count() == 2
    finish_run(second)
    assert states(second) == "ss"


def test_a_request_of_another_place_is_left_and_a_changed_one_refused(tmp_path):
    gone, run = start_run(), start_run("llm_timeline", Variant.UNIMODAL)
    finish_run(gone)
    exchange("export", gone, tmp_path)
    answer_all(tmp_path)
    gone.delete()
    finish_run(run)
    assert (
        exchange("import", run, tmp_path)
        == "0 answers imported, 0 were there already, 1 of other runs left to them"
    ), "the run still waits, so nothing else is said"
    (request,) = tmp_path.glob("*.json")
    request.write_text(request.read_text().replace('"seed": 1', '"seed": 9'))
    with pytest.raises(CommandError, match="1 answers were rejected"):
        exchange("import", run, tmp_path)


def test_the_index_lists_what_is_unanswered_and_names_begin_with_round_stage_and_batch(tmp_path):
    run = start_run()
    finish_run(run)
    exchange("export", run, tmp_path)
    answer_all(tmp_path)
    exchange("import", run, tmp_path)
    assert (tmp_path / "UNANSWERED.txt").read_text() == ""
    finish_run(run)
    exchange("export", run, tmp_path)
    unanswered = (tmp_path / "UNANSWERED.txt").read_text().splitlines()
    assert unanswered == sorted(p.name for p in tmp_path.glob("r02-infer-*.json"))
    assert [name[:14] for name in unanswered][:2] == ["r02-infer-001-", "r02-infer-002-"]
    answer_all(tmp_path)
    exchange("check", run, tmp_path)
    assert (tmp_path / "UNANSWERED.txt").read_text() == ""


def stored() -> tuple[int, ...]:
    return (
        ModelCall.objects.count(),
        ModelRequestText.objects.count(),
        AuditEvent.objects.count(),
        Timeline.objects.count(),
        StageBatch.objects.count(),
    )


def test_a_check_says_what_an_import_would_reject_and_stores_nothing(tmp_path):
    run = start_run()
    finish_run(run)
    exchange("export", run, tmp_path)
    answer_all(tmp_path)
    before = stored()
    assert (
        exchange("check", run, tmp_path)
        == "answers: 1 valid, 0 rejected; 0 requests have no answer"
    )
    assert stored() == before
    exchange("import", run, tmp_path)
    finish_run(run)
    exchange("export", run, tmp_path)
    answer_all(tmp_path)
    _, spoiled, *_ = sorted(tmp_path.glob("r02-*.answer.txt"))
    values = json.loads(spoiled.read_text())
    uid = next(name for name in values if name != "reasoning")
    values[uid][:3] = [2, 9, 1]
    spoiled.write_text(json.dumps(values))
    before, out, err = stored(), StringIO(), StringIO()
    with pytest.raises(CommandError, match="nothing was imported"):
        call_command("exchange", "check", "--in", str(tmp_path), stdout=out, stderr=err)
    assert stored() == before
    assert out.getvalue().startswith("answers: ")
    assert "1 rejected, 1 imported before; 0 requests have no answer" in out.getvalue()
    (line,) = err.getvalue().splitlines()
    assert line.startswith(f"{spoiled.name}: ")
    assert uid in line
    exchange("import", run, tmp_path)
    finish_run(run)
    rejected = ModelCall.objects.get(outcome=Outcome.REJECTED)
    assert line == f"{spoiled.name}: {'; '.join(rejected.reasons)}", "the same validator says it"
    exchange_until_done(run, tmp_path)
    assert states(run) == "sssssss"


def test_a_check_without_a_run_counts_answers_of_other_places(tmp_path):
    run = start_run()
    finish_run(run)
    exchange("export", run, tmp_path)
    answer_all(tmp_path)
    (tmp_path / "notes.answer.txt").write_text("whose?")
    run.delete()
    out, err = StringIO(), StringIO()
    with pytest.raises(CommandError):
        call_command("exchange", "check", "--in", str(tmp_path), stdout=out, stderr=err)
    assert out.getvalue().startswith("answers: 0 valid, 1 rejected, 1 of other runs;")
    assert err.getvalue() == "notes.answer.txt: no run needs this answer\n"


def test_an_answer_that_no_stage_reaches_is_reported(monkeypatch, tmp_path):
    run = start_run()
    finish_run(run)
    exchange("export", run, tmp_path)
    answer_all(tmp_path)
    use(monkeypatch, {"provider": "exchange", "model": "weak"})
    err = StringIO()
    call_command("exchange", "check", "--in", str(tmp_path), stdout=StringIO(), stderr=err)
    assert "not checked: the run was started with strong@exchange as " in err.getvalue()


def test_log_lines_stay_out_of_the_output(capsys, tmp_path):
    run = finish_run(start_run("llm_timeline", Variant.UNIMODAL))
    exchange("export", run, tmp_path)
    answer_all(tmp_path, baseline_answer)
    logger = logging.getLogger()
    handler = logging.StreamHandler(stream := StringIO())
    logger.addHandler(handler)
    try:
        exchange("import", run, tmp_path, "--inline")
        assert stream.getvalue() == ""
        assert handler.level == logging.NOTSET, "the level is restored"
    finally:
        logger.removeHandler(handler)
