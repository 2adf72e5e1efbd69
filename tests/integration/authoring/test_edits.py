"""Edits of a draft as the page sends them.

They are stored once, refused in sentences, logged whole, and never lost between two tabs.
"""

import json

import pytest
from django.test import Client
from django.urls import reverse

from tests.worlds.authored import NOTE, Page, make_author, make_case, make_draft, span
from timelines.models import AuthoringEdit, DraftEntry, Occurrence

pytestmark = pytest.mark.django_db


@pytest.fixture
def draft():
    encounter = make_case()
    return make_draft(encounter, make_author(encounter))


@pytest.fixture
def tab(draft):
    return Page(draft)


def test_an_occurrence_is_added_placed_and_said_in_words(tab):
    answer = tab.edit(
        "add",
        values={**span("Fever for three days"), "time_text": "-3 d", "lower": -96, "upper": -48},
    )
    (fever,) = answer["changed"]
    assert (fever["time"], fever["lower"], fever["upper"], fever["known"], fever["entered"]) == (
        -72,
        -96,
        -48,
        False,
        "-3 d",
    )
    assert fever["words"] == "3 d before (−3 d)"
    assert answer["progress"] == {"total": 1, "placed": 1}
    assert (answer["revision"], answer["can_undo"], answer["can_redo"]) == (1, True, False)
    stored = DraftEntry.objects.get(occurrence__uid4=fever["uid"])
    assert (stored.time, stored.placed, stored.entered) == (-72, True, "-3 d")


def test_change_undo_redo_survive_the_page(tab, draft):
    uid = tab.add("Fell at home")
    tab.edit("change", uid=uid, values={"time_text": "-2 h"})
    tab.edit("change", uid=uid, values={"mention": "Fall at home", "context": []})
    again = Page(draft)
    again.revision = 3
    assert again.edit("undo")["changed"][0]["mention"] == "Fell at home"
    assert again.edit("undo")["changed"][0]["placed"] is False
    undone = again.edit("undo")
    assert (undone["changed"], undone["removed"], undone["can_undo"]) == ([], [uid], False)
    for _ in range(3):
        last = again.edit("redo")
    assert (last["changed"][0]["mention"], last["changed"][0]["time"], last["can_redo"]) == (
        "Fall at home",
        -2,
        False,
    )
    assert again.edit("redo", expect=422)["field"] == "kind"


def test_the_same_token_is_stored_once_and_answered_alike(tab, draft):
    first = tab.edit("add", token="lost", values=span("Fell at home"))
    tab.revision = 0
    assert tab.edit("add", token="lost", values=span("Fell at home")) == first
    assert AuthoringEdit.objects.filter(authoring=draft).count() == 1
    assert Occurrence.objects.filter(inventory=draft.inventory).count() == 1


def test_two_tabs_conflict_and_the_late_one_gets_the_document(draft):
    early, late = Page(draft), Page(draft)
    uid = early.add("Fell at home")
    answer = late.edit("add", expect=409, values=span("CT showed a bleed"))
    assert [o["uid"] for o in answer["occurrences"]] == [uid]
    late.revision = answer["revision"]
    late.edit("add", values=span("CT showed a bleed"))
    assert Occurrence.objects.filter(inventory=draft.inventory).count() == 2


def test_split_merge_and_remove_keep_contexts_true(tab, draft):
    whole, fever = tab.add("CT showed a bleed"), tab.add("Fever")
    tab.edit("change", uid=fever, values={"context": [whole]})
    parts = tab.edit("split", uid=whole, parts=[span("CT"), span("bleed")])["changed"]
    assert parts[0]["uid"] == whole
    second = parts[1]["uid"]
    tab.edit("change", uid=fever, values={"context": [second, whole]})
    merged = tab.edit("merge", uids=[whole, second])
    assert merged["removed"] == [second]
    assert {o["uid"]: o["context"] for o in merged["changed"]} == {whole: [], fever: [whole]}
    gone = tab.edit("remove", uid=whole)
    assert (gone["removed"], gone["changed"][0]["context"]) == ([whole], [])
    tab.edit("undo")
    assert DraftEntry.objects.get(occurrence__uid4=fever).context == [whole]


