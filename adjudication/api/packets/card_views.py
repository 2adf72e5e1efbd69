"""The report card and the decisions of a packet in the API.

For study admins, and for reviewers if the closed packet reveals them.
"""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from accounts.api_access.access import ApiView, build_page_request, require_person
from accounts.api_access.tables import build_form_parameter, describe_table_files
from adjudication.api.packets import bodies
from adjudication.api.packets.views import packet_operation
from adjudication.models import Packet
from adjudication.packets import export as packet_export
from adjudication.ratings.card.data import compute_card
from adjudication.ratings.card.page import (
    card_table,
    decisions_file,
    find_revealed_packet,
    record_access,
)
from adjudication.reports.card import tables
from timelines.evaluations.table_files import FORMATS

TABLE_FORM, TABLE_FILE = describe_table_files(FORMATS)
FORM = build_form_parameter(packet_export.FORMATS)
TEXT = OpenApiParameter(
    "text", str, enum=["1"], description="Add text of notes and reviewers' comments."
)
DECISIONS_FILE = {(200, kind): OpenApiTypes.STR for kind in ("text/csv", "application/jsonl")}


class ReportCard(ApiView):
    @packet_operation("packet_report", bodies.ReportCard)
    def get(self, request: Request, public_id: str) -> dict[str, Any]:
        """Return every table of the report card.

        For study admins, and for reviewers if the closed packet reveals it.
        """
        packet = _revealed_packet(request, public_id)
        card = compute_card(packet)
        found = [
            *(build(card) for build in tables.TABLES.values()),
            *(tables.confusion(a) for a in card.agreements),
        ]
        record_access(build_page_request(request), packet, "packet.report")
        return {
            "packet": packet.public_id,
            "state": packet.state,
            "tables": [table.plain() for table in found],
        }


class ReportCardTable(ApiView):
    @packet_operation(
        "packet_report_table",
        TABLE_FILE,
        parameters=[
            OpenApiParameter(
                "name",
                str,
                OpenApiParameter.PATH,
                description=(
                    "One of the card's, `confusion-0` and so on for two reviewers, or `decisions`:"
                    " every item with its comments."
                ),
            ),
            TABLE_FORM,
        ],
    )
    def get(self, request: Request, public_id: str, name: str, form: str) -> HttpResponse:
        """Return one table of the report card as a file.

        For study admins, and for reviewers if the closed packet reveals it.
        """
        return card_table(
            build_page_request(request), _revealed_packet(request, public_id), name, form
        )


class DecisionsFile(ApiView):
    @packet_operation("packet_decisions", DECISIONS_FILE, parameters=[FORM, TEXT])
    def get(self, request: Request, public_id: str, form: str) -> StreamingHttpResponse:
        """Return every link of the chain, one per line.

        For study admins, and for reviewers if the closed packet reveals it.
        """
        return decisions_file(
            build_page_request(request), _revealed_packet(request, public_id), form
        )


def _revealed_packet(request: Request, public_id: str) -> Packet:
    """Return the packet if this person may see its results.

    Raises Http404, NotAllowed.
    """
    return find_revealed_packet(Packet.objects.all(), require_person(request), public_id)
