"""Packets for programs: drawn, assigned, opened, closed and read as on their pages, by study
admins.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.audit.trail import record
from accounts.permissions import NotAllowed
from adjudication.access.closed import closed_to, has_closed_games, open_packets
from adjudication.access.eligibility import REFUSAL, may_see, reasons_against
from adjudication.api.access import (
    ADMINS,
    STUDY,
    ApiView,
    judge_run_of,
    person_of,
    read,
    requested_studies,
    studies_with,
)
from adjudication.api.errors import errors
from adjudication.api.packets import serializers as bodies
from adjudication.api.packets.bodies import (
    drawn_body,
    eligible_body,
    packet_body,
    packet_detail_body,
    with_counts,
)
from adjudication.api.paging import LIMIT, OFFSET, page_of, page_response
from adjudication.api.review.serializers import UnsignRequestSerializer
from adjudication.models import Assignment, JudgeRun, Packet
from adjudication.packets import actions as packets
from adjudication.packets.forms import AssignForm, DrawForm, members, quota_field
from adjudication.review.decisions import unsign
from adjudication.sampling.drawing import draw

TAGS = ["packets"]
_STEPS: Mapping[str, Callable[..., object]] = {
    "open": packets.open_packet,
    "close": packets.close_packet,
}


class Packets(ApiView):
    """Packets."""

    @extend_schema(
        operation_id="packet_list",
        tags=TAGS,
        parameters=[STUDY, LIMIT, OFFSET],
        responses={200: bodies.PacketPageSerializer, **errors(403)},
    )
    def get(self, request: Request) -> Response:
        """Those of your studies, newest first."""
        found = open_packets(
            Packet.objects.filter(study__in=requested_studies(request, ADMINS)),
            closed_to(person_of(request)),
        )
        pages, rows = page_of(request, with_counts(found).order_by("-created_at", "-pk"))
        return page_response(
            pages, bodies.PacketSerializer([packet_body(p) for p in rows], many=True).data
        )


class Eligible(ApiView):
    """What may be drawn."""

    @extend_schema(
        operation_id="packet_eligible",
        tags=TAGS,
        responses={200: bodies.EligibleSerializer, **errors(403)},
    )
    def get(self, request: Request, run_id: str) -> Response:
        """Findings of a judge run by pairing and stratum, and what is excluded and why."""
        run = _drawable(request, run_id)
        return Response(
            bodies.EligibleSerializer(eligible_body(run, packets.eligible_findings(run))).data
        )


class Preview(ApiView):
    """A draw to look at."""

    @extend_schema(
        operation_id="packet_preview",
        tags=TAGS,
        request=bodies.DrawSerializer,
        responses={200: bodies.DrawnSerializer, **errors(400, 403)},
    )
    def post(self, request: Request, run_id: str) -> Response:
        """What a draw would give; nothing is stored. The `seed` of the answer draws the same again."""
        run = _drawable(request, run_id)
        form = _draw_form(request, run)
        design, seed = form.design(), form.cleaned_data["seed"]
        drawn = draw(packets.eligible_findings(run), design, seed)
        return Response(bodies.DrawnSerializer(drawn_body(drawn, design.pairings, seed)).data)


class Draw(ApiView):
    """A draw."""

    @extend_schema(
        operation_id="packet_draw",
        tags=TAGS,
        request=bodies.DrawSerializer,
        responses={201: bodies.PacketDetailSerializer, **errors(400, 403, 422)},
    )
    def post(self, request: Request, run_id: str) -> Response:
        """Draw a packet. It is a draft until it is opened."""
        run = _drawable(request, run_id)
        form = _draw_form(request, run)
        values = form.cleaned_data
        packet = packets.draw_packet(
            study=run.study, judge_run=run, label=values["label"], design=form.design(), seed=values["seed"], reveal=values["reveal"],
            lease_minutes=values["lease_minutes"], by=person_of(request),
        )  # fmt: skip
        return _packet_response(packet, HTTPStatus.CREATED)


class PacketOne(ApiView):
    """A packet."""

    @extend_schema(
        operation_id="packet",
        tags=TAGS,
        responses={200: bodies.PacketDetailSerializer, **errors(403)},
    )
    def get(self, request: Request, public_id: str) -> Response:
        """One packet: items, reviewers, progress. Closed to its reviewers."""
        return _packet_response(_packet(request, public_id))

    @extend_schema(
        operation_id="packet_delete", tags=TAGS, responses={204: None, **errors(403, 409)}
    )
    def delete(self, request: Request, public_id: str) -> Response:
        """Throw a draft away."""
        packets.delete_draft(packet=_packet(request, public_id), by=person_of(request))
        return Response(status=HTTPStatus.NO_CONTENT)


class PacketStep(ApiView):
    """The life of a packet."""

    @extend_schema(
        operation_id="packet_step",
        tags=TAGS,
        parameters=[OpenApiParameter("action", str, OpenApiParameter.PATH, enum=list(_STEPS))],
        request=None,
        responses={200: bodies.PacketDetailSerializer, **errors(403, 409, 422)},
    )
    def post(self, request: Request, public_id: str, action: str) -> Response:
        """Open: its items never change from then on. Close: what comes later does not stand. 422
        with all obstacles.
        """
        packet = _packet(request, public_id)
        if (step := _STEPS.get(action)) is None:
            raise Http404
        step(packet=packet, by=person_of(request))
        return _packet_response(packet)


class Second(ApiView):
    """Two people an item."""

    @extend_schema(
        operation_id="packet_second",
        tags=TAGS,
        request=bodies.SecondSerializer,
        responses={200: bodies.SecondDoneSerializer, **errors(400, 403, 409, 422)},
    )
    def post(self, request: Request, public_id: str) -> Response:
        """Have two people decide on each item of a pairing, while the packet is a draft."""
        packet = _packet(request, public_id)
        pairing = read(bodies.SecondSerializer, request)["pairing"]
        count = packets.second_reviewer(packet=packet, pairing=pairing, by=person_of(request))
        return Response(bodies.SecondDoneSerializer({"items": count}).data)


class Changed(ApiView):
    """Only what has changed."""

    @extend_schema(
        operation_id="packet_changed",
        tags=TAGS,
        request=bodies.ChangedSerializer,
        responses={201: bodies.PacketDetailSerializer, **errors(400, 403, 422)},
    )
    def post(self, request: Request, public_id: str) -> Response:
        """Draw a packet of the findings that another judge run changed in this packet's cases."""
        packet = _packet(request, public_id)
        wanted = read(bodies.ChangedSerializer, request)["judge_run"]
        run = get_object_or_404(JudgeRun, study=packet.study, public_id=wanted)
        return _packet_response(
            packets.draw_changed(packet=packet, judge_run=run, by=person_of(request)),
            HTTPStatus.CREATED,
        )


