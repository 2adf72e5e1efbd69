"""Saved mappings in the API: what a study says about files of one format."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from accounts.api_access.access import (
    ADMINS,
    STUDY,
    ApiView,
    find_requested_studies,
    find_study,
    read_body,
    require_person,
    require_studies,
)
from accounts.api_access.operations import operation
from accounts.api_access.paging import LIMIT, OFFSET, load_page, read_choice
from ehr.api.imports import bodies
from ehr.formats.mapping import MAPPED_FORMATS
from ehr.models import SavedMapping
from ehr.uploads import actions
from ehr.uploads.finding import find_mappings

mapping_operation = partial(operation, "imports")
FORMAT = OpenApiParameter("format", str, enum=MAPPED_FORMATS, description="Only of this format.")


class Mappings(ApiView):
    @mapping_operation(
        "mapping_list", bodies.MappingPage, parameters=[STUDY, FORMAT, LIMIT, OFFSET]
    )
    def get(self, request: Request) -> dict[str, Any]:
        """Return the saved mappings of your studies by name. For study admins."""
        studies = find_requested_studies(request, ADMINS)
        found = find_mappings(require_person(request)).filter(study__in=studies)
        if format := read_choice(request, "format", MAPPED_FORMATS):
            found = found.filter(format=format)
        return load_page(request, found.order_by("name", "format", "pk"))

    @mapping_operation(
        "mapping_save",
        bodies.Mapping,
        refuses=(422,),
        takes=bodies.NewMapping,
        status=HTTPStatus.CREATED,
        parameters=[STUDY],
    )
    def post(self, request: Request) -> SavedMapping:
        """Save a mapping under a name, for the next import. For study admins."""
        study = find_study(request, request.query_params.get("study", ""))
        values = read_body(bodies.NewMapping, request)
        return actions.save_mapping(study=study, by=require_person(request), **values)


class MappingOne(ApiView):
    @mapping_operation("mapping", bodies.Mapping)
    def get(self, request: Request, mapping_id: int) -> SavedMapping:
        """Return one saved mapping. For study admins."""
        require_studies(request, ADMINS)
        return get_object_or_404(find_mappings(require_person(request)), pk=mapping_id)
