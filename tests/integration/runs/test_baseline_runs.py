"""The baselines as runs on a real database, without an inventory.

From the launch to pages, exports and evaluation.
"""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction
from django.urls import reverse

from accounts.models import Role
from llm_runtime.base import ModelRequest
from llm_runtime.models import ModelCall
from tests import factories
from tests.unit.timelines.prompted.baseline_answers import baseline_answer
from tests.worlds.prompted import finish_run, make_server, small_dataset, use_server
from timelines.cases.choices import load_choices
from timelines.cases.items import spans_and_items
from timelines.domain import TimelineKind
from timelines.evaluation.plain import report_from_plain
from timelines.evaluation.values import Basis, SourceKey
from timelines.evaluations.data import Chosen, load_cases
from timelines.models import Entry, Inventory, Run, StageRun, Timeline
from timelines.pipeline.config import PipelineConfig, Variant
from timelines.runs import actions
from timelines.runs.bases import BaseRefused, find_base, finished_full_runs
from timelines.runs.stages.execution import execute_stage
from timelines.runs.tools import find_queue

pytestmark = pytest.mark.django_db(transaction=True)


def good(request: ModelRequest, number: int) -> str:
    return baseline_answer(request)


def start_run(backbone: str, variant: Variant, **more) -> Run:
    dataset = more.pop("dataset", None) or small_dataset()
    return actions.start_run(
        dataset=dataset, backbone=backbone, config=PipelineConfig(variant=variant), by=None, **more
    )


def lines(run: Run, kind: str) -> list[tuple[str, float | None, float | None]]:
    entries = Entry.objects.filter(timeline__case_run__run=run, timeline__kind=kind).order_by("pk")
    return list(entries.values_list("event", "time", "confidence"))


def states(run: Run) -> dict[str, str]:
    return dict(
        StageRun.objects.filter(case_run__run=run).order_by("pk").values_list("stage", "state")
    )


def test_single_step_makes_one_text_only_timeline_with_confidence_in_one_call(monkeypatch):
    with make_server(monkeypatch, good) as server:
        run = finish_run(start_run("llm_timeline", Variant.UNIMODAL))
    assert states(run) == {"infer": "succeeded", "provenance": "succeeded"}
    assert run.source == "llm_timeline:fake/unimodal"
    assert run.tools == {"backbone": "llm_timeline 2", "timer": f"fake@{server.url[7:-3]}"}
    assert lines(run, "text_only") == [("fever", -48.0, 8.0), ("lactate was measured", 0.5, 5.0)]
    assert (Timeline.objects.count(), Inventory.objects.count(), len(server.requests)) == (1, 0, 1)
    assert {find_queue("llm_timeline", s) for s in ("infer", "revise")} == {"generate"}
    assert find_queue("llm_timeline", "provenance") == "pipeline"


def test_a_run_sets_attempts_and_the_room_for_the_answer(monkeypatch):
    config = PipelineConfig(variant=Variant.UNIMODAL, max_attempts=2, single_step_tokens=100)
    with make_server(monkeypatch, lambda request, number: "no table") as server:
        run = finish_run(
            actions.start_run(
                dataset=small_dataset(), backbone="llm_timeline", config=config, by=None
            )
        )
    assert states(run)["infer"] == "failed"
    assert [request.max_tokens for request in server.requests] == [200, 200]


def test_tkw2_makes_both_timelines_and_pays_for_shared_steps_once(monkeypatch):
    with make_server(monkeypatch, good) as server:
        run = finish_run(start_run("tkw2", Variant.FULL))
        assert states(run) == {
            "infer": "succeeded",
            "revise": "succeeded",
            "provenance": "succeeded",
        }
        assert len(server.requests) == 7, (
            "four for the text-only timeline; two calibrations and attaching to the calibrated scaffold"
        )
        unimodal = finish_run(start_run("tkw2", Variant.UNIMODAL, dataset=run.dataset))
        assert len(server.requests) == 7
    assert lines(run, "text_only") == [
        ("fever", -48.0, None),
        ("hospital admission", 0.0, None),
        ("lactate was measured", 1.5, None),
    ]
    assert lines(run, "revised") == [
        ("fever", -50.0, None),
        ("hospital admission", 0.0, None),
        ("lactate was measured", 1.25, None),
    ]
    assert lines(unimodal, "text_only") == lines(run, "text_only")
    assert states(unimodal) == {"infer": "succeeded", "provenance": "succeeded"}
    assert (run.tools["tkw2_embedder"], "tkw2_embedder" in unimodal.tools) == ("hashing-64", False)
    assert (run.source, unimodal.source) == ("tkw2:fake", "tkw2:fake/unimodal")
    assert "med:vancomycin:administered" in server.requests[-1].messages[1].content
    reused = ModelCall.objects.filter(
        owner_id=str(StageRun.objects.get(case_run__run=run, stage="revise").pk), reused=True
    )
    assert set(reused.values_list("part", flat=True)) == {"central events", "offsets", "scaffold"}


