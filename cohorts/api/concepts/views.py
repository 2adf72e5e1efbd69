"""Concepts in the API. Guards and audit trail are those of the pages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from http import HTTPStatus
from itertools import groupby
from typing import Any

from rest_framework.request import Request

from accounts.api_access.access import (
    STUDY,
    ApiView,
    find_requested_studies,
    find_study,
    read_body,
    require_person,
    require_studies,
)
from accounts.api_access.operations import operation
from accounts.api_access.paging import LIMIT, OFFSET, load_page
from accounts.permissions import CASE_READERS
from cohorts.api.access import find_in_studies
from cohorts.api.concepts import bodies
from cohorts.concepts.access import is_closed
from cohorts.concepts.actions import create_concept
from cohorts.concepts.listing import Line, list_lines
from cohorts.concepts.portable import import_concept
from cohorts.models import Concept
from timelines.access.closed import closed_encounters

concept_operation = partial(operation, "concepts")


class Concepts(ApiView):
    @concept_operation("concept_list", bodies.ConceptPage, parameters=[STUDY, LIMIT, OFFSET])
    def get(self, request: Request) -> dict[str, Any]:
        """Return the concepts of your studies that are not archived."""
        found = Concept.objects.filter(
            study__in=find_requested_studies(request), archived_at__isnull=True
        ).select_related("study")
        return load_page(
            request, found.order_by("study__name", "name", "pk"), partial(_list, request)
        )

    @concept_operation(
        "concept_create",
        bodies.ConceptDetail,
        refuses=(422,),
        takes=bodies.ConceptStart,
        status=HTTPStatus.CREATED,
        starts=True,
    )
    def post(self, request: Request) -> dict[str, Any]:
        """Create a concept without members."""
        require_studies(request)
        values = dict(read_body(bodies.ConceptStart, request))
        study = find_study(request, values.pop("study"), CASE_READERS)
        return describe(request, create_concept(study=study, by=require_person(request), **values))


class ConceptImport(ApiView):
    @concept_operation(
        "concept_import",
        bodies.Proposed,
        refuses=(422,),
        takes=bodies.ConceptImport,
        status=HTTPStatus.CREATED,
        starts=True,
    )
    def post(self, request: Request) -> dict[str, Any]:
        """Create a concept from a file, or add what the one of its name lacks."""
        require_studies(request)
        values, person = read_body(bodies.ConceptImport, request), require_person(request)
        concept, new = import_concept(
            study=find_study(request, values["study"], CASE_READERS),
            content=json.dumps(values["content"]).encode(),
            accept=values["accept"],
            closed=closed_encounters(person),
            by=person,
        )
        return {"concept": concept.public_id, "new": new}


class ConceptOne(ApiView):
    @concept_operation("concept", bodies.ConceptDetail)
    def get(self, request: Request, concept_id: str) -> dict[str, Any]:
        """Return one concept with its rules and versions."""
        return describe(request, find_concept(request, concept_id))


def find_concept(request: Request, concept_id: str) -> Concept:
    """Return a concept of the person's studies. Raises NotAllowed, Http404."""
    return find_in_studies(request, Concept.objects.select_related("study"), concept_id)


def describe(request: Request, concept: Concept) -> dict[str, Any]:
    """Return a concept with its rules, and its open versions."""
    (line,) = _list(request, [concept])
    closed = is_closed(concept.study, closed_encounters(require_person(request)))
    versions = () if closed else concept.versions.select_related("created_by")
    return {
        **{name: getattr(line, name) for name in Line.__slots__},
        "rules": concept.rules.filter(ended_at__isnull=True),
        "closed": closed,
        "versions": [
            {
                **{n: getattr(v, n) for n in ("number", "sha256", "created_at", "created_by")},
                "members": len(v.members),
            }
            for v in versions
        ],
    }


def _list(request: Request, concepts: Sequence[Concept]) -> list[Line]:
    closed = closed_encounters(require_person(request))
    return [
        line
        for study, several in groupby(concepts, key=lambda concept: concept.study)
        for line in list_lines(study, list(several), closed)
    ]