class Candidates(ApiView):
    """Who could review."""

    @extend_schema(
        operation_id="packet_candidates",
        tags=TAGS,
        responses={200: bodies.CandidateSerializer(many=True), **errors(403)},
    )
    def get(self, request: Request, public_id: str) -> Response:
        """Members of the study who are not in the packet, and why some may not review it."""
        packet = _packet(request, public_id)
        people = members(packet.study).exclude(
            review_assignments__in=packet.assignments.filter(withdrawn_at__isnull=True)
        )
        lines = [
            {
                "person": p.public_id,
                "username": p.get_username(),
                "reasons": reasons_against(p, packet),
            }
            for p in people
        ]
        return Response(bodies.CandidateSerializer(lines, many=True).data)


class Assignments(ApiView):
    """Who reviews."""

    @extend_schema(
        operation_id="packet_assign",
        tags=TAGS,
        request=bodies.AssignSerializer,
        responses={201: bodies.PacketDetailSerializer, **errors(400, 403, 422)},
    )
    def post(self, request: Request, public_id: str) -> Response:
        """Put a member of the study into the packet. 403 with the reason for somebody who is not
        eligible.
        """
        packet = _packet(request, public_id)
        form = AssignForm(dict(read(bodies.AssignSerializer, request)), packet=packet)
        if not form.is_valid():
            raise _invalid(form)
        values = form.cleaned_data
        pairings = [values["pairing"]] if values["pairing"] else []
        packets.assign(
            packet=packet,
            person=values["person"],
            role=values["role"],
            pairings=pairings,
            by=person_of(request),
        )
        return _packet_response(packet, HTTPStatus.CREATED)


