"""Packets for tests: drawn, opened, with reviewers at work.

They are drawn from a judged world through the actions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count

from django.utils import timezone

from accounts.models import Role, Study, User
from adjudication.models import Assignment, Packet, PacketItem, Slot
from adjudication.packets import actions as packets
from adjudication.sampling.drawing import Design
from jobs.leases.clock import database_time
from tests import factories
from tests.worlds.judged import JudgedWorld, make_judged_world
from tests.worlds.kept import build_once

_token = count(1)
QUOTAS = {"TIMING decisive": 9, "TIMING UNCLEAR": 9, "one-sided": 9, "DUPLICATE": 9, "VALUE": 9}


@dataclass
class Review:
    """A packet of all findings of a judged world, an admin and reviewers."""

    world: JudgedWorld
    packet: Packet
    admin: User
    assignments: list[Assignment] = field(default_factory=list)

    @property
    def study(self) -> Study:
        return self.world.study

    @property
    def items(self) -> list[PacketItem]:
        return list(self.packet.items.order_by("ordinal"))


def make_design(world: JudgedWorld, *, per_item: int = 1, pairings: int = 3) -> Design:
    return Design(
        pairings=packets.list_pairings(world.run)[:pairings],
        quotas=QUOTAS,
        cases=None,
        per_item=per_item,
    )


@build_once
def draw_review(
    *,
    cases: int = 1,
    per_item: int = 1,
    pairings: int = 3,
    reveal: str = "after_close",
    lease_minutes: int = 30,
) -> Review:
    """A draft packet without reviewers. Needs a test that commits."""
    world = make_judged_world(cases)
    admin = factories.make_user(world.study, Role.ADMIN)
    packet = packets.draw_packet(
        study=world.study, judge_run=world.run, label="First packet", design=make_design(world, per_item=per_item, pairings=pairings),
        seed=7, by=admin, reveal=reveal, lease_minutes=lease_minutes,
    )  # fmt: skip
    return Review(world, packet, admin)


def add_reviewer(
    review: Review, *, role: str = "reviewer", username: str = "", pairings: Sequence[str] = ()
) -> Assignment:
    """Another blinded reviewer, who has practised."""
    person = factories.make_user(review.study, Role.REVIEWER, username=username)
    made = packets.assign(
        packet=review.packet, person=person, role=role, pairings=pairings, by=review.admin
    )
    Assignment.objects.filter(pk=made.pk).update(practised_at=timezone.now())
    made.refresh_from_db()
    review.assignments.append(made)
    return made


@build_once
def open_review(
    *,
    cases: int = 1,
    reviewers: int = 1,
    per_item: int = 1,
    pairings: int = 3,
    reveal: str = "after_close",
    lease_minutes: int = 30,
) -> Review:
    """An open packet with that many reviewers."""
    review = draw_review(
        cases=cases,
        per_item=per_item,
        pairings=pairings,
        reveal=reveal,
        lease_minutes=lease_minutes,
    )
    for _ in range(reviewers):
        add_reviewer(review)
    packets.open_packet(packet=review.packet, by=review.admin)
    return review


def expire_lease(slot: Slot) -> None:
    """Let the lease have run out, by the database's clock."""
    Slot.objects.filter(pk=slot.pk).update(lease_expires_at=database_time(timedelta(seconds=-1)))


def make_token() -> str:
    return f"token-{next(_token)}"
