"""What every view of the API shares: who asks and in which of their studies."""

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

from accounts.models import Role, Study, User
from accounts.permissions import CASE_READERS, NotAllowed
from accounts.scoping import StudyRequest, studies_of
from adjudication.access.closed import (
    Closed,
    check_judge_run_is_open,
    closed_to,
    has_closed_games,
)
from adjudication.access.eligibility import REFUSAL
from adjudication.api.errors import handle
from adjudication.models import JudgeRun

STUDY = OpenApiParameter(
    "study",
    str,
    description="Public id of a study; without it all of yours in which you have the role count.",
)
ADMINS = frozenset({Role.ADMIN})


class ApiView(APIView):
    """A view of this API: refusals have one form (`adjudication.api.errors`)."""

    def get_exception_handler(self) -> Any:
        """Ours, for these views alone."""
        return handle

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:
        """Each address gives what it gives: a program that asks for a file by its type must not be
        refused for it.
        """
        return super().perform_content_negotiation(request, force=True)


def person_of(request: Request) -> User:
    """Who asks; permissions have seen to it that somebody does."""
    assert isinstance(request.user, User)
    return request.user


def page_request(request: Request) -> StudyRequest:
    """The request as functions of the pages take it: they read its person, its address and the
    client's, never a session.
    """
    found = request._request
    found.user = person_of(request)
    return cast(StudyRequest, found)


def studies_with(request: Request, roles: frozenset[Role] = CASE_READERS) -> QuerySet[Study]:
    """The person's studies in which they have one of the roles. Raises NotAllowed where there is
    none.

    Someone without the role anywhere gets the same answer for what exists and for what does not.
    """
    person = person_of(request)
    found = studies_of(person, roles)
    if not found.exists():
        raise NotAllowed(
            f"This needs the role {' or '.join(sorted(r.label.lower() for r in roles))} in a study."
        )
    return found


def requested_studies(request: Request, roles: frozenset[Role] = CASE_READERS) -> QuerySet[Study]:
    """Those of `studies_with`, or the one that `study` names. Raises NotAllowed, Http404."""
    found = studies_with(request, roles)
    if not (wanted := request.query_params.get("study", "")):
        return found
    narrowed = found.filter(public_id=wanted)
    if not narrowed.exists():
        raise Http404
    return narrowed


def one_study(request: Request, public_id: str, roles: frozenset[Role] = ADMINS) -> Study:
    """The named one, or the only one where none is named. Raises NotAllowed, Http404,
    ValidationError.
    """
    found = studies_with(request, roles)
    if public_id:
        return get_object_or_404(found, public_id=public_id)
    several = list(found[:2])
    if len(several) > 1:
        raise serializers.ValidationError(
            {"study": ["You have this role in several studies: say which one."]}
        )
    return several[0]


def judge_run_of(
    request: Request, public_id: str, roles: frozenset[Role] = CASE_READERS
) -> JudgeRun:
    """A judge run of one of the person's studies in which they have the role. Raises NotAllowed,
    Http404.
    """
    runs = JudgeRun.objects.select_related("study", "created_by").prefetch_related("datasets")
    return get_object_or_404(runs, study__in=studies_with(request, roles), public_id=public_id)


def open_judge_run(request: Request, public_id: str) -> tuple[JudgeRun, Closed]:
    """Such a run, and what of it is closed to the person. Raises NotAllowed if all of it is."""
    run, closed = judge_run_of(request, public_id), closed_to(person_of(request))
    check_judge_run_is_open(run, closed)
    return run, closed


def summed_judge_run(
    request: Request, public_id: str, roles: frozenset[Role] = CASE_READERS
) -> JudgeRun:
    """Such a run without closed games: its sums would show them. Raises Http404, NotAllowed."""
    run = judge_run_of(request, public_id, roles)
    if has_closed_games(run, closed_to(person_of(request))):
        raise NotAllowed(REFUSAL)
    return run


def check_form(form: BaseForm, whole: str = "__all__") -> None:
    """Raise ValidationError by field; faults of the form as a whole go by `whole`."""
    if not form.is_valid():
        raise serializers.ValidationError(
            {name.replace("__all__", whole): list(map(str, e)) for name, e in form.errors.items()}
        )


def read(kind: type[serializers.Serializer[Any]], request: Request) -> Mapping[str, Any]:
    """The checked values of the body. Raises ValidationError."""
    body = kind(data=request.data)
    body.is_valid(raise_exception=True)
    found: Mapping[str, Any] = body.validated_data
    return found
