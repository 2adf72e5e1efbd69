"""Judging by programs: start, watch, steer and read.

Filters, guards and record of exposure are those of the pages.
"""

import csv
import io
import json

import pyarrow.parquet as pq
import pytest

from accounts.actions import add_role
from accounts.models import AuditEvent, Role
from adjudication.access.closed import OPEN
from adjudication.findings.listing import FindingFilter
from adjudication.findings.pages import FindingPages
from adjudication.models import Finding, Game, JudgeRun
from adjudication.packets import actions as packets
from ehr.models import Encounter
from jobs.models import JobState
from tests import factories
from tests.support.api import ApiClient
from tests.worlds.judged import KEYS, SOURCES, FixedJudge, make_judged_run, make_judged_world
from tests.worlds.reviewed import build_open_world
from timelines.models import Timeline

pytestmark = [pytest.mark.django_db(transaction=True)]


@pytest.fixture
def world():
    return make_judged_world(2)


@pytest.fixture
def admin(world):
    return ApiClient(factories.make_user(world.study, Role.ADMIN))


@pytest.fixture
def clinician(world):
    return factories.make_user(world.study, Role.CLINICIAN)


def load_all(api, path, **query):
    """All findings or changes, page after page."""
    found, after = [], ""
    while after is not None:
        status, body = api.get(path, after=after, **query)
        assert status == 200, body
        found += body["results"]
        after = body["next"]
    return found


def test_a_run_is_told_with_what_it_froze(world, admin):
    status, page = admin.get("judge-runs/")
    assert (status, page["count"]) == (200, 1)
    (line,) = page["results"]
    assert [s["label"] for s in line["sources"]] == [key.label for key in KEYS]
    assert line["games"] == {
        "waiting": 0,
        "running": 0,
        "judged": 6,
        "in_part": 0,
        "unjudged": 0,
        "failed": 0,
        "cancelled": 0,
    }
    assert line["findings"] == Finding.objects.count()
    status, run = admin.get(f"judge-runs/{world.run.public_id}/")
    assert status == 200
    assert run["config"]["seed"] == world.run.config["seed"]
    assert {**run, **line} == run


def test_a_run_is_started_with_what_the_choices_say(world, admin):
    _, choices = admin.get("judge-runs/choices/")
    assert {s["written"] for s in choices["sources"]} == {f"{name}@revised" for name in SOURCES}
    body = {
        "datasets": [d["id"] for d in choices["datasets"]],
        "sources": [s["written"] for s in choices["sources"]][:2],
    }
    status, run = admin.post(
        "judge-runs/", **body, cases=["case-001"], swap=True, label="by program"
    )
    assert status == 201, run
    stored = JudgeRun.objects.get(public_id=run["id"])
    assert (stored.label, stored.config["swap"], stored.games.count()) == ("by program", True, 2)
    assert set(stored.games.values_list("comparison__encounter__case_id", flat=True)) == {
        "case-001"
    }


REFUSED = [
    ({"sources": ["nobody@revised", "author:vega@revised"]}, "sources"),
    ({"sources": ["author:vega@revised"]}, "sources"),
    ({"datasets": ["nowhere"]}, "datasets"),
    ({"datasets": []}, "datasets"),
    ({"cases": ["case-999"]}, "cases"),
    ({"judge": "coin"}, "judge"),
    ({"model": "some", "judge": "rules"}, "model"),
    ({"seed": -1}, "seed"),
    ({"tolerance": "wide"}, "tolerance"),
]


def test_what_cannot_be_judged_is_refused_by_its_field(world, admin):
    body = {
        "datasets": [world.dataset.public_id],
        "sources": [f"{name}@revised" for name in SOURCES],
    }
    for change, field in REFUSED:
        status, answer = admin.post("judge-runs/", **{**body, **change})
        assert (status, answer["code"], list(answer["fields"])) == (400, "invalid", [field])
    assert JudgeRun.objects.count() == 1


def test_somebody_with_two_studies_says_which(world, clinician):
    other = factories.make_study()
    for study in (world.study, other):
        add_role(study=study, user=clinician, role=Role.ADMIN, by=None)
    api = ApiClient(clinician)
    status, body = api.get("judge-runs/choices/")
    assert (status, list(body["fields"])) == (400, ["study"])
    assert api.get("judge-runs/choices/", study=other.public_id)[1]["datasets"] == []
    assert api.get("judge-runs/", study=other.public_id)[1]["count"] == 0
    assert api.get("judge-runs/", study=world.study.public_id)[1]["count"] == 1
    assert api.get("judge-runs/", study="nowhere")[0] == 404


