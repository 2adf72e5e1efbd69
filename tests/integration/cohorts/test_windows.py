"""Windows over stored timelines: versions, results, answers and pages."""

from __future__ import annotations

import csv
import io

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from accounts.models import AuditEvent, Role
from accounts.permissions import NotAllowed
from cohorts.engine.values import WindowError
from cohorts.models import (
    Concept,
    ConceptVersion,
    MemberDecision,
    Window,
    WindowMember,
    WindowResult,
)
from cohorts.values import Source
from cohorts.windows.actions import archive_window, create_window, save_version
from cohorts.windows.evaluating import evaluate_both, execute_result, store_members
from cohorts.windows.results import decide_member, launch_result, standing_answers, update_result
from cohorts.windows.values import WindowRefused
from jobs.models import JobState
from tests import factories
from tests.worlds.cohorts import Event, Row, make_concept, make_stay, make_study_run
from timelines.curation.corrections import Corrected, correct
from timelines.models import Occurrence, Timeline

pytestmark = pytest.mark.django_db
YAML = """
name: Drug within 6 h
anchor: admission
where:
  - event: drug given
    within: 0 h to 6 h after anchor
"""
DOSE = Row("med:drug", 9.0, "1")


@pytest.fixture
def run():
    return make_study_run(factories.make_dataset())


@pytest.fixture
def person(run):
    return factories.make_user(run.study, Role.CLINICIAN)


@pytest.fixture
def stays(run):
    """By the note and with the record: yes then no, uncertain, no drug at all."""
    drug = "drug was given"
    bounds = {"note_bounds": (0.0, 8.0), "record_bounds": (0.0, 8.0)}
    return [
        make_stay(run, [Event(drug, 4.0, 9.0, rows=(0,))], [DOSE]),
        make_stay(run, [Event(drug, 4.0, 4.0, **bounds)]),
        make_stay(run, [Event("fever began", 4.0, 4.0)]),
    ]


@pytest.fixture
def concept(run):
    return make_concept(run.study, "drug given", mentions=["drug was given"], series=["med:drug"])


@pytest.fixture
def window(run, concept, person):
    return create_window(study=run.study, yaml=YAML, by=person)


def evaluate(window, dataset, first=Source.NOTE, second=Source.RECORD, by=None):
    made = launch_result(
        version=window.versions.first(), dataset=dataset, first=first, second=second, by=by
    )
    return complete(made)


def complete(made):
    """Do what the job does, inside the test's transaction."""
    store_members(made, *evaluate_both(made))
    ended = {"state": JobState.SUCCEEDED, "finished_at": timezone.now()}
    WindowResult.objects.filter(pk=made.pk).update(**ended)
    made.refresh_from_db()
    return made


def answers(result):
    found = WindowMember.objects.filter(result=result)
    return {m.encounter_id: (m.first, m.second) for m in found}


@pytest.fixture
def result(window, run, stays):
    return evaluate(window, run.dataset)


def test_stays_are_reclassified_with_what_decides(result, stays):
    assert answers(result) == {
        stays[0].pk: ("yes", "no"),
        stays[1].pk: ("uncertain", "uncertain"),
        stays[2].pk: ("no", "no"),
    }
    changed = result.members.get(encounter=stays[0])
    [by_note], [by_record] = changed.first_deciding, changed.second_deciding
    assert (by_note["concept"], by_note["text"]) == ("drug given", "drug was given")
    assert (by_note["row_index"], by_record["row_index"]) == (None, 0)
    # Between 0 and 8 h, 6 of 8 hours are inside.
    open_stay = result.members.get(encounter=stays[1])
    assert open_stay.second_share == pytest.approx(0.75, abs=0.01)
    assert changed.second_share is None


def test_rows_alone_can_be_put_beside_the_note(window, run, stays):
    found = evaluate(window, run.dataset, Source.NOTE, Source.ROWS)
    assert answers(found)[stays[0].pk] == ("yes", "no")
    # The record of the others has no series, so that no row could say so.
    assert answers(found)[stays[2].pk] == ("no", "")
    [decider] = found.members.get(encounter=stays[0]).second_deciding
    assert decider == {"concept": "drug given", "entry": None, "row_index": 0, "text": "med:drug"}


