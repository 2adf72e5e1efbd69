"""Links between the notes of a chart: a run finds them, people undo them."""

from __future__ import annotations

import json
import re
from datetime import timedelta

import pytest
from django.db import DatabaseError, connection, transaction
from django.urls import reverse

from accounts.models import AuditEvent, Role
from accounts.permissions import NotAllowed
from ehr.models import Note, NotePart
from tests import factories
from tests.support.pages import extract_text
from tests.worlds.reconstructed import LIGHT_ROLES, run_inline
from timelines.authoring.actions import start_authoring
from timelines.cases.choices import load_choices
from timelines.cases.story import load_story, load_story_lines
from timelines.curation import corrections
from timelines.curation.corrections import Corrected
from timelines.curation.curated import find_current
from timelines.curation.links import DEFAULT_LINK_REASON, link_occurrences, undo_link
from timelines.domain import Anchor, TimelineKind
from timelines.drafts.values import EditRefused
from timelines.formats.tables.reader import read_jsonl
from timelines.formats.tables.writer import write_csv, write_jsonl
from timelines.formats.values import CaseFacts
from timelines.models import (
    Authoring,
    Entry,
    OccurrenceLink,
    OwnTime,
    Stage,
    StageBatch,
    Timeline,
    Unlinking,
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

NOTES = (
    ("admission note", 2.0, "HPI: two days of cough.\n\nExam: temperature 38.9.\n"),
    (
        "progress note",
        20.0,
        "This morning WBC 15.2. Vancomycin was started. Chest CT was done at 08:00.\n",
    ),
    (
        "discharge summary",
        95.0,
        "HISTORY OF PRESENT ILLNESS:\n64 year old man with two days of cough.\n\n"
        "HOSPITAL COURSE:\nVancomycin was started on hospital day 1. On hospital day 2 WBC was"
        " 15.2 and a chest CT was done. Vancomycin was stopped on hospital day 3.\n",
    ),
)


@pytest.fixture(autouse=True)
def light_models(settings):
    settings.MODEL_ROLES = LIGHT_ROLES


@pytest.fixture
def encounter():
    encounter = factories.make_encounter()
    for kind, hours, text in NOTES:
        note = factories.make_note(encounter, text)
        written = encounter.admitted_at + timedelta(hours=hours)
        Note.objects.filter(pk=note.pk).update(kind=kind, charted_at=written)
    return encounter


def run(encounter, notes: str = "all") -> Timeline:
    made = run_inline(encounter.dataset, config=PipelineConfig(notes=notes))
    return Timeline.objects.get(case_run__run=made, kind=TimelineKind.REVISED, alternative=1)


def words(timeline):
    """The entries of a timeline by note and mention."""
    found = Entry.objects.filter(timeline=timeline).select_related("occurrence", "own")
    parts = list(NotePart.objects.filter(chart=timeline.inventory.note).select_related("note"))
    made = {}
    for entry in found.order_by("occurrence__ordinal"):
        o = entry.occurrence
        (note,) = (p.note.kind for p in parts if p.start <= o.start < p.end)
        made[f"{note.split()[0]}: {o.mention}"] = entry
    return made


WBC = (
    "progress: white blood cell count 15.2, this morning",
    "discharge: on hospital day 2 white blood cell count was 15.2",
)
STARTED = (
    "progress: vancomycin was started",
    "discharge: vancomycin was started on hospital day 1",
)
WARM = "admission: temperature 38.9 (exam)"
STOPPED = "discharge: vancomycin was stopped on hospital day 3"


def find_link(pair: tuple[str, str]) -> OccurrenceLink:
    second = pair[1].partition(": ")[2]
    return OccurrenceLink.objects.filter(second__mention=second).latest("pk")


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


def test_a_clinician_undoes_a_link_and_links_again(encounter):
    base = run(encounter)
    before = words(base)
    study = encounter.dataset.study
    anna, boris, admin = (
        factories.make_user(study, role) for role in (Role.CLINICIAN, Role.CLINICIAN, Role.ADMIN)
    )
    undone = undo_link(link=find_link(WBC), reason="another specimen", by=anna)
    assert (undone.author, undone.reason) == (anna, "another specimen")
    curated = find_current(base)
    after = words(curated)
    alone = words(base)[WBC[1]].own
    assert after[WBC[1]].time == alone.time
    assert after[WBC[1]].reason == alone.reason
    assert "also in" not in after[WBC[0]].reason
    assert after[STARTED[1]].time == before[STARTED[1]].time, "another group stays"
    assert words(base)[WBC[1]].reason == before[WBC[1]].reason, "the base stays"
    event = AuditEvent.objects.get(action="case.link")
    assert (event.actor, event.object_id) == (anna, encounter.public_id)
    assert event.detail["step"] == "undo"
    assert "specimen" not in str(event.detail)
    with pytest.raises(EditRefused, match="undone already"):
        undo_link(link=find_link(WBC), reason="", by=anna)
    one, other = (before[w].occurrence for w in WBC)
    again = link_occurrences(first=other, second=one, reason="", by=boris)
    assert (again.first, again.second, again.decided_by) == (one, other, "person")
    assert again.reason == DEFAULT_LINK_REASON
    assert find_current(base) is None, "the times of the base again"
    with pytest.raises(EditRefused, match="linked already"):
        link_occurrences(first=one, second=other, reason="", by=boris)
    with pytest.raises(NotAllowed):
        undo_link(link=again, reason="", by=anna)
    undo_link(link=again, reason="", by=admin)
    assert find_current(base) is not None


def test_only_occurrences_of_two_notes_are_linked(encounter):
    base = run(encounter)
    found = words(base)
    anna = factories.make_user(encounter.dataset.study, Role.CLINICIAN)
    started, stopped = (found[w].occurrence for w in (STARTED[1], STOPPED))
    for second in (started, stopped):
        with pytest.raises(EditRefused, match="Undo the other link"):
            link_occurrences(first=started, second=second, reason="", by=anna)
    with pytest.raises(EditRefused, match="Undo the other link"):
        link_occurrences(first=found[STARTED[0]].occurrence, second=stopped, reason="", by=anna)
    with pytest.raises(EditRefused) as refused:
        link_occurrences(first=found[WARM].occurrence, second=stopped, reason="x" * 2001, by=anna)
    assert refused.value.field == "reason"
    outsider = factories.make_user(factories.make_study(), Role.CLINICIAN)
    with pytest.raises(NotAllowed):
        undo_link(link=find_link(WBC), reason="", by=outsider)
    for wrong in (
        {"first": started, "second": stopped},
        {"first": stopped, "second": found[WBC[0]].occurrence},
        {"first": found[WBC[0]].occurrence, "second": found[WBC[1]].occurrence},
    ):
        with pytest.raises(DatabaseError), transaction.atomic():
            OccurrenceLink.objects.create(inventory=base.inventory, reason="x", **wrong)


def delete_now(rows) -> None:
    """Delete rows, and let the database judge that at once."""
    rows.delete()
    connection.check_constraints()


def test_links_and_own_times_are_append_only(encounter):
    run(encounter)
    anna = factories.make_user(encounter.dataset.study, Role.CLINICIAN)
    undo_link(link=find_link(WBC), reason="", by=anna)
    for rows, change in (
        (OccurrenceLink.objects.all(), {"reason": "other"}),
        (Unlinking.objects.all(), {"reason": "other"}),
        (OwnTime.objects.all(), {"time": 1.0}),
    ):
        with pytest.raises(DatabaseError), transaction.atomic():
            rows.update(**change)
        with pytest.raises(DatabaseError), transaction.atomic():
            delete_now(rows)
    encounter.delete()
    assert not OccurrenceLink.objects.exists()
    assert not OwnTime.objects.exists()


def test_a_correction_of_one_occurrence_is_the_time_of_its_group(encounter):
    base = run(encounter)
    anna = factories.make_user(encounter.dataset.study, Role.CLINICIAN)
    found = words(base)
    made = corrections.correct(
        base=base,
        occurrence=found[WBC[0]].occurrence,
        what=Corrected("+16", reason="seen in the laboratory"),
        by=anna,
    )
    after = words(find_current(base))
    assert [after[w].time for w in WBC] == [16.0, 16.0]
    assert "whose time a person corrected" in after[WBC[1]].reason
    corrections.correct(
        base=base,
        occurrence=found[WBC[1]].occurrence,
        what=Corrected("+40", reason="the next day"),
        by=anna,
    )
    after = words(find_current(base))
    assert [after[w].time for w in WBC] == [16.0, 40.0]
    assert "the notes differ" in after[WBC[1]].reason
    corrections.undo(correction=made, by=anna)
    after = words(find_current(base))
    assert after[WBC[0]].time == found[WBC[0]].time, "its note was written before 40 h"
    assert "says 40.0 h, which cannot be the same time" in after[WBC[0]].reason


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


def test_the_page_names_the_notes_and_the_inspector_shows_all_sources(client, encounter):
    base = run(encounter)
    found = words(base)
    anna = factories.make_user(encounter.dataset.study, Role.CLINICIAN)
    client.force_login(anna)
    page = client.get(
        reverse("timelines:case", args=[encounter.public_id]), {"t": base.public_id}
    ).content.decode()
    data = json.loads(re.search(r'id="case-data"[^>]*>(.*?)</script>', page, re.S).group(1))
    assert [note["k"] for note in data["notes"]] == [
        "Admission note",
        "Progress note",
        "Discharge summary",
    ]
    items = {item["u"]: item for item in data["items"]}
    one, other = (items[found[w].occurrence.uid4] for w in WBC)
    assert (one["nt"], one["nl"], one.get("hd")) == (1, [2], None)
    assert (other["nt"], other["nl"], other["hd"]) == (2, [1], one["u"])
    assert "nl" not in items[found[STOPPED].occurrence.uid4]
    assert page.count('role="tab"') == 4 + 4
    chain = reverse("timelines:chain", args=[encounter.public_id, other["u"]])
    text = extract_text(client.get(chain, {"t": base.public_id}))
    assert "One event in 2 notes" in text
    assert "The note states it: “WBC 15.2”" in text, "the words that gave the time"
    assert "This morning WBC 15.2" in text
    assert "On hospital day 2 WBC was 15.2" in text
    assert "alone: HD 2" in text
    assert "Linked with “white blood cell count 15.2, this morning” by the rules" in text
    assert "same value" in text


class Json:
    """A person's JSON to the addresses of links."""

    def __init__(self, client, person):
        self.client = client
        client.force_login(person)

    def post(self, name, *args, **body):
        answer = self.client.post(
            reverse(f"timelines:{name}", args=args), body, content_type="application/json"
        )
        return answer.status_code, answer.json() if answer.content[:1] == b"{" else {}


def test_links_are_undone_and_made_again_through_their_addresses(client, encounter):
    base = run(encounter)
    found = words(base)
    study, case = encounter.dataset.study, encounter.public_id
    uid, other = (found[w].occurrence.uid4 for w in WBC)
    link = find_link(WBC)
    boris = factories.make_user(factories.make_study(), Role.CLINICIAN)
    address = case, uid, link.public_id
    assert Json(client, boris).post("link_undo", *address)[0] == 404
    reviewer = factories.make_user(study, Role.REVIEWER)
    assert Json(client, reviewer).post("link_undo", *address)[0] == 403
    anna = Json(client, factories.make_user(study, Role.CLINICIAN))
    elsewhere = case, found[STOPPED].occurrence.uid4, link.public_id
    assert anna.post("link_undo", *elsewhere)[0] == 404, "a link of other occurrences"
    status, answer = anna.post("link_undo", *address, timeline=base.public_id, reason="no")
    assert (status, answer) == (200, {"timeline": find_current(base).public_id})
    chain = reverse("timelines:chain", args=[case, uid])
    text = extract_text(client.get(chain, {"t": answer["timeline"]}))
    assert "undone by" in text
    assert "Link again" in text
    assert "One event in" not in text
    assert anna.post("link_undo", *address, timeline=base.public_id)[0] == 422
    assert anna.post("link", case, uid, timeline=base.public_id, other="ffff")[0] == 404
    status, answer = anna.post("link", case, uid, timeline=base.public_id, other=other)
    assert (status, answer) == (200, {"timeline": base.public_id})
    assert anna.post("link", case, uid, timeline=base.public_id, other=other)[0] == 422


def test_an_unfinished_author_sees_no_way_to_answer(client, encounter):
    base = run(encounter)
    person = factories.make_user(encounter.dataset.study, Role.CLINICIAN, Role.REVIEWER)
    start_authoring(encounter=encounter, by=person, protocol=Authoring.Protocol.ASSISTED)
    link = find_link(WBC)
    status, _ = Json(client, person).post(
        "link_undo",
        encounter.public_id,
        link.first.uid4,
        link.public_id,
        timeline=base.public_id,
    )
    assert status == 403
    assert not Unlinking.objects.exists()


def test_notes_that_differ_are_named_in_the_inspector(client, encounter):
    base = run(encounter)
    anna = factories.make_user(encounter.dataset.study, Role.CLINICIAN)
    found = words(base)
    for place, hours in zip(WBC, ("+16", "+40"), strict=True):
        corrections.correct(
            base=base,
            occurrence=found[place].occurrence,
            what=Corrected(hours, reason="seen"),
            by=anna,
        )
    client.force_login(anna)
    chain = reverse("timelines:chain", args=[encounter.public_id, found[WBC[0]].occurrence.uid4])
    text = extract_text(client.get(chain, {"t": find_current(base).public_id}))
    assert "The notes differ. Discharge summary has" in text
    assert "so each has its own" in text


def test_the_story_has_an_event_of_several_notes_once(encounter):
    base = run(encounter)
    choices = load_choices(encounter)
    choice = choices.find(base.public_id)
    story = load_story(encounter, choice, load_story_lines(encounter, choice, choices))
    scans = [m for day in story.days for m in day.milestones if "CT" in m.words]
    assert len(scans) == 1
    assert len(scans[0].uids) == 2


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