def test_a_role_counts_in_its_own_study_alone(world):
    """Reading cases elsewhere opens nothing here to a blinded reviewer."""
    person = factories.make_user(world.study, Role.REVIEWER)
    add_role(
        study=factories.make_study(name="A first study"), user=person, role=Role.CLINICIAN, by=None
    )
    api, finding, game = ApiClient(person), Finding.objects.first(), Game.objects.first()
    run = f"judge-runs/{world.run.public_id}/"
    paths = [
        run,
        run + "games/",
        run + "findings/",
        run + "report/",
        f"findings/{finding.public_id}/",
        f"games/{game.public_id}/",
    ]
    assert {path: api.get(path)[0] for path in paths} == dict.fromkeys(paths, 404)
    assert api.get("judge-runs/")[1]["count"] == 0
    api.client.force_login(person)
    for page in ("", "findings/", "findings/download/csv/", "calls/"):
        assert (
            api.client.get(f"/adjudication/runs/{world.run.public_id}/{page}").status_code == 404
        ), page


def test_games_say_why_they_are_unjudged(world, admin):
    run = make_judged_run(
        world.dataset, FixedJudge(refuse=frozenset({len(SOURCES["author:vega"])}))
    )
    status, page = admin.get(f"judge-runs/{run.public_id}/games/", status="unjudged")
    assert status == 200
    assert len(page["results"]) == run.games.filter(outcome="unjudged").count() > 0
    game = page["results"][0]
    assert game["unjudged_reasons"] == ["attempt 1: the answer must be one JSON object"]
    assert admin.get(f"judge-runs/{run.public_id}/games/", status="lost")[0] == 400
    assert admin.post(f"games/{game['id']}/again/") == (204, "")
    assert Game.objects.get(public_id=game["id"]).state == JobState.QUEUED
    assert admin.post(f"games/{game['id']}/again/")[0] == 409


def test_a_run_is_paused_resumed_cancelled_and_retried(world, admin):
    run = f"judge-runs/{world.run.public_id}/"
    factories.change_past_guards(Game.objects.all(), state=JobState.QUEUED, outcome="")
    assert admin.post(run + "actions/pause/")[1]["state"] == "Paused"
    assert admin.post(run + "actions/resume/")[1]["state"] == "Waiting"
    assert admin.post(run + "actions/cancel/")[1]["games"]["cancelled"] == 6
    assert admin.post(run + "actions/retry/")[1]["games"]["waiting"] == 6


def test_findings_come_whole_in_pages_of_any_size(world, admin):
    path = f"judge-runs/{world.run.public_id}/findings/"
    answer = load_all(admin, path, limit=500)
    assert [f["id"] for f in answer] == list(
        Finding.objects.order_by("game_id", "ordinal").values_list("public_id", flat=True)
    )
    for limit in (1, 7, len(answer), len(answer) + 1):
        assert load_all(admin, path, limit=limit) == answer
    one = Finding.objects.select_related("game").get(public_id=answer[0]["id"])
    assert (answer[0]["type"], answer[0]["verdict"], answer[0]["reason"]) == (
        one.type,
        one.verdict,
        one.reason,
    )
    if one.verdict in ("A", "B"):
        assert answer[0]["b" if one.verdict == "A" else "a"]["charged"] is True


FILTERS = [
    {"type": "TIMING"}, {"type": "one-sided"}, {"verdict": "decisive"}, {"verdict": "UNCLEAR"}, {"grounding": "TABLE"},
    {"category": "wrong_time"}, {"size": "days"}, {"size": "none"}, {"source": "1"}, {"charged": "0"}, {"flagged": "1"},
    {"type": "TIMING", "verdict": "decisive", "charged": "1"},
]  # fmt: skip


def test_filters_are_those_of_the_page(world, admin):
    path = f"judge-runs/{world.run.public_id}/findings/"
    sizes = []
    for asked in FILTERS:
        wanted = FindingFilter.from_query(asked, len(SOURCES))
        expected = FindingPages(world.run, wanted, OPEN).rows()
        answer = load_all(admin, path, limit=5, **asked)
        assert {f["id"] for f in answer} == set(expected.values_list("public_id", flat=True)), asked
        sizes.append(len(answer))
    assert sum(n > 0 for n in sizes) >= 8
    case = world.encounters[0]
    assert {f["case"] for f in load_all(admin, path, case=case.public_id)} == {case.public_id}


UNKNOWN = [
    {"type": "timing"}, {"verdict": "A"}, {"source": "9"}, {"charged": "-1"},
    {"limit": "0"}, {"limit": "501"}, {"limit": "x"}, {"limit": "²"},
]  # fmt: skip


def test_a_filter_that_is_not_known_is_refused_and_not_passed_over(world, admin):
    for asked in UNKNOWN:
        status, body = admin.get(f"judge-runs/{world.run.public_id}/findings/", **asked)
        assert (status, list(body["fields"])) == (400, list(asked))


