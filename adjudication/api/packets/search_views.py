"""Searches of a packet's reviewers, and their notes, for study admins."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from rest_framework.request import Request

from accounts.api_access.access import ApiView, read_body, require_person
from adjudication.api.packets import bodies
from adjudication.api.packets.views import find_assignment, find_packet, packet_operation
from adjudication.models import Game, ItemNote, Packet, PairSearch
from adjudication.packets.actions import find_pairing
from adjudication.packets.searches import assign_search, list_searches, remove_search
from adjudication.review.notes import load_notes


class Searches(ApiView):
    @packet_operation("packet_search_list", bodies.PacketSearch, many=True)
    def get(self, request: Request, public_id: str) -> list[dict[str, Any]]:
        """Return the searches of a packet, in the order of their assignment.

        The table `search` of the report card has recall and precision.
        """
        packet = find_packet(request, public_id)
        return [_describe(search, packet) for search in list_searches(packet)]

    @packet_operation(
        "packet_search_assign",
        bodies.PacketSearch,
        refuses=(422,),
        takes=bodies.NewSearch,
        status=HTTPStatus.CREATED,
    )
    def post(self, request: Request, public_id: str) -> dict[str, Any]:
        """Ask a reviewer to search a pair of timelines before their items."""
        packet = find_packet(request, public_id)
        values = read_body(bodies.NewSearch, request)
        assignment = find_assignment(packet, values["assignment"])
        games = Game.objects.filter(run=packet.judge_run_id)
        game = get_object_or_404(games, public_id=values["game"])
        made = assign_search(assignment=assignment, game=game, by=require_person(request))
        return _describe(list_searches(packet).get(pk=made.pk), packet)


class SearchOne(ApiView):
    @packet_operation("packet_search_remove", None, refuses=(422,))
    def delete(self, request: Request, public_id: str, search_id: str) -> None:
        """Remove a search that is not submitted."""
        packet = find_packet(request, public_id)
        search = get_object_or_404(list_searches(packet), public_id=search_id)
        remove_search(search=search, by=require_person(request))


class Notes(ApiView):
    @packet_operation("packet_note_list", bodies.ItemNote, many=True)
    def get(self, request: Request, public_id: str) -> QuerySet[ItemNote]:
        """Return the notes of reviewers to the study admin, oldest first."""
        return load_notes(find_packet(request, public_id))


def _describe(search: PairSearch, packet: Packet) -> dict[str, Any]:
    done = search.submission
    return {
        "search": search,
        "pairing": find_pairing(search.game, packet.judge_run),
        "submitted_at": done.at if done else None,
        "listed": len(done.detail["differences"]) if done else None,
    }
