"""A person's answer whether a stay is a member."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from accounts.permissions import CASE_READERS
from accounts.scoping import StudyRequest, study_role_required
from cohorts.models import WindowMember
from cohorts.windows.finding import get_result
from cohorts.windows.results import decide_member
from cohorts.windows.values import WindowRefused
from timelines.cases.opening import open_case


@require_POST
@study_role_required(*CASE_READERS)
def window_member_answer(request: StudyRequest, public_id: str, number: int) -> HttpResponse:
    """Confirm, override or withdraw; with a reason."""
    result = get_result(request, public_id)
    members = WindowMember.objects.select_related("encounter", "result__version__window__study")
    member = get_object_or_404(members, result=result, pk=number)
    open_case(request, member.encounter.public_id)
    try:
        decide_member(
            member=member,
            status=request.POST.get("status", ""),
            reason=request.POST.get("reason", ""),
            by=request.user,
        )
    except WindowRefused as refused:
        messages.error(request, str(refused))
    query = request.GET.urlencode()
    address = reverse("cohorts:window_result", args=[public_id])
    return redirect(f"{address}{'?' if query else ''}{query}#member-{member.pk}")