def test_a_version_keeps_the_concepts_of_its_day(window, concept, person):
    first = window.versions.get()
    assert list(first.concepts.all()) == [concept]
    assert save_version(window=window, yaml=YAML, by=person) == first
    newer = ConceptVersion.objects.create(concept=concept.concept, number=2, members=[])
    second = save_version(window=window, yaml=YAML, by=person)
    assert (second.number, list(second.concepts.all())) == (2, [newer])
    assert list(first.concepts.all()) == [concept]


@pytest.mark.parametrize(
    ("yaml", "words"),
    [
        ("anchor: admission", "name"),
        (YAML.replace("drug given", "other"), "no concept “other”"),
        (YAML.replace("drug given", "bare"), "Make a version of it first"),
        (YAML.replace("0 h to 6 h", "6 h to 0 h"), "within"),
        ("- [", "line"),
    ],
)
def test_bad_criteria_are_refused_in_a_sentence(run, concept, person, yaml, words):
    Concept.objects.create(study=run.study, name="bare")
    with pytest.raises(WindowError, match=words):
        create_window(study=run.study, yaml=yaml, by=person)
    assert not Window.objects.exists()


def test_names_datasets_and_sources_are_checked(window, run, person):
    with pytest.raises(WindowRefused, match="another name"):
        create_window(study=run.study, yaml=YAML, by=person)
    version = window.versions.get()
    elsewhere = factories.make_dataset()
    given = {"version": version, "first": Source.NOTE, "by": person}
    with pytest.raises(WindowRefused, match="dataset of the window"):
        launch_result(dataset=elsewhere, second=Source.RECORD, **given)
    with pytest.raises(WindowRefused, match="two different"):
        launch_result(dataset=run.dataset, second=Source.NOTE, **given)
    outsider = factories.make_user(elsewhere.study, Role.CLINICIAN)
    with pytest.raises(NotAllowed):
        create_window(study=run.study, yaml=YAML, by=outsider)
    with pytest.raises(NotAllowed):
        archive_window(window=window, by=person)


@pytest.mark.django_db(transaction=True)
def test_the_job_and_the_command_store_results(window, run, stays, concept, capsys):
    call_command("evaluate_window", window.name, dataset=run.dataset.name, second="record")
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["Yes", "Uncertain", "No"]
    assert [line.split() for line in lines[2:]] == [
        ["Yes", "0", "0", "1"],
        ["Uncertain", "0", "1", "0"],
        ["No", "0", "0", "1"],
    ]
    with pytest.raises(CommandError, match="no window"):
        call_command("evaluate_window", "none", dataset=run.dataset.name)
    with pytest.raises(CommandError, match="no dataset"):
        call_command("evaluate_window", window.name, dataset="none")
    # A concept that is gone fails the job with a reason, and earlier results stay.
    window.versions.get().concepts.clear()
    with pytest.raises(CommandError, match="drug given: this concept no longer exists"):
        call_command("evaluate_window", window.name, dataset=run.dataset.name)
    assert list(WindowResult.objects.order_by("pk").values_list("state", flat=True)) == [
        JobState.SUCCEEDED,
        JobState.FAILED,
    ]
    assert WindowMember.objects.count() == 3
    assert execute_result(WindowResult.objects.first().pk) is None


def test_a_person_confirms_overrides_and_withdraws(result, window, stays, person):
    member = result.members.get(encounter=stays[1])

    def standing():
        found = standing_answers(window, [stays[1].pk])
        return {pk: (one.status, one.reason) for pk, one in found.items()}

    for status, reason, problem in (("yes", " ", "reason"), ("maybe", "x", "Choose yes")):
        with pytest.raises(WindowRefused, match=problem):
            decide_member(member=member, status=status, reason=reason, by=person)
    with pytest.raises(WindowRefused, match="no answer to withdraw"):
        decide_member(member=member, status="", reason="x", by=person)
    decide_member(member=member, status="yes", reason="the chart says so", by=person)
    assert standing() == {stays[1].pk: ("yes", "the chart says so")}
    decide_member(member=member, status="", reason="mistaken", by=person)
    assert standing() == {}
    assert MemberDecision.objects.count() == 2
    actions = AuditEvent.objects.filter(actor=person).values_list("action", flat=True)
    assert {"window.create", "window.decide", "window.withdraw"} <= set(actions)


