"""`manage.py verify_chain` reports tampering with the triggers off.

It names the place.
"""

from __future__ import annotations

import hashlib
import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from adjudication.chain import link_hash
from adjudication.models import Decision, Finding, Slot
from adjudication.packets import actions as packets
from adjudication.packets.chain.storage import build_payload
from adjudication.packets.chain.verification import find_faults
from adjudication.review import decisions, slots
from tests.factories import PASSWORD
from tests.integration.review.test_decisions import decide, decide_all
from tests.worlds.reviewing import Review, expire_lease, make_token, open_review

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def review() -> Review:
    """Return a signed review with one step taken back.

    The chain so has every kind of link that matters.
    """
    made = open_review(pairings=1)
    me = made.assignments[0]
    decide_all(me)
    undone = decisions.undo(assignment=me, token=make_token(), by=me.person)
    assert undone is not None
    assert undone.undone.item is not None
    decide(
        me,
        undone.undone.item,
        "UNCLEAR",
        comment="on second thought",
        own_time=-3.25,
        active_seconds=7.125,
    )
    decisions.sign(assignment=me, password=PASSWORD, by=me.person)
    return made


def execute_as_owner(sql: str, *values: str | int) -> None:
    """As the database's owner, past triggers and foreign keys."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(sql, list(values))


def verify(*arguments: str) -> str:
    out = StringIO()
    call_command("verify_chain", *arguments, stdout=out)
    return out.getvalue()


def faults(review: Review) -> list[tuple[int, str]]:
    return [(f.sequence, f.reason) for f in find_faults(review.packet)]


def test_a_whole_chain_holds_and_its_hashes_can_be_recomputed_from_plain_values(review):
    head = Decision.objects.order_by("sequence").last().hash
    assert f"head {head}, whole" in verify()
    assert "link" in verify("--packet", review.packet.public_id, "--receipt", head)
    previous = ""
    for link in Decision.objects.order_by("sequence"):
        said = json.dumps(
            build_payload(link), sort_keys=True, separators=(",", ":"), ensure_ascii=False
        )
        previous = hashlib.sha256(f"{previous}\n{said}".encode()).hexdigest()
        assert link.hash == previous


def test_whole_numbers_are_hashed_as_they_are_read_back():
    made = open_review(pairings=1)
    decide(made.assignments[0], made.items[0], own_time=-3, active_seconds=20)
    assert faults(made) == []


@pytest.mark.parametrize(
    "change",
    ["answer = 'B'", "comment = 'x'", "own_time = 4", "active_seconds = 1", "flagged = NOT flagged", "at = at + interval '1 second'",
     "shown_swapped = NOT shown_swapped", "detail = '{}'", "token = 'other'"],
)  # fmt: skip
def test_an_edited_link_is_found_where_it_stands(review, change):
    execute_as_owner(f"UPDATE adjudication_decision SET {change} WHERE sequence = 2")
    assert (2, "its content does not match its hash") in faults(review)
    with pytest.raises(CommandError):
        verify()


def test_the_command_names_packet_and_sequence(review):
    execute_as_owner("UPDATE adjudication_decision SET answer = 'B' WHERE sequence = 3")
    out = StringIO()
    with pytest.raises(CommandError, match="1 fault"):
        call_command("verify_chain", stdout=out)
    assert (
        f"{review.packet.public_id}: link 3: its content does not match its hash" in out.getvalue()
    )


def test_a_link_hashed_again_breaks_the_next_one(review):
    link = Decision.objects.get(sequence=2)
    link.answer = "B"
    execute_as_owner(
        "UPDATE adjudication_decision SET answer = 'B', hash = %s WHERE sequence = 2",
        link_hash(build_payload(link), link.previous_hash),
    )
    assert faults(review) == [(3, "its previous hash is not the hash of the link before it")]


def test_a_whole_chain_forged_to_its_end_is_found_by_what_the_audit_trail_noted(review):
    previous = ""
    for link in Decision.objects.order_by("sequence"):
        if link.sequence == 2:
            link.answer = "B"
        if link.kind == "sign":
            link.detail["head"] = previous
        link.previous_hash = previous
        previous = link_hash(build_payload(link), previous)
        execute_as_owner(
            "UPDATE adjudication_decision SET answer = %s, detail = %s, previous_hash = %s, hash = %s WHERE id = %s",
            link.answer, json.dumps(link.detail), link.previous_hash, previous, link.pk,
        )  # fmt: skip
    execute_as_owner("UPDATE adjudication_packet SET chain_head = %s", previous)
    last = Decision.objects.order_by("sequence").last()
    assert faults(review) == [(last.sequence, "the audit trail has another head there")]


def test_a_link_taken_out_is_found(review):
    execute_as_owner("DELETE FROM adjudication_decision WHERE sequence = 2")
    assert (3, "link 2 is missing") in faults(review)


def test_a_chain_cut_off_at_its_end_is_found(review):
    last = Decision.objects.order_by("sequence").last()
    execute_as_owner("DELETE FROM adjudication_decision WHERE sequence = %s", last.sequence)
    execute_as_owner("UPDATE adjudication_assignment SET signed_at = NULL")
    cut = (
        last.sequence - 1,
        f"the chain ends here, but its packet has {last.sequence} links and another head",
    )
    noted = [
        (last.sequence, "the audit trail has a signature or its voiding there"),
        (last.sequence, "the audit trail has another head there"),
    ]
    assert faults(review) == [cut, *noted]
    execute_as_owner(
        "UPDATE adjudication_packet SET chain_length = chain_length - 1, chain_head = %s",
        last.previous_hash,
    )
    assert faults(review) == noted


def test_a_late_answer_cut_off_after_the_last_signature_is_found():
    made = open_review(pairings=1, reviewers=2)
    me, other = made.assignments[:2]
    slot = slots.next_item(assignment=other)
    expire_lease(slot)
    decide_all(me)
    decisions.sign(assignment=me, password=PASSWORD, by=me.person)
    packets.close_packet(packet=made.packet, by=made.admin)
    assert decide(other, slot.item).late
    late = Decision.objects.order_by("sequence").last()
    assert late.kind == "late"
    assert faults(made) == []
    execute_as_owner("DELETE FROM adjudication_decision WHERE sequence = %s", late.sequence)
    assert faults(made) == [
        (
            late.sequence - 1,
            f"the chain ends here, but its packet has {late.sequence} links and another head",
        )
    ]


def test_a_finding_changed_afterwards_is_found_at_each_decision_about_it(review):
    link = Decision.objects.get(sequence=1)
    execute_as_owner(
        "UPDATE adjudication_finding SET reason = 'another reason' WHERE id = %s",
        link.item.finding_id,
    )
    assert (1, "its finding was changed") in faults(review)
    assert Finding.objects.get(pk=link.item.finding_id).reason == "another reason"


def test_items_persons_slots_and_signatures_that_were_changed_are_found(review):
    execute_as_owner("UPDATE adjudication_packetitem SET stratum = 'VALUE' WHERE ordinal = 1")
    assert (0, "its items changed after it was opened") in faults(review)
    execute_as_owner("UPDATE adjudication_assignment SET role = 'adjudicator'")
    assert len(faults(review)) > Decision.objects.count() - 1


@pytest.mark.parametrize("change", ["seed = seed + 1", "reveal = 'never'", "design = '{}'"])
def test_terms_that_were_changed_after_the_packet_was_opened_are_found(review, change):
    execute_as_owner(f"UPDATE adjudication_packet SET {change}")
    review.packet.refresh_from_db()
    assert faults(review) == [(0, "its seed, design or reveal policy changed after it was opened")]


def test_sides_and_order_that_were_drawn_anew_are_found_at_each_link_of_the_person(review):
    execute_as_owner("UPDATE adjudication_assignment SET seed = seed + 1")
    assert set(faults(review)) == {
        (0, "the role, share or place of a person in the packet differs from the audit trail"),
        *(
            (d.sequence, "the seed of the person's order was changed")
            for d in Decision.objects.all()
        ),
    }


def test_a_slot_that_shows_something_else_is_found(review):
    slot = Slot.objects.filter(decision__isnull=False).first()
    shown = slot.decision
    execute_as_owner("UPDATE adjudication_slot SET decision_id = NULL WHERE id = %s", slot.pk)
    assert faults(review) == [
        (shown.sequence, "it is the current decision, but no slot refers to it")
    ]


def test_a_signature_that_is_marked_otherwise_is_found(review):
    last = Decision.objects.order_by("sequence").last()
    execute_as_owner("UPDATE adjudication_assignment SET signed_at = NULL")
    assert faults(review) == [(last.sequence, "the person's signature differs from the chain")]


def test_a_closed_packet_notes_its_head(review):
    packets.close_packet(packet=review.packet, by=review.admin)
    assert faults(review) == []


def test_a_packet_that_is_gone_with_all_its_decisions_is_told(review):
    tables = (
        "slot",
        "itemmark",
        "decision",
        "packetitem",
        "practiceanswer",
        "assignment",
        "packet",
    )
    for table in tables:
        execute_as_owner(f"DELETE FROM adjudication_{table}")
    out = StringIO()
    with pytest.raises(CommandError, match="1 fault"):
        call_command("verify_chain", stdout=out)
    assert (
        f"{review.packet.public_id}: the packet is in the audit trail but not in the database"
        in out.getvalue()
    )


def test_packets_and_receipts_that_are_not_there_are_told(review):
    with pytest.raises(CommandError, match="no packet"):
        verify("--packet", "nothing")
    out = StringIO()
    with pytest.raises(CommandError):
        call_command("verify_chain", "--receipt", "ab" * 32, stdout=out)
    assert "NOT FOUND" in out.getvalue()


def test_a_chain_holds_when_somebody_who_has_signed_is_taken_out_and_put_back(review):
    me = review.assignments[0]
    packets.withdraw_assignment(assignment=me, by=review.admin)
    last = Decision.objects.order_by("sequence").last()
    assert (last.kind, last.comment, last.detail["by"]) == (
        "unsign",
        "taken out of the packet",
        review.admin.public_id,
    )
    assert faults(review) == []
    again = packets.assign(packet=review.packet, person=me.person, by=review.admin)
    assert again.signed_at is None
    assert faults(review) == []
    decisions.sign(assignment=again, password=PASSWORD, by=me.person)
    packets.close_packet(packet=review.packet, by=review.admin)
    packets.withdraw_assignment(assignment=again, by=review.admin)
    again.refresh_from_db()
    assert again.signed_at is not None, "what was signed when the packet closed stays signed"
    assert faults(review) == []
