"""Reading a reconstructed case: from its dataset to a chain."""

from __future__ import annotations

import json
from typing import Any

import pytest

from accounts.models import AuditEvent, Role
from ehr.models import Dataset, Encounter, SourceRow
from tests import factories
from tests.paths import DEMO
from tests.support.api import ApiClient
from tests.worlds.reconstructed import LIGHT_ROLES, import_folder, run_inline
from timelines.models import Entry, Run, Timeline

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def dataset(settings: Any) -> Dataset:
    settings.MODEL_ROLES = LIGHT_ROLES
    return import_folder(DEMO / "intro")


@pytest.fixture
def run(dataset: Dataset) -> Run:
    return run_inline(dataset)


@pytest.fixture
def api(dataset: Dataset) -> ApiClient:
    return ApiClient(factories.make_user(dataset.study, Role.ADMIN, username="ada"))


def read_pages(api: ApiClient, path: str, **query: Any) -> list[Any]:
    """Return all results of a list, page by page."""
    found: list[Any] = []
    after: dict[str, str] = {}
    while True:
        status, page = api.get(path, **query, **after)
        assert status == 200, page
        found += page["results"]
        if page["next"] is None:
            return found
        after = {"after": page["next"]}


def find_actions() -> list[str]:
    return list(AuditEvent.objects.order_by("pk").values_list("action", flat=True))


def test_a_dataset_and_its_stay_are_counted(api, dataset):
    (line,) = api.get("datasets/")[1]["results"]
    assert (line["id"], line["stays"]) == (dataset.public_id, 1)
    one = api.get(f"datasets/{dataset.public_id}/")[1]
    case = Encounter.objects.get()
    assert (one["notes"], one["rows"]) == (1, case.row_count)
    assert one["rejected"] == 0
    stay = api.get(f"cases/{case.public_id}/")[1]
    assert stay["case_id"] == case.case_id
    assert stay["admitted_at"] == case.admitted_at.isoformat()
    assert (stay["notes"], stay["rows"]) == (1, SourceRow.objects.count())
    assert stay["series"] == case.series.count()


def test_notes_series_and_rows_are_those_of_the_record(api):
    case = Encounter.objects.get()
    path = f"cases/{case.public_id}/"
    (note,) = api.get(f"{path}notes/")[1]
    assert "text" not in note
    text = api.get(f"{path}notes/1/")[1]["text"]
    assert text == case.notes.get().text
    assert note["characters"] == len(text)
    assert api.get(f"{path}notes/2/")[0] == 404
    rows = read_pages(api, f"{path}rows/", limit=500)
    assert [row["row"] for row in rows] == sorted(
        SourceRow.objects.values_list("row_index", flat=True)
    )
    series = max(api.get(f"{path}series/", limit=500)[1]["results"], key=lambda s: s["rows"])
    own = read_pages(api, f"{path}rows/", series=series["id"], limit=3)
    assert len(own) == series["rows"]
    assert {row["event"] for row in own} == {series["event"]}
    untimed = read_pages(api, f"{path}rows/", untimed=1)
    assert [row["hours"] for row in untimed] == [None] * len(untimed)
    assert api.get(f"{path}rows/", untimed=1, series=series["id"])[0] == 400
    assert api.get(f"{path}rows/", after="first")[0] == 400
    assert {"record.open", "note.open", "record.rows"} <= set(find_actions())


def test_a_timeline_is_read_entry_by_entry_and_link_by_link(api, run):
    case = Encounter.objects.get()
    path = f"cases/{case.public_id}/timelines/"
    lines = api.get(path)[1]
    first = next(line for line in lines if line["first"])
    assert (first["run"], first["kind"], first["study_timeline"]) == (
        run.public_id,
        "revised",
        True,
    )
    assert {line["kind"] for line in lines} >= {"text_only", "revised"}
    timeline = Timeline.objects.get(public_id=first["id"])
    entries = read_pages(api, f"{path}{first['id']}/entries/", limit=7)
    assert [e["uid4"] for e in entries] == list(
        Entry.objects.filter(timeline=timeline)
        .order_by("occurrence__ordinal")
        .values_list("occurrence__uid4", flat=True)
    )
    assert {e["span_text"] for e in entries} == {None}
    worded = read_pages(api, f"{path}{first['id']}/entries/", text=1)
    assert all(e["span_text"] for e in worded if e["start"] is not None)
    cited = next(e for e in entries if e["rows"])
    chain = api.get(f"{path}{first['id']}/chains/{cited['uid4']}/")[1]["chain"]
    assert chain["uid4"] == cited["uid4"]
    assert chain["final"]["rows"] == cited["rows"]
    assert set(cited["rows"]) <= {row["row_index"] for row in chain["rows"]}
    assert chain["first_estimate"] is not None
    assert chain["queries"][0]["series"]
    assert {"case.open", "case.chain"} <= set(find_actions())