def test_a_stage_that_is_executed_again_pays_for_nothing(monkeypatch):
    with make_server(monkeypatch, good) as server:
        run = start_run("tkw2", Variant.FULL)
        monkeypatch.setattr("timelines.runs.stages.baseline._store", _die)
        with pytest.raises(SystemExit):
            execute_infer(run)
        paid = len(server.requests)
        monkeypatch.undo()
        assert paid == 4
        use_server(monkeypatch, server)
        StageRun.objects.filter(stage="infer").update(state="queued", lease_expires_at=None)
        finish_run(run)
        assert len(server.requests) == 7


def _die(*arguments: object) -> None:
    raise SystemExit(9)


def execute_infer(run: Run) -> None:
    execute_stage(StageRun.objects.get(case_run__run=run, stage="infer").pk)


def test_what_a_baseline_cannot_do_is_refused_in_words(monkeypatch):
    with make_server(monkeypatch, good):
        base = finish_run(start_run("tkw2", Variant.FULL))
        with pytest.raises(
            actions.RunRefused, match="llm_timeline runs as unimodal only, not as full"
        ):
            start_run("llm_timeline", Variant.FULL, dataset=base.dataset)
        with pytest.raises(
            actions.RunRefused, match="tkw2 runs as full or unimodal only, not as no_uid"
        ):
            start_run("tkw2", Variant.NO_UID, dataset=base.dataset)
        with pytest.raises(actions.RunRefused, match="tkw2 has no inventory"):
            start_run("tkw2", Variant.UNIMODAL, dataset=base.dataset, based_on=base)
        with pytest.raises(BaseRefused, match="has no inventory"):
            find_base(base.dataset, "tkw2", "latest")
        with pytest.raises(CommandError, match="start its variants one by one"):
            call_command(
                "reconstruct",
                dataset="cohort",
                backbone="tkw2",
                variants="full,unimodal",
                inline=True,
                stdout=StringIO(),
            )


def test_from_the_command_line_in_its_usual_variant(monkeypatch):
    out = StringIO()
    with make_server(monkeypatch, good):
        small_dataset()
        call_command(
            "reconstruct", dataset="cohort", backbone="llm_timeline", inline=True, stdout=out
        )
        call_command(
            "reconstruct",
            dataset="cohort",
            backbone="llm_timeline",
            missing=True,
            inline=True,
            stdout=out,
        )
    assert "1 case by llm_timeline:fake/unimodal" in out.getvalue()
    assert "every case has a timeline by llm_timeline:fake/unimodal" in out.getvalue()


def test_a_note_that_changes_under_way_stops_the_case(monkeypatch):
    with make_server(monkeypatch, good):
        run = start_run("llm_timeline", Variant.UNIMODAL)
        execute_infer(run)
        note = run.cases.get().encounter.notes.get()
        note.text += "More."
        note.sha256 = note.digest(note.text)
        note.save()
        finish_run(run)
    assert states(run)["provenance"] == "failed"
    assert "the note changed" in StageRun.objects.get(stage="provenance").reasons[0]


def test_lines_of_a_finished_baseline_do_not_change(monkeypatch):
    with make_server(monkeypatch, good):
        run = finish_run(start_run("llm_timeline", Variant.UNIMODAL))
    entry = Entry.objects.first()
    for change in (lambda: Entry.objects.filter(pk=entry.pk).update(time=1.0), entry.delete):
        with pytest.raises(IntegrityError, match="stays"), transaction.atomic():
            change()
    run.delete()
    assert not Entry.objects.exists()


