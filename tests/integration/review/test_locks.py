"""Two people in one packet at the same moment.

A locked row makes nobody's decision late and nobody's item disappear.
"""

from __future__ import annotations

import threading

import pytest
from django.db import close_old_connections

from adjudication.models import Assignment, Decision, PacketItem, Slot
from adjudication.review import decisions, slots
from adjudication.review.decisions import NotFinished, StoredDecision
from tests.factories import PASSWORD
from tests.support.beside import BackgroundAct, lock_rows
from tests.worlds.reviewing import Review, expire_lease, make_token, open_review

pytestmark = pytest.mark.django_db(transaction=True)


def decide(assignment: Assignment, item: PacketItem, answer: str = "A") -> StoredDecision:
    return decisions.decide(
        assignment=assignment,
        item=item,
        answer=answer,
        shown_swapped=False,
        token=make_token(),
        by=assignment.person,
    )


@pytest.fixture
def review() -> Review:
    return open_review(pairings=1, reviewers=2)


@pytest.fixture
def me(review: Review) -> Assignment:
    return review.assignments[0]


@pytest.mark.parametrize("lost", [False, True], ids=["leased", "lease run out"])
def test_a_decision_waits_for_the_row_and_is_not_late(me, lost):
    slot = slots.next_item(assignment=me)
    if lost:
        expire_lease(slot)
    with lock_rows(Slot.objects.filter(pk=slot.pk)):
        made = BackgroundAct(lambda: decide(me, slot.item)).settle()
    assert not made.answer().late
    assert Slot.objects.get(pk=slot.pk).decision.assignment_id == me.pk


def test_a_free_item_whose_row_is_locked_is_decided_and_not_late(review, me):
    slot = Slot.objects.filter(item__packet=review.packet).first()
    with lock_rows(Slot.objects.filter(pk=slot.pk)):
        made = BackgroundAct(lambda: decide(me, slot.item)).settle()
    assert not made.answer().late


def test_an_autosave_renews_the_lease_though_the_row_is_locked(me):
    slot = slots.next_item(assignment=me)
    with lock_rows(Slot.objects.filter(pk=slot.pk)):
        kept = BackgroundAct(
            lambda: slots.save_draft(
                assignment=me, item=slot.item, draft={"comment": "…"}, active_seconds=2.0
            )
        ).settle()
    assert kept.answer().leased


def test_the_item_in_hand_comes_again_though_its_row_is_locked(me):
    slot = slots.next_item(assignment=me)
    with lock_rows(Slot.objects.filter(pk=slot.pk)):
        again = BackgroundAct(lambda: slots.next_item(assignment=me)).settle()
    assert again.answer().pk == slot.pk
    assert Slot.objects.filter(assignment=me).count() == 1


def test_a_locked_free_item_is_passed_over_while_there_are_others_and_waited_for_when_it_is_the_last(
    review, me
):
    first = slots.next_item(assignment=me)
    slots.skip(assignment=me, item=first.item)
    nearest = slots.next_item(assignment=me)
    slots.skip(assignment=me, item=nearest.item)
    free = Slot.objects.filter(item__packet=review.packet, assignment=None)
    with lock_rows(free.filter(pk=first.pk)):
        other = slots.next_item(assignment=me, besides=[])
        assert other is not None
        assert other.pk not in (first.pk, nearest.pk)
    besides = [item.public_id for item in review.items if item.pk != first.item_id]
    with lock_rows(free.filter(pk=first.pk)):
        last = BackgroundAct(lambda: slots.next_item(assignment=me, besides=besides)).settle()
    assert last.answer().pk == first.pk


def test_signing_waits_for_what_another_has_in_hand(review, me):
    other = review.assignments[1]
    theirs = slots.next_item(assignment=other)
    while (slot := slots.next_item(assignment=me)) is not None:
        decide(me, slot.item)
    found = slots.progress(assignment=me)
    assert (found.done, found.total, found.elsewhere) == (
        len(review.items) - 1,
        len(review.items),
        1,
    )
    with pytest.raises(
        NotFinished, match=r"1 item still to decide\. Another reviewer is working on 1 of them"
    ) as refused:
        decisions.sign(assignment=me, password=PASSWORD, by=me.person)
    assert (refused.value.left, refused.value.elsewhere) == (1, 1)
    decide(other, theirs.item)
    assert decisions.sign(assignment=me, password=PASSWORD, by=me.person).kind == Decision.Kind.SIGN


def test_what_another_leaves_comes_back_before_one_signs(review, me):
    theirs = slots.next_item(assignment=review.assignments[1])
    while (slot := slots.next_item(assignment=me)) is not None:
        decide(me, slot.item)
    expire_lease(theirs)
    back = slots.next_item(assignment=me)
    assert back.pk == theirs.pk
    decide(me, back.item)
    assert decisions.sign(assignment=me, password=PASSWORD, by=me.person).kind == Decision.Kind.SIGN


def test_autosaves_of_somebody_who_lost_the_lease_make_no_decision_late(review, me):
    """One page saves every item while the other person decides on them."""
    other, stop = review.assignments[1], threading.Event()
    for item in review.items:
        slot = slots.claim(assignment=other, item=item)
        expire_lease(slot)

    def save() -> int:
        saved = 0
        while not stop.is_set():
            for item in review.items:
                if slots.find_slot(assignment=me, item=item) is not None:
                    slots.save_draft(
                        assignment=other,
                        item=item,
                        draft={"comment": "still typing"},
                        active_seconds=1.0,
                    )
                    saved += 1
        close_old_connections()
        return saved

    savers = [BackgroundAct(save) for _ in range(3)]
    try:
        made = []
        for item in review.items:
            assert slots.claim(assignment=me, item=item) is not None
            made.append(decide(me, item))
    finally:
        stop.set()
    assert all(saver.answer() > 0 for saver in savers)
    assert not any(d.late for d in made)
    assert not Decision.objects.filter(kind=Decision.Kind.LATE).exists()
