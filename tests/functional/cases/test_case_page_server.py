"""The case page's responses: access, content, and text that stays text."""

from __future__ import annotations

import html
import json
import re
from datetime import timedelta

import pytest
from django.core.cache import cache
from django.db import connection
from django.utils import timezone

from accounts.models import AuditEvent, Role
from ehr.models import Note
from jobs.models import JobState
from tests import factories
from tests.functional.cases.case_world import MARKUP, NOTE, build_world
from timelines.cases.choices import load_choices
from timelines.models import Stage, StageRun

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _fresh_cache():
    cache.clear()


@pytest.fixture
def world():
    return build_world()


@pytest.fixture
def get(world, client):
    client.force_login(world.clinician)
    return lambda path="", **query: client.get(world.address + path, query)


def read_data(response) -> dict:
    found = re.search(
        r'<script id="case-data" type="application/json">(.*?)</script>', response.content.decode()
    )
    assert found is not None
    return json.loads(found.group(1))


def build_chain_path(world, name, timeline=None) -> str:
    return f"o/{world.uid(name)}/chain/" + (f"?t={timeline.public_id}" if timeline else "")


def test_the_primary_revised_timeline_opens_first(get):
    items = {item["m"]: item for item in read_data(get())["items"]}
    found = items["Andexanet alfa was given"]
    assert (found["w"], found["c"], found["tw"], found["sw"], found["s"]) == (
        "+6.5 h",
        "HD 1 · 21:08",
        ["HD 1 · 16:08", "+1.5 h"],
        "5 h later",
        "moved",
    )
    assert found["rw"] == ["HD 1 · 21:08", "+6.5 h"]
    assert [adopted for _, adopted in found["e"]] == [1]
    assert items["Fell at home"]["s"] == "explicit"
    assert items["Diet was advanced"]["s"] == "unplaced"
    assert items["Denied headache"]["a"] == 1


def test_each_timeline_can_be_chosen(get, world):
    times = {}
    for name in ("text_only", "revised", "second", "reference"):
        data = read_data(get(t=getattr(world, name).public_id))
        times[name] = next(item["t"] for item in data["items"] if item["m"].startswith("Andexanet"))
    assert times == {"text_only": 1.5, "revised": 6.5, "second": 1.5, "reference": 6.5}


def test_note_mention_event_value_and_reason_stay_text(get, world):
    for response in (
        get(),
        get(build_chain_path(world, "markup")),
        get(build_chain_path(world, "andexanet")),
    ):
        body = response.content.decode()
        assert "<img src=x" not in body
        assert "<script>window" not in body
        assert "{{ 7|add:1 }}" in html.unescape(body) or "7|add:1" in body
    chain = html.unescape(get(build_chain_path(world, "andexanet")).content.decode())
    assert f"400 {MARKUP} mg" in chain
    assert f"this very dose {MARKUP}" in chain
    assert f"below 0.05 {MARKUP}" in chain


def test_the_page_has_no_inline_script_style_or_handler(get, world):
    for response in (get(), get(build_chain_path(world, "andexanet"))):
        body = response.content.decode()
        assert not re.search(r"<script(?![^>]*(?:src=|type=\"application/json\"))", body)
        assert not re.search(r"<style|<[^>]*\sstyle=|<[a-z]+[^<>]*\son[a-z]+=\"", body)


def test_the_chain_walks_from_the_sentence_to_what_decided(get, world):
    body = re.sub(
        r"\s+",
        " ",
        html.unescape(
            re.sub(r"<[^>]+>", " ", get(build_chain_path(world, "andexanet")).content.decode())
        ),
    )
    for step in (
        "Andexanet alfa was given soon after arrival.",
        world.uid("andexanet"),
        "HD 1 · 16:08 (+1.5 h)",
        "Head CT showed a large left thalamic hemorrhage",
        "andexanet alfa reversal agent administration · 1 of 2 kept",
        "among the best three of its query",
        "med andexanet alfa started",
        "administration time",
        "HD 1 · 21:08 (+6.5 h)",
        "Alternative 1 (shown)",
        "5 h later",
        "Alternative 2",
        "Reference",
        "rules 1.0 / adopt-row",
    ):
        assert step in body, step