def test_an_update_follows_a_correction(window, run, stays, person, client):
    before = evaluate(window, run.dataset, Source.NOTE, Source.CURATED)
    base = Timeline.objects.get(encounter=stays[1], kind="revised")
    correct(
        base=base,
        occurrence=Occurrence.objects.get(inventory__note__encounter=stays[1]),
        what=Corrected("2 h", reason="seen"),
        by=person,
    )
    client.force_login(person)
    address = reverse("cohorts:window_result", args=[before.public_id])
    assert "People have corrected times since." in client.get(address).content.decode()
    after = update_result(result=before, by=person)
    complete(after)
    assert answers(before)[stays[1].pk] == ("uncertain", "uncertain")
    assert answers(after)[stays[1].pk] == ("uncertain", "yes")
    page = client.get(reverse("cohorts:window_result", args=[after.public_id]) + "?show=since")
    page = page.content.decode()
    assert "Changed since the result before (1)" in page
    assert "Before this result: uncertain / uncertain." in page
    assert stays[1].public_id in page
    assert stays[0].public_id not in page


def test_the_page_shows_sentence_row_and_share(result, stays, person, client):
    client.force_login(person)
    address = reverse("cohorts:window_result", args=[result.public_id])
    page = client.get(address).content.decode()
    assert "<mark>drug was given</mark>" in page
    assert "75 % of the allowed times" in page
    uid4 = Occurrence.objects.get(inventory__note__encounter=stays[0]).uid4
    assert reverse("timelines:occurrence", args=[stays[0].public_id, uid4]) in page
    changed = client.get(f"{address}?show=yes.no").content.decode()
    assert stays[0].public_id in changed
    assert stays[1].public_id not in changed
    assert "med:drug" in changed
    assert client.get(f"{address}?show=x.y&page=99").status_code == 200
    seen = AuditEvent.objects.filter(action="cohort.case").values_list("object_id", flat=True)
    assert set(seen) == {stay.public_id for stay in stays}


def test_the_file_has_the_members_and_answers(result, stays, person, client):
    member = result.members.get(encounter=stays[1])
    decide_member(member=member, status="no", reason="=cmd()", by=person)
    client.force_login(person)
    address = reverse("cohorts:window_result_csv", args=[result.public_id])
    text = b"".join(client.get(address)).decode()
    rows = {row["case"]: row for row in csv.DictReader(io.StringIO(text))}
    assert {row["member"] for row in rows.values()} == {"no"}
    mine = rows[stays[1].case_id]
    assert (mine["second"], mine["answer"], mine["answer_reason"]) == ("uncertain", "no", "'=cmd()")
    assert rows[stays[0].case_id]["second_deciding"] == "drug given: drug was given [row 0]"
    assert AuditEvent.objects.filter(action="window.download").count() == 1


def test_timelines_that_disappear_leave_a_sentence(result, run, stays, person, client):
    for timeline in Timeline.objects.filter(encounter=stays[0]):
        timeline.delete()
    client.force_login(person)
    page = client.get(reverse("cohorts:window_result", args=[result.public_id])).content.decode()
    assert "its timeline no longer exists" in page
    assert "drug was given" in page


def test_closed_cases_are_in_no_count_and_no_file(result, stays, person, client, monkeypatch):
    closed = frozenset({stays[0].pk})
    for module in ("cohorts.views.windows.results", "cohorts.windows.files"):
        monkeypatch.setattr(f"{module}.closed_encounters", lambda user: closed)
    client.force_login(person)
    page = client.get(reverse("cohorts:window_result", args=[result.public_id])).content.decode()
    assert "<b>0</b> stays are members by the times: note alone" in page
    assert stays[0].public_id not in page
    text = b"".join(client.get(reverse("cohorts:window_result_csv", args=[result.public_id])))
    assert stays[0].case_id not in text.decode()


