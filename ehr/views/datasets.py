"""Delete a dataset: what is lost, the confirmation, and the job."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from accounts.models import Role
from accounts.permissions import STUDY_ADMINS
from accounts.scoping import StudyRequest, filter_by_role, study_role_required
from ehr.deletion import DeletionRefused, count_dataset_losses, describe_refusal
from ehr.models import Dataset
from ehr.registry import Keep
from ehr.removal import actions
from ehr.uploads.finding import find_deletions
from ehr.uploads.forms import DeletionForm
from ehr.uploads.progress import describe_job
from jobs.states import InvalidTransition


@require_http_methods(["GET", "POST"])
@study_role_required(Role.ADMIN)
def delete(request: StudyRequest, public_id: str) -> HttpResponse:
    """List what is lost with a dataset; delete it once its name is typed."""
    found = Dataset.objects.select_related("study")
    dataset = get_object_or_404(
        filter_by_role(found, request.user, roles=STUDY_ADMINS), public_id=public_id
    )
    actions.check_user_can_delete(request.user, dataset)
    form = DeletionForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            job = actions.start_deletion(dataset=dataset, by=request.user, **form.cleaned_data)
        except DeletionRefused as error:
            form.add_error(None, str(error))
        else:
            return redirect("ehr:deletion", job.public_id)
    losses = count_dataset_losses(dataset)
    context = {
        "dataset": dataset,
        "losses": losses,
        "form": form,
        "refusal": describe_refusal(losses, delete_authored=True),
        "authored": any(loss.keep is Keep.UNLESS_ASKED for loss in losses),
    }
    return render(request, "ehr/imports/delete.html", context)


@require_GET
@study_role_required(Role.ADMIN)
def deletion(request: StudyRequest, public_id: str) -> HttpResponse:
    """Follow a deletion. htmx gets the state alone."""
    job = get_object_or_404(find_deletions(request.user), public_id=public_id)
    context = {"job": job, "line": describe_job(job)}
    partial = bool(request.htmx)  # type: ignore[attr-defined]  # set by django-htmx's middleware
    name = "_deletion_live" if partial else "deletion"
    response = render(request, f"ehr/imports/{name}.html", context)
    if partial and not describe_job(job).active:
        response["HX-Refresh"] = "true"
    response["Vary"] = "HX-Request"
    return response


@require_POST
@study_role_required(Role.ADMIN)
def deletion_action(request: StudyRequest, public_id: str, action: str) -> HttpResponse:
    """Cancel or retry a deletion."""
    job = get_object_or_404(find_deletions(request.user), public_id=public_id)
    act = actions.STEPS.get(action)
    if act is None:
        raise Http404
    try:
        act(job=job, by=request.user)
    except InvalidTransition:
        messages.warning(request, "It has ended already, or goes on.")
    return redirect("ehr:deletion", job.public_id)
