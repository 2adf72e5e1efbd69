"""Who can see what: the people of the study and how they sign in."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from accounts.actions import set_active
from accounts.invitations.actions import find_valid, invite, withdraw
from accounts.membership.people import EXCEPTION, OPENS, person_lines
from accounts.models import Role, User
from accounts.scoping import StudyRequest, study_role_required
from accounts.second_step.actions import remove_second_steps
from accounts.sessions.actions import end_sessions
from accounts.wording import format_count


@require_GET
@study_role_required(Role.ADMIN)
def people(request: StudyRequest) -> HttpResponse:
    """Show everyone, what each role opens, and the open invitations."""
    return _page(request)


@require_POST
@study_role_required(Role.ADMIN)
def person_activate(request: StudyRequest) -> HttpResponse:
    """Deactivate or activate a member's account everywhere."""
    person, active = _member(request), request.POST.get("active") == "on"
    set_active(user=person, active=active, by=request.user)
    word = "active again" if active else "deactivated and signed out"
    messages.success(request, f"{person.username} is {word}.")
    return redirect("accounts:people")


@require_POST
@study_role_required(Role.ADMIN)
def person_sign_out(request: StudyRequest) -> HttpResponse:
    """End every session of a member."""
    person = _member(request)
    ended = end_sessions(user=person, by=request.user)
    messages.success(request, f"{format_count(ended, 'session')} of {person.username} ended.")
    return redirect("accounts:people")


@require_POST
@study_role_required(Role.ADMIN)
def person_remove_steps(request: StudyRequest) -> HttpResponse:
    """Remove the second steps of a member who has lost them."""
    person = _member(request)
    remove_second_steps(user=person, by=request.user)
    messages.success(request, f"{person.username} signs in with the password alone now.")
    return redirect("accounts:people")


@require_POST
@study_role_required(Role.ADMIN)
def invitation_create(request: StudyRequest) -> HttpResponse:
    """Create an invitation and show its link on the response, once."""
    role = request.POST.get("role", "")
    if role not in Role.values:
        raise Http404
    try:
        invitation, secret = invite(
            study=request.study,
            role=Role(role),
            label=request.POST.get("label", ""),
            by=request.user,
        )
    except ValidationError:
        error = "Say whom the invitation is for, in at most 100 characters."
        return _page(request, error=error, status=400)
    link = request.build_absolute_uri(reverse("accounts:invitation", args=[secret]))
    return render(
        request, "accounts/invitation_link.html", {"invitation": invitation, "link": link}
    )


@require_POST
@study_role_required(Role.ADMIN)
def invitation_withdraw(request: StudyRequest) -> HttpResponse:
    """End an invitation."""
    found = get_object_or_404(
        request.study.invitations, public_id=request.POST.get("invitation", "")
    )
    withdraw(invitation=found, by=request.user)
    messages.success(request, "The invitation has ended.")
    return redirect("accounts:people")


def _page(request: StudyRequest, *, error: str = "", status: int = 200) -> HttpResponse:
    context = {
        "lines": person_lines(request.study, request.user),
        "opens": [(role.label, words) for role, words in OPENS.items()],
        "exception": EXCEPTION,
        "invitations": find_valid().filter(study=request.study),
        "roles": Role.choices,
        "error": error,
    }
    return render(request, "accounts/people.html", context, status=status)


def _member(request: StudyRequest) -> User:
    found = User.objects.filter(
        memberships__study=request.study, public_id=request.POST.get("person", "")
    ).distinct()
    return get_object_or_404(found)
