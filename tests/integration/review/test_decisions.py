"""Slots and decisions on a real database.

Leases, quotas, late answers, undo, amendment, signature.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from accounts.models import AuditEvent
from accounts.permissions import NotAllowed
from accounts.sign_in.password_check import WrongPassword
from adjudication.models import Assignment, Decision, PacketItem, Slot
from adjudication.packets import actions as packets
from adjudication.review import decisions, slots
from adjudication.review.decisions import Conflict, DecisionRefused, NotFinished
from adjudication.states import InvalidTransition
from tests.factories import PASSWORD
from tests.worlds.reviewing import Review, add_reviewer, expire_lease, make_token, open_review

pytestmark = pytest.mark.django_db(transaction=True)


def decide(
    assignment: Assignment, item: PacketItem, answer: str = "A", **more: object
) -> decisions.StoredDecision:
    values: dict[str, Any] = {"shown_swapped": False, "token": make_token(), **more}
    return decisions.decide(
        assignment=assignment, item=item, answer=answer, by=assignment.person, **values
    )


def decide_all(assignment: Assignment, answer: str = "A") -> list[Decision]:
    made = []
    while (slot := slots.next_item(assignment=assignment)) is not None:
        made.append(decide(assignment, slot.item, answer, active_seconds=10.0).decision)
    return made


@pytest.fixture
def review() -> Review:
    return open_review(pairings=1, reviewers=2)


@pytest.fixture
def me(review: Review) -> Assignment:
    return review.assignments[0]


def test_items_come_in_the_persons_own_order_and_the_held_one_comes_again(review, me):
    mine = sorted(
        (i.public_id for i in review.items),
        key=lambda i: sha256(f"{me.seed}:order:{i}".encode()).hexdigest(),
    )
    first = slots.next_item(assignment=me)
    assert first.item.public_id == mine[0]
    assert slots.next_item(assignment=me).pk == first.pk
    decide(me, first.item)
    assert slots.next_item(assignment=me).item.public_id == mine[1]


def test_the_order_of_items_tells_nothing(review):
    """Two reviewers get different orders, and neither is the packet's."""
    packet = [item.public_id for item in review.items]
    orders = []
    for assignment in review.assignments[:2]:
        order = []
        for _ in packet:
            slot = slots.next_item(assignment=assignment)
            assert slot is not None
            order.append(slot.item.public_id)
            slots.skip(assignment=assignment, item=slot.item)
        orders.append(order)
    assert orders[0] != orders[1]
    assert all(sorted(order) == sorted(packet) and order != packet for order in orders)


def test_one_slot_is_never_with_two_people(review, me):
    other = review.assignments[1]
    mine, theirs = slots.next_item(assignment=me), slots.next_item(assignment=other)
    assert mine.pk != theirs.pk
    assert slots.claim(assignment=other, item=mine.item) is None
    made = [*decide_all(me), *decide_all(other)]
    assert len(made) == len(review.items) == len({d.item_id for d in made})


def test_with_two_reviewers_an_item_each_decides_on_all():
    review = open_review(pairings=1, reviewers=2, per_item=2)
    for assignment in review.assignments:
        assert len(decide_all(assignment)) == len(review.items)
    third = add_reviewer(review)
    assert slots.next_item(assignment=third) is None


def test_an_expired_lease_returns_and_the_late_answer_is_kept_as_late(review, me):
    other = review.assignments[1]
    slot = slots.next_item(assignment=me)
    slots.save_draft(
        assignment=me, item=slot.item, draft={"comment": "half a thought"}, active_seconds=41.0
    )
    expire_lease(slot)
    taken = slots.claim(assignment=other, item=slot.item)
    assert taken is not None
    assert (taken.pk, taken.assignment_id, taken.active_seconds) == (slot.pk, other.pk, 0)
    assert slots.load_draft(assignment=other, item=slot.item) == {}
    kept = slots.save_draft(
        assignment=me, item=slot.item, draft={"comment": "more"}, active_seconds=50.0
    )
    assert not kept.leased
    answered = decide(other, slot.item, "B")
    late = decide(me, slot.item, "A")
    assert (answered.late, late.late) == (False, True)
    assert late.decision.kind == "late"
    assert Slot.objects.get(pk=slot.pk).decision_id == answered.decision.pk
    assert slots.load_draft(assignment=me, item=slot.item) == {
        "comment": "more",
        "active_seconds": 50.0,
    }