def test_a_window_is_built_by_clicking(run, concept, person, client):
    client.force_login(person)
    address, given = (
        reverse("cohorts:window_new"),
        {"yaml": "name: New window\nanchor: admission\n"},
    )
    steps = [
        {"step": "anchor", "name": "Built", "anchor": "drug given", "anchor_which": "first"},
        {
            "step": "event",
            "concept": "drug given",
            "relation": "within",
            "from": "0",
            "until": "6",
            "reference": "anchor",
            "as": "more",
        },
        {"step": "event", "concept": "drug given", "count": "none", "inside": "0"},
        {"step": "stay", "about": "age", "compared": "at least", "stay_value": "18"},
        {"step": "stay", "about": "sex", "compared": "is", "stay_value": "female"},
        {"step": "remove-1"},
    ]
    for step in steps:
        page = client.post(address, given | step)
        assert page.context["error"] == ""
        given["yaml"] = page.context["yaml"]
    saved = client.post(address, given | {"step": "save"})
    window = Window.objects.get(name="Built")
    assert saved.url == reverse("cohorts:window", args=[window.public_id])
    assert window.versions.get().yaml == (
        "name: Built\nanchor:\n  concept: drug given\n  which: first\nwhere:\n"
        "- event: drug given\n  within: 0 h to 6 h after anchor\n  as: more\n  where:\n"
        "  - no: drug given\n- stay: sex\n  is: female\n"
    )


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ({"step": "event", "concept": "none such"}, "no concept"),
        ({"step": "event", "concept": "drug given", "least": "x"}, "whole number"),
        ({"step": "event", "concept": "drug given", "value": "many"}, "write for example"),
        ({"step": "stay", "about": "age"}, "enter what the fact"),
        ({"step": "stay", "about": "age", "compared": "is", "stay_value": "old"}, "stay"),
        ({"step": "aces", "aces": "x: 1"}, "x"),
        ({"step": "odd"}, "Choose a step"),
        ({"step": "show", "yaml": "name: ["}, "line"),
    ],
)
def test_a_step_that_cannot_be_read_changes_nothing(run, concept, person, client, step, words):
    client.force_login(person)
    given = {"yaml": "name: New window\nanchor: admission\n"} | step
    page = client.post(reverse("cohorts:window_new"), given)
    assert words in page.context["error"]
    assert page.context["yaml"] == given["yaml"]


def test_pages_of_a_window_and_a_task_of_aces(window, run, person, client):
    client.force_login(person)
    assert "Drug within 6 h" in client.get(reverse("cohorts:windows")).content.decode()
    address = reverse("cohorts:window", args=[window.public_id])
    page = client.get(address).content.decode()
    assert "counted from admission" in page
    assert "Not evaluated yet" in page
    refused = client.get(reverse("cohorts:window_aces", args=[window.public_id]), follow=True)
    assert "ACES cannot say this" in refused.content.decode()
    anchored = YAML.replace("anchor: admission", "anchor: drug given")
    save_version(window=window, yaml=anchored, by=person)
    task = client.get(reverse("cohorts:window_aces", args=[window.public_id])).content.decode()
    read = client.post(reverse("cohorts:window_new"), {"step": "aces", "aces": task})
    assert read.context["error"] == ""
    assert "event: drug given" in read.context["yaml"]
    given = {"dataset": run.dataset.public_id, "first": "note", "second": "note"}
    asked = client.post(reverse("cohorts:window_evaluate", args=[window.public_id]), given)
    assert asked.url == address
    given["second"] = "record"
    asked = client.post(reverse("cohorts:window_evaluate", args=[window.public_id]), given)
    assert "waiting for a worker" in client.get(asked.url).content.decode()
    client.post(f"{asked.url}cancel/")
    assert "was cancelled" in client.get(asked.url).content.decode()
    client.post(f"{asked.url}retry/")
    assert (
        "waiting for a worker"
        in client.get(asked.url, headers={"HX-Request": "true"}).content.decode()
    )


def test_another_study_sees_nothing(result, window, client):
    other = factories.make_user(factories.make_study(), Role.ADMIN)
    client.force_login(other)
    for name, key in (("window", window), ("window_result", result), ("window_result_csv", result)):
        assert client.get(reverse(f"cohorts:{name}", args=[key.public_id])).status_code == 404
    assert window.name not in client.get(reverse("cohorts:windows")).content.decode()
