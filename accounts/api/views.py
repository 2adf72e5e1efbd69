"""Studies and the audit trail: the same functions and guards as the pages."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from accounts.api import bodies
from accounts.api_access.access import STUDY, ApiView, find_study, require_person
from accounts.api_access.operations import operation
from accounts.api_access.paging import AFTER, LIMIT, read_limit
from accounts.audit.paging import load_event_page
from accounts.audit.trail import AuditFilter
from accounts.membership.members import MemberLine, member_lines
from accounts.models import Role, Study
from accounts.permissions import find_roles
from accounts.registry import all_closed_objects
from accounts.scoping import find_studies

study_operation = partial(operation, "studies")


@dataclass(frozen=True)
class StudyLine:
    """A study with the person's roles, and its members if they manage it."""

    study: Study
    roles: list[str]
    members: list[MemberLine] | None = None


class Studies(ApiView):
    @study_operation("study_list", bodies.Study, many=True)
    def get(self, request: Request) -> list[StudyLine]:
        """Return your studies by name, with your roles."""
        person = require_person(request)
        return [
            StudyLine(study, sorted(find_roles(person, study))) for study in find_studies(person)
        ]


class StudyOne(ApiView):
    @study_operation("study", bodies.StudyDetail)
    def get(self, request: Request, study_id: str) -> StudyLine:
        """Return one study. Its admins also see the members."""
        person = require_person(request)
        study = get_object_or_404(find_studies(person), public_id=study_id)
        roles = find_roles(person, study)
        members = member_lines(study) if Role.ADMIN in roles else None
        return StudyLine(study, sorted(roles), members)


class AuditTrail(ApiView):
    @study_operation(
        "audit_trail",
        bodies.AuditPage,
        parameters=[
            STUDY,
            OpenApiParameter("person", str, description="Public id; only what this person did."),
            OpenApiParameter("action", str, description="Only these, for example `case.open`."),
            LIMIT,
            AFTER,
        ],
    )
    def get(self, request: Request) -> dict[str, Any]:
        """Return the audit trail of a study, newest first. For study admins."""
        study = find_study(request, request.query_params.get("study", ""))
        wanted = AuditFilter(
            person=request.query_params.get("person", ""),
            action=request.query_params.get("action", ""),
        )
        closed = all_closed_objects(require_person(request))
        after = request.query_params.get("after", "")
        page = load_event_page(study, wanted, closed, after, read_limit(request))
        return {
            "next": page.next,
            "count": page.count,
            "results": [
                {
                    "at": event.at,
                    "actor": event.actor,
                    "action": event.action,
                    "object_type": event.object_type,
                    "object_id": event.object_id,
                    "detail": None if closed else event.detail,
                }
                for event in page.events
            ],
        }