def test_an_expired_lease_that_nobody_took_is_no_harm(me):
    slot = slots.next_item(assignment=me)
    expire_lease(slot)
    assert not decide(me, slot.item).late


def test_an_answer_after_the_packet_closed_is_kept_as_late(review, me):
    slot = slots.next_item(assignment=me)
    packets.close_packet(packet=review.packet, by=review.admin)
    late = decide(me, slot.item)
    assert late.late
    assert not Slot.objects.filter(decision__isnull=False).exists()
    with pytest.raises(InvalidTransition):
        slots.next_item(assignment=me)


def test_the_same_token_again_stores_nothing(me):
    item = slots.next_item(assignment=me).item
    first = decide(me, item, "B", token="once", comment="c", own_time=3.5, active_seconds=2.0)
    again = decide(me, item, "B", token="once")
    assert first == again
    assert Decision.objects.count() == 1
    assert (first.decision.comment, first.decision.own_time, first.decision.active_seconds) == (
        "c",
        3.5,
        2.0,
    )
    with pytest.raises(Conflict):
        decide(me, slots.next_item(assignment=me).item, token="once")


def test_a_second_answer_from_another_device_is_a_conflict(me):
    item = slots.next_item(assignment=me).item
    first = decide(me, item, "B").decision
    with pytest.raises(Conflict) as conflict:
        decide(me, item, "A")
    assert conflict.value.standing == first


def test_undo_gives_the_item_back_and_both_stay_in_the_chain(me):
    item = slots.next_item(assignment=me).item
    first = decide(me, item, "A", comment="why", active_seconds=12.0).decision
    undone = decisions.undo(assignment=me, token="undo-1", by=me.person)
    assert undone.undone == first
    assert decisions.undo(assignment=me, token="undo-1", by=me.person) == undone
    assert slots.next_item(assignment=me).item_id == item.pk
    assert slots.load_draft(assignment=me, item=item)["comment"] == "why"
    again = decide(me, item, "B").decision
    assert list(
        Decision.objects.filter(assignment=me)
        .order_by("sequence")
        .values_list("kind", "answer", "amends_id")
    ) == [
        ("answer", "A", None),
        ("withdrawal", "", first.pk),
        ("amendment", "B", first.pk),
    ]
    assert Slot.objects.get(item=item).decision_id == again.pk


def test_undo_goes_back_step_by_step_and_ends(me):
    items = []
    for _ in range(2):
        items.append(slots.next_item(assignment=me).item)
        decide(me, items[-1])
    assert (
        decisions.undo(assignment=me, token=make_token(), by=me.person).undone.item_id
        == items[1].pk
    )
    assert (
        decisions.undo(assignment=me, token=make_token(), by=me.person).undone.item_id
        == items[0].pk
    )
    assert decisions.undo(assignment=me, token=make_token(), by=me.person) is None


def test_an_amendment_adds_and_needs_to_know_what_stands(me):
    item = slots.next_item(assignment=me).item
    first = decide(me, item, "A").decision
    common = {"assignment": me, "item": item, "shown_swapped": True, "by": me.person}
    changed = decisions.amend(expects=first.public_id, answer="B", token="amend-1", **common)
    assert (changed.decision.amends_id, changed.decision.kind) == (first.pk, "amendment")
    assert (
        decisions.amend(expects=first.public_id, answer="B", token="amend-1", **common) == changed
    )
    with pytest.raises(Conflict):
        decisions.amend(expects=first.public_id, answer="A", token="amend-2", **common)
    first.refresh_from_db()
    assert (first.answer, Slot.objects.get(item=item).decision_id) == ("A", changed.decision.pk)


