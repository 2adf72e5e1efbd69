"""The study page: its admins manage who is in it."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from accounts.actions import (
    AccountExists,
    LastAdmin,
    add_role,
    create_account,
    remove_role,
    reset_password,
)
from accounts.forms import MemberForm
from accounts.membership.members import member_lines
from accounts.models import Role, User
from accounts.registry import study_cards
from accounts.scoping import StudyRequest, study_role_required


@require_GET
@study_role_required(Role.ADMIN)
def study(request: StudyRequest) -> HttpResponse:
    """The members with their roles, and the forms that change them."""
    return _page(request)


@require_POST
@study_role_required(Role.ADMIN)
def add(request: StudyRequest) -> HttpResponse:
    """Give an existing account a role."""
    form = MemberForm(request.POST, prefix="add")
    if not form.is_valid():
        return _page(request, add_form=form, status=400)
    user = User.objects.filter(username=form.cleaned_data["username"], is_active=True).first()
    if user is None:
        form.add_error("username", "There is no account with this user name. Create it below.")
        return _page(request, add_form=form, status=400)
    added = add_role(
        study=request.study, user=user, role=Role(form.cleaned_data["role"]), by=request.user
    )
    label = Role(form.cleaned_data["role"]).label.lower()
    messages.success(
        request, f"{user.username} is {'now' if added else 'already'} a {label} of this study."
    )
    return redirect("accounts:study")


@require_POST
@study_role_required(Role.ADMIN)
def remove(request: StudyRequest) -> HttpResponse:
    """Take a role away; the study's last admin stays."""
    user, role = _member(request), _role(request)
    try:
        removed = remove_role(study=request.study, user=user, role=role, by=request.user)
    except LastAdmin as error:
        messages.error(request, str(error))
    else:
        messages.success(
            request,
            f"{user.username} is {'no longer' if removed else 'not'} a {role.label.lower()} of this"
            " study.",
        )
    # Someone who took their own admin role away may not see the study page any more.
    return redirect("home" if user == request.user and role == Role.ADMIN else "accounts:study")


@require_POST
@study_role_required(Role.ADMIN)
def create(request: StudyRequest) -> HttpResponse:
    """Create an account and show its one-time password on the response.

    The password is never shown again.
    """
    form = MemberForm(request.POST, prefix="create")
    if not form.is_valid():
        return _page(request, create_form=form, status=400)
    role = Role(form.cleaned_data["role"])
    try:
        user, password = create_account(
            username=form.cleaned_data["username"], study=request.study, role=role, by=request.user
        )
    except AccountExists as error:
        form.add_error("username", str(error))
    except ValidationError as error:
        form.add_error("username", error.messages)
    else:
        return render(
            request, "accounts/one_time_password.html", {"person": user, "password": password}
        )
    return _page(request, create_form=form, status=400)


@require_POST
@study_role_required(Role.ADMIN)
def reset(request: StudyRequest) -> HttpResponse:
    """Give a member a new one-time password, shown once.

    Raises NotAllowed for members of studies this admin does not manage.
    """
    user = _member(request)
    return render(
        request,
        "accounts/one_time_password.html",
        {"person": user, "password": reset_password(user=user, by=request.user)},
    )


def _page(request: StudyRequest, *, status: int = 200, **forms: Any) -> HttpResponse:
    context = {
        "lines": member_lines(request.study),
        "cards": study_cards(request.user, request.study),
        "add_form": MemberForm(prefix="add"),
        "create_form": MemberForm(prefix="create"),
        **forms,
    }
    return render(request, "accounts/study.html", context, status=status)


def _member(request: StudyRequest) -> User:
    user = (
        User.objects.filter(
            memberships__study=request.study, public_id=request.POST.get("person", "")
        )
        .distinct()
        .first()
    )
    if user is None:
        raise Http404
    return user


def _role(request: StudyRequest) -> Role:
    try:
        return Role(request.POST.get("role", ""))
    except ValueError:
        raise Http404 from None
