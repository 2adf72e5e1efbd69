"""A whole blinded review by programs, and every refusal.

Queue, item, draft, answer, undo, amendment, signature.
"""

from itertools import count
from unittest import mock

import pytest

from accounts.models import AuditEvent
from adjudication.blinding.practice import practice_cases
from adjudication.blinding.visibility import are_sides_swapped
from adjudication.models import Assignment, Decision, PacketItem
from adjudication.packets import actions as packets
from adjudication.review import slots
from tests import factories
from tests.support.api import ApiClient
from tests.worlds.judged import make_judged_world
from tests.worlds.reviewed import build_open_world, decide_all
from timelines.runs import stay_text
from timelines.runs.storage import NoteChanged

pytestmark = [pytest.mark.django_db(transaction=True)]
NUMBERS = count()


def token():
    return f"t{next(NUMBERS)}"


class Reviewer:
    def __init__(self, world, number=0):
        self.world = world
        self.person = world.reviewers[number]
        self.mine = world.assignment(self.person)
        self.api = ApiClient(self.person)
        self.path = f"review/{self.mine.public_id}/"

    def item(self):
        status, body = self.api.post(self.path + "next/")
        assert status == 200, body
        return body["item"]

    def decide(self, item, answer="A", **more):
        return self.api.post(
            f"{self.path}items/{item['id']}/decide/", **{"token": token(), "answer": answer, **more}
        )

    def finish(self):
        while item := self.item():
            status, body = self.decide(item, "UNCLEAR")
            assert status == 200, body


@pytest.fixture
def world():
    return build_open_world(make_judged_world(4), reviewers=2, reviewers_an_item=2)


@pytest.fixture
def reviewer(world):
    return Reviewer(world)


def test_the_queue_tells_where_one_stands(reviewer):
    status, (line,) = reviewer.api.get("review/")
    assert status == 200
    assert line["id"] == reviewer.mine.public_id
    assert line["state"] == "open"
    assert line["progress"] == {
        "done": 0,
        "total": line["progress"]["total"],
        "skipped": 0,
        "flagged": 0,
        "seconds_left": None,
    }
    assert line["progress"]["total"] == reviewer.world.packet.items.count()
    assert reviewer.api.get(reviewer.path) == (200, line)


def test_an_item_is_the_blinded_item_and_nothing_else(reviewer):
    item = reviewer.item()
    assert set(item) == {
        "id", "question", "a", "b", "near", "note", "spans", "series", "stay_hours", "admitted_at", "draft", "flagged", "decision",
    }  # fmt: skip
    stored = PacketItem.objects.select_related("finding").get(public_id=item["id"])
    swapped = are_sides_swapped(reviewer.mine.seed, item["id"])
    for shown, judged in (("a", "b" if swapped else "a"), ("b", "a" if swapped else "b")):
        row = item[shown]["row"]
        event = getattr(stored.finding, f"{judged}_event")
        assert (row is None) == (event is None)
        if row is not None:
            assert set(row) == {"event", "when"}
            assert row["event"] in " ".join(item["note"].split()) or row["event"].islower()
    assert item["note"] == stored.finding.game.comparison.encounter.notes.get().text
    assert all(
        set(row) == {"hours", "value", "unit", "time_kind"}
        for s in item["series"]
        for row in s["rows"]
    )
    assert reviewer.api.get(f"{reviewer.path}items/{item['id']}/") == (200, item)
    status, rows = reviewer.api.get(
        f"{reviewer.path}items/{item['id']}/series/{item['series'][0]['number']}/"
    )
    assert status == 200
    assert len(rows["rows"]) == item["series"][0]["count"]


def test_whole_timelines_are_given_on_request_and_the_trail_records_it(reviewer):
    item = reviewer.item()
    status, lists = reviewer.api.post(f"{reviewer.path}items/{item['id']}/timelines/")
    assert status == 200
    stored = PacketItem.objects.get(public_id=item["id"])
    comparison = stored.finding.game.comparison
    counts = [t.entries.count() for t in (comparison.first, comparison.second)]
    if stored.finding.game.a_is_first == are_sides_swapped(reviewer.mine.seed, item["id"]):
        counts.reverse()
    assert [len(lists[label]) for label in "ab"] == counts
    assert {name for side in lists.values() for row in side for name in row} == {"event", "when"}
    events = AuditEvent.objects.filter(action="review.timelines")
    assert [e.object_id for e in events] == [item["id"]]