def test_what_is_skipped_comes_last_and_the_first_skipped_comes_first(review, me):
    order = [slots.next_item(assignment=me).item]
    slots.skip(assignment=me, item=order[0])
    order.append(slots.next_item(assignment=me).item)
    slots.skip(assignment=me, item=order[1])
    assert slots.progress(assignment=me).skipped == 2
    seen = []
    while (slot := slots.next_item(assignment=me)) is not None:
        seen.append(slot.item_id)
        decide(me, slot.item)
    assert seen[-2:] == [order[0].pk, order[1].pk]
    assert slots.progress(assignment=me).skipped == 0


def test_progress_and_the_time_left_at_ones_own_pace(review, me):
    total = len(review.items)
    assert (slots.progress(assignment=me).total, slots.progress(assignment=me).seconds_left) == (
        total,
        None,
    )
    decide(me, slots.next_item(assignment=me).item, active_seconds=30.0, flagged=True)
    found = slots.progress(assignment=me)
    assert (found.done, found.total, found.flagged, found.seconds_left) == (
        1,
        total,
        1,
        30.0 * (total - 1),
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"answer": "MAYBE"},
        {"own_time": float("nan")},
        {"own_time": 1e9},
        {"comment": "x" * 10_001},
        {"comment": "\x00"},
        {"active_seconds": -1.0},
        {"token": "no spaces"},
    ],
)
def test_what_cannot_be_stored_is_refused(me, wrong):
    item = slots.next_item(assignment=me).item
    with pytest.raises(DecisionRefused):
        decide(me, item, **wrong)
    assert not Decision.objects.exists()


def test_a_review_is_its_reviewers_alone(review, me):
    item = slots.next_item(assignment=me).item
    other = review.assignments[1].person
    with pytest.raises(NotAllowed):
        decisions.decide(
            assignment=me, item=item, answer="A", shown_swapped=False, token=make_token(), by=other
        )
    with pytest.raises(NotAllowed):
        decisions.undo(assignment=me, token=make_token(), by=other)
    with pytest.raises(NotAllowed):
        decisions.sign(assignment=me, password=PASSWORD, by=other)


def test_pairings_narrow_what_a_person_decides_on():
    review = open_review(pairings=2)
    one = review.items[0].pairing
    narrow = add_reviewer(review, pairings=[one])
    assert {d.item.pairing for d in decide_all(narrow)} == {one}
    elsewhere = next(i for i in review.items if i.pairing != one)
    with pytest.raises(NotAllowed):
        decide(narrow, elsewhere)


def test_signing_asks_for_the_password_covers_the_head_and_ends_the_work(review, me):
    with pytest.raises(NotFinished):
        decisions.sign(assignment=me, password=PASSWORD, by=me.person)
    last = decide_all(me)[-1]
    with pytest.raises(WrongPassword):
        decisions.sign(assignment=me, password="wrong", by=me.person)
    signature = decisions.sign(assignment=me, password=PASSWORD, by=me.person)
    assert (
        signature.detail.items()
        >= {"head": last.hash, "head_sequence": last.sequence, "decided": len(review.items)}.items()
    )
    with pytest.raises(InvalidTransition):
        decisions.undo(assignment=me, token=make_token(), by=me.person)
    with pytest.raises(InvalidTransition):
        decisions.sign(assignment=me, password=PASSWORD, by=me.person)
    assert AuditEvent.objects.get(action="review.sign").detail["head"] == signature.hash


def test_unsigning_voids_and_is_logged(review, me):
    decide_all(me)
    decisions.sign(assignment=me, password=PASSWORD, by=me.person)
    with pytest.raises(DecisionRefused):
        decisions.unsign(assignment=me, reason=" ", by=me.person)
    with pytest.raises(NotAllowed):
        decisions.unsign(assignment=me, reason="not mine", by=review.assignments[1].person)
    voided = decisions.unsign(assignment=me, reason="one was wrong", by=review.admin)
    assert (voided.kind, voided.comment) == ("unsign", "one was wrong")
    assert AuditEvent.objects.filter(action="review.unsign", actor=review.admin).exists()
    assert decisions.undo(assignment=me, token=make_token(), by=me.person) is not None


