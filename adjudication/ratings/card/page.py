"""A packet's report card for a person who may see it, and its files."""

from __future__ import annotations

from django.db.models import QuerySet
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404

from accounts.audit.trail import record
from accounts.ids import parse_place
from accounts.models import User
from accounts.permissions import NotAllowed
from accounts.scoping import ANY_ROLE, StudyRequest, filter_by_role
from adjudication.access.eligibility import load_visibility
from adjudication.access.exposure import record_exposure
from adjudication.models import Packet
from adjudication.packets import export as packet_export
from adjudication.ratings.card.data import compute_card, load_items
from adjudication.reports.card import tables
from ehr.models import Encounter
from timelines.evaluation.tables import Table
from timelines.evaluations.table_files import table_file

CLOSED = (
    "The report card of this packet is closed to you while you review it. It stays closed if the"
    " results are not revealed to reviewers."
)


def card_table(request: StudyRequest, packet: Packet, name: str, format: str) -> HttpResponse:
    """Return one table of a packet as a file, and record it in the trail.

    Raises Http404 for an unknown table or format.
    """
    response = table_file(_table(packet, name), format, f"{name}-{packet.public_id}")
    record_access(request, packet, "packet.export")
    return response


def decisions_file(request: StudyRequest, packet: Packet, format: str) -> StreamingHttpResponse:
    """Stream every link of the chain as a file, and record it in the trail.

    `text=1` adds text of patients' notes and of reviewers. Raises Http404 for an unknown format.
    """
    if format not in packet_export.FORMATS:
        raise Http404
    with_text = request.GET.get("text") == "1"
    record_access(request, packet, "packet.export", text=with_text)
    parts = packet_export.parts(packet, format, with_text=with_text)
    response = StreamingHttpResponse(parts, content_type=packet_export.FORMATS[format][0])
    name = packet_export.file_name(packet, format, with_text=with_text)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def find_revealed_packet(packets: QuerySet[Packet], person: User, public_id: str) -> Packet:
    """Return one of the packets if this person may see its results.

    Raises Http404, NotAllowed.
    """
    found = filter_by_role(packets.select_related("study", "judge_run"), person, roles=ANY_ROLE)
    packet = get_object_or_404(found, public_id=public_id)
    seen = load_visibility(person, packet)
    if not seen.report:
        if not seen.items and not seen.own_answers:
            raise Http404
        raise NotAllowed(CLOSED)
    return packet


def _table(packet: Packet, name: str) -> Table:
    if name == "decisions":
        return tables.decisions(load_items(packet))
    card = compute_card(packet)
    if name.startswith("confusion-"):
        place = parse_place(name.removeprefix("confusion-"), len(card.agreements))
        if place is None:
            raise Http404
        return tables.confusion(card.agreements[place])
    if name not in tables.TABLES:
        raise Http404
    return tables.TABLES[name](card)


def record_access(request: StudyRequest, packet: Packet, action: str, **detail: bool) -> None:
    """Record that the person saw judge's answers.

    This unblinds them for the packet's cases.
    """
    cases = (
        Encounter.objects.filter(comparisons__games__findings__items__packet=packet)
        .select_related("dataset__study")
        .distinct()
    )
    # First: a person who is asked before has not opened the page.
    record_exposure(user=request.user, encounters=cases, page="report card")
    record(
        actor=request.user,
        study=packet.study,
        action=action,
        object_type="adjudication.packet",
        object_id=packet.public_id,
        detail=detail,
    )