def test_answers_are_stored_in_the_labels_of_the_judge(reviewer):
    seen: list[bool] = []
    # Which items are swapped is drawn anew for every world: go on until both have been seen.
    while len(seen) < 6 or len(set(seen)) < 2:
        item = reviewer.item()
        assert item, "all items of this world show their sides the same way"
        status, body = reviewer.decide(
            item, "A", own_time=-3.5, comment=" as said ", active_seconds=12
        )
        assert status == 200
        stored = Decision.objects.get(public_id=body["decision"])
        swapped = are_sides_swapped(reviewer.mine.seed, item["id"])
        seen.append(swapped)
        assert stored.answer == ("B" if swapped else "A")
        assert (stored.own_time, stored.comment, stored.active_seconds, stored.shown_swapped) == (
            -3.5,
            " as said ",
            12,
            swapped,
        )
    status, answers = reviewer.api.get(reviewer.path + "answers/")
    assert [a["answer"] for a in answers] == ["A"] * len(seen)
    assert all(a["judge"] is None and a["upheld"] is None for a in answers)


def test_the_same_token_again_stores_nothing(reviewer):
    item = reviewer.item()
    first = reviewer.decide(item, token="once")
    assert reviewer.decide(item, token="once") == first
    assert Decision.objects.filter(assignment=reviewer.mine).count() == 1
    other = reviewer.item()
    status, body = reviewer.decide(other, token="once")
    assert (status, body["code"]) == (409, "conflict")


def test_a_second_answer_is_a_conflict_that_names_the_one_that_stands(reviewer):
    item = reviewer.item()
    _, made = reviewer.decide(item)
    status, body = reviewer.decide(item, "B")
    assert (status, body["code"], body["standing"]) == (409, "conflict", made["decision"])
    status, amended = reviewer.api.post(
        f"{reviewer.path}items/{item['id']}/amend/",
        token=token(),
        answer="BOTH",
        expects=body["standing"],
    )
    assert status == 200
    assert (
        reviewer.api.get(f"{reviewer.path}items/{item['id']}/")[1]["decision"]
        == amended["decision"]
    )
    (line,) = reviewer.api.get(reviewer.path + "answers/")[1]
    assert (line["answer"], line["amended"], line["decision"]) == (
        "BOTH",
        True,
        amended["decision"],
    )
    status, body = reviewer.api.post(
        f"{reviewer.path}items/{item['id']}/amend/",
        token=token(),
        answer="A",
        expects=made["decision"],
    )
    assert (status, body["standing"]) == (409, amended["decision"])


def test_a_draft_comes_again_in_the_labels_that_were_seen(reviewer):
    item = reviewer.item()
    path = f"{reviewer.path}items/{item['id']}/"
    kept = {"answer": "A", "own_time": 7.5, "comment": "half", "active_seconds": 4.0}
    assert reviewer.api.put(path + "draft/", **kept) == (200, {"assigned": True})
    assert reviewer.api.get(path)[1]["draft"] == kept
    assert reviewer.item()["id"] == item["id"]


def test_undo_gives_the_item_back_with_what_was_chosen(reviewer):
    item = reviewer.item()
    reviewer.decide(item, "A", comment="first thought")
    status, body = reviewer.api.post(reviewer.path + "undo/", token="back")
    assert status == 200
    assert body["item"]["id"] == item["id"]
    assert (body["item"]["draft"]["answer"], body["item"]["draft"]["comment"]) == (
        "A",
        "first thought",
    )
    assert body["progress"]["done"] == 0
    assert reviewer.api.post(reviewer.path + "undo/", token="back")[1]["item"]["id"] == item["id"]
    assert reviewer.api.post(reviewer.path + "undo/", token=token()) == (
        200,
        {"item": None, "progress": body["progress"]},
    )


def test_skipped_items_come_last_and_flags_are_counted(reviewer):
    first = reviewer.item()
    path = f"{reviewer.path}items/{first['id']}/"
    assert reviewer.api.put(path + "flag/", flagged=True)[1]["flagged"] == 1
    assert reviewer.api.post(path + "skip/", comment="later")[1]["skipped"] == 1
    second = reviewer.item()
    assert second["id"] != first["id"]
    assert reviewer.api.put(path + "flag/", flagged=False)[1]["flagged"] == 0
    while (item := reviewer.item())["id"] != first["id"]:
        reviewer.decide(item)
    assert item["draft"]["comment"] == "later"


def test_next_leaves_out_what_is_in_hand(reviewer):
    first = reviewer.item()
    _, body = reviewer.api.post(reviewer.path + "next/", besides=[first["id"]])
    assert body["item"]["id"] != first["id"]