def test_a_guess_is_stored_beside_the_decisions(me):
    item = slots.next_item(assignment=me).item
    common = {
        "assignment": me,
        "question": "structured_record",
        "by": me.person,
        "item": item,
        "shown_swapped": True,
    }
    made = decisions.guess(guessed="B", token="guess-1", **common)
    assert decisions.guess(guessed="B", token="guess-1", **common) == made
    assert (made.kind, made.detail["guess"], made.answer) == ("guess", "B", "")
    with pytest.raises(DecisionRefused):
        decisions.guess(guessed="rules", token="guess-2", **common)


def test_where_reviewers_differ_a_third_person_decides_and_sees_no_answers():
    review = open_review(pairings=1, per_item=2, reviewers=2)
    third = add_reviewer(review, role="adjudicator")
    assert slots.next_item(assignment=third) is None
    one, two = review.assignments[:2]
    items = review.items
    for n, item in enumerate(items):
        decide(one, item, "A")
        decide(two, item, "B" if n == 0 else "A")
    slot = slots.next_item(assignment=third)
    assert slot.item_id == items[0].pk
    assert slot.purpose == "adjudication"
    # of another item: nothing to settle there
    decisions.undo(assignment=two, token=make_token(), by=two.person)
    assert not decide(third, items[0], "BOTH").late
    assert slots.next_item(assignment=third) is None


def test_a_disagreement_that_is_gone_takes_its_place_along():
    review = open_review(pairings=1, per_item=2, reviewers=2)
    one, two = review.assignments
    item = review.items[0]
    decide(one, item, "A")
    current = decide(two, item, "B").decision
    assert Slot.objects.filter(item=item, purpose="adjudication").exists()
    decisions.amend(
        assignment=two,
        item=item,
        expects=current.public_id,
        answer="A",
        shown_swapped=False,
        token=make_token(),
        by=two.person,
    )
    assert not Slot.objects.filter(item=item, purpose="adjudication").exists()


@pytest.mark.parametrize("typed", [True, False])
def test_what_a_third_person_has_in_hand_stays_theirs_when_the_others_come_to_agree(typed):
    review = open_review(pairings=1, per_item=2, reviewers=2)
    third = add_reviewer(review, role="adjudicator")
    one, two = review.assignments[:2]
    item = review.items[0]
    decide(one, item, "A")
    current = decide(two, item, "B").decision
    assert slots.next_item(assignment=third).item_id == item.pk
    if typed:
        slots.save_draft(
            assignment=third, item=item, draft={"comment": "half a thought"}, active_seconds=3
        )
        slots.skip(assignment=third, item=item)
    decisions.amend(
        assignment=two,
        item=item,
        expects=current.public_id,
        answer="A",
        shown_swapped=False,
        token=make_token(),
        by=two.person,
    )
    assert slots.next_item(assignment=third).item_id == item.pk
    assert (
        slots.load_draft(assignment=third, item=item).get("comment") == "half a thought"
    ) is typed
    assert not decide(third, item, "B").late


def test_the_database_refuses_a_slot_beyond_the_quota_and_a_changed_decision(review, me):
    item = slots.next_item(assignment=me).item
    made = decide(me, item).decision
    with pytest.raises(IntegrityError), transaction.atomic():
        Slot.objects.create(item=item, number=2)
    with pytest.raises(IntegrityError), transaction.atomic():
        Decision.objects.filter(pk=made.pk).update(answer="B")
    with pytest.raises(IntegrityError), transaction.atomic():
        Decision.objects.filter(pk=made.pk).delete()


def test_who_is_withdrawn_gives_back_what_they_hold_and_keeps_what_they_decided(review, me):
    decide(me, slots.next_item(assignment=me).item)
    slot = slots.next_item(assignment=me)
    packets.withdraw_assignment(assignment=me, by=review.admin)
    assert Slot.objects.get(pk=slot.pk).assignment_id is None
    assert Slot.objects.filter(decision__isnull=False).count() == 1
    me.refresh_from_db()
    assert decide(me, slot.item).late
    with pytest.raises(InvalidTransition):
        slots.next_item(assignment=me)
