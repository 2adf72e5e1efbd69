"""Assign searches for differences to the reviewers of a packet."""

from __future__ import annotations

from django.db import transaction
from django.db.models import QuerySet

from accounts.audit.trail import record
from accounts.models import AuditEvent, User
from adjudication.access.eligibility import load_case_ids
from adjudication.models import Assignment, Game, Packet, PairSearch
from adjudication.packets.actions import PacketRefused, lock_managed_packet

#: Events of `adjudication.review.trail`, which imports packets: an item of the case was shown.
SHOWN = ("review.item", "review.timelines")
ASSIGNED_SEARCH, REMOVED_SEARCH = "packet.search", "packet.search_removed"


def find_searchable_games(packet: Packet) -> list[Game]:
    """Return judged games of the packet's cases, by case.

    Other cases are not closed to its reviewers. Games in swapped positions are left out.
    """
    games = Game.objects.filter(
        run=packet.judge_run_id,
        outcome=Game.Outcome.JUDGED,
        swapped=False,
        comparison__encounter__public_id__in=load_case_ids(packet),
    )
    joined = ("comparison__encounter", "comparison__first", "comparison__second")
    return list(games.select_related(*joined).order_by("comparison__encounter__case_id", "pk"))


def list_searches(packet: Packet) -> QuerySet[PairSearch]:
    """Return the searches of a packet in order, with what pages show of them."""
    joined = ("assignment__packet", "assignment__person", "game__comparison__encounter")
    sides = ("game__comparison__first", "game__comparison__second", "submission")
    found = PairSearch.objects.filter(assignment__packet=packet)
    return found.select_related(*joined, *sides).order_by("pk")


@transaction.atomic
def assign_search(*, assignment: Assignment, game: Game, by: User) -> PairSearch:
    """Ask a reviewer to search one pair of timelines, before their items.

    Raises NotAllowed, and PacketRefused for a closed packet, another case, a person who has seen an
    item of the case or has signed, or a pair that they already search.
    """
    packet = lock_managed_packet(assignment.packet, by)
    mine = Assignment.objects.select_related("person").get(pk=assignment.pk)
    if packet.state == Packet.State.CLOSED:
        raise PacketRefused("The packet is closed.")
    if mine.role != Assignment.Role.REVIEWER or mine.withdrawn_at or mine.signed_at:
        raise PacketRefused("Only a reviewer who has not signed can search.")
    if game.pk not in {one.pk for one in find_searchable_games(packet)}:
        raise PacketRefused("Choose a judged pair of timelines of a case of the packet.")
    case = game.comparison.encounter.public_id
    seen = AuditEvent.objects.filter(actor=mine.person, action__in=SHOWN, detail__case=case)
    if seen.exists():
        raise PacketRefused(
            f"{mine.person.get_username()} has seen an item of this case. Choose another case."
        )
    made, new = PairSearch.objects.get_or_create(assignment=mine, game=game)
    if not new:
        raise PacketRefused("This person already searches this pair.")
    _audit(made, packet, ASSIGNED_SEARCH, by)
    return made


@transaction.atomic
def remove_search(*, search: PairSearch, by: User) -> None:
    """Remove a search that is not submitted. Raises NotAllowed, PacketRefused."""
    packet = lock_managed_packet(search.assignment.packet, by)
    found = PairSearch.objects.filter(pk=search.pk, submission__isnull=True)
    if not found.exists():
        raise PacketRefused("The search is submitted, so it cannot be removed.")
    _audit(search, packet, REMOVED_SEARCH, by)
    found.delete()


def _audit(search: PairSearch, packet: Packet, action: str, by: User) -> None:
    record(
        actor=by,
        study=packet.study,
        action=action,
        object_type="adjudication.packet",
        object_id=packet.public_id,
        detail={"search": search.public_id, "assignment": search.assignment.public_id},
    )
