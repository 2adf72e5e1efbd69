"""Common parts of the API's views: the person, their studies, bodies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from django.db.models import QuerySet
from django.forms import BaseForm
from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.views import APIView

from accounts.api_access.errors import handle_error
from accounts.models import Role, Study, User
from accounts.permissions import CASE_READERS, NotAllowed
from accounts.scoping import StudyRequest, find_studies

STUDY = OpenApiParameter(
    "study",
    str,
    description="Public id of a study; without it all of yours in which you have the role count.",
)
ADMINS = frozenset({Role.ADMIN})


class ApiView(APIView):
    """A view of this API. Its refusals have one form (`errors`)."""

    def get_exception_handler(self) -> Any:
        """Return the exception handler of this API."""
        return handle_error

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:
        """Accept every media type: each address has one, so none is refused."""
        return super().perform_content_negotiation(request, force=True)


def require_person(request: Request) -> User:
    """Return the signed-in person; permissions guarantee that there is one."""
    assert isinstance(request.user, User)
    return request.user


def build_page_request(request: Request) -> StudyRequest:
    """Return the request as functions of the pages expect it.

    They read its person, its address and the client's, but no session.
    """
    found = request._request
    found.user = require_person(request)
    return cast(StudyRequest, found)


def require_studies(request: Request, roles: frozenset[Role] = CASE_READERS) -> QuerySet[Study]:
    """Return the person's studies in which they have one of the roles.

    Raises NotAllowed if there are none, before any object is looked up: a person without the role
    cannot learn what exists.
    """
    person = require_person(request)
    found = find_studies(person, roles)
    if not found.exists():
        raise NotAllowed(
            f"This needs the role {' or '.join(sorted(r.label.lower() for r in roles))} in a study."
        )
    return found


def find_requested_studies(
    request: Request, roles: frozenset[Role] = CASE_READERS
) -> QuerySet[Study]:
    """Return `require_studies`, or only the study that `study` names.

    Raises NotAllowed, Http404.
    """
    found = require_studies(request, roles)
    if not (wanted := request.query_params.get("study", "")):
        return found
    narrowed = found.filter(public_id=wanted)
    if not narrowed.exists():
        raise Http404
    return narrowed


def find_study(request: Request, public_id: str, roles: frozenset[Role] = ADMINS) -> Study:
    """Return the named study, or the person's only one if none is named.

    They have one of the roles in it. Raises NotAllowed, Http404, ValidationError.
    """
    found = require_studies(request, roles)
    if public_id:
        return get_object_or_404(found, public_id=public_id)
    several = list(found[:2])
    if len(several) > 1:
        raise serializers.ValidationError(
            {"study": ["You have this role in several studies: say which one."]}
        )
    return several[0]


def check_form(form: BaseForm, whole: str = "__all__") -> None:
    """Raise ValidationError by field if the form is invalid.

    Faults of the form as a whole are named `whole`.
    """
    if not form.is_valid():
        raise serializers.ValidationError(
            {name.replace("__all__", whole): list(map(str, e)) for name, e in form.errors.items()}
        )


def read_body(kind: type[serializers.Serializer[Any]], request: Request) -> Mapping[str, Any]:
    """Return the checked values of the body. Raises ValidationError."""
    body = kind(data=request.data)
    body.is_valid(raise_exception=True)
    found: Mapping[str, Any] = body.validated_data
    return found
