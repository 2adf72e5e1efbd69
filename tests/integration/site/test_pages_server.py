"""Responses of home, cases, record and runs.

What they say, what they ask of the database, and that text stays text.
"""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from accounts.models import AuditEvent, Role
from ehr.models import Encounter, EventSeries, RejectedRow, SourceRow
from jobs.models import JobState
from tests import factories
from tests.support.pages import extract_text, join_markup
from timelines.case_state import CaseState, case_state
from timelines.models import STAGE_ORDER, CaseRun, Run, RunCount, StageRun
from timelines.runs.progress import QUIET_AFTER

pytestmark = pytest.mark.django_db

MARKUP = '<img src=x onerror="window.hit=1"><script>window.hit=1</script>{{ 7|add:1 }}'
HTMX = {"HTTP_HX_REQUEST": "true"}


@pytest.fixture
def study():
    return factories.make_study()


@pytest.fixture
def admin(study):
    return factories.make_user(study, Role.ADMIN)


@pytest.fixture
def web(client, admin):
    """Asks for an address as the study's admin."""
    client.force_login(admin)
    return client


@pytest.fixture
def encounter(study):
    return factories.make_encounter(factories.make_dataset(study), title=f"Sepsis {MARKUP}")


def count_queries(ask) -> int:
    with CaptureQueriesContext(connection) as found:
        assert ask().status_code == 200
    return len(found)


def make_run(dataset, states: list[list[str]], **fields) -> Run:
    """A run with one case for each list of stage states."""
    run = factories.make_run(dataset, label="nightly")
    for number, stages in enumerate(states):
        case = factories.make_encounter(dataset, case_id=f"r{number:04}")
        case_run = factories.make_case_run(run, case)
        StageRun.objects.bulk_create(
            StageRun(
                case_run=case_run,
                stage=stage,
                state=state,
                lease_expires_at=timezone.now() + timedelta(hours=1)
                if state == JobState.RUNNING
                else None,
                **fields,
            )
            for stage, state in zip(STAGE_ORDER, stages, strict=False)
        )
    return run


# Cases


def test_two_thousand_cases_are_a_page_of_few_queries_at_once(web, study):
    dataset = factories.make_dataset(study)
    Encounter.objects.bulk_create(
        Encounter(
            dataset=dataset, case_id=f"c{n:05}", title=f"Case {n}", admitted_at=factories.ADMITTED
        )
        for n in range(2000)
    )
    run = factories.make_run(dataset)
    runs = CaseRun.objects.bulk_create(
        CaseRun(run=run, encounter=e) for e in Encounter.objects.filter(dataset=dataset)
    )
    StageRun.objects.bulk_create(
        StageRun(case_run=c, stage=s, state=JobState.SUCCEEDED) for c in runs for s in STAGE_ORDER
    )
    address = reverse("timelines:cases")
    # with: which cases are closed to the person; whether they review
    assert count_queries(lambda: web.get(address)) <= 20
    assert (
        count_queries(lambda: web.post(address, {"text": "case 19", "state": "done"}, **HTMX)) <= 20
    )
    assert "2000 cases, page 1 of 40" in extract_text(web.get(address))


def test_the_searched_text_is_in_no_address(web, study):
    dataset = factories.make_dataset(study)
    for n in range(60):
        factories.make_encounter(dataset, title=f"Rarediagnosis {n}")
    for extra in ({}, HTMX):
        body = join_markup(
            web.post(reverse("timelines:cases"), {"text": "rarediag", "sort": "-case"}, **extra)
        )
        assert "page 1 of 2" in body
        assert not re.search(r'(?:href|action|hx-get|hx-post)="[^"]*rarediag', body)


@pytest.mark.parametrize(
    "stages",
    [
        [],
        ["succeeded"],
        ["succeeded", "queued"],
        ["succeeded", "running"],
        ["failed", "blocked"],
        ["cancelled"],
    ],
)
def test_the_state_filter_follows_the_rule_of_the_states(web, study, stages):
    run = make_run(factories.make_dataset(study), [stages] if stages else [])
    case = (
        Encounter.objects.get(dataset=run.dataset)
        if stages
        else factories.make_encounter(run.dataset)
    )
    expected = case_state(stages)
    for state in CaseState:
        shown = (
            case.case_id
            in web.get(reverse("timelines:cases"), {"state": state.value}).content.decode()
        )
        assert shown == (state is expected)