def test_pages_exports_and_evaluation_take_timelines_without_identifiers(
    monkeypatch, client, tmp_path
):
    dataset = small_dataset()
    encounter = dataset.encounters.get()
    inventory = factories.make_inventory(encounter.notes.get())
    marked = {
        factories.make_occurrence(inventory, "Fever", mention="fever"): -48.0,
        factories.make_occurrence(inventory, "Lactate", mention="lactate was measured"): 2.0,
    }
    reference = factories.make_timeline(inventory, marked, kind=TimelineKind.REFERENCE)
    factories.seal(inventory)
    with make_server(monkeypatch, good):
        run = finish_run(start_run("tkw2", Variant.FULL, dataset=dataset))
        finish_run(start_run("llm_timeline", Variant.UNIMODAL, dataset=dataset))
    (loaded,) = load_cases(Chosen([dataset], reference.source))
    revised = next(events for key, events in loaded.case.timelines.items() if key.kind == "revised")
    assert [(e.mention, e.time, e.start) for e in revised] == [
        ("fever", -50.0, None),
        ("hospital admission", 0.0, None),
        ("lactate was measured", 1.25, None),
    ]
    out = StringIO()
    with make_server(monkeypatch, good):
        call_command(
            "evaluate", dataset=["cohort"], resamples=2, form="json", store=False, stdout=out
        )
    report = report_from_plain(json.loads(out.getvalue()))
    for key, events in (
        (SourceKey("tkw2:fake", "revised"), 3),
        (SourceKey("llm_timeline:fake/unimodal", "text_only"), 2),
    ):
        by_words, by_place = report.find(key, Basis.EMBEDDING), report.find(key, Basis.SPAN)
        assert (by_words.matched_events, by_words.reference_events, by_words.predicted_events) == (
            2,
            2,
            events,
        )
        assert by_place is None or by_place.matched_events == 0, "no line has a place in the note"
    client.force_login(factories.make_user(dataset.study, Role.CLINICIAN))
    for timeline in Timeline.objects.exclude(kind="reference"):
        page = client.get(
            reverse("timelines:case", args=[encounter.public_id]), {"t": timeline.public_id}
        )
        assert page.status_code == 200
        assert "fever" in page.content.decode()
        choices = load_choices(encounter)
        _, items = spans_and_items(choices.find(timeline.public_id), choices)
        assert [(i.start, i.revised, i.reference_key) for i in items] == [
            (None, False, "")
        ] * timeline.entries.count()
    assert client.get(reverse("timelines:run", args=[run.public_id])).status_code == 200
    assert client.get(reverse("timelines:cases")).status_code == 200
    for name in (
        "jsonl",
        "csv",
        "bsv",
        "brat",
        "i2b2",
        "label_studio",
        "doccano",
        "parquet",
        "meds",
    ):
        call_command(
            "export_timelines",
            dataset="cohort",
            format=name,
            out=tmp_path / name,
            source=[run.source],
            stdout=StringIO(),
        )
    # there is no chain behind a line without an occurrence
    with pytest.raises(CommandError, match="Nothing to export"):
        call_command(
            "export_timelines",
            dataset="cohort",
            format="prov",
            out=tmp_path / "prov",
            source=[run.source],
            stdout=StringIO(),
        )
    exported = [json.loads(line) for line in (tmp_path / "jsonl").read_text().splitlines()]
    assert {(t["uid4"], t["start"], t["end"]) for t in exported} == {(None, None, None)}
    out = StringIO()
    call_command(
        "export_timelines", dataset="cohort", format="jsonl", out=tmp_path / "all.jsonl", stdout=out
    )
    assert "tkw2:fake is not exported" in out.getvalue()


def test_from_the_launch_page(monkeypatch, client):
    dataset = small_dataset()
    client.force_login(factories.make_user(dataset.study, Role.ADMIN))
    wanted = {
        "dataset": dataset.public_id,
        "preset": "default",
        "set_alternatives": "3",
        "backbone": "llm_timeline",
        "variant": ["full"],
    }
    with make_server(monkeypatch, good):
        refused = client.post(reverse("timelines:run_new"), wanted)
        assert "runs as unimodal only, not as full" in refused.content.decode()
        client.post(reverse("timelines:run_new"), {**wanted, "variant": ["unimodal"]})
        client.post(reverse("timelines:run_new"), {**wanted, "backbone": "tkw2"})
        for run in Run.objects.all():
            finish_run(run)
    assert sorted(Run.objects.values_list("source", flat=True)) == [
        "llm_timeline:fake/unimodal",
        "tkw2:fake",
    ]
    assert set(StageRun.objects.values_list("state", flat=True)) == {"succeeded"}
    assert not finished_full_runs().exists(), "a baseline is nobody's base"
