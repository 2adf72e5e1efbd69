"""Packets in the API: draw, assign, open, close and read them.

For study admins, as on the pages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from http import HTTPStatus
from typing import Any

from django.db import transaction
from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from accounts.api_access.access import (
    ADMINS,
    STUDY,
    ApiView,
    check_form,
    find_requested_studies,
    read_body,
    require_person,
    require_studies,
)
from accounts.api_access.etags import check_match, make_etag
from accounts.api_access.operations import operation
from accounts.api_access.paging import LIMIT, OFFSET, load_page
from adjudication.access.closed import exclude_closed_packets, find_closed_objects
from adjudication.access.eligibility import find_ineligibility_reasons
from adjudication.api.access import find_summable_judge_run
from adjudication.api.packets import bodies
from adjudication.api.review.bodies import UnsignRequest
from adjudication.models import Assignment, JudgeRun, Packet
from adjudication.packets import actions as packets
from adjudication.packets.forms import AssignForm, DrawForm, find_reviewers, quota_field
from adjudication.review import steering
from adjudication.review.decisions import unsign
from adjudication.review.steering import PacketStatus
from adjudication.sampling.drawing import count_strata, draw

packet_operation = partial(operation, "packets")
_STEPS: Mapping[str, Callable[..., object]] = {
    "open": packets.open_packet,
    "close": packets.close_packet,
}


def make_packet_etag(status: PacketStatus) -> str:
    """Return the ETag of what can be edited of a packet."""
    return make_etag("packet", status.packet.due_on)


class Packets(ApiView):
    @packet_operation(
        "packet_list",
        bodies.PacketPage,
        parameters=[STUDY, LIMIT, OFFSET],
    )
    def get(self, request: Request) -> dict[str, Any]:
        """Return packets of your studies, newest first."""
        found = exclude_closed_packets(
            Packet.objects.filter(study__in=find_requested_studies(request, ADMINS)),
            find_closed_objects(require_person(request)),
        )
        rows = steering.annotate_counts(found).order_by("-created_at", "-pk")
        return load_page(request, rows, lambda packets: [{"packet": p} for p in packets])


class Eligible(ApiView):
    @packet_operation("packet_eligible", bodies.Eligible)
    def get(self, request: Request, run_id: str) -> dict[str, Any]:
        """Return findings that may be drawn by pairing and stratum, and the rest."""
        run = find_summable_judge_run(request, run_id, ADMINS)
        eligible, pairings = packets.find_eligible_findings(run), packets.list_pairings(run)
        return {
            "judge_run": run.public_id,
            "pairings": count_strata(eligible.findings, pairings),
            "excluded": eligible.excluded,
            "cases": len(eligible.judged),
            "complete_cases": eligible.count_complete(pairings),
        }


class Preview(ApiView):
    @packet_operation("packet_preview", bodies.Drawn, takes=bodies.Draw)
    def post(self, request: Request, run_id: str) -> dict[str, Any]:
        """Preview a draw; nothing is stored. The returned `seed` repeats it."""
        run = find_summable_judge_run(request, run_id, ADMINS)
        form = _draw_form(request, run)
        design, seed = form.design(), form.cleaned_data["seed"]
        drawn = draw(packets.find_eligible_findings(run), design, seed)
        return {
            "items": len(drawn.items),
            "pairings": count_strata(drawn.items, design.pairings),
            "cases": len(drawn.cases),
            "shortages": drawn.shortages,
            "excluded": drawn.excluded,
            "seed": seed,
        }


class Draw(ApiView):
    @packet_operation(
        "packet_draw",
        bodies.PacketDetail,
        refuses=(422,),
        takes=bodies.Draw,
        status=HTTPStatus.CREATED,
        starts=True,
    )
    def post(self, request: Request, run_id: str) -> PacketStatus:
        """Draw a packet. It is a draft until it is opened."""
        run = find_summable_judge_run(request, run_id, ADMINS)
        form = _draw_form(request, run)
        packet = packets.draw_packet(
            study=run.study, judge_run=run, by=require_person(request), **form.arguments()
        )
        return _load_status(packet)


class PacketOne(ApiView):
    @packet_operation("packet", bodies.PacketDetail, etag=make_packet_etag)
    def get(self, request: Request, public_id: str) -> PacketStatus:
        """Return one packet: items, reviewers, progress; closed to reviewers."""
        return _load_status(find_packet(request, public_id))

    @packet_operation("packet_delete", None, refuses=(409,))
    def delete(self, request: Request, public_id: str) -> None:
        """Delete a draft."""
        packets.delete_draft(packet=find_packet(request, public_id), by=require_person(request))


class PacketStep(ApiView):
    @packet_operation(
        "packet_step",
        bodies.PacketDetail,
        refuses=(409, 422),
        parameters=[OpenApiParameter("action", str, OpenApiParameter.PATH, enum=list(_STEPS))],
    )
    def post(self, request: Request, public_id: str, action: str) -> PacketStatus:
        """Open or close the packet. 422 lists all obstacles.

        After opening, its items never change. After closing, later answers do not count.
        """
        packet = find_packet(request, public_id)
        if (step := _STEPS.get(action)) is None:
            raise Http404
        step(packet=packet, by=require_person(request))
        return _load_status(packet)


class DueDate(ApiView):
    @packet_operation(
        "packet_due_date",
        bodies.PacketDetail,
        refuses=(422,),
        takes=bodies.DueDate,
        etag=make_packet_etag,
        edits=True,
    )
    def post(self, request: Request, public_id: str) -> PacketStatus:
        """Set, move or remove the due date of the review, until it is closed."""
        packet = find_packet(request, public_id)
        due_on = read_body(bodies.DueDate, request)["due_on"]
        with transaction.atomic():
            locked = Packet.objects.select_for_update(of=("self",)).get(pk=packet.pk)
            check_match(request, make_etag("packet", locked.due_on))
            packets.set_due_date(packet=packet, due_on=due_on, by=require_person(request))
        return _load_status(packet)


class Second(ApiView):
    @packet_operation("packet_second", bodies.SecondDone, refuses=(409, 422), takes=bodies.Second)
    def post(self, request: Request, public_id: str) -> dict[str, int]:
        """Have two people decide on each item of a pairing of a draft."""
        packet = find_packet(request, public_id)
        pairing = read_body(bodies.Second, request)["pairing"]
        count = packets.require_second_reviewer(
            packet=packet, pairing=pairing, by=require_person(request)
        )
        return {"items": count}


class Changed(ApiView):
    @packet_operation(
        "packet_changed",
        bodies.PacketDetail,
        refuses=(422,),
        takes=bodies.Changed,
        status=HTTPStatus.CREATED,
        starts=True,
    )
    def post(self, request: Request, public_id: str) -> PacketStatus:
        """Draw a packet of findings that another judge run changed.

        They are in this packet's cases.
        """
        packet = find_packet(request, public_id)
        wanted = read_body(bodies.Changed, request)["judge_run"]
        run = get_object_or_404(JudgeRun, study=packet.study, public_id=wanted)
        return _load_status(
            packets.draw_changed(packet=packet, judge_run=run, by=require_person(request)),
        )


class Candidates(ApiView):
    @packet_operation("packet_candidates", bodies.Candidate, many=True)
    def get(self, request: Request, public_id: str) -> list[dict[str, Any]]:
        """Return the members of the study who are not in the packet.

        `reasons` say why some may not review it.
        """
        packet = find_packet(request, public_id)
        people = find_reviewers(packet.study).exclude(
            review_assignments__in=packet.assignments.filter(withdrawn_at__isnull=True)
        )
        return [
            {
                "person": p.public_id,
                "username": p.get_username(),
                "reasons": find_ineligibility_reasons(p, packet),
            }
            for p in people
        ]


class Assignments(ApiView):
    @packet_operation(
        "packet_assign",
        bodies.PacketDetail,
        refuses=(422,),
        takes=bodies.Assign,
        status=HTTPStatus.CREATED,
    )
    def post(self, request: Request, public_id: str) -> PacketStatus:
        """Add a member of the study to the packet.

        403 with the reason if they are not eligible.
        """
        packet = find_packet(request, public_id)
        form = AssignForm(dict(read_body(bodies.Assign, request)), packet=packet)
        check_form(form)
        values = form.cleaned_data
        pairings = [values["pairing"]] if values["pairing"] else []
        packets.assign(
            packet=packet,
            person=values["person"],
            role=values["role"],
            pairings=pairings,
            by=require_person(request),
        )
        return _load_status(packet)


class Withdraw(ApiView):
    @packet_operation("packet_withdraw", bodies.PacketDetail, refuses=(422,))
    def post(self, request: Request, public_id: str, assignment_id: str) -> PacketStatus:
        """Take a person out: their leased items return, their decisions stay."""
        packet = find_packet(request, public_id)
        packets.withdraw_assignment(
            assignment=find_assignment(packet, assignment_id), by=require_person(request)
        )
        return _load_status(packet)


class VoidSignature(ApiView):
    @packet_operation("packet_unsign", bodies.PacketDetail, refuses=(409, 422), takes=UnsignRequest)
    def post(self, request: Request, public_id: str, assignment_id: str) -> PacketStatus:
        """Void a reviewer's signature, with a reason; both stay in the chain."""
        packet = find_packet(request, public_id)
        reason = read_body(UnsignRequest, request)["reason"]
        unsign(
            assignment=find_assignment(packet, assignment_id),
            reason=reason,
            by=require_person(request),
        )
        return _load_status(packet)


def find_packet(request: Request, public_id: str) -> Packet:
    """Return a packet of a study of this admin. Raises Http404, NotAllowed."""
    found = Packet.objects.filter(study__in=require_studies(request, ADMINS))
    return steering.find_packet(found, require_person(request), public_id)


def _load_status(packet: Packet) -> PacketStatus:
    """Return the packet's current state, items, reviewers and problems."""
    found = steering.annotate_counts(Packet.objects.filter(pk=packet.pk)).get()
    return steering.load_status(found)


def find_assignment(packet: Packet, public_id: str) -> Assignment:
    """Return an assignment of the packet. Raises Http404."""
    return get_object_or_404(
        packet.assignments.select_related("packet__study", "person"), public_id=public_id
    )


def _draw_form(request: Request, run: JudgeRun) -> DrawForm:
    """Return the page's own form, filled from the body.

    Raises ValidationError.
    """
    values: dict[str, Any] = dict(read_body(bodies.Draw, request))
    quotas = {quota_field(stratum): n for stratum, n in values.pop("quotas").items()}
    form = DrawForm(
        {"pairings": list(packets.list_pairings(run)), **values, **quotas}, judge_run=run
    )
    check_form(form, whole="quotas")
    return form
