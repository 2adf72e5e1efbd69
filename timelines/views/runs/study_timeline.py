"""Choose the study timeline of a cohort, from the page of the run.

Only an admin may do this.
"""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from accounts.models import Role
from accounts.permissions import check_user_can_manage_study
from accounts.scoping import StudyRequest, filter_by_role, study_role_required
from timelines.models import Run
from timelines.runs.study_timeline.actions import ChoiceRefused, choose_study_timeline

LONGEST_REASON = 500


@require_POST
@study_role_required(Role.ADMIN)
def choose(request: StudyRequest, public_id: str) -> HttpResponse:
    """Make the run the study timeline of its cohort.

    The reason is stored.
    """
    run = get_object_or_404(
        filter_by_role(
            Run.objects.select_related("dataset", "study"), request.user, roles={Role.ADMIN}
        ),
        public_id=public_id,
    )
    check_user_can_manage_study(request.user, run.study)
    try:
        choose_study_timeline(
            run=run, reason=request.POST.get("reason", "")[:LONGEST_REASON], by=request.user
        )
    except ChoiceRefused as refused:
        messages.error(request, str(refused))
    else:
        messages.success(
            request,
            f"This run is the study timeline of {run.dataset.name}. Every page opens with it.",
        )
    return redirect("timelines:run", run.public_id)
