"""What the API shows of cohorts, in the studies of a person."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, TypeVar

from django.db.models import Model, QuerySet
from django.shortcuts import get_object_or_404
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from accounts.api_access.access import build_page_request, require_studies
from accounts.models import Role, Study
from accounts.permissions import CASE_READERS
from accounts.scoping import StudyRequest
from cohorts.facts.versions import newest_versions
from cohorts.models import ConceptVersion
from ehr.models import Dataset

M = TypeVar("M", bound=Model)


def find_in_studies(
    request: Request,
    rows: QuerySet[M],
    public_id: str,
    path: str = "study",
    roles: frozenset[Role] = CASE_READERS,
) -> M:
    """Return one of these rows, if the person has a role in its study.

    `path` leads from the model to its study. Raises NotAllowed, Http404.
    """
    studies = require_studies(request, roles)
    return get_object_or_404(rows, **{f"{path}__in": studies, "public_id": public_id})


def find_dataset(request: Request, public_id: str) -> Dataset:
    """Return a dataset of the person's studies. Raises NotAllowed, Http404."""
    return find_in_studies(request, Dataset.objects.select_related("study"), public_id)


def build_study_request(request: Request, study: Study) -> StudyRequest:
    """Return the request as functions of the pages of a study expect it."""
    page = build_page_request(request)
    page.study = study
    return page


def find_versions(
    study: Study, named: Mapping[str, Collection[str]]
) -> dict[str, list[ConceptVersion]]:
    """Return the newest version of each concept that a field of a body names.

    Fields name concepts by public ids. Raises ValidationError for one without a version.
    """
    known = newest_versions(study)
    faults: dict[str, Any] = {
        field: [f"{one}: there is no such concept with a version." for one in several]
        for field, every in named.items()
        if (several := [one for one in every if one not in known])
    }
    if faults:
        raise ValidationError(faults)
    return {field: [known[one] for one in every] for field, every in named.items()}
