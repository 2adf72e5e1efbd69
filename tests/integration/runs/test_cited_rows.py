"""Rows that a model cites, from stored evidence to the page."""

from __future__ import annotations

import json
import re

import pytest
from django.core.management import call_command
from django.db import IntegrityError
from django.urls import reverse

from accounts.models import Role
from llm_runtime.base import ModelRequest
from tests import factories
from tests.unit.timelines.prompted.answers import block, find_rows, make_good_answer
from tests.worlds.prompted import finish_run, make_server, small_dataset
from timelines.domain import NoRows, RowLink
from timelines.models import CaseRun, Entry, Evidence, Run, Timeline
from timelines.pipeline.config import PipelineConfig, Preset, Variant, preset_config
from timelines.runs import actions, storage

pytestmark = pytest.mark.django_db(transaction=True)

DOSE, ADMISSION = "med:vancomycin:administered", "admission:hospital admission:"


def cite(request: ModelRequest, number: int) -> str:
    """Let an occurrence cite the stay and lean on the dose.

    In the published preset the occurrence with the dose's row takes its hour.
    """
    if "mention|time|bounds|known" in request.messages[1].content:
        return cite_without_identifiers(request)
    text = make_good_answer(request)
    if "<<<BEGIN EVIDENCE" not in request.messages[1].content:
        return text
    answer = json.loads(text)
    if find_rows(request) is None:
        shown = block(request, "EVIDENCE").split("\n")
        uid = next(line for line in shown if "| 6.5 |" in line).split(" | ")[0]
        for timeline in answer["timelines"]:
            timeline[uid] = [6.5, 6.5, 6.5, 1]
        return json.dumps(answer)
    lines = block(request, "EVIDENCE").split("\n")
    stay, dose = (
        int(next(x for x in lines if f"{words}" in x).split(" ")[0][1:])
        for words in ("admission:hospital", "| 6.5 |")
    )
    (timeline, *_) = answer["timelines"]
    found = find_rows(request)
    assert found is not None
    others = [uid for uid in timeline if uid in found and not found[uid]]
    timeline[others[0]] = [0, 0, 0, 1, [stay], [dose]]
    timeline[others[1]] = [6.5, 6.5, 6.5, 1, [dose]]
    timeline["reasoning"] = "The dose has a row."
    timeline["why"] = [{"uid4": others[1], "words": "the row of the dose"}]
    return json.dumps({**answer, "timelines": [timeline]})


def cite_without_identifiers(request: ModelRequest) -> str:
    stay, dose = (
        next(x for x in block(request, "EVIDENCE").split("\n") if words in x).split(" ")[0]
        for words in ("admission:hospital", "| 6.5 |")
    )
    timeline = {
        "timeline_id": "timeline_1",
        "data": "mention|time|bounds|known|rows|near|why\n"
        f"vancomycin given|6.5|[6.5,6.5]|1|[{dose}]|[{stay}]|the row of the dose",
        "reasoning": "The dose has a row.",
    }
    return json.dumps({"reasoning_summary": "r", "timelines": [timeline]})


def run_case(monkeypatch: pytest.MonkeyPatch, config: PipelineConfig) -> CaseRun:
    dataset = small_dataset()
    encounter = dataset.encounters.get()
    row = factories.make_row(encounter, ADMISSION, 0.0, time_kind="administrative")
    factories.make_series(encounter, ADMISSION, [row], summary="hospital admission at 0 h")
    with make_server(monkeypatch, cite):
        run = actions.start_run(dataset=dataset, backbone="prompted", config=config, by=None)
        run = finish_run(run)
    assert isinstance(run, Run)
    case_run = run.cases.get()
    assert {s.state for s in case_run.stages.all()} == {"succeeded"}
    return case_run