# The record


def test_a_record_of_900_series_is_a_page_of_few_queries_at_once(web, encounter):
    rows = [
        factories.make_row(encounter, f"lab:test {n % 30}:blood", float(n), value=str(n))
        for n in range(60)
    ]
    by_event: dict[str, list] = {}
    for row in rows:
        by_event.setdefault(row.event, []).append(row)
    for event, own in by_event.items():
        factories.make_series(encounter, event, own)
    EventSeries.objects.bulk_create(
        EventSeries(
            encounter=encounter,
            event=f"chart:thing {n}:",
            summary="s",
            row_indices=[],
            count=0,
            priority=7,
        )
        for n in range(870)
    )
    address = reverse("ehr:record", args=[encounter.public_id])
    assert "900 series, page 1 of 15" in extract_text(web.get(address))
    # with: unread notifications
    assert count_queries(lambda: web.get(address)) <= 20
    assert count_queries(lambda: web.post(address, {"text": "thing"}, **HTMX)) <= 15


def test_a_series_says_its_rows_in_hours_and_clock(web, encounter):
    series = factories.make_series(
        encounter,
        "lab:lactate:blood",
        _lactates(encounter),
        summary="lab:lactate:blood (mmol/L)\ncount 2",
    )
    SourceRow.objects.filter(encounter=encounter, row_index=0).update(numeric_value=4.1)
    SourceRow.objects.filter(encounter=encounter, row_index=1).update(numeric_value=2.0)
    shape = join_markup(web.get(reverse("ehr:record", args=[encounter.public_id])))
    assert 'aria-label="numbers from 2.0 to 4.1"> <path d="M2.0 2.0L118.0 22.0"/>' in shape
    shown = extract_text(web.get(reverse("ehr:record", args=[encounter.public_id])))
    assert "lactate (blood) lab" in shown
    assert "2 mmol/L 2 30 min before −30 min HD 1 · 21:08 +6.5 h" in shown
    rows = extract_text(web.get(reverse("ehr:series_rows", args=[encounter.public_id, series.pk])))
    assert "0 30 min before −30 min 4.1 mmol/L collection time" in rows
    assert "1 HD 1 · 21:08 +6.5 h 2 mmol/L collection time" in rows


def _lactates(encounter) -> list:
    return [
        factories.make_row(
            encounter,
            "lab:lactate:blood",
            hours,
            value=value,
            unit="mmol/L",
            time_kind="collection",
        )
        for hours, value in ((-0.5, "4.1"), (6.5, "2"))
    ]


def test_rows_without_a_time_and_what_the_import_left_out_are_listed(web, encounter):
    factories.make_row(encounter, "diagnosis:sepsis:", None, value="A41.9", time_kind="unknown")
    RejectedRow.objects.create(
        dataset=encounter.dataset,
        case_id=encounter.case_id,
        file="c/rows.csv",
        line=7,
        field="t",
        reason="not a time",
        raw="2131-13-45",
    )
    Encounter.objects.filter(pk=encounter.pk).update(invalid_time_count=1)
    shown = extract_text(web.get(reverse("ehr:record", args=[encounter.public_id])))
    assert "1 row, billing codes" in shown
    assert "1 of them row with an invalid time" in shown
    assert "c/rows.csv 7 t not a time 2131-13-45" in shown
    listed = extract_text(web.get(reverse("ehr:untimed_rows", args=[encounter.public_id])))
    assert "0 diagnosis sepsis A41.9 time of unknown kind" in listed


def test_a_link_to_a_row_opens_the_series_that_holds_it_on_its_page(web, encounter):
    for n in range(70):
        factories.make_series(
            encounter, f"chart:a{n:03}:", [factories.make_row(encounter, f"chart:a{n:03}:", 1.0)]
        )
    rows = [factories.make_row(encounter, "lab:zinc:", float(n), value=str(n)) for n in range(250)]
    factories.make_series(encounter, "zz:last:", [])
    zinc = factories.make_series(encounter, "lab:zinc:", rows)
    EventSeries.objects.filter(pk=zinc.pk).update(priority=8)
    wanted = rows[130].row_index
    body = join_markup(web.get(reverse("ehr:record", args=[encounter.public_id]), {"row": wanted}))
    assert f'<tr id="row-{wanted}" class="is-selected"' in body
    assert f'<tr class="series-detail" id="series-{zinc.pk}">' in body
    assert "page 2 of 2" in body
    assert "Rows 101 to 200 of 250." in body