def test_the_list_of_cases_is_filtered_and_paged(api, run, dataset):
    case = Encounter.objects.get()
    extra = [factories.make_encounter(dataset, case_id=f"x{n}") for n in range(4)]
    listed = read_pages(api, "cases/", limit=2, sort="-admitted")
    assert {line["id"] for line in listed} == {case.public_id, *(e.public_id for e in extra)}
    assert len(listed) == 5
    assert [line["id"] for line in read_pages(api, "cases/", state="done")] == [case.public_id]
    assert len(read_pages(api, "cases/", corrected="no")) == 5
    assert api.get("cases/", state="lost")[0] == 400
    assert api.get("cases/", sort="weight")[0] == 400
    assert api.get("cases/", after="zzzzzzzzzzzz")[0] == 404
    status, found = api.post("cases/search/", text="X3", sort="case")
    assert (status, [line["case_id"] for line in found["results"]]) == (200, ["x3"])
    assert api.post("cases/search/", answers={"weight": "yes"})[0] == 400


def test_all_timelines_of_a_run_are_one_stream(api, run):
    response = api.ask("get", f"runs/{run.public_id}/timelines/")
    lines = [json.loads(line) for line in response.getvalue().splitlines()]
    assert len(lines) == Entry.objects.filter(timeline__case_run__run=run).count()
    assert "span_text" not in lines[0]
    with_text = api.ask("get", f"runs/{run.public_id}/timelines/?text=1").getvalue()
    assert b'"span_text"' in with_text
    assert find_actions().count("case.export") == 2
    assert api.get(f"runs/{run.public_id}/timelines/", text="yes")[0] == 400


def test_the_audit_trail_is_paged_without_a_gap(api, dataset):
    for n in range(7):
        api.get(f"cases/{Encounter.objects.get().public_id}/{'notes/' if n % 2 else ''}")
    status, first = api.get("audit-trail/", limit=3)
    listed = read_pages(api, "audit-trail/", limit=3)
    assert (status, first["count"]) == (200, len(listed))
    made = AuditEvent.objects.filter(study=dataset.study).order_by("-at", "-pk")
    assert [event["action"] for event in listed if event["object_type"] != "accounts.apitoken"] == [
        *made.values_list("action", flat=True)
    ]
    (person,) = {event["username"] for event in listed if event["action"] == "record.open"}
    assert person == "ada"
    assert len(read_pages(api, "audit-trail/", action="record.open")) == 7
    for place in ("x", "2026-01-31T09:30:00.000000Z-9999999", "9999-99-99T99:99:99.000000Z-1"):
        assert api.get("audit-trail/", after=place)[0] == 404
    assert api.get("audit-trail/", limit=0)[0] == 400


def test_many_events_of_one_moment_are_paged(api, dataset):
    from accounts.audit.trail import record_each

    record_each(
        actor=None,
        study=dataset.study,
        action="made.up",
        object_type="ehr.encounter",
        object_ids=[f"case{n}" for n in range(9)],
    )
    listed = read_pages(api, "audit-trail/", action="made.up", limit=2)
    assert sorted(event["object_id"] for event in listed) == [f"case{n}" for n in range(9)]


def test_a_study_shows_its_members_to_its_admins(api, dataset):
    clinician = ApiClient(factories.make_user(dataset.study, Role.CLINICIAN, username="cleo"))
    path = f"studies/{dataset.study.public_id}/"
    assert api.get("studies/")[1][0]["roles"] == ["admin"]
    members = {m["username"]: m["roles"] for m in api.get(path)[1]["members"]}
    assert members == {"ada": ["admin"], "cleo": ["clinician"]}
    assert clinician.get(path)[1]["members"] is None
    assert clinician.get("studies/zzzzzzzzzzzz/")[0] == 404