def test_signing_waits_after_too_many_wrong_passwords(reviewer, settings):
    decide_all(reviewer.world, reviewer.person, lambda item: "UNCLEAR")
    refused = [
        reviewer.api.post(reviewer.path + "sign/", password="not the password")
        for _ in range(settings.SIGN_IN_ATTEMPTS + 1)
    ]
    assert refused[0][0] == 403
    status, body = refused[-1]
    assert (status, body["code"]) == (429, "throttled")
    assert 0 < body["retry_after"] <= 60 * settings.SIGN_IN_LOCK_MINUTES
    assert reviewer.api.post(reviewer.path + "sign/", password=factories.PASSWORD)[0] == 429
    assert not Decision.objects.filter(assignment=reviewer.mine, kind="sign").exists()


def test_a_whole_review_ends_with_a_signature(reviewer):
    status, body = reviewer.api.post(reviewer.path + "sign/", password=factories.PASSWORD)
    assert (status, body["code"]) == (409, "not_finished")
    assert body["left"] == reviewer.world.packet.items.count()
    assert reviewer.api.get(reviewer.path + "check/")[0] == 409
    reviewer.finish()
    status, questions = reviewer.api.get(reviewer.path + "check/")
    assert status == 200
    asked = questions[0]["item"]
    assert reviewer.api.post(reviewer.path + "check/", token=token(), item=asked, guess="A") == (
        204,
        "",
    )
    assert reviewer.api.get(reviewer.path + "check/")[1][0]["guess"] == "A"
    guess = Decision.objects.get(assignment=reviewer.mine, kind="guess")
    assert guess.detail["guess"] == ("B" if are_sides_swapped(reviewer.mine.seed, asked) else "A")
    status, body = reviewer.api.post(reviewer.path + "sign/", password="not the password")
    assert (status, body["code"]) == (403, "wrong_password")
    status, receipt = reviewer.api.post(reviewer.path + "sign/", password=factories.PASSWORD)
    assert status == 200
    assert len(receipt["head"]) == len(receipt["hash"]) == 64
    assert reviewer.api.get(reviewer.path + "receipt/") == (200, receipt)
    status, body = reviewer.api.post(reviewer.path + "next/")
    assert (status, body["code"]) == (409, "signed")
    assert reviewer.api.post(reviewer.path + "unsign/", reason=" ")[0] == 400
    assert (
        reviewer.api.post(reviewer.path + "unsign/", reason="one more look")[1]["signed_at"] is None
    )
    assert reviewer.api.get(reviewer.path + "receipt/")[0] == 404
    status, body = reviewer.api.post(reviewer.path + "unsign/", reason="again")
    assert (status, body["code"], body["detail"]) == (
        409,
        "not_now",
        "There is no signature to withdraw.",
    )


def test_an_answer_after_the_end_is_kept_as_late_and_told_so(reviewer):
    item = reviewer.item()
    packets.close_packet(packet=reviewer.world.packet, by=reviewer.world.admin)
    status, body = reviewer.decide(item, token="slow")
    assert (status, body["code"]) == (409, "late")
    assert Decision.objects.get(assignment=reviewer.mine, token="slow").kind == "late"
    assert reviewer.decide(item, token="slow") == (status, body)
    status, body = reviewer.api.post(reviewer.path + "next/")
    assert (status, body["code"]) == (409, "closed")


def test_somebody_elses_last_place_is_taken(world):
    one, two = Reviewer(world, 0), Reviewer(world, 1)
    third = ApiClient(late := factories.make_user(world.judged.study, "reviewer"))
    mine = packets.assign(packet=world.packet, person=late, by=world.admin)
    Assignment.objects.filter(pk=mine.pk).update(practised_at=world.packet.opened_at)
    item = one.item()
    assert one.decide(item)[0] == 200
    assert two.api.get(f"{two.path}items/{item['id']}/")[0] == 200
    status, body = third.get(f"review/{mine.public_id}/items/{item['id']}/")
    assert (status, body["code"]) == (409, "taken")


def test_practice_comes_first(world):
    person = factories.make_user(world.judged.study, "reviewer")
    mine = packets.assign(packet=world.packet, person=person, by=world.admin)
    api, path = ApiClient(person), f"review/{mine.public_id}/"
    status, body = api.post(path + "next/")
    assert (status, body["code"]) == (403, "not_allowed")
    for case in practice_cases():
        status, shown = api.get(f"{path}practice/{case.number}/")
        assert status == 200
        assert case.explanation not in str(shown)
        wrong = "UNCLEAR" if case.answer != "UNCLEAR" else "A"
        assert api.post(f"{path}practice/{case.number}/", answer=wrong)[1]["right"] is False
        status, answer = api.post(f"{path}practice/{case.number}/", answer=case.answer)
        assert answer == {"right": True, "answer": case.answer, "explanation": case.explanation}
    assert all(line["answered"] for line in api.get(path + "practice/")[1])
    assert api.post(path + "next/")[0] == 200