class Withdraw(ApiView):
    """Out of the packet."""

    @extend_schema(
        operation_id="packet_withdraw",
        tags=TAGS,
        request=None,
        responses={200: bodies.PacketDetailSerializer, **errors(403, 422)},
    )
    def post(self, request: Request, public_id: str, assignment_id: str) -> Response:
        """Take a person out: what they hold returns, what they decided stays."""
        packet = _packet(request, public_id)
        packets.withdraw_assignment(
            assignment=_assignment(packet, assignment_id), by=person_of(request)
        )
        return _packet_response(packet)


class VoidSignature(ApiView):
    """A signature taken back by an admin."""

    @extend_schema(
        operation_id="packet_unsign",
        tags=TAGS,
        request=UnsignRequestSerializer,
        responses={200: bodies.PacketDetailSerializer, **errors(400, 403, 409, 422)},
    )
    def post(self, request: Request, public_id: str, assignment_id: str) -> Response:
        """Void a reviewer's signature, with a reason; both stay in the chain."""
        packet = _packet(request, public_id)
        reason = read(UnsignRequestSerializer, request)["reason"]
        unsign(assignment=_assignment(packet, assignment_id), reason=reason, by=person_of(request))
        return _packet_response(packet)


def _drawable(request: Request, run_id: str) -> JudgeRun:
    """Return the judge run. Raise Http404, and NotAllowed if it has games that are closed to the
    person: counts would show them.
    """
    run = judge_run_of(request, run_id, ADMINS)
    if has_closed_games(run, closed_to(person_of(request))):
        raise NotAllowed(REFUSAL)
    return run


def _packet(request: Request, public_id: str) -> Packet:
    """The packet, if it is open to this admin. Raises Http404, NotAllowed for one who reviews it."""
    packet = get_object_or_404(
        Packet.objects.select_related("study"),
        study__in=studies_with(request, ADMINS),
        public_id=public_id,
    )
    if not may_see(person_of(request), packet).report:
        raise NotAllowed(
            "You review this packet or another one with a case of it, so it is closed to you. Your"
            " items are under review."
        )
    record(
        actor=person_of(request),
        study=packet.study,
        action="packet.view",
        object_type="adjudication.packet",
        object_id=packet.public_id,
    )
    return packet


def _packet_response(packet: Packet, status: HTTPStatus = HTTPStatus.OK) -> Response:
    """Respond with the packet's current state."""
    found = with_counts(Packet.objects.filter(pk=packet.pk)).get()
    return Response(bodies.PacketDetailSerializer(packet_detail_body(found)).data, status=status)


def _assignment(packet: Packet, public_id: str) -> Assignment:
    return get_object_or_404(
        packet.assignments.select_related("packet__study", "person"), public_id=public_id
    )


def _draw_form(request: Request, run: JudgeRun) -> DrawForm:
    """The page's own form, filled from the body. Raises ValidationError."""
    values: dict[str, Any] = dict(read(bodies.DrawSerializer, request))
    quotas = {quota_field(stratum): n for stratum, n in values.pop("quotas").items()}
    form = DrawForm({"pairings": list(packets.pairings_of(run)), **values, **quotas}, judge_run=run)
    if not form.is_valid():
        raise _invalid(form)
    return form


def _invalid(form: DrawForm | AssignForm) -> serializers.ValidationError:
    named = {
        name.replace("__all__", "quotas"): [str(w) for w in words]
        for name, words in form.errors.items()
    }
    return serializers.ValidationError(named)
