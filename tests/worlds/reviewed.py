"""Packets of judged cohorts, and reviewers who use the real functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from accounts.models import Role, User
from adjudication.blinding.visibility import are_sides_swapped
from adjudication.models import Assignment, Packet, PacketItem
from adjudication.packets import actions as packets
from adjudication.packets.actions import list_pairings
from adjudication.review import decisions, slots
from adjudication.sampling.drawing import Design
from tests import factories
from tests.worlds.judged import JudgedWorld

#: Every stratum has findings in the judged world; a quota of each from each pairing.
QUOTAS = {"TIMING decisive": 2, "TIMING UNCLEAR": 1, "one-sided": 2, "DUPLICATE": 1, "VALUE": 1}


@dataclass(frozen=True)
class ReviewedWorld:
    """A packet with an admin who is not in it, and its reviewers in order."""

    judged: JudgedWorld
    admin: User
    reviewers: tuple[User, ...]
    packet: Packet

    def assignment(self, person: User) -> Assignment:
        return self.packet.assignments.select_related("packet__study", "person").get(person=person)


def draw_packet(
    judged: JudgedWorld,
    by: User,
    *,
    reviewers_an_item: int = 1,
    cases: int | None = None,
    label: str = "sample",
) -> Packet:
    """A draft over all pairings of the world's run."""
    design = Design(
        pairings=list_pairings(judged.run), quotas=QUOTAS, cases=cases, per_item=reviewers_an_item
    )
    return packets.draw_packet(
        study=judged.study, judge_run=judged.run, label=label, design=design, seed=7, by=by
    )


def build_open_world(
    judged: JudgedWorld, *, reviewers: int = 2, reviewers_an_item: int = 1, cases: int | None = None
) -> ReviewedWorld:
    """An open packet; reviewers have practised."""
    admin = factories.make_user(judged.study, Role.ADMIN)
    people = tuple(factories.make_user(judged.study, Role.REVIEWER) for _ in range(reviewers))
    packet = draw_packet(judged, admin, reviewers_an_item=reviewers_an_item, cases=cases)
    for person in people:
        packets.assign(packet=packet, person=person, by=admin)
    packets.open_packet(packet=packet, by=admin)
    packet.refresh_from_db()
    Assignment.objects.filter(packet=packet).update(practised_at=packet.opened_at)
    return ReviewedWorld(judged, admin, people, packet)


def decide_all(
    world: ReviewedWorld,
    person: User,
    answer: Callable[[PacketItem], str],
    *,
    most: int | None = None,
) -> int:
    """Let a person decide their remaining items (at most `most`).

    `answer` is in the judge's labels. Returns how many.
    """
    mine = world.assignment(person)
    count = 0
    while (most is None or count < most) and (slot := slots.next_item(assignment=mine)) is not None:
        item = PacketItem.objects.select_related("finding").get(pk=slot.item_id)
        swapped = are_sides_swapped(mine.seed, item.public_id)
        decisions.decide(
            assignment=mine,
            item=item,
            answer=answer(item),
            shown_swapped=swapped,
            token=f"t{mine.pk}-{item.pk}",
            by=person,
            active_seconds=20,
        )
        count += 1
    return count


def uphold_finding(item: PacketItem) -> str:
    """What the judge said."""
    return item.finding.verdict


def reject_finding(item: PacketItem) -> str:
    """Something else than the judge said."""
    return "B" if item.finding.verdict == "A" else "A"


def alternate(answers: Sequence[Callable[[PacketItem], str]]) -> Callable[[PacketItem], str]:
    """By the item's place in the packet."""
    return lambda item: answers[item.ordinal % len(answers)](item)