def test_a_uid_is_never_given_again(tab, draft, monkeypatch):
    uid = tab.add("Fell at home")
    tab.edit("remove", uid=uid)
    drawn = iter([int(uid, 16), int(uid, 16), 7])
    monkeypatch.setattr("random.SystemRandom.randrange", lambda self, n: next(drawn))
    assert tab.add("Fever") == "0007"


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"start": 0, "end": len(NOTE) + 1, "mention": "x"}, "end"),
        ({"start": 3, "end": 3, "mention": "x"}, "start"),
        ({"start": 0, "end": 5, "mention": "  "}, "mention"),
        ({"start": 0, "end": 5}, "mention"),
        ({"start": True, "end": 5, "mention": "x"}, "start"),
        ({**span("Fever"), "polarity": "maybe"}, "polarity"),
        ({**span("Fever"), "time": 1, "lower": 2}, "lower"),
        ({**span("Fever"), "time": 1, "upper": 0.5}, "upper"),
        ({**span("Fever"), "time": 1e300}, "time"),
        ({**span("Fever"), "time_text": "whenever"}, "time_text"),
        ({**span("Fever"), "context": ["dead"]}, "context"),
        ({**span("Fever"), "rows": [999]}, "rows"),
        ({**span("Fever"), "uid": "0000"}, "values"),
    ],
)
def test_what_would_break_the_protocol_is_refused_and_nothing_stored(tab, draft, values, field):
    answer = tab.edit("add", expect=422, values=values)
    assert answer["field"] == field
    assert answer["message"]
    assert not Occurrence.objects.filter(inventory=draft.inventory).exists()
    assert not AuthoringEdit.objects.filter(authoring=draft).exists()


@pytest.mark.parametrize(
    "values",
    [
        {"mention": "x\x00"},
        {"mention": "\ud83d"},
        {"rows": [10**30]},
        {"\x00": 1},
        {"start": 10**400},
    ],
)
def test_what_no_column_can_store_is_refused_before_it_is_read(tab, draft, values):
    assert tab.edit("add", expect=400, values={**span("Fever"), **values})["message"]
    assert not Occurrence.objects.filter(inventory=draft.inventory).exists()


def test_at_most_five_context_occurrences(tab):
    uids = [tab.add(phrase) for phrase in ("Fever", "Fell", "CT", "bleed", "Given", "ED", "home")]
    tab.edit("change", uid=uids[0], values={"context": uids[1:6]})
    assert (
        tab.edit("change", uid=uids[0], expect=422, values={"context": uids[1:7]})["field"]
        == "context"
    )


def test_text_comes_back_as_data(tab):
    mention = "<script>alert(1)</script> & \"quoted\" | 'x' \\"
    answer = tab.edit("add", values={**span("Fever"), "mention": mention, "reason": "</script><b>"})
    assert answer["changed"][0]["mention"] == mention
    assert answer["changed"][0]["reason"] == "</script><b>"
    assert tab.found["Content-Type"] == "application/json"


def test_offsets_are_code_points(tab):
    assert NOTE[tab.edit("add", values=span("ED"))["changed"][0]["start"] :].startswith("ED")


@pytest.mark.parametrize("text", ["{", "[]", '{"token": NaN}', "null", "[" * 5000])
def test_a_body_that_is_no_object_is_refused(tab, text):
    address = reverse("timelines:authoring_edits", args=[tab.id])
    assert tab.client.post(address, text, content_type="application/json").status_code == 400


def test_a_form_is_not_json(tab):
    assert (
        tab.client.post(
            reverse("timelines:authoring_edits", args=[tab.id]), {"token": "t"}
        ).status_code
        == 415
    )


def test_a_request_without_the_token_of_the_site_is_refused(draft):
    tab = Page(draft, Client(enforce_csrf_checks=True))
    assert tab.post("edits", {"token": "t", "revision": 0, "kind": "add"}).status_code == 403


def test_a_time_is_read_and_nothing_stored(tab):
    answer = tab.post("time", {"text": "HD 1, 21:08"}).json()
    assert (answer["time"], answer["words"]) == (6.5, "HD 1 · 21:08 (+6.5 h)")
    refused = tab.post("time", {"text": "whenever"})
    assert refused.status_code == 422
    assert "whenever" not in refused.content.decode()
    assert json.loads(refused.content)["field"] == "text"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"revision": 0, "kind": "add"}, "token"),
        ({"token": "t", "kind": "add"}, "revision"),
        ({"token": "t", "revision": True, "kind": "add"}, "revision"),
        ({"token": "", "revision": 0, "kind": "add"}, "token"),
        ({"token": "x" * 65, "revision": 0, "kind": "add"}, "token"),
        ({"token": "t", "revision": 0, "kind": "paint"}, "kind"),
        ({"token": "t", "revision": 0, "kind": "add", "values": []}, "values"),
        ({"token": "t", "revision": 0, "kind": "merge", "uids": [1, 2]}, "uids"),
        ({"token": "t", "revision": 0, "kind": "split", "uid": "a", "parts": [1, 2]}, "values"),
        ({"token": "t", "revision": 0, "kind": "undo"}, "kind"),
    ],
)
def test_an_edit_of_another_shape_is_refused(tab, body, field):
    answer = tab.post("edits", body)
    assert (answer.status_code, answer.json()["field"]) == (422, field)