def test_an_authored_timeline_shows_no_search_of_the_record(get, world):
    body = get(f"o/{0xB000:04x}/chain/", t=world.reference.public_id).content.decode()
    assert "Time in the reference" in body
    assert "Queries to the record" not in body


def test_addresses_carry_ids_alone(get, world):
    body = get().content.decode()
    for address in re.findall(r'(?:href|src|action|data-case)="([^"]*)"', body):
        assert re.fullmatch(r"[\w\-./#?=&;%]*", address), address
        assert world.encounter.case_id not in address


def test_a_deep_link_selects_its_occurrence_and_an_unknown_one_is_not_found(get, world):
    assert f'data-selected="{world.uid("ct")}"' in get(f"o/{world.uid('ct')}/").content.decode()
    assert f'data-selected="{world.uid("ct")}"' in get(o=world.uid("ct")).content.decode()
    assert get("o/ffff/").status_code == 404
    assert get("o/ffff/chain/").status_code == 404
    assert get("o/FFFF/").status_code == 404
    assert get(t="nonsense").status_code == 404


def test_a_selection_that_is_no_uid_is_escaped(get):
    body = get(o='"><script>x').content.decode()
    assert "<script>x" not in body


def test_a_timeline_of_another_case_is_not_found(get):
    other = build_world()
    assert get(t=other.revised.public_id).status_code == 404


def test_strangers_reviewers_and_members_of_other_studies_do_not_see_it(world, client):
    assert client.get(world.address).status_code == 302
    elsewhere = factories.make_study()
    for user, status in (
        (factories.make_user(world.study, Role.REVIEWER), 403),
        (factories.make_user(elsewhere, Role.CLINICIAN), 404),
        (factories.make_user(), 403),
        (factories.make_user(world.study, Role.ADMIN), 200),
    ):
        client.force_login(user)
        for path in ("", f"o/{world.uid('ct')}/", build_chain_path(world, "ct")):
            assert client.get(world.address + path).status_code == status


def test_opening_is_recorded_without_text(get, world):
    get()
    event = AuditEvent.objects.get(action="case.open")
    assert (event.actor, event.study, event.object_id) == (
        world.clinician,
        world.study,
        world.encounter.public_id,
    )
    # a later author of the case is known to have seen one
    assert event.detail == {"timelines": True}


def test_a_note_that_changed_since_its_import_is_not_shown(get, world):
    with connection.cursor() as cursor:
        # past the trigger that forbids it
        cursor.execute("SET LOCAL session_replication_role = replica")
        Note.objects.filter(pk=world.note.pk).update(text=NOTE + "!")
        cursor.execute("SET LOCAL session_replication_role = origin")
    response = get()
    assert response.status_code == 500
    assert "has changed since the import" in response.content.decode()
    assert "Andexanet" not in response.content.decode()


def test_a_case_without_timeline_says_how_to_get_one(world, client):
    client.force_login(world.clinician)
    encounter = factories.make_encounter(world.encounter.dataset)
    factories.make_note(encounter, "Only a note.")
    body = client.get(f"/cases/{encounter.public_id}/").content.decode()
    assert "No timeline yet" in body
    assert "Only a note." in body


def test_what_was_drawn_is_kept_only_once_nothing_of_it_can_change(
    get, world, django_assert_max_num_queries
):
    # with: the runs of the case, the study timeline, the transfers of the ribbon, the story, the
    # comments on the case, and the next and previous case of the list
    with django_assert_max_num_queries(41):
        get()
    # three of them ask whether the person writes or reviews the case, one for pins, five for the
    # next and previous case
    with django_assert_max_num_queries(31):
        get()
    chosen = load_choices(world.encounter).default
    stage = StageRun.objects.create(
        case_run_id=chosen.case_run_id,
        stage=Stage.REVISE,
        state=JobState.RUNNING,
        lease_expires_at=timezone.now() + timedelta(minutes=1),
    )
    before = get().content
    assert b"Andexanet" in before
    stage.delete()


def test_a_source_without_inventory_is_drawn_without_spans(get, world):
    timeline = factories.make_bare_timeline(
        world.encounter, {"fever": 2.0, "rash": None}, source="single step"
    )
    data = read_data(get(t=timeline.public_id))
    assert [(item["m"], item["w"]) for item in data["items"]] == [
        ("fever", "+2 h"),
        ("rash", "not placed"),
    ]
    assert all(item["u"].startswith("row-") for item in data["items"])