def test_a_closed_packet_reveals_by_its_policy(reviewer):
    decide_all(reviewer.world, reviewer.person, lambda item: "UNCLEAR")
    packets.close_packet(packet=reviewer.world.packet, by=reviewer.world.admin)
    _, answers = reviewer.api.get(reviewer.path + "answers/")
    for line in answers:
        item = PacketItem.objects.select_related("finding").get(public_id=line["item"])
        verdict, swapped = item.finding.verdict, are_sides_swapped(reviewer.mine.seed, line["item"])
        assert line["judge"] == ({"A": "B", "B": "A"}.get(verdict, verdict) if swapped else verdict)
        assert line["upheld"] == (verdict == "UNCLEAR")
    factories.change_past_guards(type(reviewer.world.packet).objects.all(), reveal="never")
    assert all(line["judge"] is None for line in reviewer.api.get(reviewer.path + "answers/")[1])


BAD = [
    {"answer": "C"},
    {"answer": ""},
    {"answer": None},
    {"answer": ["A"]},
    {"token": "a b"},
    {"token": "a\n"},
    {"token": ""},
    {"token": "x" * 65},
    {"own_time": "soon"},
    {"own_time": True},
    {"own_time": 10**400},
    {"own_time": [1]},
    {"comment": "a\x00b"},
    {"comment": "\ud800"},
    {"comment": "x" * 10_001},
    {"comment": {"a": 1}},
    {"active_seconds": -1},
    {"active_seconds": 1e300},
    {"flagged": "perhaps"},
]


def test_what_cannot_be_stored_is_refused_by_its_field(reviewer):
    item = reviewer.item()
    for bad in BAD:
        status, body = reviewer.decide(item, **{"answer": "A", **bad})
        assert (status, body["code"], list(body["fields"])) == (400, "invalid", list(bad)), bad
    assert not Decision.objects.exists()


def test_implausible_hours_are_refused_with_words(reviewer):
    status, body = reviewer.decide(reviewer.item(), own_time=1e9)
    assert (status, body["code"]) == (422, "refused")
    assert "plausible" in body["detail"]


ODD = [
    ("", 400), ("{", 400), ("[]", 400), ('"A"', 400), ("null", 400), ('{"token": NaN}', 400), ("\xff", 400),
    ('{"a":' * 100_000 + "1" + "}" * 100_000, 400), ('{"comment": "' + "x" * 3_000_000 + '"}', 413),
]  # fmt: skip


def test_odd_bodies_are_refused(reviewer):
    item = reviewer.item()
    path = f"{reviewer.path}items/{item['id']}/decide/"
    for body, status in ODD:
        answered, answer = reviewer.api.send("post", path, body.encode("latin-1"))
        assert answered == status, (body[:20], answer)
        assert set(answer) >= {"code", "detail"}


def test_a_review_is_its_reviewers_alone(world):
    one, two = Reviewer(world, 0), Reviewer(world, 1)
    item = one.item()
    for path in (
        "",
        "answers/",
        "practice/",
        "receipt/",
        f"items/{item['id']}/",
        f"items/{item['id']}/series/0/",
    ):
        assert two.api.get(one.path + path)[0] == 404, path
    assert (
        two.api.post(f"{one.path}items/{item['id']}/decide/", token=token(), answer="A")[0] == 404
    )
    assert two.api.get(f"{two.path}items/nowhere/")[0] == 404
    assert ApiClient(world.admin).get(one.path)[0] == 404


def test_a_changed_note_is_not_shown(reviewer):
    with mock.patch.object(stay_text, "checked_text", side_effect=NoteChanged("note")):
        status, body = reviewer.api.post(reviewer.path + "next/")
    assert (status, body["code"]) == (409, "note_changed")


def test_answers_are_not_kept_on_their_way(reviewer):
    response = reviewer.api.client.get(f"/api/{reviewer.path}", headers=reviewer.api.headers)
    assert "no-store" in response["Cache-Control"]


def test_what_somebody_holds_is_the_same_for_page_and_program(reviewer):
    item = reviewer.item()
    slot = slots.next_item(assignment=reviewer.mine)
    assert slot.item.public_id == item["id"]
