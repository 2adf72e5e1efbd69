"""Packets by programs, from eligible findings to the report card.

Refusals are tested too.
"""

import csv
import io
import json
from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import AuditEvent, Role
from adjudication.models import Assignment, Packet
from adjudication.packets import actions as packets
from adjudication.packets.actions import list_pairings
from adjudication.sampling.drawing import QUOTAS as PROTOCOL
from tests import factories
from tests.support.api import ApiClient
from tests.worlds.judged import FixedJudge, make_judged_run, make_judged_world
from tests.worlds.reviewed import (
    QUOTAS,
    build_open_world,
    decide_all,
    reject_finding,
    uphold_finding,
)

pytestmark = [pytest.mark.django_db(transaction=True)]


@pytest.fixture
def world():
    return make_judged_world(2)


@pytest.fixture
def admin(world):
    return ApiClient(factories.make_user(world.study, Role.ADMIN))


@pytest.fixture
def draw(world):
    return {"label": "First sample", "quotas": QUOTAS, "seed": 11}


def test_a_packet_from_what_may_be_drawn_to_its_report_card(world, admin, draw):
    run = f"judge-runs/{world.run.public_id}/"
    status, eligible = admin.get(run + "eligible/")
    assert status == 200
    assert list(eligible["pairings"]) == list(list_pairings(world.run))
    assert eligible["complete_cases"] == 2
    status, preview = admin.post(run + "draw/preview/", **draw)
    assert (status, Packet.objects.count()) == (200, 0)
    status, packet = admin.post(run + "draw/", **draw)
    assert status == 201, packet
    assert packet["items"] == preview["items"]
    assert {line["pairing"]: line["strata"] for line in packet["pairings"]} == preview["pairings"]
    assert (packet["state"], packet["seed"], packet["design"]["quotas"]) == ("draft", 11, QUOTAS)
    path = f"packets/{packet['id']}/"
    status, answer = admin.post(path + "actions/open/")
    assert (status, answer["code"]) == (422, "refused")

    person = factories.make_user(world.study, Role.REVIEWER)
    (candidate,) = [
        c for c in admin.get(path + "candidates/")[1] if c["person"] == person.public_id
    ]
    assert candidate["reasons"] == []
    status, packet = admin.post(path + "assignments/", person=person.public_id)
    assert status == 201
    assert admin.post(path + "actions/open/")[1]["state"] == "open"
    assert admin.delete(path)[0] == 409

    Assignment.objects.update(practised_at=Packet.objects.get().opened_at)
    reviewer, mine = ApiClient(person), packet["assignments"][0]["id"]
    while (item := reviewer.post(f"review/{mine}/next/")[1]["item"]) is not None:
        assert (
            reviewer.post(
                f"review/{mine}/items/{item['id']}/decide/", token=item["id"], answer="UNCLEAR"
            )[0]
            == 200
        )
    assert reviewer.post(f"review/{mine}/sign/", password=factories.PASSWORD)[0] == 200
    status, answer = admin.post(f"{path}assignments/{mine}/unsign/", reason="a note was missing")
    assert (status, answer["assignments"][0]["signed_at"]) == (200, None)

    status, packet = admin.post(path + "actions/close/")
    assert (packet["state"], packet["decided"], packet["slots"]) == (
        "closed",
        packet["items"],
        packet["items"],
    )
    assert packet["chain_faults"] == []
    status, card = admin.get(path + "report/")
    assert status == 200
    uphold_rates = next(table for table in card["tables"] if table["name"] == "uphold")
    assert uphold_rates["rows"][0][:2] == [person.username, packet["items"]]
    assert admin.get("packets/")[1]["results"][0]["id"] == packet["id"]


def test_the_protocols_quotas_are_the_default(world, admin):
    _, packet = admin.post(f"judge-runs/{world.run.public_id}/draw/", label="sample")
    assert packet["design"]["quotas"] == dict(PROTOCOL)
    assert packet["design"]["pairings"] == list(list_pairings(world.run))
    assert packet["shortages"] != []


