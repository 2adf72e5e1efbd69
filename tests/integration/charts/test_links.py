"""Links between the notes of a chart: found, stored and exported by runs."""

from __future__ import annotations

import json

import pytest

from accounts.models import Role
from tests import factories
from tests.integration.charts.linked import STARTED, STOPPED, WBC, find_link, run, words
from timelines.curation import corrections
from timelines.curation.corrections import Corrected
from timelines.curation.curated import find_current
from timelines.curation.links import undo_link
from timelines.domain import Anchor, TimelineKind
from timelines.formats.tables.reader import read_jsonl
from timelines.formats.tables.writer import write_csv, write_jsonl
from timelines.formats.values import CaseFacts
from timelines.models import (
    OccurrenceLink,
    OwnTime,
    Stage,
    StageBatch,
    Timeline,
)
from timelines.pipeline.config import PipelineConfig, Variant
from timelines.pipeline.run import reconstruct
from timelines.runs import tools
from timelines.runs.actions import start_run
from timelines.runs.following import work_inline
from timelines.runs.record import load_record
from timelines.runs.stages import chart, execution
from timelines.runs.storage import load_case, load_timelines
from timelines.transfer.lines import Selection, export_cases

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_run_links_the_notes_and_each_group_has_one_time(encounter):
    base = run(encounter)
    found = words(base)
    links = OccurrenceLink.objects.all()
    assert {(x.first.mention, x.second.mention) for x in links} == {
        ("two days of cough", "two days of cough"),
        tuple(w.partition(": ")[2] for w in WBC),
        tuple(w.partition(": ")[2] for w in STARTED),
        ("chest CT was done at 08:00", "chest CT was done"),
    }
    assert {x.decided_by for x in links} == {"rules"}
    reason = "same measurement (white cells), same value; both notes allow one time"
    assert find_link(WBC).reason == reason
    for kind in TimelineKind.TEXT_ONLY, TimelineKind.REVISED:
        timeline = Timeline.objects.get(case_run=base.case_run, kind=kind, alternative=1)
        times = words(timeline)
        for first, second in (WBC, STARTED):
            one, other = times[first], times[second]
            assert (one.time, one.lower, one.upper) == (other.time, other.lower, other.upper)
        reason = times[WBC[1]].reason
        assert reason.startswith("same event as in the progress note written at 20.0 h")
        alone = words(timeline)[WBC[1]].own
        assert alone.reason, "what it was before it was joined"
    assert "this note alone says" in found[WBC[1]].reason
    assert found[STOPPED].time > found[STARTED[1]].time + 24, "another act has its own time"
    assert not hasattr(found[STOPPED], "own")
    batch = StageBatch.objects.get(
        stage_run__case_run=base.case_run, stage_run__stage=Stage.INFER, ordinal=1
    )
    assert batch.payload == {"links": 4}


def test_a_stay_with_one_note_is_read_without_a_link(encounter, monkeypatch):

    def refuse(*args, **kwargs):
        raise AssertionError("no note of a single one is linked")

    for place in (execution, "infer_chart"), (execution, "save_joined"), (chart, "find_links"):
        monkeypatch.setattr(*place, refuse)
    base = run(encounter, "discharge summary")
    assert not OccurrenceLink.objects.exists()
    assert not OwnTime.objects.exists()
    batches = StageBatch.objects.filter(
        stage_run__case_run=base.case_run, stage_run__stage=Stage.INFER
    )
    assert [b.payload.keys() for b in batches] == [{"entries"}]
    undone = corrections.correct(
        base=base,
        occurrence=base.inventory.occurrences.first(),
        what=Corrected("+3", reason="seen"),
        by=factories.make_user(encounter.dataset.study, Role.CLINICIAN),
    )
    assert find_current(base).entries.get(occurrence=undone.occurrence).time == 3.0


def test_the_notebook_function_gives_the_times_of_the_stages(encounter):
    base = run(encounter)
    case_run = base.case_run
    config = PipelineConfig.from_dict(case_run.run.config)
    built = tools.build_tools("rules", config, None)
    record = load_record(encounter, built.embedder)
    made = reconstruct(load_case(encounter, base.inventory.note), record, built)
    stored = load_timelines(case_run, TimelineKind.REVISED)[0]
    key = made.note.inventory.by_uid
    by_place = {key[e.uid].start: (e.time, e.lower, e.upper) for e in made.revised[0]}
    starts = dict(base.inventory.occurrences.values_list("uid4", "start"))
    assert {starts[e.uid]: (e.time, e.lower, e.upper) for e in stored} == by_place


def test_a_run_that_is_based_on_another_has_its_links(encounter):
    base = run(encounter)
    anna = factories.make_user(encounter.dataset.study, Role.CLINICIAN)
    undo_link(link=find_link(WBC), reason="", by=anna)
    made = start_run(
        dataset=encounter.dataset,
        backbone="rules",
        config=PipelineConfig(notes="all", variant=Variant.NO_QUERY),
        based_on=base.case_run.run,
        by=None,
    )
    work_inline(made, lambda words: None)
    again = Timeline.objects.get(case_run__run=made, kind=TimelineKind.REVISED, alternative=1)
    assert again.inventory == base.inventory
    found = words(again)
    assert found[STARTED[0]].time == found[STARTED[1]].time
    assert "also in" not in found[WBC[0]].reason, "what a person undid stays undone"
    assert OccurrenceLink.objects.count() == 4


def test_exported_lines_name_the_occurrences_of_other_notes(encounter, tmp_path):
    base = run(encounter)
    found = words(base)
    one, other = (found[w].occurrence.uid4 for w in WBC)
    cases = list(export_cases([encounter], Selection(run=base.case_run.run.public_id)))
    write_jsonl(cases, tmp_path / "t.jsonl", with_note_text=False)
    lines = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]
    linked = {(x["kind"], x["uid4"]): x.get("linked") for x in lines}
    for kind in ("text_only", "revised"):
        assert (linked[kind, one], linked[kind, other]) == ([other], [one])
        assert linked[kind, found[STOPPED].occurrence.uid4] is None
    write_csv(cases, tmp_path / "t.csv", with_note_text=False)
    head = (tmp_path / "t.csv").read_text().partition("\r\n")[0]
    assert "linked" not in head, "tables have the documented columns"
    names = {
        encounter.case_id: CaseFacts(
            encounter.case_id, base.inventory.note.text, Anchor(encounter.admitted_at)
        )
    }
    read = list(read_jsonl(tmp_path / "t.jsonl", names.get))
    assert len(read) == len([t for case in cases for t in case.timelines])


def test_a_worker_with_the_embedder_links_the_notes():
    for backbone, first in (("rules", "pipeline"), ("prompted", "generate")):
        assert tools.find_queue(backbone, Stage.INFER) == first
        assert tools.find_queue(backbone, Stage.INFER, begun=True) == "embed"
        assert tools.find_queue(backbone, Stage.INFER, begun=True, kept=True) == "pipeline"
