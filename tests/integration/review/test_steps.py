"""Requests of the review page: refusals, drafts, sides, hidden fields."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Role
from adjudication.blinding.practice import practice_cases
from adjudication.blinding.visibility import are_sides_swapped, swap_answer
from adjudication.models import Assignment, Decision, ItemMark, PracticeAnswer, Slot
from adjudication.packets import actions as packets
from tests import factories
from tests.worlds.reviewing import Review, make_token, open_review

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def review() -> Review:
    return open_review()


@pytest.fixture
def mine(review) -> Assignment:
    return review.assignments[0]


@pytest.fixture
def reviewer(client, mine) -> Client:
    client.force_login(mine.person)
    return client


def post(client: Client, name: str, *args: Any, **body: Any):
    return client.post(
        reverse(f"adjudication:review_{name}", args=args),
        json.dumps(body),
        content_type="application/json",
    )


def first_item(client: Client, mine: Assignment) -> str:
    assert post(client, "next", mine.public_id).status_code == 200
    return Slot.objects.get(assignment=mine).item.public_id


def answer(client: Client, mine: Assignment, item: str, value: str = "A", **more: Any):
    return post(
        client, "decide", mine.public_id, item, **{"token": make_token(), "answer": value, **more}
    )


def test_the_next_item_is_leased_and_the_ones_in_hand_are_left_out(reviewer, mine, review):
    seen: list[str] = []
    for _ in review.items:
        response = post(reviewer, "next", mine.public_id, besides=seen).json()
        seen.append(
            next(
                i.public_id
                for i in review.items
                if i.public_id in response["html"] and i.public_id not in seen
            )
        )
    assert len(set(seen)) == len(review.items)
    assert "html" not in post(reviewer, "next", mine.public_id, besides=seen).json()
    assert set(
        Slot.objects.filter(assignment=mine).values_list("item__public_id", flat=True)
    ) == set(seen)


def test_an_answer_is_stored_in_the_judges_labels(reviewer, mine, review):
    swaps = set()
    for item in review.items:
        post(reviewer, "next", mine.public_id)
        assert answer(reviewer, mine, item.public_id).json()["late"] is False
        stored = Decision.objects.get(item=item)
        swapped = are_sides_swapped(mine.seed, item.public_id)
        assert (stored.answer, stored.shown_swapped) == ("B" if swapped else "A", swapped)
        swaps.add(swapped)
    assert swaps == {True, False}


def test_a_draft_is_kept_and_shown_in_the_labels_of_the_page(reviewer, mine, review):
    item = first_item(reviewer, mine)
    response = post(
        reviewer,
        "draft",
        mine.public_id,
        item,
        answer="B",
        own_time=-12,
        comment='"quoted" <b>',
        active_seconds=31.5,
    )
    assert response.json() == {"assigned": True}
    page = reviewer.get(reverse("adjudication:review_item", args=[mine.public_id])).content.decode()
    assert 'data-answer="B"' in page
    assert 'data-seconds="31.5"' in page
    assert "&quot;quoted&quot; &lt;b&gt;" in page
    kept = Slot.objects.get(assignment=mine).draft[mine.public_id]
    assert kept["answer"] == swap_answer("B", are_sides_swapped(mine.seed, item))


def test_the_same_token_is_stored_once(reviewer, mine, review):
    item = first_item(reviewer, mine)
    for _ in range(3):
        assert answer(reviewer, mine, item, token="again").status_code == 200
    assert Decision.objects.count() == 1
    again = answer(reviewer, mine, item)
    assert again.status_code == 409
    assert "Your first answer was not changed" in again.json()["message"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"answer": "C"}, 422),
        ({"answer": ""}, 422),
        ({"own_time": 1e300}, 422),
        ({"own_time": "soon"}, 400),
        ({"own_time": True}, 400),
        ({"own_time": 10**400}, 400),
        ({"comment": "x" * 10_001}, 422),
        ({"comment": "\x00"}, 400),
        ({"comment": 5}, 400),
        ({"flagged": "yes"}, 400),
        ({"token": "not a token!"}, 422),
        ({"token": ""}, 422),
        ({"expects": "nothing-such"}, 409),
    ],
    ids=str,
)
def test_what_cannot_be_stored_is_refused_with_a_sentence(reviewer, mine, body, status):
    item = first_item(reviewer, mine)
    response = (
        answer(reviewer, mine, item, **body)
        if "answer" not in body
        else answer(reviewer, mine, item, body["answer"])
    )
    assert response.status_code == status
    assert response.json()["message"]
    assert Decision.objects.count() == 0


def test_bodies_that_are_no_json_objects_are_refused(reviewer, mine):
    item = first_item(reviewer, mine)
    address = reverse("adjudication:review_decide", args=[mine.public_id, item])
    assert reviewer.post(address, {"answer": "A"}).status_code == 415
    assert reviewer.post(address, "[]", content_type="application/json").status_code == 400
    assert post(reviewer, "next", mine.public_id, besides="all").status_code == 400
    assert post(reviewer, "flag", mine.public_id, item, flagged=1).status_code == 400


def test_nothing_is_handed_out_before_practice(reviewer, mine, review):
    Assignment.objects.update(practised_at=None)
    item = review.items[0].public_id
    for name, args in (
        ("next", ()),
        ("undo", ()),
        ("decide", (item,)),
        ("draft", (item,)),
        ("skip", (item,)),
        ("series", (item, 0)),
    ):
        response = post(reviewer, name, mine.public_id, *args, token="t", answer="A")
        assert response.status_code == 403
        assert "Start with the practice" in response.json()["message"]
    assert (
        reviewer.get(reverse("adjudication:review_chosen", args=[mine.public_id, item])).status_code
        == 302
    )
    assert not Slot.objects.filter(assignment__isnull=False).exists()


def test_practice_is_done_with_its_last_case_whatever_was_answered(reviewer, mine):
    Assignment.objects.update(practised_at=None)
    for case in practice_cases():
        assert Assignment.objects.get().practised_at is None
        response = post(
            reviewer, "practice_decide", mine.public_id, case.number, answer="NEITHER"
        ).json()
        assert (response["right"], response["answer"], response["explanation"]) == (
            case.answer == "NEITHER",
            case.answer,
            case.explanation,
        )
    assert Assignment.objects.get().practised_at is not None
    assert PracticeAnswer.objects.count() == len(practice_cases())
    assert post(reviewer, "practice_decide", mine.public_id, 1, answer="C").status_code == 422


def test_practice_pages_do_not_hold_the_answer(reviewer, mine):
    for case in practice_cases():
        page = reviewer.get(
            reverse("adjudication:review_practice_case", args=[mine.public_id, case.number])
        ).content.decode()
        assert case.explanation[:30] not in page
        assert case.title not in page


def test_another_reviewers_items_and_reviews_do_not_exist(review, client):
    stranger = factories.make_user(review.study, Role.REVIEWER)
    client.force_login(stranger)
    mine, item = review.assignments[0].public_id, review.items[0].public_id
    for name, args in (
        ("next", (mine,)),
        ("decide", (mine, item)),
        ("undo", (mine,)),
        ("series", (mine, item, 0)),
    ):
        assert post(client, name, *args).status_code == 404


def test_items_outside_ones_pairings_do_not_exist(review, client):
    person = factories.make_user(review.study, Role.REVIEWER)
    pairing = review.items[0].pairing
    narrow = packets.assign(
        packet=review.packet, person=person, pairings=[pairing], by=review.admin
    )
    Assignment.objects.filter(pk=narrow.pk).update(practised_at=review.packet.opened_at)
    client.force_login(person)
    other = next(i for i in review.items if i.pairing != pairing)
    assert answer(client, narrow, other.public_id).status_code == 404
    assert (
        client.get(
            reverse("adjudication:review_chosen", args=[narrow.public_id, other.public_id])
        ).status_code
        == 404
    )


def test_an_answer_under_way_when_one_is_taken_out_is_kept_as_late(reviewer, mine, review):
    item = first_item(reviewer, mine)
    packets.withdraw_assignment(assignment=mine, by=review.admin)
    assert answer(reviewer, mine, item).json()["late"] is True
    assert Decision.objects.get().kind == "late"
    assert post(reviewer, "next", mine.public_id).status_code == 404


def test_skip_keeps_what_was_typed_and_flag_marks(reviewer, mine):
    item = first_item(reviewer, mine)
    post(reviewer, "skip", mine.public_id, item, answer="BOTH", comment="later")
    post(reviewer, "flag", mine.public_id, item, flagged=True)
    mark = ItemMark.objects.get()
    assert mark.skipped_at is not None
    assert mark.flagged
    page = reviewer.get(
        reverse("adjudication:review_chosen", args=[mine.public_id, item])
    ).content.decode()
    assert 'data-answer="BOTH"' in page
    assert 'value="later"' in page
    assert "data-flagged" in page


def test_undo_without_an_answer_says_nothing_and_with_one_brings_it_back(reviewer, mine):
    assert "html" not in post(reviewer, "undo", mine.public_id, token=make_token()).json()
    item = first_item(reviewer, mine)
    answer(reviewer, mine, item, "B", comment="so be it")
    response = post(reviewer, "undo", mine.public_id, token=make_token()).json()
    assert f'data-item="{item}"' in response["html"]
    assert 'data-answer="B"' in response["html"]
    assert response["progress"]["done"] == 0


def test_all_rows_of_a_series_and_none_beyond(reviewer, mine):
    item = first_item(reviewer, mine)
    rows = [
        post(reviewer, "series", mine.public_id, item, n).json()["html"].count("<tr>") - 1
        for n in range(3)
    ]
    assert sorted(rows) == [1, 2, 20]
    assert post(reviewer, "series", mine.public_id, item, 3).status_code == 404


def test_nothing_of_a_review_is_stored_by_a_cache(reviewer, mine):
    item = first_item(reviewer, mine)
    packet = mine.public_id
    for name, args in (
        ("queue", ()),
        ("packet", (packet,)),
        ("item", (packet,)),
        ("history", (packet,)),
        ("chosen", (packet, item)),
    ):
        response = reviewer.get(reverse(f"adjudication:review_{name}", args=args))
        assert response.status_code == 200
        assert "no-store" in response["Cache-Control"]
    assert "no-store" in answer(reviewer, mine, item)["Cache-Control"]


def test_a_signed_review_is_left_alone_until_the_signature_is_taken_back(
    reviewer, mine, review, monkeypatch
):
    monkeypatch.setattr(
        "accounts.provider.confirmation.require_password", lambda *args, **kwargs: mine.person
    )
    item = first_item(reviewer, mine)
    early = reviewer.post(
        reverse("adjudication:review_sign", args=[mine.public_id]), {"password": "x"}
    )
    assert early.status_code == 400
    assert "still to decide" in early.content.decode()
    led_back = reviewer.get(reverse("adjudication:review_sign", args=[mine.public_id]), follow=True)
    assert "You can sign after the last item" in led_back.content.decode(), (
        "no password is asked for too early"
    )
    for each in review.items:
        answer(reviewer, mine, each.public_id)
    assert (
        reviewer.post(
            reverse("adjudication:review_sign", args=[mine.public_id]), {"password": "x"}
        ).status_code
        == 302
    )
    assert post(reviewer, "next", mine.public_id).status_code == 423
    assert (
        "You have signed"
        in post(reviewer, "undo", mine.public_id, token=make_token()).json()["message"]
    )
    receipt = reviewer.get(reverse("adjudication:review_receipt_file", args=[mine.public_id]))
    assert Decision.objects.get(kind="sign").hash in receipt.content.decode()
    assert (
        receipt["Content-Disposition"]
        == f'attachment; filename="review-receipt-{mine.public_id}.txt"'
    )
    unsign = reverse("adjudication:review_unsign", args=[mine.public_id])
    reviewer.post(unsign, {"reason": " "})
    assert Assignment.objects.get().signed_at is not None, "a reason is asked for"
    reviewer.post(unsign, {"reason": "misread one"})
    assert Assignment.objects.get().signed_at is None
    expects = Slot.objects.get(item__public_id=item).decision.public_id
    assert answer(reviewer, mine, item, "UNCLEAR", expects=expects).status_code == 200
    assert Slot.objects.get(item__public_id=item).decision.kind == "amendment"