REFUSED = [
    ({"label": ""}, "label"),
    ({"pairings": ["a | b"]}, "pairings"),
    ({"quotas": {"TIMING": 1}}, "quotas"),
    ({"quotas": {"VALUE": -1}}, "quotas"),
    ({"quotas": {}}, "quotas"),
    ({"quotas": [1]}, "quotas"),
    ({"cases": 0}, "cases"),
    ({"second": "a | b"}, "second"),
    ({"reveal": "soon"}, "reveal"),
    ({"lease_minutes": 0}, "lease_minutes"),
    ({"seed": 2**63}, "seed"),
    ({"due_on": "2020-01-31"}, "due_on"),
    ({"due_on": "soon"}, "due_on"),
]


def test_what_cannot_be_drawn_is_refused_by_its_field(world, admin, draw):
    for change, field in REFUSED:
        for path in ("draw/preview/", "draw/"):
            status, answer = admin.post(
                f"judge-runs/{world.run.public_id}/{path}", **{**draw, **change}
            )
            assert (status, list(answer["fields"])) == (400, [field]), change
    assert not Packet.objects.exists()


def test_the_due_date_is_drawn_changed_and_read_by_the_reviewer(world, admin, draw):
    soon = timezone.localdate() + timedelta(days=7)
    _, packet = admin.post(
        f"judge-runs/{world.run.public_id}/draw/", **{**draw, "due_on": soon.isoformat()}
    )
    assert packet["due_on"] == soon.isoformat()
    at = f"packets/{packet['id']}/"
    path = f"{at}due/"
    assert admin.post(path, due_on=None)[0] == 428
    read = admin.ask("get", at)["ETag"]
    assert admin.edit("post", path, at, due_on=None)[1]["due_on"] is None
    late = admin.send("post", path, json.dumps({"due_on": None}), {"If-Match": read})
    assert (late[0], late[1]["code"]) == (412, "changed")
    assert admin.edit("post", path, at, due_on="2020-01-31")[0] == 422
    assert admin.edit("post", path, at, due_on="soon")[0] == 400
    later = (soon + timedelta(days=1)).isoformat()
    assert admin.edit("post", path, at, due_on=later)[1]["due_on"] == later
    person = factories.make_user(world.study, Role.REVIEWER)
    admin.post(f"packets/{packet['id']}/assignments/", person=person.public_id)
    admin.post(f"packets/{packet['id']}/actions/open/")
    reviewer = ApiClient(person)
    (mine,) = reviewer.get("review/")[1]
    assert mine["due_on"] == later
    assert reviewer.post(path, due_on=None)[0] in (403, 404)


def test_two_people_an_item_and_a_draft_thrown_away(world, admin, draw):
    _, packet = admin.post(f"judge-runs/{world.run.public_id}/draw/", **draw)
    pairing = packet["pairings"][0]["pairing"]
    path = f"packets/{packet['id']}/"
    assert admin.post(path + "second/", pairing=pairing) == (
        200,
        {"items": packet["pairings"][0]["total"]},
    )
    assert admin.get(path)[1]["pairings"][0]["reviewers"] == 2
    assert admin.post(path + "second/", pairing="a | b")[0] == 422
    assert admin.delete(path) == (204, "")
    assert admin.get(path)[0] == 404


def test_somebody_who_is_not_eligible_is_refused_with_the_reason(world, admin, draw):
    clinician = factories.make_user(world.study, Role.CLINICIAN)
    assert ApiClient(clinician).get(f"cases/{world.encounters[0].public_id}/comparison/")[0] == 200
    _, packet = admin.post(f"judge-runs/{world.run.public_id}/draw/", **draw)
    path = f"packets/{packet['id']}/"
    (line,) = [c for c in admin.get(path + "candidates/")[1] if c["person"] == clinician.public_id]
    status, answer = admin.post(path + "assignments/", person=clinician.public_id)
    assert (status, answer["detail"]) == (
        403,
        f"{clinician.username} cannot review this packet. {line['reasons'][0]}",
    )
    assert admin.post(path + "assignments/", person=factories.make_user().public_id)[0] == 400
    assert admin.post(path + "assignments/", person="nobody")[0] == 400