@pytest.mark.parametrize("row", ["999", "-1", "x", "1" * 40, "²", ""])
def test_a_link_to_no_row_opens_the_record_as_it_is(web, encounter, row):
    factories.make_row(encounter, "lab:zinc:", 1.0)
    response = web.get(reverse("ehr:record", args=[encounter.public_id]), {"row": row})
    assert response.status_code == 200
    assert b"aria-current" not in response.content.split(b"<main")[1]


def test_a_link_to_a_row_without_a_time_opens_that_list(web, encounter):
    row = factories.make_row(encounter, "diagnosis:sepsis:", None)
    body = join_markup(
        web.get(reverse("ehr:record", args=[encounter.public_id]), {"row": row.row_index})
    )
    assert f'<tr id="row-{row.row_index}" class="is-selected"' in body


def test_a_search_of_the_record_is_one_opening_in_the_trail(web, encounter, admin):
    address = reverse("ehr:record", args=[encounter.public_id])
    web.get(address)
    web.post(address, {"text": "lactate"}, **HTMX)
    (opened,) = AuditEvent.objects.filter(action="record.open")
    assert (opened.actor, opened.object_id, opened.detail) == (admin, encounter.public_id, {})


# Runs


def test_a_run_over_fifty_cases_is_a_page_of_few_queries(web, study):
    run = make_run(
        factories.make_dataset(study),
        [[JobState.SUCCEEDED] * 3 + [JobState.RUNNING] + [JobState.BLOCKED] * 3] * 50,
    )
    address = reverse("timelines:run", args=[run.public_id])
    # with: the study timeline; which cases are closed; whether they review; unread notifications
    assert count_queries(lambda: web.get(address)) <= 25
    assert count_queries(lambda: web.get(reverse("timelines:runs"))) <= 19


def test_a_poll_brings_the_lines_that_changed_and_ends_with_the_run(web, study):
    run = make_run(
        factories.make_dataset(study),
        [[JobState.SUCCEEDED, JobState.QUEUED], [JobState.QUEUED, JobState.BLOCKED]],
    )
    address = reverse("timelines:run", args=[run.public_id])
    body = web.get(address).content.decode()
    assert 'hx-trigger="every 2s"' in body
    assert "X-Background-Poll" in body
    seen = re.findall(r'name="seen" value="([^"]+)"', body)
    assert len(seen) == 2
    poll = web.get(address, {"seen": seen}, **HTMX).content.decode()
    assert 'id="line-' not in poll
    StageRun.objects.filter(case_run__encounter__case_id="r0000").update(state=JobState.SUCCEEDED)
    poll = web.get(address, {"seen": seen}, **HTMX).content.decode()
    assert poll.count('id="line-') == 1
    assert "every 2s" in poll
    StageRun.objects.update(
        state=JobState.FAILED, reasons=["the embedder did not answer"], attempt=3
    )
    poll = web.get(address, {"seen": seen}, **HTMX).content.decode()
    assert poll.count('id="line-') == 2
    assert "every 2s" not in poll
    assert 'failed after 3 attempts: <span class="reason">the embedder did not answer' in poll


def test_a_filter_that_cases_leave_brings_the_table_anew(web, study):
    run = make_run(factories.make_dataset(study), [[JobState.QUEUED], [JobState.QUEUED]])
    address = reverse("timelines:run", args=[run.public_id])
    body = web.get(address, {"show": "waiting"}).content.decode()
    seen = re.findall(r'name="seen" value="([^"]+)"', body)
    StageRun.objects.filter(case_run__encounter__case_id="r0000").update(state=JobState.SUCCEEDED)
    poll = web.get(address, {"show": "waiting", "seen": seen}, **HTMX).content.decode()
    assert 'id="stage-table" hx-swap-oob="true"' in poll
    assert poll.count('id="line-') == 1