def test_a_place_of_another_run_is_no_place(world, admin):
    other = make_judged_run(world.dataset)
    elsewhere = Finding.objects.filter(game__run=other).first()
    path = f"judge-runs/{world.run.public_id}/findings/"
    assert admin.get(path, after=elsewhere.public_id)[0] == 404
    assert admin.get(path, after="a\x00b")[0] == 400
    assert admin.get("judge-runs/a%00b/")[0] == 404


def test_what_does_not_exist_is_told_in_one_sentence_that_names_no_model(world, admin):
    missing = {"code": "not_found", "detail": "It does not exist, or you cannot access it."}
    run = f"judge-runs/{world.run.public_id}/"
    paths = [
        "judge-runs/nothing/",
        "findings/nothing/",
        "games/nothing/",
        "packets/nothing/",
        "review/nothing/",
        "cases/nothing/comparison/",
    ]
    for path in (
        *paths,
        "cases/nothing/comparison/",
        run + "findings/files/xlsx/",
        run + "games/files/xlsx/",
        run + "report/other/csv/",
    ):
        assert admin.get(path) == (404, missing), path


def test_one_finding_comes_with_what_it_rests_on(world, admin):
    found = (
        Finding.objects.filter(series__isnull=False)
        .select_related("game__comparison__encounter")
        .first()
    )
    status, body = admin.get(f"findings/{found.public_id}/")
    assert status == 200
    assert body["series"]["event"] == "lab:lactate::"
    assert [row["hours"] for row in body["series"]["rows"] if row["cited"]] == [0.25]
    assert sum(row["own"] for row in body["a_timeline"]["around"]) == 1
    assert body["a_timeline"]["hours"] == found.a_entry.time
    quoted = (
        Finding.objects.filter(note_start__isnull=False)
        .select_related("game__comparison__encounter")
        .first()
    )
    status, body = admin.get(f"findings/{quoted.public_id}/")
    note = quoted.game.comparison.encounter.notes.get().text
    assert body["quote"]["text"] == note[body["quote"]["start"] : body["quote"]["end"]]


def test_a_game_comes_with_its_findings(world, admin):
    game = Game.objects.first()
    status, body = admin.get(f"games/{game.public_id}/")
    assert status == 200
    assert len(body["finding_list"]) == body["findings"] == game.findings.count()
    assert body["a"] in (body["first"], body["second"])


def test_two_timelines_side_by_side(world, admin):
    encounter = world.encounters[0]
    one, two = Timeline.objects.filter(encounter=encounter).order_by("pk")[:2]
    path = f"cases/{encounter.public_id}/comparison/"
    status, body = admin.get(path, a=one.public_id, b=two.public_id)
    assert status == 200
    assert (body["a"]["id"], body["b"]["id"], body["run"]) == (
        one.public_id,
        two.public_id,
        world.run.public_id,
    )
    assert sum(row["a"] is not None for row in body["rows"]) == one.entries.count()
    assert sum(row["b"] is not None for row in body["rows"]) == two.entries.count()
    game = Game.objects.get(run=world.run, comparison__first=one, comparison__second=two)
    assert {f for row in body["rows"] for f in row["findings"]} == set(
        game.findings.values_list("public_id", flat=True)
    )
    assert all(
        not row["findings"]
        for row in admin.get(path, a=one.public_id, b=two.public_id, run="none")[1]["rows"]
    )
    assert admin.get(path, a="nowhere")[0] == 404


def test_what_changed_between_two_judges(world, admin):
    later = make_judged_run(world.dataset, FixedJudge(version="2", fever="SECOND"))
    path = f"judge-runs/{world.run.public_id}/changes/{later.public_id}/"
    status, body = admin.get(path)
    assert status == 200
    assert body["counts"]["verdict"] == len(body["results"]) > 0
    for line in body["results"]:
        before, after = line["before"], line["after"]
        assert line["change"] == "verdict"
        assert (before["run"], after["run"]) == (world.run.public_id, later.public_id)
    assert load_all(admin, path, limit=2) == body["results"]
    assert admin.get(path, after="nowhere")[0] == 404
    for asked in ({"change": "other"}, {"type": "timing"}, {"limit": "0"}):
        status, answer = admin.get(path, **asked)
        assert (status, list(answer["fields"])) == (400, list(asked))
    assert admin.get(f"judge-runs/{later.public_id}/changes/{later.public_id}/")[0] == 404


def test_the_report_is_every_table_of_the_dashboard(world, admin):
    status, body = admin.get(f"judge-runs/{world.run.public_id}/report/")
    assert status == 200
    ratings = next(table for table in body["tables"] if table["name"] == "ratings")
    assert {row[0] for row in ratings["rows"]} == {key.label for key in KEYS}