def test_only_what_has_changed_is_drawn_again(world, admin):
    made = build_open_world(world)
    later = make_judged_run(world.dataset, FixedJudge(version="2", fever="SECOND"))
    status, packet = admin.post(
        f"packets/{made.packet.public_id}/changed/", judge_run=later.public_id
    )
    assert (status, packet["follows"], packet["judge_run"]) == (
        201,
        made.packet.public_id,
        later.public_id,
    )
    assert (
        admin.post(f"packets/{made.packet.public_id}/changed/", judge_run=world.run.public_id)[0]
        == 422
    )
    assert admin.post(f"packets/{made.packet.public_id}/changed/", judge_run="nowhere")[0] == 404


def test_decisions_come_as_files_with_and_without_text(world, admin):
    made = build_open_world(world, reviewers=1)
    decide_all(made, made.reviewers[0], uphold_finding)
    path = f"packets/{made.packet.public_id}/decisions/"
    _, text = admin.get(path + "csv/")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == made.packet.items.count()
    assert {row["upheld"] for row in rows} == {"true"}
    assert "reason" not in rows[0]
    _, text = admin.get(path + "jsonl/", text="1")
    assert {json.loads(line)["reason"] for line in text.splitlines()} == {"the stand-in says so"}
    _, text = admin.get(path + "dictionary/")
    assert [row["column"] for row in csv.DictReader(io.StringIO(text))] == list(rows[0])
    assert (
        AuditEvent.objects.filter(action="packet.export", object_id=made.packet.public_id).count()
        == 3
    )


def test_the_report_card_opens_to_reviewers_when_the_packet_closes(world):
    made = build_open_world(world)
    reviewer = ApiClient(made.reviewers[0])
    decide_all(made, made.reviewers[0], reject_finding)
    path = f"packets/{made.packet.public_id}/"
    for file in ("report/", "report/uphold/csv/", "decisions/csv/"):
        status, body = reviewer.get(path + file)
        assert (status, body["code"]) == (403, "not_allowed")
    packets.close_packet(packet=made.packet, by=made.admin)
    status, card = reviewer.get(path + "report/")
    assert status == 200
    cells = [
        cell
        for table in card["tables"]
        for row in table["rows"]
        for cell in row
        if isinstance(cell, dict)
    ]
    assert {cell["why"] for cell in cells if cell["value"] is not None} == {""}
    assert any(cell["why"] for cell in cells if cell["value"] is None)
    named = [table for table in card["tables"] if not table["name"].startswith("confusion")]
    assert len(named) > 5
    assert [reviewer.get(f"{path}report/{table['name']}/json/") for table in named] == [
        (200, table) for table in named
    ]
    assert (
        made.packet.items.count()
        == len(list(csv.reader(io.StringIO(reviewer.get(path + "report/decisions/csv/")[1])))) - 1
    )
    factories.change_past_guards(Packet.objects.all(), reveal="never")
    assert reviewer.get(path + "report/")[0] == 403


def test_an_admin_who_reviews_does_not_steer(world):
    made = build_open_world(world)
    other = factories.make_user(world.study, Role.ADMIN)
    packets.assign(packet=made.packet, person=other, by=made.admin)
    api, path = ApiClient(other), f"packets/{made.packet.public_id}/"
    for status, body in (
        api.get(path),
        api.get(path + "candidates/"),
        api.post(path + "actions/close/"),
        api.get(path + "report/"),
    ):
        assert (status, body["code"]) == (403, "not_allowed")
    assert api.get("packets/")[0] == 200
