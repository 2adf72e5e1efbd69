"""What was known at an hour: documentation, figures of a cohort, a stay."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse

from accounts.models import AuditEvent, Role
from cohorts.asof.counting import Cell, Question, list_cell
from cohorts.asof.documenting import execute_documenting, find_documented, start_documenting
from cohorts.asof.jobs import AsOfRefused, execute_report, start_report
from cohorts.asof.states import State, Times, state_at
from cohorts.models import AsOfReport, Documented, Documenting
from cohorts.values import Source
from ehr.models import NotePart
from jobs.models import JobState
from tests import factories
from tests.unit.cohorts.test_states import STATES
from tests.worlds.cohorts import Event, Row, make_concept, make_stay, make_study_run
from timelines.models import Timeline

pytestmark = pytest.mark.django_db
GIVEN = Event("Andexanet was given", 4.0, 7.5, rows=(0,))
CULTURE = Event("Blood culture grew E. coli", 2.0, 2.0, rows=(1,))
FELL = Event("Fell at home", -2.0, -2.0)
SPREAD = Event("Cough began", 10.0, 10.0, record_bounds=(0.0, 84.0))
ROWS = [
    Row("med:andexanet:administration", 7.5, "400"),
    Row("micro:blood culture", 2.0, time_kind="collection"),
]


@pytest.fixture
def run():
    return make_study_run(factories.make_dataset())


@pytest.fixture
def stay(run):
    return make_stay(run, [GIVEN, CULTURE, FELL, SPREAD], ROWS)


def documented(stay, kind="revised"):
    timeline = stay.timelines.get(kind=kind)
    found = find_documented([timeline.pk])
    entries = timeline.entries.order_by("occurrence__ordinal")
    return [(found[e.pk].hours, found[e.pk].by, found[e.pk].row_index) for e in entries]


def write_note_at(stay, hours):
    stay.notes.update(charted_at=stay.admitted_at + timedelta(hours=hours))


def change_row(stay, index, **values):
    factories.change_past_guards(stay.rows.filter(row_index=index), **values)


# When it was documented.


def test_without_rows_the_note_documents_and_without_its_time_the_discharge(stay):
    assert documented(stay, "text_only") == [(96.0, "discharge", None)] * 4
    write_note_at(stay, 90.0)
    assert documented(stay, "text_only") == [(90.0, "note", None)] * 4


def test_a_dose_counts_when_given_and_a_collection_only_with_its_result(stay):
    write_note_at(stay, 90.0)
    assert documented(stay)[:2] == [(7.5, "charted", 0), (90.0, "note", None)]
    change_row(stay, 1, result_time=stay.admitted_at + timedelta(hours=40))
    assert documented(stay)[1] == (40.0, "result", 1)


@pytest.mark.parametrize(
    ("kind", "result", "by", "hours"),
    [
        ("result", None, "result", 7.5),
        ("charted", None, "charted", 7.5),
        ("performed", None, "charted", 7.5),
        ("order", None, "order", 7.5),
        ("order", 8.0, "result", 8.0),
        ("collection", None, "note", 90.0),
        ("administrative", None, "note", 90.0),
        ("unknown", 9.0, "result", 9.0),
    ],
)
def test_each_kind_of_row(run, kind, result, by, hours):
    stay = make_stay(run, [GIVEN], [Row("x", 7.5, time_kind=kind)])
    write_note_at(stay, 90.0)
    if result is not None:
        change_row(stay, 0, result_time=stay.admitted_at + timedelta(hours=result))
    assert documented(stay)[0][:2] == (hours, by)


def test_the_earliest_of_several_rows_and_the_note_counts(run):
    both = Event("Andexanet was given", 4.0, 7.5, rows=(0, 1))
    rows = [Row("x", 7.5, time_kind="charted"), Row("y", 6.5, time_kind="order")]
    stay = make_stay(run, [both], rows)
    assert documented(stay) == [(6.5, "order", 1)]
    write_note_at(stay, 1.0)
    assert documented(stay) == [(1.0, "note", None)]


def test_in_a_chart_the_note_around_the_span_counts(stay):
    chart = stay.notes.get()
    first, second = (factories.make_note(stay, text) for text in ("An early note", "A late note"))
    first.charted_at = stay.admitted_at + timedelta(hours=3)
    first.save()
    NotePart.objects.create(chart=chart, note=first, start=0, end=21)
    NotePart.objects.create(chart=chart, note=second, start=21, end=len(chart.text))
    stay.notes.filter(pk=chart.pk).update(composed=True)
    assert documented(stay, "text_only") == [(3.0, "note", None)] + [(96.0, "discharge", None)] * 3


def test_without_any_time_nothing_is_documented(run):
    stay = make_stay(run, [FELL])
    type(stay).objects.filter(pk=stay.pk).update(discharged_at=None)
    assert documented(stay) == [(None, "", None)]


@pytest.mark.django_db(transaction=True)
def test_the_job_stores_both_timelines_of_a_run_once(run, stay):
    job = start_documenting(run)
    assert start_documenting(run) == job
    assert execute_documenting(job.pk) == JobState.SUCCEEDED
    assert Documented.objects.count() == 8
    assert Documented.objects.filter(by="charted").get().row_index == 0
    Documenting.objects.update(state=JobState.QUEUED)
    assert execute_documenting(job.pk) == JobState.SUCCEEDED
    assert Documented.objects.count() == 8


# A cohort.


def test_the_database_and_python_agree_on_every_state(run):
    events = [
        Event(f"Event {n}", None, point, record_bounds=(lower, upper))
        for n, ((point, lower, upper, _), _) in enumerate(STATES)
    ]
    stay = make_stay(run, events)
    timeline = stay.timelines.get(kind="revised")
    entries = timeline.entries.order_by("occurrence__ordinal")
    Documented.objects.bulk_create(
        Documented(entry=entry, hours=given[3], by="note")
        for entry, (given, _) in zip(entries, STATES, strict=True)
    )
    question = Question(run.dataset, Source.RECORD, 6.0)
    found = list_cell(question, [timeline.pk], [], Cell(tuple(State)), limit=99, offset=0)
    states = {one.entry: one.state for one in found}
    assert [states[entry.pk] for entry in entries] == [state for _, state in STATES]
    assert states[entries[0].pk] is state_at(Times(*STATES[0][0]), 6.0)


def report_of(run, hours, *, after=None, concepts=(), source=Source.RECORD):
    person = factories.make_user(run.study, Role.CLINICIAN)
    question = Question(run.dataset, source, hours, after)
    return start_report(question=question, concepts=concepts, by=person)


@pytest.mark.django_db(transaction=True)
def test_a_report_counts_by_lane_and_concept(run, stay):
    write_note_at(stay, 90.0)
    given = make_concept(run.study, "given", mentions=["Andexanet was given"])
    report = report_of(run, 8.0, concepts=[given])
    assert execute_report(report.pk) == JobState.SUCCEEDED
    report.refresh_from_db()
    groups = {(g["kind"], g["name"]): g["states"] for g in report.report["groups"]}
    # Known: andexanet (7.5, given). Later: the culture and the fall. Uncertain: the cough.
    assert groups[("lane", "finding")] == {"known": [1, 1], "later": [2, 1], "uncertain": [1, 1]}
    assert groups[("concept", str(given.pk))] == {"known": [1, 1]}
    assert (report.report["stays"], report.report["without"]) == (1, 0)


@pytest.mark.django_db(transaction=True)
def test_hours_after_a_concept_leave_out_stays_without_it(run, stay):
    make_stay(run, [FELL])
    given = make_concept(run.study, "given", mentions=["Andexanet was given"])
    report = report_of(run, -1.0, after=given)
    execute_report(report.pk)
    report.refresh_from_db()
    assert (report.report["stays"], report.report["without"]) == (1, 1)
    # Hour 6.5: andexanet is an hour ahead.
    (group,) = report.report["groups"]
    assert group["states"]["not_yet"] == [1, 1]


@pytest.mark.django_db(transaction=True)
def test_a_source_without_timelines_fails_with_a_sentence(run, stay):
    report = report_of(run, 6.0, source=Source.REFERENCE)
    assert execute_report(report.pk) == JobState.FAILED
    report.refresh_from_db()
    assert "no such timeline" in " ".join(report.reasons)


def test_a_report_that_cannot_be_made_says_why(run, stay):
    with pytest.raises(AsOfRefused, match="Rows are not occurrences"):
        report_of(run, 6.0, source=Source.ROWS)
    other = make_concept(factories.make_study(), "other", mentions=["x"])
    with pytest.raises(AsOfRefused, match="another study"):
        report_of(run, 6.0, concepts=[other])
    with pytest.raises(AsOfRefused, match="no mention"):
        report_of(run, 6.0, after=make_concept(run.study, "none"))


# Pages.


@pytest.fixture
def clinician(run, client):
    person = factories.make_user(run.study, Role.CLINICIAN)
    client.force_login(person)
    return person


def test_the_stay_as_of_an_hour(stay, clinician, client):
    write_note_at(stay, 90.0)
    address = reverse("cohorts:as_of_case", args=[stay.public_id])
    page = client.get(f"{address}?h=8").content.decode()
    assert page.count("as-of-span as-of-later") == 2
    assert page.count("as-of-span as-of-known") == 1
    assert page.count("as-of-span as-of-uncertain") == 1
    assert "when the note was written" in page
    assert reverse("timelines:occurrence", args=[stay.public_id, "a000"]) in page
    assert f"{reverse('ehr:record', args=[stay.public_id])}?row=0" in page
    early = client.get(f"{address}?h=7").content.decode()
    assert early.count("as-of-span as-of-not_yet") == 1
    assert "h=7.5000" in early
    assert AuditEvent.objects.filter(action="cohort.case", object_id=stay.public_id).count() == 1


def test_htmx_gets_what_depends_on_the_hour_alone(stay, clinician, client):
    address = reverse("cohorts:as_of_case", args=[stay.public_id])
    part = client.get(f"{address}?h=8", headers={"HX-Request": "true"}).content.decode()
    assert "as-of-panes" in part
    assert "<form" not in part
    assert AuditEvent.objects.filter(action="cohort.case", object_id=stay.public_id).exists()


@pytest.mark.parametrize("query", ["h=nan", "h=1e99", "h=x", "source=nothing", ""])
def test_odd_addresses_show_the_default(stay, clinician, client, query):
    page = client.get(f"{reverse('cohorts:as_of_case', args=[stay.public_id])}?{query}")
    assert page.status_code == 200
    assert "as-of-panes" in page.content.decode()


def test_a_source_that_the_stay_lacks_is_said(stay, clinician, client):
    address = reverse("cohorts:as_of_case", args=[stay.public_id])
    assert b"No such timeline" in client.get(f"{address}?source=reference").content


def test_text_of_the_note_is_escaped(run, clinician, client):
    stay = make_stay(run, [Event("<script>x</script> & fever", 1.0, 1.0)])
    page = client.get(reverse("cohorts:as_of_case", args=[stay.public_id])).content.decode()
    assert "<script>x" not in page
    assert "&lt;script&gt;x&lt;/script&gt; &amp; fever" in page


@pytest.mark.django_db(transaction=True)
def test_a_report_from_form_to_sentence(run, stay, clinician, client):
    assert b"No report yet" in client.get(reverse("cohorts:as_of_reports")).content
    given = make_concept(run.study, "given", mentions=["Andexanet was given"])
    form = {"dataset": run.dataset.public_id, "source": "record", "hours": "8", "label": "At 8 h"}
    started = client.post(reverse("cohorts:as_of_new"), form | {"concepts": [given.pk]})
    report = AsOfReport.objects.get()
    address = reverse("cohorts:as_of_report", args=[report.public_id])
    assert started.url == address
    assert b"waiting for a worker" in client.get(address).content
    execute_report(report.pk)
    page = client.get(address).content.decode()
    assert "2 of 4 occurrences" in page
    cells = reverse("cohorts:as_of_cell", args=[report.public_id])
    assert f"{cells}?kind=lane&amp;key=finding&amp;state=later" in page
    cell = client.get(f"{cells}?kind=lane&key=finding&state=later").content.decode()
    assert "<mark>Fell at home</mark>" in cell
    assert "<mark>Blood culture grew E. coli</mark>" in cell
    assert "<mark>Andexanet" not in cell
    concept = client.get(f"{cells}?kind=concept&key={given.pk}&state=known").content.decode()
    assert "<mark>Andexanet was given</mark>" in concept
    table = client.get(reverse("cohorts:as_of_table", args=[report.public_id, "csv"]))
    assert 'lane,"Symptoms, findings",later,2,1' in table.content.decode()
    assert client.get(f"{cells}?kind=lane&key=nothing").status_code == 404
    Timeline.objects.filter(kind="revised").delete()
    assert b"changed after this was counted" in client.get(f"{cells}?kind=all").content


def test_another_study_sees_nothing(run, stay, client):
    report = report_of(run, 8.0)
    client.force_login(factories.make_user(factories.make_study(), Role.ADMIN))
    for name, key in (("as_of_report", report), ("as_of_cell", report), ("as_of_case", stay)):
        assert client.get(reverse(f"cohorts:{name}", args=[key.public_id])).status_code == 404
    assert b"At 8" not in client.get(reverse("cohorts:as_of_reports")).content


@pytest.mark.django_db(transaction=True)
def test_the_person_who_started_a_report_cancels_it_and_makes_it_again(client):
    stay = make_stay(make_study_run(factories.make_dataset()), [Event("Fell", 1.0, 1.0)], [])
    study = stay.dataset.study
    mine, other = (factories.make_user(study, Role.CLINICIAN) for _ in range(2))
    question = Question(stay.dataset, Source.RECORD, 6.0, None)
    report = start_report(question=question, by=mine)

    def act(person, action: str) -> int:
        client.force_login(person)
        return client.post(
            reverse("cohorts:as_of_action", args=[report.public_id, action])
        ).status_code

    assert act(other, "cancel") == 403
    assert act(mine, "cancel") == 302
    report.refresh_from_db()
    assert report.state == JobState.CANCELLED
    assert execute_report(report.pk) is None
    assert (
        "Try again"
        in client.get(reverse("cohorts:as_of_report", args=[report.public_id])).content.decode()
    )
    assert act(mine, "again") == 404
    assert act(mine, "retry") == 302
    assert execute_report(report.pk) == JobState.SUCCEEDED
    assert act(mine, "cancel") == 302  # it has ended: a sentence, nothing else
    report.refresh_from_db()
    assert report.state == JobState.SUCCEEDED