def test_a_revision_that_cites_rows_is_stored_whole_and_shown(monkeypatch, client):
    case_run = run_case(monkeypatch, PipelineConfig(rho_threshold=0.01))
    (revised,) = Timeline.objects.filter(case_run=case_run, kind="revised")
    assert revised.reasoning == "r\n\nThe dose has a row."
    stay = Evidence.objects.get(case_run=case_run, candidate=None)
    assert (stay.event, stay.hours) == (ADMISSION, 0.0)
    dose = Evidence.objects.filter(case_run=case_run, event=DOSE).first()
    assert dose is not None
    first = revised.entries.get(adopted_rows=[stay.row_index])
    assert (first.link, first.near_rows, first.time) == ("cited", [dose.row_index], 0.0)
    second = revised.entries.get(reason="the row of the dose")
    assert (second.link, second.adopted_rows, second.time) == ("cited", [dose.row_index], 6.5)
    assert set(revised.entries.values_list("link", flat=True)) == {"", "cited"}

    note = case_run.encounter.notes.get()
    stored = storage.load_reconstruction(case_run, note.text)
    assert [row.row_index for row in stored.skeleton] == [stay.row_index]
    assert {e.row.row_index for e in stored.evidence} >= {dose.row_index}
    assert first.occurrence is not None
    assert second.occurrence is not None
    entry = stored.revised[0].by_uid[first.occurrence.uid4]
    assert (entry.link, entry.near_rows) == (RowLink.CITED, (dose.row_index,))
    assert stored.revised[0].reasoning == revised.reasoning
    reached = {e.uid for e in stored.evidence}
    assert set(stored.without_evidence) == set(stored.note.inventory.uids) - reached
    assert stored.without_evidence[first.occurrence.uid4] in tuple(NoRows)

    client.force_login(factories.make_user(case_run.run.study, Role.ADMIN))
    where = {"public_id": case_run.encounter.public_id, "uid4": first.occurrence.uid4}
    page = client.get(reverse("timelines:chain", kwargs=where)).content.decode()
    assert "cited by the model, found for another occurrence" in page
    assert "leans on it" in page
    assert "The dose has a row." in page
    where["uid4"] = second.occurrence.uid4
    page = client.get(reverse("timelines:chain", kwargs=where)).content.decode()
    answer = page.partition("answer-time")[2]
    assert re.findall(r'<span data-in-hours="(.*?)">(.*?)</span>', answer)[:2] == [
        ("Given +6.5 h, not +1 h.", "Given HD 1 · 21:08, not 15:38."),
        (
            "The medication record has vancomycin (administered); the note (“Cough”) was read as "
            "+1 h.",
            "The medication record has vancomycin (administered); the note (“Cough”) was read as "
            "15:38.",
        ),
    ]


def test_without_identifiers_rows_reasons_and_reasoning_are_stored_and_shown(
    monkeypatch, client, tmp_path
):
    config = PipelineConfig(rho_threshold=0.01, variant=Variant.NO_UID)
    case_run = run_case(monkeypatch, config)
    (revised,) = Timeline.objects.filter(case_run=case_run, kind="revised")
    assert revised.reasoning == "r\n\nThe dose has a row."
    stay = Evidence.objects.get(case_run=case_run, candidate=None)
    dose = Evidence.objects.filter(case_run=case_run, event=DOSE).first()
    assert dose is not None
    line = revised.entries.get(event="vancomycin given")
    assert (line.time, line.adopted_rows, line.near_rows, line.link, line.reason) == (
        6.5,
        [dose.row_index],
        [stay.row_index],
        "cited",
        "the row of the dose",
    )
    note = case_run.encounter.notes.get()
    (stored,) = storage.load_reconstruction(case_run, note.text).unidentified
    assert stored.reasoning == revised.reasoning
    assert [(e.event, e.adopted_rows, e.near_rows, e.link) for e in stored] == [
        ("vancomycin given", (dose.row_index,), (stay.row_index,), RowLink.CITED)
    ]
    out = tmp_path / "out.jsonl"
    call_command(
        "export_timelines",
        dataset=case_run.run.dataset.name,
        source=[case_run.run.source],
        format="jsonl",
        out=out,
    )
    (exported,) = (
        found for x in out.read_text().splitlines() if (found := json.loads(x))["kind"] == "revised"
    )
    assert [(e["row_index"], e["link"]) for e in exported["evidence"]] == [
        (dose.row_index, "cited")
    ]
    client.force_login(factories.make_user(case_run.run.study, Role.ADMIN))
    where = reverse("timelines:case", kwargs={"public_id": case_run.encounter.public_id})
    page = client.get(where, {"t": revised.public_id}).content.decode()
    assert "The dose has a row." in page
    assert "the row of the dose" in page
    assert f"Rests on row {dose.row_index}" in page


def test_a_line_without_identifier_cannot_cite_a_row_that_its_revision_did_not_see(monkeypatch):
    case_run = run_case(monkeypatch, PipelineConfig(rho_threshold=0.01, variant=Variant.NO_UID))
    (line,) = Entry.objects.filter(timeline__case_run=case_run, timeline__kind="revised")
    unseen = factories.make_row(case_run.encounter, "lab:lactate", 3.0)
    with pytest.raises(IntegrityError, match="a row that its revision did not see"):
        Timeline.objects.get(pk=line.timeline_id).entries.create(
            event="lactate", time=3.0, adopted_rows=[unseen.row_index]
        )


def test_the_published_preset_stores_inferred_links_and_no_stay(monkeypatch):
    config = preset_config(Preset.PUBLISHED, alternatives=2, rho_threshold=0.01)
    case_run = run_case(monkeypatch, config)
    assert Timeline.objects.filter(case_run=case_run, kind="revised").count() == 2
    assert not Evidence.objects.filter(case_run=case_run, candidate=None).exists()
    links = set(
        Entry.objects.filter(timeline__case_run=case_run, timeline__kind="revised").values_list(
            "link", flat=True
        )
    )
    assert links == {"", "inferred"}