def test_a_table_comes_as_the_file_of_the_page(world, admin):
    path = f"judge-runs/{world.run.public_id}/report/"
    _, report = admin.get(path)
    for table in report["tables"]:
        status, answer = admin.get(f"{path}{table['name']}/json/")
        assert (status, answer) == (200, table)
    status, text = admin.get(path + "ratings/csv/")
    assert status == 200
    assert {line[0] for line in csv.reader(io.StringIO(text))} >= {key.label for key in KEYS}
    assert r"\begin{tabular}" in admin.get(path + "ratings/latex/")[1]
    assert admin.get(path + "agreement/csv/")[0] == 404
    other = make_judged_run(world.dataset, FixedJudge(version="2"), label="second opinion")
    status, answer = admin.get(path + "agreement/json/", against=other.public_id)
    assert (status, answer["title"]) == (200, "Against second opinion")


def test_findings_come_as_files_with_and_without_text(world, admin):
    path = f"judge-runs/{world.run.public_id}/findings/files/"
    every = list(Finding.objects.order_by("game_id", "ordinal").values_list("public_id", flat=True))
    words = "the stand-in says so"
    status, plain = admin.get(path + "jsonl/")
    assert status == 200
    assert [json.loads(line)["finding"] for line in plain.splitlines()] == every
    assert words not in plain
    assert words in admin.get(path + "jsonl/", text="1")[1]
    assert [
        row["finding"] for row in csv.DictReader(io.StringIO(admin.get(path + "csv/")[1]))
    ] == every
    answer = admin.client.get(
        f"/api/{path}parquet/",
        headers={**admin.headers, "Accept": "application/vnd.apache.parquet"},
    )
    assert pq.read_table(io.BytesIO(answer.getvalue())).column("finding").to_pylist() == every
    assert "charged_source" in admin.get(path + "dictionary/")[1]
    assert (
        AuditEvent.objects.filter(action="findings.export", object_id=world.run.public_id).count()
        == 4
    )


def test_whoever_reads_findings_is_exposed_to_their_cases(world, clinician):
    api, case = ApiClient(clinician), world.encounters[0]
    finding = Finding.objects.filter(game__comparison__encounter=case).first()
    game = finding.game
    run = f"judge-runs/{world.run.public_id}/"
    one = [
        f"findings/{finding.public_id}/",
        f"games/{game.public_id}/",
        f"cases/{case.public_id}/comparison/",
    ]
    paths = [
        *one,
        run + "findings/",
        run + "games/",
        run + "findings/files/csv/",
        run + "games/files/csv/",
    ]
    for path in paths:
        seen = AuditEvent.objects.filter(
            actor=clinician, action="case.unblinded", object_id=case.public_id
        )
        before = seen.count()
        assert api.get(path)[0] == 200
        assert seen.count() == before + 1, path


def test_an_open_packet_closes_its_cases_to_those_assigned(world, clinician):
    made = build_open_world(world, reviewers=1, cases=1)
    packets.assign(packet=made.packet, person=clinician, by=made.admin)
    api, run = ApiClient(clinician), f"judge-runs/{world.run.public_id}/"
    finding = (
        Finding.objects.filter(items__packet=made.packet)
        .select_related("game__comparison__encounter")
        .first()
    )
    case = finding.game.comparison.encounter
    for path in (
        f"findings/{finding.public_id}/",
        f"games/{finding.game.public_id}/",
        f"cases/{case.public_id}/comparison/",
        run + "report/",
        run + "report/ratings/csv/",
    ):
        status, body = api.get(path)
        assert (status, body["code"]) == (403, "not_allowed"), path
    open_cases = set(
        Encounter.objects.exclude(
            comparisons__games__findings__items__packet=made.packet
        ).values_list("public_id", flat=True)
    )
    assert {f["case"] for f in load_all(api, run + "findings/")} <= open_cases
    filed = [
        json.loads(line)["case_id"]
        for line in api.get(run + "findings/files/jsonl/")[1].splitlines()
    ]
    assert Encounter.objects.filter(case_id__in=filed, public_id__in=open_cases).count() == len(
        set(filed)
    )
    played = [
        json.loads(line)["case_id"] for line in api.get(run + "games/files/jsonl/")[1].splitlines()
    ]
    assert set(played) == set(
        Encounter.objects.filter(public_id__in=open_cases).values_list("case_id", flat=True)
    )
    assert {g["case"] for g in api.get(run + "games/")[1]["results"]} <= open_cases
    later = make_judged_run(world.dataset, FixedJudge(version="2", fever="SECOND"))
    _, body = api.get(f"{run}changes/{later.public_id}/")
    assert {(line["after"] or line["before"])["case"] for line in body["results"]} == open_cases
