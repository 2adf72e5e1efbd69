"""Limit everything to one study.

This module has the studies of a person, the active one, and the decorators of views.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from django.contrib.auth.decorators import login_required
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponseBase

from accounts.models import Role, Study, User
from accounts.permissions import NotAllowed, check_user_has_role, find_roles

__all__ = [
    "ANY_ROLE",
    "StudyRequest",
    "active_study",
    "filter_by_role",
    "find_roles",
    "find_studies",
    "set_active_study",
    "study_role_required",
]

SESSION_KEY = "active_study"
ANY_ROLE = frozenset(Role)
_UNREAD = object()
P = ParamSpec("P")
M = TypeVar("M", bound=Model)


class StudyRequest(HttpRequest):
    """The request as views behind `study_role_required` see it."""

    user: User
    study: Study


def find_studies(user: Any, roles: Collection[Role] = ANY_ROLE) -> QuerySet[Study]:
    """Return the studies in which the person has one of `roles`, by name.

    Empty for the anonymous. A superuser has the studies they are a member of, no more.
    """
    if not user.is_authenticated or not user.is_active:
        return Study.objects.none()
    return (
        Study.objects.filter(memberships__user=user, memberships__role__in=roles)
        .distinct()
        .order_by("name")
    )


def filter_by_role(
    queryset: QuerySet[M], user: Any, path: str = "study", *, roles: Collection[Role]
) -> QuerySet[M]:
    """Return the rows of the studies in which the person has one of `roles`.

    `path` leads from the model to its study (`dataset__study`). `roles` has no default: a role in
    the active study says nothing about the study of the object.
    """
    return queryset.filter(**{f"{path}__in": find_studies(user, roles)})


def active_study(request: HttpRequest) -> Study | None:
    """Return the study chosen in this session, else the first by name.

    Returns None for a person without a study. Read once a request.
    """
    found = getattr(request, "_active_study", _UNREAD)
    if found is _UNREAD:
        mine = list(find_studies(request.user))
        chosen = request.session.get(SESSION_KEY)
        found = next(
            (study for study in mine if study.public_id == chosen), mine[0] if mine else None
        )
        request._active_study = found  # type: ignore[attr-defined]  # a request-long cache
    return found  # type: ignore[return-value]  # the sentinel was replaced above


def set_active_study(request: HttpRequest, public_id: str) -> Study:
    """Choose the study for this session.

    Raises Http404 if it does not exist or the person is not a member.
    """
    study = find_studies(request.user).filter(public_id=public_id).first()
    if study is None:
        raise Http404
    request.session[SESSION_KEY] = study.public_id
    request._active_study = study  # type: ignore[attr-defined]  # as above
    return study


def study_role_required(
    *roles: Role,
) -> Callable[
    [Callable[Concatenate[StudyRequest, P], HttpResponseBase]],
    Callable[Concatenate[HttpRequest, P], HttpResponseBase],
]:
    """Require sign-in, an active study, and one of `roles` in it.

    For views; the study is `request.study`. If no role is named, any role suffices. Raises
    NotAllowed (a 403 page with the reason). It guards the active study only: a view that takes an
    id looks it up with `filter_by_role`, which asks for the role in that object's own study.
    """

    def decorate(
        view: Callable[Concatenate[StudyRequest, P], HttpResponseBase],
    ) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
        @login_required
        @wraps(view)
        def wrapper(request: Any, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            study = active_study(request)
            if study is None:
                raise NotAllowed(
                    "You are not a member of any study yet. A study admin can add you."
                )
            check_user_has_role(request.user, study, *roles)
            request.study = study
            return view(request, *args, **kwargs)

        return wrapper

    return decorate
