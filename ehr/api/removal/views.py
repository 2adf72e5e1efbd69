"""Delete a dataset by the API: see what is lost, start and follow that."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from typing import Any

from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from accounts.api_access.access import (
    ADMINS,
    ApiView,
    read_body,
    require_person,
    require_studies,
)
from accounts.api_access.operations import operation
from ehr.api.imports.lines import describe_data_job
from ehr.api.removal import bodies
from ehr.deletion import count_dataset_losses, describe_refusal
from ehr.models import Dataset, DatasetDeletion
from ehr.removal import actions
from ehr.uploads.finding import find_deletions

deletion_operation = partial(operation, "datasets")


class DatasetDeletions(ApiView):
    @deletion_operation("dataset_losses", bodies.Deletion)
    def get(self, request: Request, dataset_id: str) -> dict[str, Any]:
        """Return what is lost with a dataset, and how far its deletion is.

        For study admins. It can be read after the dataset is gone, too.
        """
        return _describe(request, dataset_id)

    @deletion_operation(
        "dataset_delete",
        bodies.Deletion,
        refuses=(422,),
        takes=bodies.DeletionStart,
        status=HTTPStatus.CREATED,
        starts=True,
    )
    def post(self, request: Request, dataset_id: str) -> dict[str, Any]:
        """Delete a dataset with everything made from it. For study admins."""
        studies = require_studies(request, ADMINS)
        dataset = get_object_or_404(
            Dataset.objects.select_related("study"), study__in=studies, public_id=dataset_id
        )
        person = require_person(request)
        actions.check_user_can_delete(person, dataset)
        values = read_body(bodies.DeletionStart, request)
        actions.start_deletion(dataset=dataset, by=person, **values)
        return _describe(request, dataset_id)


class DatasetDeletionAction(ApiView):
    @deletion_operation(
        "dataset_deletion_action",
        bodies.Deletion,
        refuses=(409,),
        parameters=[
            OpenApiParameter("action", str, OpenApiParameter.PATH, enum=list(actions.STEPS))
        ],
    )
    def post(self, request: Request, dataset_id: str, action: str) -> dict[str, Any]:
        """Cancel or retry the latest deletion. For study admins."""
        require_studies(request, ADMINS)
        job, act = _find_latest(request, dataset_id), actions.STEPS.get(action)
        if act is None or job is None:
            raise Http404
        act(job=job, by=require_person(request))
        return _describe(request, dataset_id)


def _find_latest(request: Request, dataset_id: str) -> DatasetDeletion | None:
    return find_deletions(require_person(request)).filter(dataset_key=dataset_id).first()


def _describe(request: Request, dataset_id: str) -> dict[str, Any]:
    """Return the losses now, or those of the deletion if the dataset is gone."""
    studies = require_studies(request, ADMINS)
    dataset = Dataset.objects.filter(study__in=studies, public_id=dataset_id).first()
    job = _find_latest(request, dataset_id)
    found = {"dataset": dataset_id, "job": describe_data_job(job) if job else None}
    if dataset is not None:
        actions.check_user_can_delete(require_person(request), dataset)
        losses = count_dataset_losses(dataset)
        refusal = describe_refusal(losses, delete_authored=True) or ""
        return {**found, "name": dataset.name, "losses": losses, "refusal": refusal}
    if job is None:
        raise Http404
    listed = [{"count": count, "name": name} for count, name in job.losses]
    return {**found, "name": job.name, "losses": listed, "refusal": ""}