def test_one_case_is_retried_and_a_second_time_there_is_nothing_to_retry(web, study):
    run = make_run(
        factories.make_dataset(study),
        [[JobState.FAILED, JobState.BLOCKED], [JobState.FAILED, JobState.BLOCKED]],
    )
    one, other = run.cases.order_by("pk")
    address = reverse("timelines:case_retry", args=[run.public_id, one.public_id])
    web.post(address)
    assert list(one.stages.order_by("pk").values_list("state", flat=True)) == [
        JobState.QUEUED,
        JobState.BLOCKED,
    ]
    assert other.stages.filter(state=JobState.FAILED).exists()
    assert "there is nothing to retry" in extract_text(web.post(address, follow=True))
    foreign = make_run(factories.make_dataset(study), [[JobState.FAILED]]).cases.get()
    assert (
        web.post(
            reverse("timelines:case_retry", args=[run.public_id, foreign.public_id])
        ).status_code
        == 404
    )


def test_a_queue_that_nobody_works_on_is_said(web, study):
    run = make_run(factories.make_dataset(study), [[JobState.QUEUED]])
    address = reverse("timelines:run", args=[run.public_id])
    assert "No worker has taken" not in extract_text(web.get(address))
    RunCount.objects.update(moved_at=timezone.now() - 3 * QUIET_AFTER)
    assert (
        "No worker has taken a stage of this run for 1 min 30 s. Start the workers with make run"
        in extract_text(web.get(address))
    )
    Run.objects.update(paused_at=timezone.now())
    assert "No worker has taken" not in extract_text(web.get(address))


def test_a_launch_is_in_the_trail_and_a_refused_one_says_why(web, study, admin):
    dataset = factories.make_dataset(study)
    asked = {
        "dataset": dataset.public_id,
        "backbone": "rules",
        "variant": "unimodal",
        "preset": "default",
        "set_alternatives": "1",
        "label": "first",
    }
    refused = web.post(reverse("timelines:run_new"), asked)
    assert "Nothing was started: no case of this dataset has a note" in extract_text(refused)
    factories.make_note(factories.make_encounter(dataset), "Fell at home.")
    assert web.post(reverse("timelines:run_new"), asked).status_code == 302
    (started,) = AuditEvent.objects.filter(action="run.start")
    assert (started.actor, started.object_id, started.detail) == (
        admin,
        Run.objects.get().public_id,
        {"cases": 1},
    )


# Home, and text that stays text


def test_home_says_what_is_there_what_runs_and_what_failed(web, study):
    dataset = factories.make_dataset(study, "Stays")
    make_run(
        dataset, [[JobState.SUCCEEDED, JobState.FAILED], [JobState.SUCCEEDED, JobState.QUEUED]]
    )
    shown = extract_text(web.get(reverse("home")))
    assert "nightly: 1 case failed See why" in shown
    assert "Stays 0 of 2 reconstructed" in shown
    assert "nightly Running Stays · 2 of 4 stages · 1 failed" in shown


def test_markup_in_any_text_stays_text(web, study, encounter):
    row = factories.make_row(encounter, f"lab:{MARKUP}:blood", 1.0, value=MARKUP)
    series = factories.make_series(encounter, row.event, [row], summary=MARKUP)
    run = factories.make_run(encounter.dataset, label=MARKUP)
    case_run = factories.make_case_run(run, encounter)
    StageRun.objects.create(
        case_run=case_run,
        stage="tag",
        state=JobState.FAILED,
        reasons=[MARKUP, MARKUP],
        progress={"words": MARKUP},
    )
    for address in (
        reverse("home"),
        reverse("timelines:cases"),
        reverse("timelines:runs"),
        reverse("timelines:run", args=[run.public_id]),
        reverse("ehr:record", args=[encounter.public_id]) + f"?row={row.row_index}",
        reverse("ehr:series_rows", args=[encounter.public_id, series.pk]),
    ):
        body = web.get(address).content.decode()
        assert "window.hit" in body, f"{address} does not show the text at all"
        assert "<script>window.hit" not in body
        assert "<img src=x" not in body
        assert "{{ 7|add:1 }}" in body
